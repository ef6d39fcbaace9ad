from ui import shell
from ui.explore.frontier import follow_click
from ui.explore.page import draw

shell.require("explore")
follow_click()
draw()
shell.footer()
