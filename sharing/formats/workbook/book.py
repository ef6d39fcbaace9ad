"""A workbook into which texts are only ever written as texts, with one look for all of its sheets."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import xlsxwriter
from xlsxwriter.format import Format
from xlsxwriter.workbook import Workbook
from xlsxwriter.worksheet import Worksheet

from sharing.formats import xml_text
from sharing.formats.brand import Brand
from sharing.formats.cells import NOTHING
from sharing.formats.xml_text import shortened
from sharing.report.content import Cell

MOST_CHARACTERS = 32_000
"""Characters of a text in a cell; Excel takes 32,767."""
SHEET_NAME_LENGTH = 31
SIGNIFICANT = 3
WIDTH_OF_LETTER = 1.0
"""Width of a letter in digits, in which columns are measured: the mean of text with capitals."""
NORMAL_SIZE, NORMAL_WIDTH, LINE_HEIGHT = 10, 8.43, 13.0
"""Size of the letters, width of a column in characters, and height of a line in points."""

INK, PALE, GRID, INPUT_FILL, INPUT_INK = "#1B2733", "#F2F5F8", "#C9D2DB", "#FFF4C2", "#1F3FBF"
"""Colours of texts, of heads and lines; inputs are blue on yellow, as is the custom of financial models."""

_NOT_IN_SHEET_NAMES = re.compile(r"[\[\]:*?/\\\x00-\x1f]")


class Book:
    """An xlsxwriter workbook in memory: its formats, its sheets by name, and its named cells."""

    def __init__(self, *, title: str, author: str, made_at: datetime, brand: Brand) -> None:
        self._file = io.BytesIO()
        options = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
        self.workbook: Workbook = xlsxwriter.Workbook(self._file, options)
        self.workbook.set_properties(
            {"title": plain(title), "author": plain(author), "created": made_at.replace(tzinfo=None)}
        )
        self.brand, self.colour = brand, brand.primary
        self._formats: dict[tuple[tuple[str, Any], ...], Format] = {}
        self._names: set[str] = set()

    def look(self, **properties: Any) -> Format:
        """The format with these properties, made once and then used again."""
        key = tuple(sorted(properties.items()))
        if key not in self._formats:
            base = {"font_name": "Arial", "font_size": 10, "font_color": INK, "valign": "top"}
            self._formats[key] = self.workbook.add_format(base | properties)
        return self._formats[key]

    def sheet(self, name: str, widths: Sequence[float]) -> Sheet:
        """A new sheet, under a name that a workbook takes and has only once; ``widths`` of its columns."""
        return Sheet(self, self.workbook.add_worksheet(self._free(name)), widths)

    def name(self, name: str, sheet: Sheet, row: int, column: int, last_row: int | None = None) -> None:
        """Name a cell, or the cells down to ``last_row``, for formulas."""
        letter = xlsxwriter.utility.xl_col_to_name(column, col_abs=True)
        last = "" if last_row is None else f":{letter}${last_row + 1}"
        quoted = sheet.name.replace("'", "''")
        self.workbook.define_name(name, f"='{quoted}'!{letter}${row + 1}{last}")

    def content(self) -> bytes:
        """The finished file."""
        self.workbook.close()
        return self._file.getvalue()

    def _free(self, name: str) -> str:
        short = _NOT_IN_SHEET_NAMES.sub(" ", plain(name)).strip(" '")[:SHEET_NAME_LENGTH].strip(" '") or "Sheet"
        free, number = short, 2
        while free.lower() in self._names or free.lower() == "history":
            mark = f" {number}"
            free, number = short[: SHEET_NAME_LENGTH - len(mark)] + mark, number + 1
        self._names.add(free.lower())
        return free


class Sheet:
    """A sheet that prints on pages of its width."""

    def __init__(self, book: Book, sheet: Worksheet, widths: Sequence[float]) -> None:
        self.book, self.sheet, self.widths = book, sheet, tuple(widths)
        for column, width in enumerate(widths):
            sheet.set_column(column, column, width, book.look())
        self._lines: dict[int, int] = {}
        sheet.hide_gridlines(2)
        sheet.set_landscape()
        sheet.set_paper(9)
        sheet.fit_to_pages(1, 0)
        sheet.set_footer("&L&8&A&R&8&P / &N")

    @property
    def name(self) -> str:
        """The name of the sheet, as formulas spell it."""
        return str(self.sheet.get_name())

    def title(self, row: int, text: str) -> None:
        """Write the title of the sheet into a row."""
        self.text(row, 0, text, bold=True, font_size=16, font_color=self.book.colour)
        self.sheet.set_row(row, 26)

    def heading(self, row: int, text: str, columns: int) -> None:
        """Write a heading over so many columns."""
        for column in range(columns):
            self.sheet.write_blank(row, column, None, self.book.look(bottom=1, bottom_color=self.book.colour))
        self.text(row, 0, text, bold=True, font_size=12, bottom=1, bottom_color=self.book.colour)

    def text(self, row: int, column: int, text: str, **look: Any) -> None:
        """A text, whatever it looks like; a wrapped one makes its row as high as it needs."""
        if look.get("text_wrap"):
            self._fit(row, text, self._width(column, column))
        self.sheet.write_string(row, column, plain(text), self.book.look(**look))

    def paragraph(self, row: int, text: str, columns: int, **look: Any) -> None:
        """A text over several columns, in a row as high as it needs."""
        self._over(row, 0, columns - 1, text, look)

    def wide(self, row: int, first: int, last: int, text: str, **look: Any) -> None:
        """A text over the columns from ``first`` to ``last``, in a row as high as it needs."""
        self._over(row, first, last, text, look)

    def _over(self, row: int, first: int, last: int, text: str, look: dict[str, Any]) -> None:
        self._fit(row, text, self._width(first, last) * NORMAL_SIZE / look.get("font_size", NORMAL_SIZE))
        shown = self.book.look(text_wrap=True, **look)
        if last == first:
            self.sheet.write_string(row, first, plain(text), shown)
            return
        self.sheet.merge_range(row, first, row, last, "", shown)
        self.sheet.write_string(row, first, plain(text), shown)

    def _width(self, first: int, last: int) -> float:
        return sum(self.widths[first : last + 1]) or NORMAL_WIDTH

    def _fit(self, row: int, text: str, width: float) -> None:
        """Programs do not all find the height of a row by themselves: merged cells none does."""
        lines = lines_of(text, width)
        if lines > self._lines.get(row, 1):
            self._lines[row] = lines
            self.sheet.set_row(row, LINE_HEIGHT * lines + 3.0)

    def head(self, row: int, labels: Sequence[str], numbers: Sequence[bool]) -> None:
        """Names of columns, those of numbers over them."""
        for column, (label, right) in enumerate(zip(labels, numbers, strict=True)):
            look = {"bold": True, "bg_color": PALE, "bottom": 1, "bottom_color": GRID, "text_wrap": True}
            self.text(row, column, label, align="right" if right else "left", **look)

    def cell(self, row: int, column: int, value: Cell, digits: int | None, **look: Any) -> None:
        """A value of a table; a dash where there is none."""
        lined = {"bottom": 1, "bottom_color": GRID} | look
        if value is None or (isinstance(value, float) and not math.isfinite(value)):
            self.text(row, column, NOTHING, align="right", **lined)
        elif isinstance(value, str):
            self.text(row, column, value, text_wrap=True, **lined)
        else:
            self.number(row, column, value, number_format(value, digits), **lined)

    def number(self, row: int, column: int, value: float, shown: str, **look: Any) -> None:
        """A number in a format of Excel."""
        self.sheet.write_number(row, column, value, self.book.look(num_format=shown, align="right", **look))

    def formula(
        self, row: int, column: int, formula: str, value: float | str, shown: str = "General", **look: Any
    ) -> None:
        """A formula with the value that it has as long as nobody changes an input, for readers that do not compute."""
        if isinstance(value, float | int):
            look["align"] = "right"
        self.sheet.write_formula(row, column, f"={formula}", self.book.look(num_format=shown, **look), value)


def plain(text: str) -> str:
    """The text as a cell can hold it."""
    return shortened(xml_text.plain(text), MOST_CHARACTERS)


def lines_of(text: str, width: float) -> int:
    """Lines that a text takes in columns of so many characters, counted generously."""
    return sum(max(1, math.ceil(len(line) * WIDTH_OF_LETTER / max(width, 1.0))) for line in text.split("\n"))


def number_format(value: float, digits: int | None) -> str:
    """How Excel shows a number: so many decimals, or three significant digits."""
    if digits is None:
        exponent = math.floor(math.log10(abs(value))) if value else 0
        digits = 0 if float(value).is_integer() else max(SIGNIFICANT - 1 - exponent, 0)
    return "#,##0" + ("." + "0" * digits if digits else "")
