"""A table of the report as a native table: the columns and rows that can be read on a slide."""

from collections.abc import Sequence
from dataclasses import dataclass

from pptx.enum.text import MSO_ANCHOR, PP_ALIGN
from pptx.slide import Slide
from pptx.table import _Cell as TableCell
from pptx.util import Emu, Pt

from sharing.formats.cells import cell_text, heading
from sharing.formats.slides.boxes import BOLD, LETTER, Box, emu, lines_of, word_width
from sharing.formats.slides.deck import INK, MUTED, PALE, Deck, colour
from sharing.formats.slides.pages import SOURCE_COLUMNS
from sharing.formats.xml_text import plain, shortened
from sharing.report.content import Table

SIZES = (14.0, 13.0, 12.0, 11.0, 10.0, 9.0)
MARGIN, PADDING = emu(4), emu(5)
CHARACTERS = 170
"""The most characters of a cell on a slide; all of it stands in the notes."""
WIDEST, LONGEST_WORD = 40, 14
"""Characters of a text and of a word that count for the width of a column."""
TEXT_POINTS, NUMBER_POINTS = 70.0, 50.0
"""Width from which on a column can be read. Chosen: a dozen letters of nine points, and nine digits."""
CAPTION = emu(16)
STAND_IN = 1.1
"""Width of the letters of DejaVu Sans, which stands in where the font of a deck is not installed, over our mean."""


@dataclass(frozen=True)
class Drawn:
    """Texts of the head and of the rows that are drawn, at a size; ``rows_left_out``: how many are not."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[bool, ...]
    widths: tuple[int, ...]
    heights: tuple[int, ...]
    size: float
    rows_left_out: int

    @property
    def remark(self) -> str:
        """That there are more rows; empty where all of them are on the slide."""
        return f"{self.rows_left_out} more in the report." if self.rows_left_out else ""


def add_table(deck: Deck, slide: Slide, box: Box, table: Table, currency: str) -> Drawn:
    """The table with its title above and its note below."""
    deck.text(slide, box.upper(CAPTION), [table.title], sizes=(12, 11, 10, 9, 8), bold=True)
    inner = box.below(CAPTION, MARGIN)
    drawn = fitted(table, inner, currency)
    if table.note or drawn.rows_left_out:
        inner = inner.upper(inner.height - CAPTION - MARGIN)
        drawn = fitted(table, inner, currency)
    rows, columns = len(drawn.rows) + 1, len(drawn.head)
    height = Emu(sum(drawn.heights))
    frame = slide.shapes.add_table(rows, columns, Emu(inner.left), Emu(inner.top), Emu(inner.width), height)
    native = frame.table
    native.horz_banding = False
    for k, width in enumerate(drawn.widths):
        native.columns[k].width = Emu(width)
    for n, texts in enumerate((drawn.head, *drawn.rows)):
        native.rows[n].height = Emu(drawn.heights[n])
        for k, text in enumerate(texts):
            _fill(deck, native.cell(n, k), text, drawn.size, head=n == 0, right=drawn.right[k])
    remarks = " ".join(text for text in (drawn.remark, table.note) if text)
    if remarks:
        below = min(inner.top + int(height) + MARGIN, box.bottom - CAPTION)
        note = Box(box.left, below, box.width, min(2 * CAPTION, box.bottom - below))
        deck.text(slide, note, [remarks], sizes=(10, 9, 8), colour_of=MUTED)
    return drawn


def fitted(table: Table, box: Box, currency: str) -> Drawn:
    """What fits into the box: as large as all of it fits, else as many rows as fit at a size that can be read."""
    for most in range(len(table.columns), 1, -1):
        kept = _columns(table, most)
        columns = [table.columns[k] for k in kept]
        head = tuple(plain(heading(column, currency)) for column in columns)
        needed = sum(TEXT_POINTS if column.holds == "text" else NUMBER_POINTS for column in columns)
        if emu(needed) <= box.width and _heads_fit(head, SIZES[-1], box.width):
            break
    rows = [
        tuple(shortened(plain(cell_text(table.columns[k], cells[k])), CHARACTERS) for k in kept) for cells in table.rows
    ]
    for size in SIZES:
        widths = _widths(head, rows, box.width, size)
        wide = size * STAND_IN
        heights = [_height(head, widths, size, wide * BOLD), *(_height(row, widths, size, wide) for row in rows)]
        if (sum(heights) <= box.height and _heads_fit(head, size, box.width)) or size == SIZES[-1]:
            break
    shown = len(rows)
    while shown > 1 and sum(heights[: shown + 1]) > box.height:
        shown -= 1
    return Drawn(
        head=head,
        rows=tuple(rows[:shown]),
        right=tuple(column.holds != "text" for column in columns),
        widths=widths,
        heights=tuple(heights[: shown + 1]),
        size=size,
        rows_left_out=len(rows) - shown,
    )


def _columns(table: Table, most: int) -> list[int]:
    """Places of the columns to show: the first, then those that are no detail, money and texts before other numbers.
    Those that hold nothing are left out; sources stand in the notes, unless the table holds nothing else."""
    rank = {"money": 0, "text": 1, "number": 2}
    filled = [k for k in range(1, len(table.columns)) if any(row[k] is not None for row in table.rows)]
    presented = [k for k in filled if table.columns[k].label not in SOURCE_COLUMNS and not table.columns[k].detail]
    ranked = sorted(presented or filled, key=lambda k: rank[table.columns[k].holds])
    return sorted([0, *ranked[: most - 1]])


def _heads(head: Sequence[str], size: float) -> list[int]:
    """Width of each column in which the longest word of its head stands on one line."""
    return [emu(word_width(text, size) + 1.0) + 2 * PADDING for text in head]


def _heads_fit(head: Sequence[str], size: float, width: int) -> bool:
    return sum(_heads(head, size)) <= width


def _widths(head: Sequence[str], rows: Sequence[Sequence[str]], width: int, size: float) -> tuple[int, ...]:
    """What the longest word of each column needs, that of its head first, and of what is left a share by its longest
    text."""
    texts = [[head[k], *(row[k] for row in rows)] for k in range(len(head))]
    words = [min(max(len(word) for text in each for word in text.split() or [""]), LONGEST_WORD) for each in texts]
    needed = _grown([0] * len(head), _heads(head, size), width)
    needed = _grown(needed, [emu(word * size * STAND_IN * LETTER) + 2 * PADDING for word in words], width)
    shares = [max(min(max(map(len, each)), WIDEST) - word, 1) for each, word in zip(texts, words, strict=True)]
    rest = width - sum(needed)
    widths = [least + int(rest * share / sum(shares)) for least, share in zip(needed, shares, strict=True)]
    return (*widths[:-1], width - sum(widths[:-1]))


def _grown(widths: Sequence[int], wanted: Sequence[int], width: int) -> list[int]:
    """Widths that grow to what is wanted, all by the same share of it where there is no room for all."""
    more = [max(want - now, 0) for now, want in zip(widths, wanted, strict=True)]
    share = min(1.0, (width - sum(widths)) / sum(more)) if any(more) else 0.0
    return [now + int(each * share) for now, each in zip(widths, more, strict=True)]


def _height(texts: Sequence[str], widths: Sequence[int], size: float, wide: float) -> int:
    """Height of a row in letters of a size that are as wide as those of the size ``wide``: bold ones are wider."""
    lines = max(lines_of(text, wide, max(width - 2 * PADDING, 1)) for text, width in zip(texts, widths, strict=True))
    return emu(lines * size * 1.25) + 2 * MARGIN


def _fill(deck: Deck, cell: TableCell, text: str, size: float, *, head: bool, right: bool) -> None:
    cell.margin_left = cell.margin_right = Emu(PADDING)
    cell.margin_top = cell.margin_bottom = Emu(MARGIN)
    cell.vertical_anchor = MSO_ANCHOR.MIDDLE
    cell.text = text
    cell.fill.solid()
    cell.fill.fore_color.rgb = colour(deck.brand.primary if head else PALE if deck.own else "#ffffff")
    for paragraph in cell.text_frame.paragraphs:
        paragraph.alignment = PP_ALIGN.RIGHT if right else PP_ALIGN.LEFT
        paragraph.font.size, paragraph.font.bold = Pt(size), head
        paragraph.font.color.rgb = colour("#ffffff" if head else INK)
