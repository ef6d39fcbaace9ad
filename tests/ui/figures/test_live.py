"""Figures of the Live page: gaps, open buckets, levels of the plan; cells for eight GPUs and for ten thousand."""

import math
from dataclasses import replace
from datetime import UTC, datetime

import plotly.graph_objects as go
import pytest

from collectors.questions.devices import COLUMNS, Device
from ui.figures.gpu_map import MEASURES, MOST_CELLS, build_gpu_map, gpu_map_alt_text, gpu_table, trouble_of
from ui.figures.live_lines import Band, ChartLine, Level, LiveChart, build_lines, lines_alt_text, lines_table
from ui.figures.template import MAX_POINTS

NAN = math.nan
START = datetime(2026, 11, 21, 12, 0, tzinfo=UTC).timestamp()
TIMES = tuple(START + 60.0 * i for i in range(6))
SPAN = (TIMES[0], TIMES[-1])


def chart(*values: float, **more: object) -> LiveChart:
    return LiveChart(
        quantity="TTFT", unit="ms", times_s=TIMES, lines=(ChartLine(name="p95", values=values),), span_s=SPAN, **more
    )


def device(number: int, host: str = "a", **values: float | None) -> Device:
    known = dict.fromkeys(COLUMNS, None) | {"sm_active": 0.5, "xid": 0.0, "throttle_reasons": 0.0} | values
    return Device(
        labels={"gpu": str(number), "UUID": f"{host}-{number}"}, product="H100", host=host, pod="p", values=known
    )


def test_a_gap_is_not_bridged_and_not_zero() -> None:
    trace = build_lines(chart(1.0, 2.0, NAN, NAN, 3.0, 0.0)).data[0]
    assert list(trace.y) == [1.0, 2.0, None, None, 3.0, 0.0]
    assert trace.connectgaps is False
    table = lines_table(chart(1.0, 2.0, NAN, NAN, 3.0, 0.0))
    assert table["p95 (ms)"].isna().tolist() == [False, False, True, True, False, False]
    assert table["Time (UTC)"][0] == "2026-11-21 12:00:00"


@pytest.mark.parametrize("values", [(1.0, 2.0, NAN, NAN, 3.0, 0.0), (10, 20, 50, 100, 1000, 5000)])
@pytest.mark.parametrize("dark", [False, True])
def test_plotly_knows_every_property_of_a_chart(values: tuple[float, ...], dark: bool) -> None:
    """The page builds it without this check."""
    levels = (Level(name="Planned", value=2.0), Level(name="Limit", value=9.0, limit=True))
    band = Band(name="80 %", low=[1.0] * 6, high=[2.0, 2.0, NAN, 2.0, 2.0, 4.0])
    line = ChartLine(name="marked", values=values, marks=True)
    drawn = build_lines(replace(chart(*values, band=band, levels=levels), lines=(line,)), dark=dark)
    assert go.Figure(drawn.to_plotly_json()) == drawn
    assert go.Figure(build_lines(chart(*values, band=band, levels=levels), dark=dark).to_plotly_json()).data


def test_no_value_at_all_is_a_sentence() -> None:
    figure = build_lines(chart(*[NAN] * 6, nothing="No TTFT was recorded."))
    assert not figure.data
    assert figure.layout.annotations[0].text == "No TTFT was recorded."
    assert "without data" in lines_alt_text(chart(*[NAN] * 6))


def test_an_empty_range_of_few_points_does_not_say_that_nothing_was_there() -> None:
    hourly = LiveChart(
        quantity="TTFT",
        unit="ms",
        times_s=[START, START + 3600.0],
        lines=(ChartLine(name="p95", values=[NAN, NAN]),),
        span_s=SPAN,
    )
    told = build_lines(hourly).layout.annotations[0].text
    assert told == "No data in this range. It has a point every 60 min: a shorter range may show more."


def test_the_first_values_of_a_source_are_seen_in_a_long_range() -> None:
    times = [START + 20.0 * i for i in range(180)]
    line = ChartLine(name="p95", values=[*[NAN] * 179, 3.0])
    figure = build_lines(LiveChart(quantity="TTFT", unit="ms", times_s=times, lines=(line,), span_s=SPAN))
    assert figure.data[0].mode == "lines+markers"


def test_the_tint_ends_at_gaps_and_an_open_bucket_rises_over_everything() -> None:
    band = Band(name="Bucket", low=[1, 1, NAN, 2, 2, 2], high=[2, 2, NAN, math.inf, math.inf, math.inf])
    area = build_lines(chart(1.5, 1.5, NAN, 2, 2, 4, band=band)).data[0]
    assert area.fill == "toself"
    assert list(area.y).count(None) == 2, "two areas, one on each side of the gap"
    assert max(v for v in area.y if v is not None) == 5.0


def test_levels_of_the_plan_cross_the_whole_range_in_the_unit_of_the_chart() -> None:
    figure = build_lines(
        chart(1000, 1000, 1000, 1000, 1000, 2000, scale=1e-3, levels=(Level(name="Limit", value=3000.0, limit=True),))
    )
    limit = figure.data[-1]
    assert list(limit.y) == [3.0, 3.0]
    assert (limit.x[0], limit.x[-1]) == ("2026-11-21 12:00:00", "2026-11-21 12:05:00")
    assert max(figure.data[0].y) == 2.0


def test_a_wide_span_is_logarithmic_with_readable_ticks() -> None:
    axis = build_lines(chart(10, 20, 50, 100, 1000, 5000)).layout.yaxis
    assert axis.type == "log"
    assert "5,000" in axis.ticktext
    assert build_lines(chart(0, 20, 50, 100, 1000, 5000)).layout.yaxis.type == "linear", "zero has no logarithm"


def test_a_gpu_without_data_is_a_dash_and_one_that_is_gone_an_empty_cell() -> None:
    figure = build_gpu_map([device(0), device(1, sm_active=None), device(3, sm_active=0.0)], MEASURES["sm_active"])
    cells = figure.data[0]
    assert list(cells.x) == ["0", "1", "3"]
    assert list(cells.z[0]) == [50.0, None, 0.0]
    assert [note.text for note in figure.layout.annotations] == ["50", "-", "0"]
    two = build_gpu_map([device(0), device(1), device(1, "b")], MEASURES["sm_active"]).data[0]
    assert list(two.z[1]) == [None, 50.0]


def test_busy_falls_back_to_the_engine_under_mig() -> None:
    figure = build_gpu_map([device(0, busy=None, engine_active=0.7)], MEASURES["busy"])
    assert figure.data[0].z[0][0] == 70.0
    assert "not a measure of how well the GPU is used" in MEASURES["busy"].note


def test_trouble_is_marked_and_the_power_cap_is_none() -> None:
    assert trouble_of(device(0, xid=79.0)) == "XID 79"
    assert trouble_of(device(0, throttle_reasons=float(0x4))) == "", "a busy GPU runs at its power cap"
    assert trouble_of(device(0, throttle_reasons=float(0x44))) == "slowed down: hardware thermal slowdown"
    figure = build_gpu_map([device(0), device(1, xid=79.0)], MEASURES["sm_active"])
    assert list(figure.data[1].x) == ["1"]


@pytest.mark.parametrize("number", [8, 1_000, MOST_CELLS, 10_000])
def test_a_fleet_of_any_size_stays_within_what_a_browser_is_sent(number: int) -> None:
    devices = [device(i % 8, f"node-{i // 8:04d}", xid=79.0 if i == 5 else 0.0) for i in range(number)]
    figure = build_gpu_map(devices, MEASURES["sm_active"])
    drawn = sum(z is not None for row in figure.data[0].z for z in row)
    assert drawn == (number if number <= MOST_CELLS else number // 8)
    assert drawn <= MAX_POINTS
    assert len(figure.data[1].x) == 1, "the GPU in trouble is found among all"
    assert f"of {number:,} GPUs" in gpu_map_alt_text(devices, MEASURES["sm_active"])
    assert len(gpu_table(devices)) == number


def test_nothing_known_is_a_sentence() -> None:
    assert "No GPU reports power" in build_gpu_map([device(0)], MEASURES["power"]).layout.annotations[0].text
    assert "No GPU of this" in build_gpu_map([], MEASURES["power"]).layout.annotations[0].text
