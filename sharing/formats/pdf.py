"""A report as PDF: the answer on the first page, tables that run over pages, charts as vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import BytesIO

from PIL import Image as Pillow
from reportlab.graphics.shapes import Drawing, PolyLine, Rect, String
from reportlab.lib.colors import Color, HexColor
from reportlab.lib.pagesizes import A4
from reportlab.lib.units import mm
from reportlab.platypus import CondPageBreak, Flowable, Image, KeepTogether, ListFlowable, ListItem, Paragraph, Spacer

from sharing.formats.brand import BadBrand, Brand
from sharing.formats.cells import day_and_time
from sharing.formats.charts import picture
from sharing.formats.pdf_pages import WIDTH, Document
from sharing.formats.pdf_style import Style, style_of
from sharing.formats.pdf_table import facts, table
from sharing.formats.pdf_text import missing, runs, width_of
from sharing.formats.picture import LIGHT, TEXT_SIZE, Box, Label, Line, Picture, Role, Shape
from sharing.formats.source import ReportSource
from sharing.report.content import Block, Bullets, Chart, Facts, Report, Section, Table
from sharing.report.content import Paragraph as Text

CHART_PIXELS = 740.0
"""Width that charts are laid out for; they are scaled to the page, and their texts with them."""

ROOM = {"cost": 90 * mm, "sensitivity": 140 * mm, "formulas": 90 * mm}
"""What has to be left of a page for a chapter to begin on it; the second begins with a tall chart."""

START, ROWS = 60 * mm, 42 * mm
"""The same for any other, and for the title and first rows of a long table."""

LONG = 85 * mm
"""Height from which on a table may run over two pages."""

NOT_SHOWN = "Letters for which this file has no font stand as ?: the same report as a web page shows them."

LOGO_HEIGHT, LOGO_WIDTH = 11 * mm, 60 * mm


def write(source: ReportSource) -> bytes:
    """The report as a PDF file. Raises BadBrand."""
    report, style = source.report, style_of(source.brand)
    content = BytesIO()
    document = Document(content, report, source.brand, style)
    document.build([*_top(report, source.brand, style), *_chapters(report, style)])
    return content.getvalue()


def _top(report: Report, brand: Brand, style: Style) -> Iterator[Flowable]:
    if brand.logo:
        yield _logo(brand)
        yield Spacer(1, 3 * mm)
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


def _logo(brand: Brand) -> Image:
    """The logo as high as a line of it may be, its proportions kept."""
    try:
        with Pillow.open(BytesIO(brand.logo)) as opened:
            width, height = opened.size
    except (OSError, Pillow.DecompressionBombError):
        raise BadBrand("The logo of the brand is no image that can be read.") from None
    share = min(LOGO_HEIGHT / height, LOGO_WIDTH / width)
    return Image(BytesIO(brand.logo), width=width * share, height=height * share, hAlign="LEFT")


def _chapters(report: Report, style: Style) -> Iterator[Flowable]:
    for number, section in enumerate(report.sections):
        if number:
            yield CondPageBreak(ROOM.get(section.key, START) if _is_large(section) else 0)
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
    for place, block in enumerate(section.blocks):
        lead = section.key == "answer" and place == 0
        yield from _block(block, report.currency, style, () if place else (title,), lead=lead)


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
            yield from above
            yield facts(block, style, WIDTH)
            yield Spacer(1, 8)
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
        case Line():
            flat = [part for x, y in shape.points for part in (x * share, (height - y) * share)]
            dash = [length * share for length in shape.dash] or None
            width = shape.width * share
            yield PolyLine(flat, strokeColor=colour, strokeWidth=width, strokeDashArray=dash, strokeLineJoin=1)
        case Box():
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


def _colour(role: Role, style: Style) -> Color:
    """The colour of a part; the first two series have those of the brand."""
    own = {"0": style.primary, "1": style.accent}
    return own.get(role) or HexColor(LIGHT[role])
