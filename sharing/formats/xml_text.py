"""Texts for files that are XML inside: without the characters that XML cannot hold."""

import re

ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
_SENTENCE_END = re.compile(r"[.!?] (?=[A-Z0-9])")
_NOT_IN_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def plain(text: str) -> str:
    """The text as XML can hold it."""
    return _NOT_IN_XML.sub("", text)


def shortened(text: str, most: int) -> str:
    """The text, cut with an ellipsis after a word where it has more than so many characters."""
    if len(text) <= most:
        return text
    words = text[: most - 1].rsplit(" ", 1)[0] if " " in text[most // 2 : most - 1] else text[: most - 1]
    return words.rstrip(" .,;:") + ELLIPSIS


def begun(text: str, most: int) -> str:
    """The text, cut after a whole sentence where it has more than so many characters; after a word, with an ellipsis,
    where its first sentence has more."""
    if len(text) <= most:
        return text
    ends = [match.start() + 1 for match in _SENTENCE_END.finditer(text, 0, most)]
    return text[: ends[-1]] if ends else shortened(text, most)
