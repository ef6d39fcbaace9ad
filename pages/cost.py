from ui import shell
from ui.cost.page import draw

shell.require("cost")
draw()
shell.footer()
