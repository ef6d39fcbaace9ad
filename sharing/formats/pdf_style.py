"""How a PDF looks: fonts, sizes, colours; and text that its font can show."""

from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from io import BytesIO
from xml.sax.saxutils import escape

from reportlab.lib.colors import Color, HexColor
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfbase.pdfmetrics import getRegisteredFontNames, registerFont
from reportlab.pdfbase.ttfonts import TTFError, TTFont

from sharing.formats.brand import BadBrand, Brand
from sharing.formats.pdf_text import runs, width_of
from sharing.formats.picture import LIGHT

PACKAGE, REGULAR, BOLD = "font_source_sans_pro", "SourceSansPro-Regular", "SourceSansPro-Bold"
"""Fonts that are embedded (SIL Open Font License): Latin, Greek and Cyrillic letters of all languages."""


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
