from ui import shell
from ui.shared.page import draw

shell.require("shared")
draw()
