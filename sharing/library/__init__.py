"""The scenario library: every version of every scenario, in SQLite or PostgreSQL."""

from sharing.library.store import Library, open_library

__all__ = ["Library", "open_library"]
