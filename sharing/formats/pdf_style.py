"""How a PDF looks: fonts, sizes, colours; and text that its font can show."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files
from io import BytesIO
from itertools import groupby
from typing import NamedTuple
from xml.sax.saxutils import escape

from reportlab.lib.colors import Color, HexColor
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfbase.pdfmetrics import getFont, getRegisteredFontNames, registerFont, stringWidth
from reportlab.pdfbase.ttfonts import TTFError, TTFont

from sharing.formats.brand import BadBrand, Brand
from sharing.formats.picture import LIGHT

PACKAGE, REGULAR, BOLD = "font_source_sans_pro", "SourceSansPro-Regular", "SourceSansPro-Bold"
"""Fonts that are embedded (SIL Open Font License): Latin, Greek and Cyrillic letters of all languages."""

MISSING = "?"
"""Stands for a character that no font has."""

KOREAN, JAPANESE, CHINESE = "HYGothic-Medium", "HeiseiKakuGo-W5", "STSong-Light"
"""Fonts that readers of PDF have or replace: a file that embedded one would be larger by megabytes."""

_HANGUL = re.compile("[\u1100-\u11ff\u3130-\u318f\uac00-\ud7af]")
_KANA = re.compile("[\u3040-\u30ff\u31f0-\u31ff]")
_EAST_ASIAN = re.compile(
    "[\u1100-\u11ff\u3000-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]"
)


@dataclass(frozen=True, kw_only=True)
class Style:
    """Fonts and colours of one document."""

    regular: str
    bold: str
    primary: Color
    accent: Color
    ink: Color
    quiet: Color
    line: Color
    raised: Color

    def text(self, size: float, *, bold: bool = False, quiet: bool = False, **keys: object) -> ParagraphStyle:
        """A style of paragraphs in this brand, ``size`` in points."""
        settings: dict[str, object] = {
            "fontName": self.bold if bold else self.regular,
            "fontSize": size,
            "leading": size * 1.38,
            "textColor": self.quiet if quiet else self.ink,
            **keys,
        }
        return ParagraphStyle("text", **settings)

    def shown(self, text: str, *, bold: bool = False) -> str:
        """``text`` for a paragraph: nothing in it is markup, and no character is one that its font lacks."""
        own = self.font(bold=bold)
        return "".join(
            escape(run.text) if run.font == own else f'<font name="{run.font}">{escape(run.text)}</font>'
            for run in runs(text, own)
        )

    def font(self, *, bold: bool = False) -> str:
        """The name of a font of the document."""
        return self.bold if bold else self.regular

    def width(self, text: str, size: float, *, bold: bool = False) -> float:
        """Points that a line of text takes."""
        return width_of(text, self.font(bold=bold), size)


def style_of(brand: Brand) -> Style:
    """The look of a brand. Raises BadBrand where its font cannot be used."""
    regular = _font(brand.font) if brand.font else _own(REGULAR)
    bold = _font(brand.font_bold) if brand.font_bold else regular if brand.font else _own(BOLD)
    return Style(
        regular=regular,
        bold=bold,
        primary=HexColor(brand.primary),
        accent=HexColor(brand.accent),
        ink=HexColor(LIGHT["ink"]),
        quiet=HexColor(LIGHT["quiet"]),
        line=HexColor(LIGHT["grid"]),
        raised=HexColor("#f5f7f9"),
    )


def _own(name: str) -> str:
    """A font of the product, registered."""
    if name not in getRegisteredFontNames():
        registerFont(TTFont(name, BytesIO((files(PACKAGE) / "files" / f"{name}.ttf").read_bytes())))
    return name


def _font(content: bytes) -> str:
    name = f"brand-{sha256(content).hexdigest()[:16]}"
    if name not in getRegisteredFontNames():
        try:
            registerFont(TTFont(name, BytesIO(content)))
        except TTFError:
            raise BadBrand("The font of the brand is no TrueType font that can be embedded.") from None
    return name


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
