"""The scenario library: every version of every scenario, in SQLite or PostgreSQL.

What needs SQLAlchemy is loaded when it is asked for: 0.3 s that the first page of a fresh server does not wait for.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sharing.library.store import Library, open_library

__all__ = ["Library", "open_library"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sharing.library import store

    return getattr(store, name)
