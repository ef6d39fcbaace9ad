from ui import shell
from ui.compare.page import draw

shell.require("compare")
draw()
shell.footer()
