"""Text that Markdown shows as it is, wherever it is written: on a page, in a report, in a file beside it."""

import re

_MARKUP = r"[\\`*_{}\[\]<>#$~|!&@]|(?<=\bwww)\."
_IN_FILES = re.compile(rf"(?i)({_MARKUP}|:(?=\S))")
_ON_PAGES = re.compile(rf"(?i)({_MARKUP}|:)")
"""Streamlit reads ":red[" and ":material/" as well."""
_ADDRESS = re.compile(r"(?i)https?://(?=[-.\w]*\.)|www\.|@(?=[-\w]+\.)")
"""Where a host without a dot follows none is taken for a link: "write http://host:port" can be copied."""
NO_BREAK = "\u2060"
"""A sign without width that is no space."""


def as_text(text: str) -> str:
    """``text`` so that a page shows it as it is: no markup, no formula between two prices, no link."""
    return escaped(not_linked(text))


def escaped(text: str) -> str:
    """``text`` without markup; readers may make a link of an address in it. For what the operator of a server wrote."""
    return _ON_PAGES.sub(r"\\\1", text)


def as_line(text: str) -> str:
    """``text`` so that a Markdown file shows it as it is on one line: a cell of a table or an item of a list."""
    return _IN_FILES.sub(r"\\\1", not_linked(" ".join(text.split())))


def not_linked(text: str) -> str:
    """``text`` in which no address is taken for a link.

    Readers make one of an address in plain text, whatever is escaped (GitHub Flavored Markdown Spec 0.29, 6.9), unless
    a sign that is neither a space nor punctuation stands before it, or before its @.
    """
    return _ADDRESS.sub(rf"{NO_BREAK}\g<0>", text)
