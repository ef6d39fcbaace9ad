from ui import shell
from ui.home.page import draw

shell.require("home")
draw()
shell.footer()
