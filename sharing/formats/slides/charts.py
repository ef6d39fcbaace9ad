"""A chart of the report as a native chart that can be edited: its data are in the file."""

from collections.abc import Mapping
from typing import assert_never

from pptx.chart.axis import _BaseAxis as Axis
from pptx.chart.chart import Chart as Native
from pptx.chart.data import CategoryChartData, XyChartData
from pptx.chart.series import _BaseSeries as NativeSeries
from pptx.enum.chart import XL_CHART_TYPE, XL_LEGEND_POSITION, XL_TICK_LABEL_POSITION
from pptx.enum.dml import MSO_LINE
from pptx.slide import Slide
from pptx.util import Emu, Pt

from sharing.formats.chart_shape import ends_of_marks, is_numeric, lies, place_ends, value_ends
from sharing.formats.palette import series_colour
from sharing.formats.slides.boxes import Box, emu
from sharing.formats.slides.deck import INK, MUTED, Deck, colour
from sharing.formats.xml_text import plain, shortened
from sharing.report.content import Chart, Draws

CAPTION, NOTE = emu(16), emu(24)
LETTERS = Pt(10)
DASHES = (None, MSO_LINE.LONG_DASH, MSO_LINE.ROUND_DOT, MSO_LINE.DASH_DOT)
"""How the lines of a chart are told apart without colour; the first is solid."""
MARKED = (MSO_LINE.DASH, MSO_LINE.ROUND_DOT)
"""The same of limits and the planned load, which are thin."""

PLACE_CHARACTERS = 60
"""Characters of a name beside a bar; a longer one is shortened."""
GRID, NUMBERS = "#dde3e9", "#,##0.####"

_OVERLAP: Mapping[Draws, int | None] = {"line": None, "bar": 0, "stacked": 100, "tornado": 100}
"""Percent by which the bars of one place lie on each other."""


def add_chart(deck: Deck, slide: Slide, box: Box, chart: Chart) -> Native:
    """The chart with its title above, and below what it does not draw itself."""
    deck.text(slide, box.upper(CAPTION), [chart.title], sizes=(12, 11, 10, 9, 8), bold=True)
    numeric = is_numeric(chart)
    remarks = [] if numeric else [f"{mark.label}: {mark.at:,.6g}" for mark in chart.marks]
    remarks += [chart.note] if chart.note else []
    below = NOTE if remarks else 0
    inner = (box.left, box.top + CAPTION, box.width, box.height - CAPTION - below)
    data = _xy(chart) if numeric else _categories(chart)
    native: Native = slide.shapes.add_chart(_kind(chart, numeric), *map(Emu, inner), data).chart
    if remarks:
        note = Box(box.left, box.bottom - NOTE, box.width, NOTE)
        deck.text(slide, note, [" ".join(remarks)], sizes=(10, 9, 8), colour_of=MUTED)
    _look(deck, native, chart, numeric)
    return native


def _xy(chart: Chart) -> XyChartData:
    """Places that are numbers, and each mark as a line between its ends."""
    data = XyChartData(number_format="General")
    places: tuple[float | str, ...] = chart.x
    for series in chart.series:
        drawn = data.add_series(plain(series.name))
        for place, value in zip(places, series.values, strict=True):
            if value is not None:
                drawn.add_data_point(float(place), value)
    for mark, ends in zip(chart.marks, ends_of_marks(chart), strict=True):
        drawn = data.add_series(plain(mark.label))
        for end in ends:
            drawn.add_data_point(*end)
    return data


def _categories(chart: Chart) -> CategoryChartData:
    data = CategoryChartData(number_format="General")
    data.categories = [shortened(plain(str(place)), PLACE_CHARACTERS) for place in chart.x]
    for series in chart.series:
        data.add_series(plain(series.name), series.values)
    return data


def _kind(chart: Chart, numeric: bool) -> XL_CHART_TYPE:
    match chart.draws:
        case "line":
            return XL_CHART_TYPE.XY_SCATTER_LINES_NO_MARKERS if numeric else XL_CHART_TYPE.LINE
        case "stacked":
            return XL_CHART_TYPE.BAR_STACKED if lies(chart) else XL_CHART_TYPE.COLUMN_STACKED
        case "bar" | "tornado":
            return XL_CHART_TYPE.BAR_CLUSTERED if lies(chart) else XL_CHART_TYPE.COLUMN_CLUSTERED
        case unknown:
            assert_never(unknown)


def _look(deck: Deck, native: Native, chart: Chart, numeric: bool) -> None:
    native.has_title = False
    native.font.size, native.font.color.rgb = LETTERS, colour(INK)
    marks = len(chart.marks) if numeric else 0
    native.has_legend = len(chart.series) + marks > 1
    if native.has_legend:
        native.legend.position, native.legend.include_in_layout = XL_LEGEND_POSITION.BOTTOM, False
        native.legend.font.size = LETTERS
    for k, series in enumerate(native.plots[0].series):
        _paint(series, chart, k, series_colour(deck.brand, k))
    if (overlap := _OVERLAP[chart.draws]) is not None:
        native.plots[0].gap_width, native.plots[0].overlap = 60, overlap
    _named(native.category_axis, chart.x_label)
    _named(native.value_axis, chart.y_label)
    native.value_axis.major_gridlines.format.line.color.rgb = colour(GRID)
    native.value_axis.tick_labels.number_format = NUMBERS
    native.value_axis.tick_labels.number_format_is_linked = False
    _placed(native, chart, numeric)


def _placed(native: Native, chart: Chart, numeric: bool) -> None:
    """Where the axes cross, and from where to where they go."""
    native.category_axis.has_major_gridlines = False
    if lies(chart):
        native.category_axis.reverse_order = True
        native.category_axis.tick_label_position = XL_TICK_LABEL_POSITION.LOW
        native.value_axis.tick_label_position = XL_TICK_LABEL_POSITION.HIGH
    if chart.base is not None:
        native.value_axis.crosses_at = chart.base
    if (ends := value_ends(chart)) is not None:
        native.value_axis.minimum_scale, native.value_axis.maximum_scale = ends
    if numeric:
        native.category_axis.minimum_scale, native.category_axis.maximum_scale = place_ends(chart)
        native.category_axis.tick_labels.number_format = NUMBERS
        native.category_axis.tick_labels.number_format_is_linked = False


def _paint(series: NativeSeries, chart: Chart, number: int, written: str) -> None:
    if chart.draws != "line":
        series.format.fill.solid()
        series.format.fill.fore_color.rgb = colour(written)
        series.invert_if_negative = False
        return
    series.smooth = False
    place, line = number - len(chart.series), series.format.line
    if place < 0:
        line.color.rgb, line.width, dash = colour(written), Pt(2.25), DASHES[number % len(DASHES)]
    elif chart.marks[place].near is None:
        line.color.rgb, line.width, dash = colour(MUTED), Pt(1.25), MARKED[place % len(MARKED)]
    else:
        line.color.rgb, line.width, dash = colour(MUTED), Pt(3.0), None
    if dash is not None:
        line.dash_style = dash


def _named(axis: Axis, label: str) -> None:
    axis.tick_labels.font.size = LETTERS
    axis.has_title = bool(label)
    if label:
        axis.axis_title.text_frame.text = plain(label)
        for paragraph in axis.axis_title.text_frame.paragraphs:
            paragraph.font.size, paragraph.font.bold = LETTERS, False
