"""The scenario library from a page: saving what the form says, and opening what is kept."""

from ui.library.connection import author, library, refused
from ui.library.opening import KEPT, draw_not_held, open_document, open_version
from ui.library.save import draw_save

__all__ = ["KEPT", "author", "draw_not_held", "draw_save", "library", "open_document", "open_version", "refused"]
