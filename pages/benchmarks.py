from ui import shell
from ui.benchmarks.page import draw

shell.require("benchmarks")
draw()
shell.footer()
