"""Text of the pages: safe for Markdown, in lists, with the right plural. Numbers: :mod:`sizing.base.format`."""

import re
from collections.abc import Iterable, Sequence

from sizing.base.format import percent, rounded
from sizing.base.markdown import as_text

_AFTER_A_NUMBER = re.compile(r"(?<=\d) (?=\S)")
_UNITS = "ms|s|min|h|k?Wh?|MWh|[kMGT]i?B(?:/s)?|(?:tokens?|requests?)(?:/s)?|GPUs?"
_BEFORE_A_UNIT = re.compile(rf"(?:(?<=\d)|(?<=\d[kMBT])) (?=%|(?:{_UNITS})(?![\w/-]))")
"""The space between a number, "1.56B" among them, and its unit."""


def as_markdown(text: str) -> str:
    """``text`` as it is: two dollar signs are two prices, not a formula, and an address is no link.

    No line of it ends between a number and its unit, as it would on a phone.
    """
    return as_text(_BEFORE_A_UNIT.sub("\N{NO-BREAK SPACE}", text))


def bullets(lines: Iterable[str]) -> str:
    """A Markdown list with one line each, shown as they are."""
    return "\n".join(f"- {as_markdown(line)}" for line in lines)


def listed(words: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def unbroken(text: str) -> str:
    """``text`` for a narrow place, such as a button: no line of it ends between a number and what it counts."""
    return _AFTER_A_NUMBER.sub("\N{NO-BREAK SPACE}", text)


def unbroken_percent(fraction: float) -> str:
    """A share whose sign stays on its line, for a text in a narrow place."""
    return unbroken(percent(fraction))


def known(value: float | None, digits: int = 3) -> float | None:
    """A value rounded to significant digits for a cell of a table, which stays empty where it is unknown."""
    return None if value is None else rounded(value, digits)
