"""A report as Markdown: every text is escaped, so that nothing in it is read as markup; charts are tables."""

import re
from collections.abc import Iterator, Sequence

from sharing.formats.cells import NOTHING, cell_text, day_and_time, heading
from sharing.formats.source import ReportSource
from sharing.report.content import Block, Bullets, Chart, Facts, Paragraph, Report, Table
from sizing.base.format import significant
from sizing.base.markdown import as_line

LEADING = re.compile(r"^(\s*)([-+=]|\d+(?=[.)]))")
"""What begins a list or underlines a title at the start of a line."""

MOST_PLACES = 13
"""Places of a line that its table holds."""


def write(source: ReportSource) -> bytes:
    """The report as a Markdown file in UTF-8."""
    return "\n".join(_lines(source.report, source.brand.name)).encode()


def plain(text: str) -> str:
    """``text`` so that Markdown shows it as it is, on one line."""
    line = as_line(text)
    return LEADING.sub(r"\1\\\2", line) if not line[:1].isdecimal() else re.sub(r"^(\d+)([.)])", r"\1\\\2", line)


def _lines(report: Report, company: str) -> Iterator[str]:
    yield f"# {plain(report.title)}"
    yield ""
    about = [
        *((f"Customer: {report.customer}",) if report.customer else ()),
        *((f"By: {report.author}",) if report.author else ()),
        *((company,) if company else ()),
        day_and_time(report.made_at),
        f"engine {report.engine_version}, data {report.data_version} of {report.data_date}",
    ]
    yield " · ".join(map(plain, about))
    for section in report.sections:
        yield from ("", f"## {plain(section.title)}")
        for block in section.blocks:
            yield ""
            yield from _block(block, report.currency)
    yield ""


def _block(block: Block, currency: str) -> Iterator[str]:
    match block:
        case Paragraph():
            yield plain(block.text)
        case Bullets():
            yield from (f"- {plain(item)}" for item in block.items)
        case Facts():
            rows = [(fact.label, fact.value, fact.note) for fact in block.facts]
            yield from _table(("Figure", "Value", "Note"), rows, numbers=())
        case Table():
            heads = [heading(column, currency) for column in block.columns]
            cells = [[cell_text(*pair) for pair in zip(block.columns, row, strict=True)] for row in block.rows]
            numbers = [place for place, column in enumerate(block.columns) if column.holds != "text"]
            yield from (f"### {plain(block.title)}", "")
            yield from _table(heads, cells, numbers)
            yield from _note(block.note)
        case Chart():
            yield from (f"### {plain(block.title)}", "")
            yield from _chart(block)
            yield from _note(block.note)


def _note(text: str) -> Iterator[str]:
    if text:
        yield from ("", plain(text))


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int]) -> Iterator[str]:
    yield _row(heads)
    yield f"|{'|'.join('---:' if place in numbers else '---' for place in range(len(heads)))}|"
    yield from map(_row, rows)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(plain(cell) or NOTHING for cell in cells)} |"


def _head(series: str, quantity: str) -> str:
    """What a column of a chart holds, which is said once where the series is called by its quantity."""
    return quantity if quantity.startswith(series) else f"{series}, {quantity}"


def _chart(chart: Chart) -> Iterator[str]:
    """Its values as a table; of a long line some of them."""
    step = max(1, -(-len(chart.x) // MOST_PLACES)) if chart.draws == "line" else 1
    heads = [chart.x_label or " ", *(_head(one.name, chart.y_label) for one in chart.series)]
    rows = []
    for place in range(0, len(chart.x), step):
        at = chart.x[place]
        values = (one.values[place] for one in chart.series)
        shown = [NOTHING if value is None else significant(value) for value in values]
        rows.append([at if isinstance(at, str) else significant(at), *shown])
    yield from _table(heads, rows, range(1, len(heads)))
    marks = [
        mark.label if significant(mark.at) in mark.label else f"{mark.label}: {significant(mark.at)}"
        for mark in chart.marks
    ]
    if chart.base is not None:
        marks.append(f"as it is: {significant(chart.base)}")
    yield from _note("; ".join(marks))
