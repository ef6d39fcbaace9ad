"""What stands between the network and every page: whom a request was sent to, what it may bring, what leaves."""

from ui.gate.requests import Gate, is_passed_by
from ui.gate.uploads import admit, dismiss

__all__ = ["Gate", "admit", "dismiss", "is_passed_by"]
