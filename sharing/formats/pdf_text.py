"""Text as a PDF can show it: the font of the document, those of East Asia that readers of PDF bring, or a sign."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfbase.pdfmetrics import getFont, getRegisteredFontNames, registerFont, stringWidth

MISSING = "?"
"""Stands for a character that no font has."""

KOREAN, JAPANESE, CHINESE = "HYGothic-Medium", "HeiseiKakuGo-W5", "STSong-Light"
"""Fonts that readers of PDF have or replace: a file that embedded one would be larger by megabytes."""

_HANGUL = re.compile("[\u1100-\u11ff\u3130-\u318f\uac00-\ud7af]")
_KANA = re.compile("[\u3040-\u30ff\u31f0-\u31ff]")
_EAST_ASIAN = re.compile(
    "[\u1100-\u11ff\u3000-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]"
)


class TextRun(NamedTuple):
    """A part of a text in one font."""

    font: str
    text: str

    def width(self, size: float) -> float:
        """Points that it takes."""
        return float(stringWidth(self.text, self.font, size))


@lru_cache(maxsize=4096)
def runs(text: str, font: str) -> tuple[TextRun, ...]:
    """The text, each part with a font that has its characters; what none has is the nearest letter or a sign."""
    if not (lacking := _lacking(text, font)):
        return (TextRun(font, text),)
    east = _east_asian(text)
    parts: list[TextRun] = []
    for character in text:
        if character not in lacking:
            parts.append(TextRun(font, character))
        elif _EAST_ASIAN.match(character):
            parts.append(TextRun(east, character))
        else:
            parts.append(TextRun(font, _nearest(character, font)))
    return tuple(
        TextRun(name, "".join(run.text for run in same)) for name, same in groupby(parts, lambda run: run.font)
    )


def width_of(text: str, font: str, size: float) -> float:
    """Points that a line of text takes."""
    return sum(run.width(size) for run in runs(text, font))


def missing(texts: Iterable[str], font: str) -> set[str]:
    """Characters that stand as signs: neither the font nor East Asian ones have them or a letter like them."""
    lacking = {one for text in texts for one in _lacking(text, font)}
    return {one for one in lacking if not _EAST_ASIAN.match(one) and _nearest(one, font) == MISSING}


def _lacking(text: str, font: str) -> frozenset[str]:
    glyphs = _glyphs(font)
    return frozenset(one for one in text if ord(one) not in glyphs and not one.isspace())


@lru_cache(maxsize=16)
def _glyphs(font: str) -> frozenset[int]:
    return frozenset(getFont(font).face.charToGlyph)


def _east_asian(text: str) -> str:
    """The font for the East Asian letters of a text, by what is written in one of the languages alone; registered."""
    name = KOREAN if _HANGUL.search(text) else JAPANESE if _KANA.search(text) else CHINESE
    if name not in getRegisteredFontNames():
        registerFont(UnicodeCIDFont(name))
    return name


def _nearest(character: str, font: str) -> str:
    """The character without its accents where the font has that, else a sign that one is missing."""
    plain = "".join(_that_has(unicodedata.normalize("NFKD", character), font))
    return plain or MISSING


def _that_has(text: str, font: str) -> Iterator[str]:
    return (one for one in text if ord(one) in _glyphs(font))
