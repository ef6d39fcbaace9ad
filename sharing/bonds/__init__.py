"""The bond between a scenario and what runs: its source of live data, what comparisons with it said, what was learned.

What needs SQLAlchemy is loaded when it is asked for, as in :mod:`sharing.library`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sharing.bonds.store import Bonds, Calibrations

__all__ = ["Bonds", "Calibrations"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sharing.bonds import store

    return {"Bonds": store.Bonds, "Calibrations": store.Calibrations}[name]
