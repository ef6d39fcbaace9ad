"""Tables of a PDF: columns as wide as their content needs, heads again on every page."""

import math
import re
from collections.abc import Sequence

from reportlab.lib.enums import TA_RIGHT
from reportlab.platypus import LongTable, Paragraph, TableStyle
from reportlab.platypus import Table as Grid

from sharing.formats.cells import cell_text, heading
from sharing.formats.pdf_style import Style
from sharing.report.content import Facts, Table

SIZE, SMALL = 8.4, 7.2
"""Points of the text of a table, and of one with many columns."""

MANY = 5
"""Columns from which on the text is small."""

GAP = 7.0
"""Points between columns."""

WIDEST, LONGEST_WORD = 250.0, 84.0
"""Points that a column is given at most before others have theirs, and that a word is kept whole for."""

TALL = 600.0
"""Points from which on a row may run over two pages."""

SIGNS = re.compile(r"[^/_=&.,-]*[/_=&.,-]?")
"""A part of a word up to the next sign that may end a line."""

FACTS_IN_A_ROW = 5

STEP, STEEP = 6.0, 6
"""Points by which a column is widened at a time, and how close to a maximum the lines of a row are counted."""

WORDS = 1.08
"""What lines lose at their ends, where the next word does not fit."""

FEW_COLUMNS, FEW_ROWS = 4, 12
"""Most of a table that stands beside another."""


def table(block: Table, currency: str, style: Style, width: float) -> LongTable:
    """The table, at most as wide as the page."""
    size = SMALL if len(block.columns) > MANY else SIZE
    heads = [heading(column, currency) for column in block.columns]
    cells = [[cell_text(*pair) for pair in zip(block.columns, row, strict=True)] for row in block.rows]
    right = [column.holds != "text" for column in block.columns]
    widths = _widths([heads, *cells], right, size, style, width)
    plain = {True: style.text(size, alignment=TA_RIGHT), False: style.text(size)}
    bold = {
        True: style.text(size, bold=True, quiet=True, alignment=TA_RIGHT),
        False: style.text(size, bold=True, quiet=True),
    }
    rows = [[Paragraph(style.shown(text, bold=True), bold[side]) for text, side in zip(heads, right, strict=True)]]
    for row in cells:
        fitted = [_divided(text, each - GAP, size, style) for text, each in zip(row, widths, strict=True)]
        rows.append([Paragraph(style.shown(text), plain[side]) for text, side in zip(fitted, right, strict=True)])
    tall = any(_height(row, widths) > TALL for row in rows)
    drawn = LongTable(rows, colWidths=widths, repeatRows=1, hAlign="LEFT", splitInRow=int(tall))
    drawn.setStyle(
        TableStyle(
            [
                ("VALIGN", (0, 0), (-1, -1), "TOP"),
                ("VALIGN", (0, 0), (-1, 0), "BOTTOM"),
                ("LEFTPADDING", (0, 0), (-1, -1), 0),
                ("RIGHTPADDING", (0, 0), (-1, -1), GAP),
                ("RIGHTPADDING", (-1, 0), (-1, -1), 0),
                ("TOPPADDING", (0, 0), (-1, -1), 2.6),
                ("BOTTOMPADDING", (0, 0), (-1, -1), 3.2),
                ("LINEBELOW", (0, 0), (-1, 0), 1.0, style.line),
                ("LINEBELOW", (0, 1), (-1, -1), 0.5, style.line),
            ]
        )
    )
    return drawn


def _divided(text: str, width: float, size: float, style: Style) -> str:
    """The text with a space where a word that is wider than its column may end a line: behind a sign, as in an address.

    As much stands on each line as fits, so that no space is seen.
    """
    return " ".join(" ".join(_pieces(word, width, size, style)) for word in text.split(" "))


def _pieces(word: str, width: float, size: float, style: Style) -> list[str]:
    pieces = [""]
    for part in SIGNS.findall(word) if style.width(word, size) > width else [word]:
        if pieces[-1] and style.width(pieces[-1] + part, size) > width:
            pieces.append("")
        pieces[-1] += part
    return pieces


def _height(row: Sequence[Paragraph], widths: Sequence[float]) -> float:
    """Points that a row is high."""
    return float(max(cell.wrap(width - GAP, TALL)[1] for cell, width in zip(row, widths, strict=True)))


def _widths(
    rows: Sequence[Sequence[str]], right: Sequence[bool], size: float, style: Style, width: float
) -> list[float]:
    """What each column needs; where that is too much, what its longest word needs, and of the rest what makes the table
    lowest: each step widens the column whose texts take most lines then."""
    wanted, least = _wanted(rows, right, size, style)
    if (rest := width - sum(wanted)) >= 0:
        cut = [place for place, each in enumerate(wanted) if each >= WIDEST]
        return [each + (rest / len(cut) if place in cut else 0.0) for place, each in enumerate(wanted)]
    if sum(least) >= width:
        return [each * width / sum(least) for each in least]
    lengths = [[style.width(text, size) for text in row] for row in rows]
    widths = list(least)
    while sum(widths) + STEP <= width:
        gains = [_lines(lengths, widths) - _lines(lengths, _widened(widths, place)) for place in range(len(widths))]
        widths = _widened(widths, max(range(len(widths)), key=lambda place: (gains[place], -widths[place])))
    return [each + (width - sum(widths)) / len(widths) for each in widths]


def _wanted(
    rows: Sequence[Sequence[str]], right: Sequence[bool], size: float, style: Style
) -> tuple[list[float], list[float]]:
    """What each column needs for its texts on one line, up to a limit, and for its longest word."""
    wanted, least = [], []
    for place in range(len(right)):
        texts = [row[place] for row in rows]
        words = [word for text in texts for word in text.split()] or [""]
        gap = GAP + 1.0
        wanted.append(min(max(style.width(text, size, bold=True) for text in texts), WIDEST) + gap)
        least.append(min(max(style.width(word, size, bold=True) for word in words), LONGEST_WORD) + gap)
        if right[place]:
            wanted[-1] = min(wanted[-1], least[-1] + 45.0)
    return wanted, least


def _widened(widths: Sequence[float], place: int) -> list[float]:
    return [each + (STEP if k == place else 0.0) for k, each in enumerate(widths)]


def _lines(lengths: Sequence[Sequence[float]], widths: Sequence[float]) -> float:
    """Lines that all rows take, about: a smooth maximum over the cells of each, so that every step counts."""
    rows = ([_cell_lines(length / (each - GAP)) for length, each in zip(row, widths, strict=True)] for row in lengths)
    return float(sum(sum(lines**STEEP for lines in row) ** (1.0 / STEEP) for row in rows))


def _cell_lines(times: float) -> float:
    """Lines of a text that is so many times as long as its column is wide: whole ones, and a part for every step."""
    return max(math.ceil(times * WORDS), 1) + max(times, 1.0)


def is_narrow(block: Table, currency: str, style: Style, width: float) -> bool:
    """Whether the table has few columns and rows, whose texts stand on one line within the width."""
    if len(block.columns) > FEW_COLUMNS or len(block.rows) > FEW_ROWS:
        return False
    heads = [heading(column, currency) for column in block.columns]
    cells = [[cell_text(*pair) for pair in zip(block.columns, row, strict=True)] for row in block.rows]
    right = [column.holds != "text" for column in block.columns]
    return sum(_wanted([heads, *cells], right, SIZE, style)[0]) <= width


def facts(block: Facts, style: Style, width: float) -> Grid:
    """Figures as cards beside each other."""
    label, value, note = style.text(7.4, quiet=True), style.text(13.0, bold=True), style.text(7.0, quiet=True)
    cards = [
        [
            Paragraph(style.shown(fact.label), label),
            Paragraph(style.shown(fact.value, bold=True), value),
            Paragraph(style.shown(fact.note), note),
        ]
        for fact in block.facts
    ]
    in_a_row = min(FACTS_IN_A_ROW, max(len(cards), 1))
    last = (len(cards) - 1) % in_a_row
    cards += [[Paragraph("", note)]] * (-len(cards) % in_a_row)
    rows = [cards[start : start + in_a_row] for start in range(0, len(cards), in_a_row)]
    drawn = Grid(rows, colWidths=[width / in_a_row] * in_a_row, hAlign="LEFT")
    drawn.setStyle(
        TableStyle(
            [
                ("BACKGROUND", (0, 0), (-1, -2), style.raised),
                ("BACKGROUND", (0, -1), (last, -1), style.raised),
                ("INNERGRID", (0, 0), (-1, -1), 5.0, "white"),
                ("VALIGN", (0, 0), (-1, -1), "TOP"),
                ("LEFTPADDING", (0, 0), (-1, -1), 8),
                ("RIGHTPADDING", (0, 0), (-1, -1), 5),
                ("TOPPADDING", (0, 0), (-1, -1), 6),
                ("BOTTOMPADDING", (0, 0), (-1, -1), 8),
            ]
        )
    )
    return drawn
