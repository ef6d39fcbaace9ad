"""A chart of the report as a native chart over the cells of its table."""

from typing import Any, assert_never

from xlsxwriter.chart import Chart as Drawn

from sharing.formats.chart_shape import is_numeric, lies, place_ends, value_ends
from sharing.formats.palette import series_colour
from sharing.formats.workbook.book import Book, Sheet
from sharing.report.content import Chart, ChartSeries

MARK = {"color": "#5A6B7B", "dash_type": "dash", "width": 1.25}
POINT = {"color": "#5A6B7B", "width": 3.0}
SIZE = {"width": 860, "height": 380}
GRID = {"visible": True, "line": {"color": "#DDE3E9"}}


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
