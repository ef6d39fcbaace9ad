"""The scenario library from a page: what a scenario is called and can be done with, saving it, opening what is kept."""

from ui.database import library
from ui.library.bar import draw_bar
from ui.library.bond import draw_bond, open_in_size, open_with_source
from ui.library.connection import links, refused
from ui.library.opening import KEPT, draw_not_held, open_document, open_version
from ui.library.share import draw_share_of
