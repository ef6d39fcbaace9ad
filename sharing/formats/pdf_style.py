"""How a PDF looks: fonts, sizes, colours; and text that its font can show."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from xml.sax.saxutils import escape

from reportlab.lib.colors import Color, HexColor
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfbase.pdfmetrics import getRegisteredFontNames, registerFont, stringWidth
from reportlab.pdfbase.ttfonts import TTFError, TTFont

from sharing.formats.brand import BadBrand, Brand
from sharing.formats.picture import LIGHT

REGULAR, BOLD = "Helvetica", "Helvetica-Bold"
"""Fonts that every reader of PDF has; they show what Western Europe writes."""

ENCODING = "cp1252"
MISSING = "?"


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
        """A style of paragraphs."""
        settings: dict[str, object] = {
            "fontName": self.bold if bold else self.regular,
            "fontSize": size,
            "leading": size * 1.38,
            "textColor": self.quiet if quiet else self.ink,
            **keys,
        }
        return ParagraphStyle("text", **settings)

    def shown(self, text: str) -> str:
        """``text`` for a paragraph: nothing in it is markup, and no character is one that the font lacks."""
        return escape(self.plain(text))

    def plain(self, text: str) -> str:
        """``text`` with the characters that the font has."""
        if self.regular != REGULAR:
            return text
        return "".join(one if _has(one) else _nearest(one) for one in text)

    def width(self, text: str, size: float, *, bold: bool = False) -> float:
        """Points that a line of text takes."""
        return float(stringWidth(self.plain(text), self.bold if bold else self.regular, size))


def style_of(brand: Brand) -> Style:
    """The look of a brand. Raises BadBrand where its font cannot be used."""
    regular = _font(brand.font) if brand.font else REGULAR
    bold = _font(brand.font_bold) if brand.font_bold else regular if brand.font else BOLD
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


def _font(content: bytes) -> str:
    name = f"brand-{sha256(content).hexdigest()[:16]}"
    if name not in getRegisteredFontNames():
        try:
            registerFont(TTFont(name, BytesIO(content)))
        except TTFError:
            raise BadBrand("The font of the brand is no TrueType font that can be embedded.") from None
    return name


def _has(character: str) -> bool:
    try:
        character.encode(ENCODING)
    except UnicodeEncodeError:
        return False
    return True


def _nearest(character: str) -> str:
    """The character without its accents where the font has that, else a sign that one is missing."""
    plain = "".join(one for one in unicodedata.normalize("NFKD", character) if _has(one))
    return plain or MISSING
