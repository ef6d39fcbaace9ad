"""Links to a scenario: live ones, which recompute its inputs, and frozen ones, which show a stored report."""

from sharing.links.holder import Holder
from sharing.links.store import Links

__all__ = ["Holder", "Links"]
