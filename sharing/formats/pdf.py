"""A report as PDF: the answer on the first page, tables that run over pages, charts as vectors."""

from collections.abc import Iterator, Sequence
from functools import partial
from io import BytesIO
from typing import Any

from PIL import Image as Pillow
from reportlab.graphics.shapes import Drawing, PolyLine, Rect, String
from reportlab.lib.colors import Color, HexColor
from reportlab.lib.enums import TA_LEFT, TA_RIGHT
from reportlab.lib.pagesizes import A4
from reportlab.lib.units import mm
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import (
    BaseDocTemplate,
    CondPageBreak,
    Flowable,
    Frame,
    Image,
    KeepTogether,
    ListFlowable,
    ListItem,
    PageBreak,
    PageTemplate,
    Paragraph,
    Spacer,
    TableStyle,
)
from reportlab.platypus import Table as Grid

from sharing.formats.brand import BadBrand, Brand
from sharing.formats.cells import day_and_time
from sharing.formats.charts import picture
from sharing.formats.pdf_style import Style, missing, runs, style_of, width_of
from sharing.formats.pdf_table import facts, is_narrow, table
from sharing.formats.picture import LIGHT, TEXT_SIZE, ColourRole, Label, Picture, Rectangle, Shape, Stroke
from sharing.formats.source import ReportSource
from sharing.report.content import Block, Bullets, Chart, Facts, Report, Section, Table
from sharing.report.content import Paragraph as Text

MARGIN, TOP, BOTTOM = 18 * mm, 19 * mm, 20 * mm
WIDTH = A4[0] - 2 * MARGIN
BAND = 2.2 * mm
SIZE = 7.8

CHART_PIXELS, HALF_PIXELS = 740.0, 360.0
"""Widths that charts are laid out for; they are scaled to the page or half of it, and their texts with them."""

GUTTER = 6 * mm
"""Between two that stand beside each other."""

START, ROWS = 45 * mm, 42 * mm
"""What has to be left of a page for a chapter to begin on it, and for the title and first rows of a long table."""

LONG = 60 * mm
"""Height from which on a table may run over two pages."""

HALF = (WIDTH - GUTTER) / 2.0
"""Width of each of them in points."""

HOURS = 24
"""Bars of a chart that need the whole width."""

UNLIKE = 3.0
"""Times the height of one from which on another does not stand beside it: the page would stay empty below it."""

SUMMARY = "answer"
"""Key of the chapter that has the first page for itself."""

NOT_SHOWN = "Letters for which this file has no font stand as ?: the same report as a web page shows them."

LOGO_HEIGHT, LOGO_WIDTH = 13 * mm, 60 * mm


class PdfDocument(BaseDocTemplate):  # type: ignore[misc]  # reportlab has no types
    """A document of a report on A4."""

    def __init__(self, content: BytesIO, report: Report, brand: Brand, style: Style) -> None:
        # invariant: the same report is the same bytes. No file is written but the one in memory.
        super().__init__(
            content,
            pagesize=A4,
            title=report.title,
            author=report.author or brand.name,
            subject="Sizing of an LLM inference deployment",
            creator=f"Inference sizing {report.engine_version}",
            lang="en",
            invariant=1,
        )
        self._report, self._brand, self._style = report, brand, style
        height = A4[1] - TOP - BOTTOM
        frame = Frame(MARGIN, BOTTOM, WIDTH, height, leftPadding=0, rightPadding=0, topPadding=0, bottomPadding=0)
        self.addPageTemplates([PageTemplate(id="page", frames=[frame], onPage=self._around)])

    def build(self, flowables: list[Flowable]) -> None:
        """Lay out all pages, then number them."""
        super().build(flowables, canvasmaker=partial(_Numbered, style=self._style))

    def afterFlowable(self, flowable: Flowable) -> None:
        """Take a chapter into the outline."""
        if outline := getattr(flowable, "outline", None):
            key, title = outline
            self.canv.bookmarkPage(key)
            self.canv.addOutlineEntry(title, key, level=0)

    def _around(self, canvas: Canvas, document: BaseDocTemplate) -> None:
        style, report = self._style, self._report
        canvas.setFillColor(style.primary)
        canvas.rect(0, A4[1] - BAND, A4[0], BAND, stroke=0, fill=1)
        canvas.setFillColor(style.quiet)
        if document.page > 1:
            above = A4[1] - 12 * mm
            _write(canvas, style, MARGIN, above, _short(style, report.title))
            name = self._brand.name
            _write(canvas, style, A4[0] - MARGIN - style.width(name, SIZE), above, name)
        versions = f"Engine {report.engine_version}, data {report.data_version}. Estimates, not guarantees."
        _write(canvas, style, MARGIN, 12 * mm, versions)
        if self._brand.footer:
            _write(canvas, style, MARGIN, 8 * mm, _short(style, self._brand.footer))


def _write(canvas: Canvas, style: Style, x: float, y: float, text: str) -> None:
    """A line of small text."""
    for run in runs(text, style.regular):
        canvas.setFont(run.font, SIZE)
        canvas.drawString(x, y, run.text)
        x += run.width(SIZE)


def _short(style: Style, text: str) -> str:
    """The text on one line of the page."""
    while style.width(text, SIZE) > WIDTH * 0.7:
        text = f"{text[:-4]}..."
    return text


class _Numbered(Canvas):  # type: ignore[misc]  # reportlab has no types
    """Pages that say how many there are, which is known at the end."""

    def __init__(self, *given: Any, style: Style, **keys: Any) -> None:
        super().__init__(*given, **keys)
        self._style = style
        self._pages: list[dict[str, Any]] = []

    def showPage(self) -> None:
        """Keep the page until all are there."""
        self._pages.append(dict(self.__dict__))
        self._startPage()

    def save(self) -> None:
        """Number the pages and write them."""
        for page in self._pages:
            self.__dict__.update(page)
            self.setFont(self._style.regular, SIZE)
            self.setFillColor(self._style.quiet)
            self.drawRightString(A4[0] - MARGIN, 12 * mm, f"{self._pageNumber} / {len(self._pages)}")
            super().showPage()
        super().save()


def write(source: ReportSource) -> bytes:
    """The report as a PDF file. Raises BadBrand."""
    report, style = source.report, style_of(source.brand)
    content = BytesIO()
    document = PdfDocument(content, report, source.brand, style)
    document.build([*_top(source, style), *_chapters(report, style)])
    return content.getvalue()


def _top(source: ReportSource, style: Style) -> Iterator[Flowable]:
    report, brand = source.report, source.brand
    yield _letterhead(source, style)
    yield Spacer(1, 5 * mm)
    company = f"{brand.name} · " if brand.name else ""
    yield Paragraph(style.shown(f"{company}Sizing of an LLM inference deployment"), style.text(9.0, quiet=True))
    yield Paragraph(
        style.shown(report.title, bold=True), style.text(24.0, bold=True, leading=29.0, spaceBefore=2, spaceAfter=4)
    )
    about = (
        ("For", report.customer),
        ("By", report.author),
        ("Made", day_and_time(report.made_at)),
        ("Engine", report.engine_version),
        ("Data", f"{report.data_version}, {report.data_date}"),
    )
    parts = [f'<font color="#57606a">{name}</font> {style.shown(text)}' for name, text in about if text]
    yield Paragraph("&nbsp;&nbsp;&nbsp; ".join(parts), style.text(8.5, spaceAfter=6))
    if missing([report.model_dump_json()], style.regular):
        yield Paragraph(style.shown(NOT_SHOWN), style.text(8.5, quiet=True, spaceAfter=6))


def _letterhead(source: ReportSource, style: Style) -> Flowable:
    """Who makes the report on the left, and on the right the place of the customer's logo: without one, their name."""
    ours, theirs = (
        _logo(image) if image else Paragraph(style.shown(name, bold=True), style.text(15.0, bold=True, alignment=side))
        for image, name, side in (
            (source.brand.logo, source.brand.name, TA_LEFT),
            (source.customer_logo, source.report.customer, TA_RIGHT),
        )
    )
    head = Grid([[ours, theirs]], colWidths=[WIDTH / 2.0] * 2, rowHeights=[LOGO_HEIGHT + 2 * mm])
    sides = [("LEFTPADDING", (0, 0), (-1, -1), 0), ("RIGHTPADDING", (0, 0), (-1, -1), 0)]
    placed = [("ALIGN", (1, 0), (1, 0), "RIGHT"), ("VALIGN", (0, 0), (-1, -1), "MIDDLE")]
    head.setStyle(TableStyle([*sides, *placed, ("LINEBELOW", (0, 0), (-1, -1), 0.5, style.line)]))
    return head


def _logo(content: bytes) -> Image:
    """A logo as high as a line of it may be, its proportions kept."""
    try:
        with Pillow.open(BytesIO(content)) as opened:
            width, height = opened.size
    except (OSError, Pillow.DecompressionBombError):
        raise BadBrand("The logo is no image that can be read.") from None
    share = min(LOGO_HEIGHT / height, LOGO_WIDTH / width)
    return Image(BytesIO(content), width=width * share, height=height * share)


def _chapters(report: Report, style: Style) -> Iterator[Flowable]:
    for number, section in enumerate(report.sections):
        if number:
            is_after_summary = report.sections[number - 1].key == SUMMARY
            yield PageBreak() if is_after_summary else CondPageBreak(START if _is_large(section) else 0)
        yield from _chapter(section, report, style)


def _is_large(section: Section) -> bool:
    """Whether a chapter is more than texts."""
    return any(isinstance(block, Chart | Table | Facts) for block in section.blocks)


def _chapter(section: Section, report: Report, style: Style) -> Iterator[Flowable]:
    title = Paragraph(
        style.shown(section.title, bold=True),
        style.text(16.0, bold=True, textColor=style.primary, spaceBefore=12, spaceAfter=7, keepWithNext=1),
    )
    title.outline = (section.key, section.title)
    if not section.blocks:
        yield title
    rows = list(_beside(section.blocks, report.currency, style))
    for place, row in enumerate(rows):
        above = () if place else (title,)
        if len(row) == 1:
            yield from _block(row[0], report.currency, style, above, lead=section.key == SUMMARY and place == 0)
        else:
            halves = [list(_half(one, report.currency, style)) for one in row]
            yield KeepTogether([*above, _pair(halves), Spacer(1, 8)])


def _beside(blocks: Sequence[Block], currency: str, style: Style) -> Iterator[tuple[Block, ...]]:
    """The blocks, two that fit beside each other together."""
    rest = list(blocks)
    while rest:
        if len(rest) > 1 and all(_is_half(one, currency, style) for one in rest[:2]):
            heights = [sum(part.wrap(HALF, A4[1])[1] for part in _half(one, currency, style)) for one in rest[:2]]
            if max(heights) <= UNLIKE * min(heights):
                yield rest.pop(0), rest.pop(0)
                continue
        yield (rest.pop(0),)


def _is_half(block: Block, currency: str, style: Style) -> bool:
    """Whether half of the width is enough for it."""
    match block:
        case Chart():
            return block.draws != "tornado" and len(block.x) != HOURS
        case Table():
            return is_narrow(block, currency, style, HALF)
        case _:
            return False


def _half(block: Block, currency: str, style: Style) -> Iterator[Flowable]:
    """A chart or table that has half of the width."""
    if isinstance(block, Chart):
        drawn: Flowable = drawing(picture(block, HALF_PIXELS), HALF, style)
    else:
        assert isinstance(block, Table)
        drawn = table(block, currency, style, HALF)
    yield from (*_named(block.title, style), drawn, *_note(block.note, style))


def _pair(halves: Sequence[Sequence[Flowable]]) -> Flowable:
    """Two blocks beside each other."""
    left, right = halves
    grid = Grid([[list(left), "", list(right)]], colWidths=[HALF, GUTTER, HALF])
    grid.setStyle(
        TableStyle(
            [
                ("VALIGN", (0, 0), (-1, -1), "TOP"),
                *((f"{side}PADDING", (0, 0), (-1, -1), 0) for side in ("LEFT", "RIGHT", "TOP", "BOTTOM")),
            ]
        )
    )
    return grid


def _block(block: Block, currency: str, style: Style, above: Sequence[Flowable], *, lead: bool) -> Iterator[Flowable]:
    """A block; ``above``: what stands on the page on which it begins, which reportlab does not see to by itself before
    what is kept together."""
    match block:
        case Text():
            yield from above
            yield Paragraph(style.shown(block.text), style.text(10.6 if lead else 9.4, spaceAfter=6))
        case Bullets():
            yield from above
            body = style.text(9.4)
            items = [ListItem(Paragraph(style.shown(item), body), leftIndent=12) for item in block.items]
            yield ListFlowable(
                items, bulletType="bullet", start="•", leftIndent=12, bulletFontName=style.regular, bulletFontSize=8
            )
            yield Spacer(1, 6)
        case Facts():
            yield KeepTogether([*above, facts(block, style, WIDTH), Spacer(1, 8)])
        case Chart():
            yield KeepTogether([*above, *_named(block.title, style), _drawn(block, style), *_note(block.note, style)])
        case Table():
            drawn, note = table(block, currency, style, WIDTH), _note(block.note, style)
            if drawn.wrap(WIDTH, A4[1])[1] <= LONG:
                yield KeepTogether([*above, *_named(block.title, style), drawn, *note])
            else:
                yield CondPageBreak(ROWS)
                yield from (*above, *_named(block.title, style, alone=True), drawn, *note)


def _drawn(chart: Chart, style: Style) -> Flowable:
    return drawing(picture(chart, CHART_PIXELS), WIDTH, style)


def _named(title: str, style: Style, *, alone: bool = False) -> Iterator[Flowable]:
    """A title, kept with what follows unless that may be divided."""
    named = style.text(9.6, bold=True, spaceBefore=9, spaceAfter=4, keepWithNext=0 if alone else 1)
    yield Paragraph(style.shown(title, bold=True), named)


def _note(text: str, style: Style) -> Iterator[Flowable]:
    if text:
        yield Paragraph(style.shown(text), style.text(7.8, quiet=True, spaceBefore=3, spaceAfter=4))
    else:
        yield Spacer(1, 6)


def drawing(picture: Picture, width: float, style: Style) -> Drawing:
    """The picture at a width in points."""
    share = width / picture.width
    drawn = Drawing(width, picture.height * share)
    for shape in picture.shapes:
        for part in _shapes(shape, share, picture.height, style):
            drawn.add(part)
    return drawn


def _shapes(shape: Shape, share: float, height: float, style: Style) -> Iterator[PolyLine | Rect | String]:
    colour = _colour(shape.role, style)
    match shape:
        case Stroke():
            flat = [part for x, y in shape.points for part in (x * share, (height - y) * share)]
            dash = [length * share for length in shape.dash] or None
            width = shape.width * share
            yield PolyLine(flat, strokeColor=colour, strokeWidth=width, strokeDashArray=dash, strokeLineJoin=1)
        case Rectangle():
            y = (height - shape.y - shape.height) * share
            sizes = (shape.x * share, y, shape.width * share, shape.height * share)
            yield Rect(*sizes, fillColor=colour, strokeColor=None, strokeWidth=0)
        case Label():
            yield from _texts(shape, share, (height - shape.y) * share, colour, style)


def _texts(label: Label, share: float, y: float, colour: Color, style: Style) -> Iterator[String]:
    """The parts of a label in their fonts, one after the other from where its anchor lets it begin."""
    size, font = TEXT_SIZE * share, style.font(bold=label.bold)
    before = {"start": 0.0, "middle": 0.5, "end": 1.0}[label.anchor]
    x = label.x * share - before * width_of(label.text, font, size)
    for run in runs(label.text, font):
        yield String(x, y, run.text, fontName=run.font, fontSize=size, fillColor=colour)
        x += run.width(size)


def _colour(role: ColourRole, style: Style) -> Color:
    """The colour of a part; the first two series have those of the brand."""
    own = {"0": style.primary, "1": style.accent}
    return own.get(role) or HexColor(LIGHT[role])
