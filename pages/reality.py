from ui import shell
from ui.reality.page import draw

shell.require("reality")
draw()
shell.footer()
