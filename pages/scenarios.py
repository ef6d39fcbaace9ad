from ui import shell
from ui.scenarios.page import draw

shell.require("scenarios")
draw()
shell.footer()
