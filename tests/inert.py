"""What a reader of Markdown would act on in a text that should be shown as it is."""

import re
from collections.abc import Sequence

ADDRESSES = ("https://evil.example/a", "http://evil.example", "WWW.evil.example", "mailto:me@evil.example")
TYPED = (
    *(f"Acme {address}" for address in ADDRESSES),
    "[x](javascript:alert(1)) ![y](http://evil.example/a.png)",
    "<script>alert(1)</script>",
    "=cmd()|' /C calc'!A0",
    '=HYPERLINK("http://evil.example","x")',
)
"""What somebody may type where a name is asked for."""

_LITERAL = re.compile(
    r"(?i)(?:^|(?<=[\s!-/:-@\[-`{-~]))(?:https?://[-\w]*\.|www\.)[-.\w]+|[-.\w+]+@[-\w]+(?:\.[-\w]+)+"
)
"""Addresses that become links without any mark (mdast-util-gfm-autolink-literal 2.0): after a space or punctuation."""
_MARKED = re.compile(r"\]\(|<[a-z/!]|:[a-z]+\[|\$[^$]+\$", re.IGNORECASE)


_PLANTED = re.compile(r"\]\(javascript|!\[|<script", re.IGNORECASE)


def live(markdown: str) -> Sequence[str]:
    """Links, elements, colours and formulas of a text in Markdown."""
    return [*_MARKED.findall(_bare(markdown)), *_LITERAL.findall(_shown(markdown))]


def planted(markdown: str) -> Sequence[str]:
    """The same of a text in which the page has markup of its own: only what somebody typed."""
    return [*_PLANTED.findall(_bare(markdown)), *_LITERAL.findall(_shown(markdown))]


def _bare(markdown: str) -> str:
    return re.sub(r"\\[!-/:-@\[-`{-~]", "\x00", markdown)


def _shown(markdown: str) -> str:
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", markdown)
