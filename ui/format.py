"""Text of the pages: safe for Markdown, in lists, with the right plural. Numbers: :mod:`sizing.base.format`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from sizing.base.format import count, rounded

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#$~|:])")
_ADDRESS = re.compile(r"(?i)https?://|www\.|@(?=[-\w]+\.)")


def as_markdown(text: str) -> str:
    """``text`` so that Markdown shows it as it is: two dollar signs are two prices, not a formula."""
    return _MARKDOWN.sub(r"\\\1", text)


def typed_name(text: str) -> str:
    """A name that somebody typed, shown as it is: an address in it does not become a link either.

    Streamlit makes a link of an address in plain text, whatever is escaped, unless a sign without width that is no
    space stands before it, or before an @.
    """
    return as_markdown(not_linked(text))


def not_linked(text: str) -> str:
    """``text`` in which no address is taken for a link."""
    return _ADDRESS.sub("\u2060\\g<0>", text)


def bullets(lines: Iterable[str]) -> str:
    """A Markdown list with one line each, shown as they are."""
    return "\n".join(f"- {as_markdown(line)}" for line in lines)


def listed(words: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def counted(number: float, one: str, many: str = "") -> str:
    """A number with its noun: "1 run", "3 runs"; ``many`` where the plural is not ``one`` with an s."""
    return f"{count(number)} {one if number == 1 else many or one + 's'}"


def known(value: float | None, digits: int = 3) -> float | None:
    """A value rounded to significant digits for a cell of a table, which stays empty where it is unknown."""
    return None if value is None else rounded(value, digits)
