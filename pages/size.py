from ui import shell
from ui.size.page import draw

shell.require("size")
draw()
shell.footer()
