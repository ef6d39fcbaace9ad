from ui import shell
from ui.live.page import draw

shell.require("live")
draw()
shell.footer()
