"""Links to a scenario: live ones, which recompute its inputs, and frozen ones, which show a stored report.

What needs SQLAlchemy is loaded when it is asked for, as in :mod:`sharing.library`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sharing.links.holder import Holder
    from sharing.links.store import Links

__all__ = ["Holder", "Links"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sharing.links import holder, store

    return holder.Holder if name == "Holder" else store.Links
