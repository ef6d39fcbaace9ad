"""The chapters of the report, a sheet each: texts, figures, tables, and charts over the cells of their tables."""

from typing import Any, assert_never

from xlsxwriter.chart import Chart as Drawn

from sharing.formats.cells import day_and_time, heading
from sharing.formats.chart_shape import ends_of_marks, is_numeric, lies, place_ends, value_ends
from sharing.formats.palette import series_colour
from sharing.formats.workbook.book import Book, Sheet
from sharing.report.content import Bullets, Cell, Chart, ChartSeries, Facts, Paragraph, Released, Report, Section, Table

COLUMNS = 8
FIRST_WIDTH, WIDTH, MOST_WIDTH = 44.0, 18.0, 60.0
"""Characters that the first column, others, and those with long texts are wide."""
CHART_ROWS = 20
DRAWN = "Drawn above: "
"""Begins the title of the cells that a chart shows."""

MARK = {"color": "#5A6B7B", "dash_type": "dash", "width": 1.25}
POINT = {"color": "#5A6B7B", "width": 3.0}
SIZE = {"width": 860, "height": 380}
GRID = {"visible": True, "line": {"color": "#DDE3E9"}}


def write_summary(book: Book, sheet: Sheet, report: Report, sheets: list[str]) -> None:
    """Title, answer and what the workbook holds. ``sheets``: names to go to."""
    sheet.title(0, report.title)
    day = day_and_time(report.made_at)
    about = [("For", report.customer), ("By", report.author), ("Made", day)]
    if report.released is not Released.NOTHING:
        about += [("Amounts", report.currency), ("Prices", report.released.value)]
    about += [("Engine", report.engine_version), ("Data", f"{report.data_version} of {report.data_date}")]
    row = 2
    for label, value in about:
        if value:
            sheet.text(row, 0, label, font_color="#5A6B7B")
            sheet.text(row, 1, value)
            row += 1
    sheet.heading(row + 1, "Answer", 3)
    sheet.paragraph(row + 2, report.answer, 3, font_size=11)
    sheet.heading(row + 4, "In this workbook", 3)
    for k, name in enumerate(sheets):
        quoted = name.replace("'", "''")
        look = book.look(font_color=book.colour, underline=1)
        sheet.sheet.write_url(row + 5 + k, 0, f"internal:'{quoted}'!A1", look, string=name)


def write_section(book: Book, section: Section, currency: str) -> str:
    """The sheet of a chapter; returns its name."""
    sheet = book.sheet(section.title, widths_of(section))
    sheet.title(0, section.title)
    row = 2
    for block in section.blocks:
        match block:
            case Paragraph():
                sheet.paragraph(row, block.text, COLUMNS)
                row += 1
            case Bullets():
                for item in block.items:
                    sheet.paragraph(row, f"\N{BULLET} {item}", COLUMNS)
                    row += 1
            case Facts():
                row = _facts(sheet, row, block)
            case Table():
                row = _table(sheet, row, block, currency)
            case Chart():
                row = _chart(book, sheet, row, block)
        row += 1
    return sheet.name


def widths_of(section: Section) -> list[float]:
    """Widths of the columns of a sheet: those with texts in any of its tables as wide as these need, up to a limit."""
    tables = [block for block in section.blocks if isinstance(block, Table)]
    widths = [FIRST_WIDTH, *[WIDTH] * (max([COLUMNS, *(len(table.columns) for table in tables)]) - 1)]
    for table in tables:
        for k, column in enumerate(table.columns):
            if column.holds == "text":
                longest = max((len(str(row[k])) for row in table.rows if row[k] is not None), default=0)
                widths[k] = max(widths[k], min(longest, MOST_WIDTH))
    return widths


def _facts(sheet: Sheet, row: int, block: Facts) -> int:
    lined = {"bottom": 1, "bottom_color": "#C9D2DB"}
    for fact in block.facts:
        sheet.text(row, 0, fact.label, text_wrap=True, **lined)
        sheet.wide(row, 1, 2, fact.value, bold=True, **lined)
        sheet.wide(row, 3, COLUMNS - 1, fact.note, font_color="#5A6B7B", **lined)
        row += 1
    return row


def _table(sheet: Sheet, row: int, table: Table, currency: str) -> int:
    columns = table.columns
    sheet.text(row, 0, table.title, bold=True)
    labels = [heading(column, currency) for column in columns]
    sheet.head(row + 1, labels, [column.holds != "text" for column in columns])
    row += 2
    for cells in table.rows:
        for k, (value, column) in enumerate(zip(cells, columns, strict=True)):
            sheet.cell(row, k, value, column.digits)
        row += 1
    return _note(sheet, row, table.note)


def _note(sheet: Sheet, row: int, note: str) -> int:
    if not note:
        return row
    sheet.paragraph(row, note, COLUMNS, font_color="#5A6B7B", italic=True, font_size=9)
    return row + 1


def _chart(book: Book, sheet: Sheet, row: int, chart: Chart) -> int:
    """The chart, and below it under its title the cells that it shows: places, series, then the ends of its marks."""
    numeric, first = is_numeric(chart), row + CHART_ROWS + 2
    sheet.text(first - 2, 0, f"{DRAWN}{chart.title}", bold=True)
    marks_at = 1 + len(chart.series)
    drawn = draw(book, sheet, chart, first, marks_at)
    sheet.sheet.insert_chart(row, 0, drawn, {"x_offset": 4, "y_offset": 2, "description": chart.title})
    alone = len(chart.series) == 1 and chart.y_label.startswith(chart.series[0].name)
    names = [chart.y_label] if alone else [f"{one.name}, {chart.y_label}" for one in chart.series]
    labels = [chart.x_label, *names]
    if numeric:
        labels += [f"{mark.label}, {axis}" for mark in chart.marks for axis in ("x", "y")]
    sheet.head(first - 1, labels, [numeric, *[True] * (len(labels) - 1)])
    places: tuple[Cell, ...] = chart.x
    for n, place in enumerate(places):
        sheet.cell(first + n, 0, place, None)
        for k, series in enumerate(chart.series):
            sheet.cell(first + n, k + 1, series.values[n], None)
    if numeric:
        for k, ends in enumerate(ends_of_marks(chart)):
            for n, end in enumerate(ends):
                for axis, value in enumerate(end):
                    sheet.cell(first + n, marks_at + 2 * k + axis, value, None)
    row = first + max(len(chart.x), 2 if numeric and chart.marks else 0)
    if chart.marks and not numeric:
        limits = "; ".join(f"{mark.label}: {mark.at:,.6g}" for mark in chart.marks)
        row = _note(sheet, row, limits)
    return _note(sheet, row, chart.note)


def draw(book: Book, sheet: Sheet, chart: Chart, first: int, marks_at: int) -> Drawn:
    """The chart of a table whose places stand in column 0 from row ``first`` on, its series in the columns after.

    ``marks_at``: the first column of its marks, two columns each, x and y of both ends.
    """
    numeric = is_numeric(chart)
    drawn = book.workbook.add_chart(_kind(chart, numeric))
    last = first + len(chart.x) - 1
    for k, series in enumerate(chart.series):
        drawn.add_series(
            {
                "name": series.name,
                "categories": [sheet.name, first, 0, last, 0],
                "values": [sheet.name, first, k + 1, last, k + 1],
                **_look(chart, series, series_colour(book.brand, k)),
            }
        )
    if numeric:
        for k, mark in enumerate(chart.marks):
            column = marks_at + 2 * k
            drawn.add_series(
                {
                    "name": mark.label,
                    "categories": [sheet.name, first, column, first + 1, column],
                    "values": [sheet.name, first, column + 1, first + 1, column + 1],
                    "line": MARK if mark.near is None else POINT,
                    "marker": {"type": "none"},
                }
            )
    _axes(drawn, chart, numeric)
    return drawn


def _kind(chart: Chart, numeric: bool) -> dict[str, str]:
    match chart.draws:
        case "line":
            return {"type": "scatter", "subtype": "straight"} if numeric else {"type": "line"}
        case "bar" | "tornado":
            return _bars(chart)
        case "stacked":
            return _bars(chart) | {"subtype": "stacked"}
        case unknown:
            assert_never(unknown)


def _bars(chart: Chart) -> dict[str, str]:
    return {"type": "bar" if lies(chart) else "column"}


def _look(chart: Chart, series: ChartSeries, colour: str) -> dict[str, Any]:
    interval: dict[str, Any] = {"y_error_bars": _interval(series)} if series.low and series.high else {}
    bar: dict[str, Any] = {"fill": {"color": colour}, "gap": 60}
    match chart.draws:
        case "line":
            return {"line": {"color": colour, "width": 2}, "marker": {"type": "none"}} | interval
        case "bar":
            return bar | interval
        case "stacked":
            return bar
        case "tornado":
            return bar | {"overlap": 100} | interval
        case unknown:
            assert_never(unknown)


def _interval(series: ChartSeries) -> dict[str, Any]:
    """The interval of each value as an error bar; none where an end is not known."""
    ends = list(zip(series.values, series.low, series.high, strict=True))
    known = [(v, low, high) if None not in (v, low, high) else (0.0, 0.0, 0.0) for v, low, high in ends]
    return {
        "type": "custom",
        "plus_values": [max((high or 0.0) - (value or 0.0), 0.0) for value, _, high in known],
        "minus_values": [max((value or 0.0) - (low or 0.0), 0.0) for value, low, _ in known],
        "line": {"color": "#5A6B7B"},
    }


def _axes(drawn: Drawn, chart: Chart, numeric: bool) -> None:
    drawn.set_title({"name": chart.title, "name_font": {"size": 11}, "overlay": False})
    places: dict[str, Any] = {"name": chart.x_label, "major_gridlines": {"visible": False}}
    values: dict[str, Any] = {"name": chart.y_label, "num_format": "#,##0.####", "major_gridlines": GRID}
    if lies(chart):
        places["reverse"] = True
        places["label_position"] = "low"
    if chart.base is not None:
        values["crossing"] = chart.base
    if (ends := value_ends(chart)) is not None:
        values |= {"min": ends[0], "max": ends[1]}
    if numeric:
        low, high = place_ends(chart)
        places |= {"min": low, "max": high, "num_format": "#,##0.####"}
    # In xlsxwriter the x axis is the one that lies: that of the values where bars lie.
    lying, upright = (values, places) if lies(chart) else (places, values)
    drawn.set_x_axis(lying)
    drawn.set_y_axis(upright)
    single = len(chart.series) == 1 and not (numeric and chart.marks)
    drawn.set_legend({"none": True} if single else {"position": "bottom"})
    drawn.set_size(SIZE)
