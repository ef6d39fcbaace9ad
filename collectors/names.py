"""The nearest known name to one that was mistyped."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name closest to ``name``, ignoring case; None when nothing is close."""
    by_lower = {k.lower(): k for k in known}
    matches = get_close_matches(name.lower(), list(by_lower), n=1, cutoff=0.55)
    return by_lower[matches[0]] if matches else None
