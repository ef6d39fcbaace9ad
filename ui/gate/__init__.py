"""What stands between the network and every page: whom a request was sent to, what it may bring, what leaves."""

from ui.gate.requests import Gate, is_in_place
from ui.gate.uploads import admit, dismiss

__all__ = ["Gate", "admit", "dismiss", "is_in_place"]
