"""A presentation in the product's look, or in the template of the company that shows it."""

import io
import re
import zipfile
from collections.abc import Sequence
from datetime import UTC, datetime

from PIL import UnidentifiedImageError
from pptx import Presentation
from pptx.dml.color import RGBColor
from pptx.enum.shapes import MSO_SHAPE, PP_PLACEHOLDER
from pptx.enum.text import MSO_ANCHOR, MSO_AUTO_SIZE, PP_ALIGN
from pptx.oxml.ns import qn
from pptx.presentation import Presentation as Opened
from pptx.shapes.base import BaseShape
from pptx.shapes.picture import Picture
from pptx.slide import Slide, SlideLayout
from pptx.text.text import TextFrame
from pptx.util import Emu, Inches, Pt

from sharing.formats.brand import BadBrand, Brand
from sharing.formats.slides.boxes import Box, emu, fitting
from sharing.formats.xml_text import plain, shortened

INK, PALE, MUTED = "#1b2733", "#f2f5f8", "#5a6b7b"
TITLES = (PP_PLACEHOLDER.TITLE, PP_PLACEHOLDER.CENTER_TITLE)
FOOTERS = (PP_PLACEHOLDER.DATE, PP_PLACEHOLDER.FOOTER, PP_PLACEHOLDER.SLIDE_NUMBER)
WIDTH, HEIGHT, MARGIN, GAP = Inches(13.333), Inches(7.5), Inches(0.55), Inches(0.2)
TITLE_TOP, TITLE_HEIGHT, FOOTER_HEIGHT = Inches(0.4), Inches(0.75), Inches(0.4)
LOGO_HEIGHT, LOGO_WIDTH = Inches(0.5), Inches(1.8)
TITLE_SIZES, COVER_SIZES, TEXT_SIZES = (28, 24, 20, 16, 13), (40, 32, 26, 20, 16), (16, 14, 13, 12, 11, 10)
PROPERTY = 255
"""Characters that a property of a file may have."""
OLDEST = 1980
"""The first year that a zip archive can hold."""
LEAST_AREA = 0.4
"""Share of a slide that a template has to leave for content."""

_TIME = re.compile(rb"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z")


def colour(written: str) -> RGBColor:
    """A colour of the brand."""
    return RGBColor.from_string(written.removeprefix("#").upper())


class Deck:
    """Slides with a title and an area for content; raises BadBrand where the template cannot be used."""

    def __init__(self, brand: Brand, footer: str) -> None:
        self.brand, self.footer = brand, footer
        self.own = not brand.template
        self.file: Opened = Presentation() if self.own else _template(brand)
        if self.own:
            self.file.slide_width, self.file.slide_height = WIDTH, HEIGHT
        self.cover_layout = _layout(self.file, PP_PLACEHOLDER.CENTER_TITLE)
        self.layout = _layout(self.file, PP_PLACEHOLDER.TITLE)
        self.area = self._own_area() if self.own else _area_of(self.file, self.layout)

    @property
    def width(self) -> int:
        """Width of a slide in EMU."""
        return int(self.file.slide_width or WIDTH)

    @property
    def height(self) -> int:
        """Height of a slide in EMU."""
        return int(self.file.slide_height or HEIGHT)

    def cover(self, title: str, lines: Sequence[str]) -> Slide:
        """The first slide."""
        slide = self.file.slides.add_slide(self.cover_layout)
        title_box = Box(MARGIN, Inches(2.0), self.width - 2 * MARGIN, Inches(1.9))
        below = Box(MARGIN, Inches(4.2), self.width - 2 * MARGIN, Inches(2.4))
        subtitle = next(
            (one for one in slide.placeholders if one.placeholder_format.type == PP_PLACEHOLDER.SUBTITLE), None
        )
        if not self.own:
            title_box = _box_of(slide.shapes.title) or title_box
            below = _box_of(subtitle) or below
        self._title(slide, title, title_box, COVER_SIZES)
        if subtitle is not None:
            _remove(subtitle)
        self.text(slide, below, lines, sizes=(18, 16, 14, 12, 10), colour_of=MUTED if self.own else "")
        if self.own:
            self._rule(slide, Inches(4.0))
            band = slide.shapes.add_shape(MSO_SHAPE.RECTANGLE, 0, 0, MARGIN // 2, self.height)
            band.fill.solid()
            band.fill.fore_color.rgb = colour(self.brand.primary)
            _flat(band)
        self._without_empty(slide)
        self._marks(slide, None)
        return slide

    def customer(self, slide: Slide, name: str, logo: bytes) -> None:
        """Whom it is for, in the upper left corner of the cover: their logo, or their name in its place."""
        box = Box(MARGIN, TITLE_TOP, self.width // 2, TITLE_HEIGHT)
        if logo:
            self._logo(slide, logo, box.left, TITLE_HEIGHT)
        elif name and self.own:
            self.text(slide, box, [name], sizes=(24, 20, 16, 12), bold=True, anchor=MSO_ANCHOR.MIDDLE)

    def slide(self, title: str) -> Slide:
        """A further slide, empty below its title."""
        slide = self.file.slides.add_slide(self.layout)
        own = Box(MARGIN, TITLE_TOP, self.width - 2 * MARGIN - LOGO_WIDTH, TITLE_HEIGHT)
        self._title(slide, title, own if self.own else _box_of(slide.shapes.title) or own, TITLE_SIZES)
        if self.own:
            self._rule(slide, TITLE_TOP + TITLE_HEIGHT)
        self._without_empty(slide)
        self._marks(slide, len(self.file.slides))
        return slide

    def text(
        self,
        slide: Slide,
        box: Box,
        texts: Sequence[str],
        *,
        sizes: Sequence[float] = TEXT_SIZES,
        bold: bool = False,
        colour_of: str = "",
        align: PP_ALIGN = PP_ALIGN.LEFT,
        anchor: MSO_ANCHOR = MSO_ANCHOR.TOP,
    ) -> tuple[str, ...]:
        """Paragraphs in a box, at a size at which they fit; returns those that are shown."""
        size, kept = fitting([plain(text) for text in texts], box, sizes)
        frame = slide.shapes.add_textbox(*_emus(box)).text_frame
        _bare(frame, anchor)
        for k, text in enumerate(kept):
            paragraph = frame.paragraphs[0] if k == 0 else frame.add_paragraph()
            paragraph.text, paragraph.alignment, paragraph.space_after = text, align, Pt(size * 0.4)
            paragraph.font.size, paragraph.font.bold = Pt(size), bold
            if colour_of or self.own:
                paragraph.font.color.rgb = colour(colour_of or INK)
        return kept

    def card(self, slide: Slide, box: Box) -> Box:
        """A pale field; returns the box inside its margins."""
        shape = slide.shapes.add_shape(MSO_SHAPE.RECTANGLE, *_emus(box))
        shape.fill.solid()
        shape.fill.fore_color.rgb = colour(PALE)
        _flat(shape)
        inset = emu(6)
        return Box(box.left + inset, box.top + inset, box.width - 2 * inset, box.height - 2 * inset)

    def notes(self, slide: Slide, texts: Sequence[str]) -> None:
        """Put texts into the notes of a slide, which the speaker reads and nobody else sees."""
        frame = slide.notes_slide.notes_text_frame
        if texts and frame is not None:
            frame.text = plain("\n".join(texts))

    def describe(self, title: str, author: str) -> None:
        """Title and author in the properties of the file, which file managers show."""
        properties = self.file.core_properties
        properties.title, properties.author = shortened(plain(title), PROPERTY), shortened(plain(author), PROPERTY)
        properties.last_modified_by, properties.subject, properties.keywords = properties.author, "", ""

    def content(self) -> bytes:
        """The finished file."""
        file = io.BytesIO()
        self.file.save(file)
        return file.getvalue()

    def _own_area(self) -> Box:
        top = TITLE_TOP + TITLE_HEIGHT + GAP
        return Box(MARGIN, top, self.width - 2 * MARGIN, self.height - top - FOOTER_HEIGHT - GAP)

    def _title(self, slide: Slide, title: str, box: Box, sizes: Sequence[float]) -> None:
        shape = slide.shapes.title
        size, kept = fitting([plain(title) or "Untitled"], box, sizes)
        if shape is None:
            self.text(slide, box, [title], sizes=sizes, bold=True)
            return
        shape.left, shape.top, shape.width, shape.height = _emus(box)
        frame = shape.text_frame
        frame.text = kept[0]
        frame.word_wrap, frame.auto_size = True, MSO_AUTO_SIZE.NONE
        font = frame.paragraphs[0].font
        if self.own or size < sizes[0]:
            font.size = Pt(size)
        if self.own:
            _bare(frame, MSO_ANCHOR.BOTTOM)
            frame.paragraphs[0].alignment = PP_ALIGN.LEFT
            font.bold, font.color.rgb = True, colour(self.brand.primary)

    def _rule(self, slide: Slide, top: int) -> None:
        line = slide.shapes.add_shape(MSO_SHAPE.RECTANGLE, MARGIN, Emu(top + emu(3)), Inches(1.2), Pt(3))
        line.fill.solid()
        line.fill.fore_color.rgb = colour(self.brand.accent)
        _flat(line)

    def _marks(self, slide: Slide, number: int | None) -> None:
        """Logo and footer, where a template does not bring its own."""
        if not self.own:
            return
        if self.brand.logo:
            picture = self._logo(slide, self.brand.logo, 0, LOGO_HEIGHT)
            picture.left = Emu(self.width - MARGIN - picture.width)
        foot = Box(MARGIN, self.height - FOOTER_HEIGHT, self.width - 2 * MARGIN, FOOTER_HEIGHT - emu(8))
        left, right = foot.columns([0.9, 0.1], GAP)
        self.text(slide, left, [self.footer], sizes=(9, 8, 7), colour_of=MUTED)
        if number is not None:
            self.text(slide, right, [str(number)], sizes=(9,), colour_of=MUTED, align=PP_ALIGN.RIGHT)

    def _logo(self, slide: Slide, content: bytes, left: int, height: int) -> Picture:
        """An image as high as asked, or less where it would be too wide. Raises BadBrand."""
        try:
            picture: Picture = slide.shapes.add_picture(io.BytesIO(content), left, TITLE_TOP, height=height)
        except (OSError, UnidentifiedImageError):
            raise BadBrand("The logo is no image that can be read.") from None
        if picture.width > LOGO_WIDTH:
            picture.height = Emu(int(picture.height * LOGO_WIDTH / picture.width))
            picture.width = LOGO_WIDTH
        return picture

    def _without_empty(self, slide: Slide) -> None:
        """Placeholders that nothing was put into would ask to be filled."""
        for shape in list(slide.placeholders):
            if shape.placeholder_format.type not in TITLES:
                _remove(shape)


def _template(brand: Brand) -> Opened:
    """The customer's presentation without its slides. Raises BadBrand."""
    try:
        opened: Opened = Presentation(io.BytesIO(brand.template))
        ids = opened.slides._sldIdLst
        for one in list(ids):
            opened.part.drop_rel(one.rId)
            ids.remove(one)
    except Exception as error:  # whatever a damaged package makes of the reader
        raise BadBrand("template: it is no PowerPoint file (.pptx) that can be opened.") from error
    return opened


def _layout(file: Opened, kind: PP_PLACEHOLDER) -> SlideLayout:
    """The layout with such a title and fewest other places to fill, else one with any title. Raises BadBrand."""

    def others(layout: SlideLayout) -> int:
        kinds = [one.placeholder_format.type for one in layout.placeholders]
        return sum(one not in (*TITLES, *FOOTERS, PP_PLACEHOLDER.SUBTITLE) for one in kinds)

    for wanted in ((kind,), TITLES):
        with_title = [
            layout
            for layout in file.slide_layouts
            if any(one.placeholder_format.type in wanted for one in layout.placeholders)
        ]
        if with_title:
            return min(with_title, key=others)
    raise BadBrand("template: none of its layouts has a title.")


def _area_of(file: Opened, layout: SlideLayout) -> Box:
    """What a template leaves for content: below its title, above its footers. Raises BadBrand where that is little."""
    width, height = int(file.slide_width or WIDTH), int(file.slide_height or HEIGHT)
    places = {one.placeholder_format.type: _box_of(one) for one in layout.placeholders}
    title = next((places[kind] for kind in TITLES if places.get(kind)), None)
    feet = [box.top for kind in FOOTERS if (box := places.get(kind)) and box.top > height / 2]
    top = (title.bottom if title else height // 5) + GAP // 2
    bottom = min([*feet, height - MARGIN // 2]) - GAP // 2
    left = max(title.left, MARGIN // 2) if title else MARGIN
    right = min(title.left + title.width, width - MARGIN // 2) if title else width - MARGIN
    area = Box(left, top, right - left, bottom - top)
    if area.width < width * LEAST_AREA or area.height < height * LEAST_AREA:
        raise BadBrand("template: its layout with a title leaves too little room below that.")
    return area


def _box_of(shape: BaseShape | None) -> Box | None:
    """Where a shape is; None where it does not say."""
    if shape is None or None in (shape.left, shape.top, shape.width, shape.height):
        return None
    return Box(int(shape.left), int(shape.top), int(shape.width), int(shape.height))


def _bare(frame: TextFrame, anchor: MSO_ANCHOR) -> None:
    frame.word_wrap, frame.auto_size, frame.vertical_anchor = True, MSO_AUTO_SIZE.NONE, anchor
    frame.margin_left = frame.margin_right = frame.margin_top = frame.margin_bottom = 0


def _flat(shape: BaseShape) -> None:
    """Draw a shape without the line and shadow that the theme gives to shapes."""
    shape.line.fill.background()
    style = shape._element.find(qn("p:style"))
    if style is not None:
        shape._element.remove(style)


def _remove(shape: BaseShape) -> None:
    element = shape._element
    element.getparent().remove(element)


def _emus(box: Box) -> tuple[Emu, Emu, Emu, Emu]:
    return Emu(box.left), Emu(box.top), Emu(box.width), Emu(box.height)


def dated(content: bytes, moment: datetime) -> bytes:
    """The package as if written at a moment, workbooks inside it too: the same report gives the same bytes."""
    at = moment.astimezone(UTC)
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as given, zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as out:
        for name in given.namelist():
            part = given.read(name)
            if name.endswith(".xlsx"):
                part = dated(part, moment)
            elif name == "docProps/core.xml":
                part = _TIME.sub(f"{at:%Y-%m-%dT%H:%M:%SZ}".encode(), part)
            entry = zipfile.ZipInfo(name, (max(at.year, OLDEST), at.month, at.day, at.hour, at.minute, at.second))
            entry.compress_type = zipfile.ZIP_DEFLATED
            out.writestr(entry, part)
    return written.getvalue()
