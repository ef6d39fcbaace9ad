"""What pages print numbers with: the functions of :mod:`sizing.base.format`, and text made safe for Markdown."""

from __future__ import annotations

import re

from sizing.base.format import (
    UNKNOWN,
    count,
    gigabytes,
    interval,
    kilowatts,
    large,
    ms,
    percent,
    requests_per_s,
    significant,
    tokens_per_s,
    usd,
)

__all__ = [
    "UNKNOWN",
    "as_markdown",
    "count",
    "gigabytes",
    "interval",
    "kilowatts",
    "large",
    "ms",
    "percent",
    "requests_per_s",
    "significant",
    "tokens_per_s",
    "usd",
]

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#$~|:])")


def as_markdown(text: str) -> str:
    """``text`` so that Markdown shows it as it is: two dollar signs are two prices, not a formula."""
    return _MARKDOWN.sub(r"\\\1", text)
