"""The report as a presentation for PowerPoint and LibreOffice: native charts and tables that can be edited."""

import math
from collections.abc import Sequence

from pptx.enum.text import MSO_ANCHOR
from pptx.slide import Slide

from sharing.formats.cells import day_and_time
from sharing.formats.slides.boxes import Box, emu, fitting, height_of
from sharing.formats.slides.charts import add_chart
from sharing.formats.slides.deck import GAP, MUTED, TEXT_SIZES, Deck, dated
from sharing.formats.slides.pages import Page, Visual, is_small, pages_of
from sharing.formats.slides.tables import add_table
from sharing.formats.source import ReportSource
from sharing.formats.xml_text import begun
from sharing.report.content import Chart, Fact, Released, Report

STRIP_SHARE = 0.27
"""The largest share of the area that texts above charts take."""
LABEL_SHARE, VALUE_SHARE = 0.22, 0.39
"""Of the height of a card: in the lowest of cards the rest takes two lines of the smallest letters."""
CARDS, CARDS_IN_A_ROW, CARD_HEIGHT = 15, 5, 70
"""Figures of a slide at most, and beside each other; points that a card is high."""
BROAD_TABLE, WIDE_TABLE, NARROW_TABLE = 6, 4, 3
"""Columns from which on a table gets twice or more of the room of what stands beside it, and below which it gets less.
Details, which a slide leaves out, are not counted."""
CHARACTERS = 330
"""The most characters of a text beside charts and tables; all of it stands in the notes."""


def write(source: ReportSource) -> bytes:
    """The file. Raises BadBrand for a template that cannot be used."""
    return to_pptx(source)


def to_pptx(source: ReportSource) -> bytes:
    """Cover, then the slides of :func:`sharing.formats.slides.pages.pages_of`."""
    report, brand = source.report, source.brand
    deck = Deck(brand, " \N{MIDDLE DOT} ".join(text for text in (brand.name, brand.footer) if text) or report.title)
    deck.describe(report.title, report.author)
    cover = deck.cover(report.title, _about(report))
    deck.customer(cover, report.customer, source.customer_logo)
    deck.notes(cover, [report.answer])
    for page in pages_of(report):
        slide = deck.slide(page.title)
        shown = _draw(deck, slide, page, report.currency)
        left_out = [text for text in page.texts if text not in shown and text not in page.notes]
        deck.notes(slide, [*left_out, *page.notes])
    return dated(deck.content(), report.made_at)


def _about(report: Report) -> list[str]:
    lines = [report.customer and f"For {report.customer}", report.author and f"By {report.author}"]
    lines += [day_and_time(report.made_at), f"Engine {report.engine_version}, data {report.data_version}"]
    if report.released is not Released.NOTHING:
        lines.append(f"Amounts in {report.currency}, {report.released.value}")
    return [line for line in lines if line]


def _draw(deck: Deck, slide: Slide, page: Page, currency: str) -> tuple[str, ...]:
    """Everything on a slide; returns the texts that are shown in full."""
    area, shown = deck.area, tuple[str, ...]()
    if page.texts and not (page.visuals or page.facts):
        return deck.text(slide, area, page.texts)
    if page.facts:
        return _summary(deck, slide, page, currency)
    if is_small(page.visuals, page.texts):
        left, right = area.columns([0.5, 0.5], 2 * GAP)
        shown = deck.text(slide, left, [begun(text, CHARACTERS) for text in page.texts], sizes=(18, 16, 14, 13, 12))
        _visuals(deck, slide, right, page.visuals, currency)
        return shown
    if page.lead:
        shown, area = _strip(deck, slide, area, [begun(text, CHARACTERS) for text in page.lead])
    _visuals(deck, slide, area, page.visuals, currency)
    return shown


def _strip(
    deck: Deck, slide: Slide, area: Box, lead: Sequence[str], sizes: Sequence[int] = TEXT_SIZES
) -> tuple[tuple[str, ...], Box]:
    """Sentences over the whole width; the area that they leave."""
    most = area.upper(int(area.height * STRIP_SHARE))
    size, kept = fitting(lead, most, sizes)
    strip = most.upper(height_of(kept, size, most.width) + emu(4))
    return deck.text(slide, strip, kept, sizes=(size,)), area.below(strip.height, GAP)


def _summary(deck: Deck, slide: Slide, page: Page, currency: str) -> tuple[str, ...]:
    """Lead, figures over the whole width, and below them points beside a table."""
    area, texts, shown = deck.area, [text for text in page.texts if text not in page.lead], tuple[str, ...]()
    if page.lead:
        shown, area = _strip(deck, slide, area, page.lead, TEXT_SIZES[1:])
    facts = page.facts[:CARDS]
    rows = math.ceil(len(facts) / CARDS_IN_A_ROW)
    cards = area.upper(min(rows * emu(CARD_HEIGHT), area.height))
    _facts(deck, slide, cards, facts, columns=CARDS_IN_A_ROW)
    area = area.below(cards.height, GAP)
    boxes = area.columns([1.0] * sum(map(bool, (texts, page.visuals))), 2 * GAP) if texts or page.visuals else []
    if texts:
        shown = (*shown, *deck.text(slide, boxes[0], [begun(text, CHARACTERS) for text in texts], sizes=TEXT_SIZES))
    if page.visuals:
        _visuals(deck, slide, boxes[-1], page.visuals, currency)
    return shown


def _visuals(deck: Deck, slide: Slide, area: Box, visuals: tuple[Visual, ...], currency: str) -> None:
    """One over all of the area, or two beside each other."""
    if not visuals:
        return
    boxes = area.columns([_share(visual, len(visuals)) for visual in visuals], 2 * GAP)
    for visual, box in zip(visuals, boxes, strict=True):
        if isinstance(visual, Chart):
            add_chart(deck, slide, box, visual)
        else:
            add_table(deck, slide, box, visual, currency)


def _share(visual: Visual, beside: int) -> float:
    if beside == 1 or isinstance(visual, Chart):
        return 1.0
    columns = sum(not column.detail for column in visual.columns)
    if columns >= BROAD_TABLE:
        return 2.2
    return 1.5 if columns >= WIDE_TABLE else 0.8 if columns < NARROW_TABLE else 1.2


def _facts(deck: Deck, slide: Slide, area: Box, facts: tuple[Fact, ...], columns: int) -> None:
    """A card for each figure: its name, the figure, and what is said of it."""
    rows = math.ceil(len(facts) / columns)
    height = min(area.height, rows * emu(92))
    for fact, cell in zip(facts, area.upper(height).grid(rows, columns, GAP // 2), strict=False):
        inner = deck.card(slide, cell)
        label, value = inner.upper(int(inner.height * LABEL_SHARE)), int(inner.height * VALUE_SHARE)
        deck.text(slide, label, [fact.label], sizes=(11, 10, 9, 8), colour_of=MUTED)
        middle = Box(inner.left, label.bottom, inner.width, value)
        deck.text(
            slide,
            middle,
            [fact.value],
            sizes=(22, 20, 18, 16, 14, 12, 10),
            bold=True,
            colour_of=deck.brand.primary,
            anchor=MSO_ANCHOR.MIDDLE,
        )
        if fact.note:
            foot = Box(inner.left, middle.bottom, inner.width, inner.bottom - middle.bottom)
            deck.text(slide, foot, [fact.note], sizes=(10, 9, 8), colour_of=MUTED)
