from ui import shell
from ui.methodology.page import draw

shell.require("methodology")
draw()
shell.footer()
