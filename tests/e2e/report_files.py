"""Files of a report as whoever gets them reads them: tables by title, with the numbers in them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile, takewhile
from pathlib import Path

import openpyxl
import pypdf
from playwright.sync_api import Browser
from pptx import Presentation

Rows = Sequence[Sequence[str | float]]

ROWS_OF_PAGE = """() => Object.fromEntries([...document.querySelectorAll('table')].map(table => [
    table.caption.textContent, [...table.rows].map(row => [...row.cells].map(cell => cell.textContent))]))"""


@dataclass(frozen=True, kw_only=True)
class Read:
    """All text of a file on one line, and its tables: their rows by title, heads included."""

    text: str
    tables: dict[str, Rows]


def number(cell: str | float) -> float:
    """What a cell says, as a number."""
    return float(cell.replace(",", "")) if isinstance(cell, str) else float(cell)


def one_line(text: str) -> str:
    return " ".join(text.split())


def html(path: Path, browser: Browser) -> Read:
    """A page opened where there is no network: every request but that for the file itself is refused and fails this."""
    context = browser.new_context(offline=True)
    asked: list[str] = []
    page = context.new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.route(lambda url: url != path.as_uri(), lambda route: route.abort())
    page.goto(path.as_uri())
    read = Read(text=one_line(page.locator("body").inner_text()), tables=page.evaluate(ROWS_OF_PAGE))
    context.close()
    assert asked == [path.as_uri()]
    return read


def pdf(path: Path, titles: Sequence[str]) -> Read:
    """The text of all pages, and of the tables with these titles every row of a name with numbers."""
    pages = pypdf.PdfReader(path).pages
    lines = [line.strip() for page in pages for line in page.extract_text().splitlines()]
    return Read(text=one_line(" ".join(lines)), tables={title: list(_below(lines, title)) for title in titles})


def _below(lines: Sequence[str], title: str) -> Iterator[list[str]]:
    """Each cell is a line. A chapter may be called as its table, so the last one counts."""
    rows: list[list[str]] = []
    for line in lines[len(lines) - lines[::-1].index(title) :]:
        if rows and re.fullmatch(r"[\d,.]+", line):
            rows[-1].append(line)
        else:
            rows.append([line])
    without_heads = dropwhile(lambda row: len(row) == 1, rows)
    return takewhile(lambda row: len(row) > 1, without_heads)


def xlsx(path: Path) -> Read:
    """The values of all sheets, by the line above them."""
    tables: dict[str, Rows] = {}
    texts: list[str] = []
    for sheet in openpyxl.load_workbook(path, data_only=True).worksheets:
        rows = [[cell for cell in row if cell is not None] for row in sheet.iter_rows(values_only=True)]
        texts += [str(cell) for row in rows for cell in row]
        title = sheet.title
        for row in rows:
            if len(row) == 1:
                title = str(row[0])
                tables.setdefault(title, [])
            elif row:
                tables[title] = [*tables.get(title, []), row]
    return Read(text=one_line(" ".join(texts)), tables=tables)


def markdown(path: Path) -> Read:
    """Tables under their titles, escapes taken away."""
    tables: dict[str, Rows] = {}
    title = ""
    text = re.sub(r"\\(.)", r"\1", path.read_text())
    for line in text.splitlines():
        if line.startswith("#"):
            title = line.lstrip("# ")
        elif line.startswith("|") and not line.startswith("|---"):
            tables[title] = [*tables.get(title, []), [cell.strip() for cell in line.strip("|").split("|")]]
    return Read(text=one_line(text), tables=tables)


def pptx(path: Path) -> tuple[Read, dict[str, dict[str, list[float]]]]:
    """Tables by the title above them, and charts: series by name, by title."""
    tables: dict[str, Rows] = {}
    charts: dict[str, dict[str, list[float]]] = {}
    texts: list[str] = []
    for slide in Presentation(str(path)).slides:
        texts.append(slide.notes_slide.notes_text_frame.text)
        title = ""
        for shape in slide.shapes:
            if shape.has_text_frame:
                title = shape.text_frame.text
                texts.append(title)
            elif shape.has_table:
                tables[title] = [[cell.text for cell in row.cells] for row in shape.table.rows]
            elif shape.has_chart:
                charts[title] = {one.name: list(one.values) for plot in shape.chart.plots for one in plot.series}
    return Read(text=one_line(" ".join(texts)), tables=tables), charts
