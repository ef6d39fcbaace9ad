"""Figures of the Explore page: what they show, their tables, their sentences."""

import json
import math
from typing import Any, get_args

import pytest

from sizing import Scenario, plan
from sizing.explore.frontier import OperatingPoints, operating_points
from sizing.explore.length_map import LengthMap, gpus_over_lengths
from sizing.explore.load_band import load_band
from sizing.explore.measured_points import measured_points
from sizing.explore.operating_point import Performance, XAxis, YAxis
from sizing.planning.answered import Answer
from sizing.question.understand import understand
from ui.figures import template
from ui.figures.frontier import build_frontier, frontier_alt_text, frontier_table, measured_table
from ui.figures.frontier_axes import AXES
from ui.figures.frontier_marks import range_outline
from ui.figures.heat_map import build_heat_map, heat_map_alt_text, heat_map_table
from ui.figures.load_curve import build_load_curve

XS: tuple[XAxis, ...] = ("tokens_per_s_per_user", "ttft_ms", "e2e_ms")
YS: tuple[YAxis, ...] = get_args(YAxis)
GPUS = ("h100_sxm", "h200_sxm", "b200_sxm")


@pytest.fixture(scope="module")
def asked() -> Scenario:
    return Scenario.model_validate(
        {
            "model": "Qwen/Qwen3-32B",
            "workload": {"input_tokens": 8192, "output_tokens": 1024, "peak_rps": 4},
            "limits": {"ttft_ms": 2000, "itl_ms": 50},
            "deployment": {"gpus": list(GPUS), "accurate_formats_only": False},
        }
    )


@pytest.fixture(scope="module")
def shown(asked: Scenario) -> OperatingPoints:
    answer = plan(asked)
    assert answer.deployment
    assert answer.per_instance
    return operating_points(Answer(understand(asked), answer))


@pytest.fixture(scope="module")
def lengths(asked: Scenario) -> LengthMap:
    return gpus_over_lengths(asked, "h100_sxm", [1024, 8192, 60_000], [128, 1024])


def named(figure: object, name: str) -> list:
    return [t for t in figure.data if t.name == name]


@pytest.mark.parametrize("x", XS)
@pytest.mark.parametrize("y", YS)
@pytest.mark.parametrize("dark", [False, True])
def test_every_pair_of_axes_names_units_and_percentile_and_stays_small(
    asked: Scenario, x: XAxis, y: YAxis, dark: bool
) -> None:
    figure = build_frontier(operating_points(asked, x=x, y=y), ranges=GPUS, dark=dark)
    titles = [figure.layout.xaxis.title.text, figure.layout.yaxis.title.text]
    assert all("(" in title for title in titles)
    assert "p95" in titles[0]
    assert sum(len(t.x) for t in figure.data) <= template.MAX_POINTS
    assert figure.layout.template.layout.paper_bgcolor == "rgba(0,0,0,0)"
    assert "Infinity" not in figure.to_json()
    assert "NaN" not in figure.to_json()


def test_each_gpu_has_its_own_colour_and_marker(shown: OperatingPoints) -> None:
    figure = build_frontier(shown)
    for gpu in GPUS:
        look = template.hardware_look(gpu)
        (line,) = [t for t in named(figure, look.name) if t.mode == "lines+markers"]
        assert (line.line.color, line.line.dash, line.marker.symbol) == (look.colour, look.dash, look.symbol)


def test_split_lines_differ_by_dash_and_keep_the_colour_of_the_gpu(asked: Scenario) -> None:
    figure = build_frontier(operating_points(asked, split="width", gpus=["h100_sxm"]))
    lines = [t for t in figure.data if t.mode == "lines+markers"]
    assert len(lines) == len({t.line.dash for t in lines}) == 3
    assert {t.line.color for t in lines} == {template.hardware_look("h100_sxm").colour}
    assert {"16 bit weights", "8 bit weights", "4 bit weights"} <= {t.name for t in figure.data}


def test_points_can_be_told_when_clicked(shown: OperatingPoints) -> None:
    for trace in build_frontier(shown).data:
        for place, x in zip(trace.customdata if trace.customdata is not None else (), trace.x, strict=False):
            curve, kind, number = (int(n) for n in place)
            point = (shown.curves[curve].points, shown.curves[curve].beyond)[kind][number]
            assert point.expected.tokens_per_s_per_user == pytest.approx(x)


def test_the_allowed_region_is_on_the_fast_side_of_the_limit(asked: Scenario) -> None:
    speed = build_frontier(operating_points(asked)).layout.shapes[0]
    assert speed.x0 == pytest.approx(20)  # 1 / 50 ms
    assert speed.x1 > speed.x0
    ttft = build_frontier(operating_points(asked, x="ttft_ms")).layout.shapes[0]
    assert ttft.x0 == pytest.approx(2000)
    assert ttft.x1 < ttft.x0
    assert not build_frontier(operating_points(asked, x="e2e_ms")).layout.shapes


def ends_at(tint: Any, x: float) -> tuple[float, float]:
    """Lower and upper end of a tint at one of its places across."""
    heights = [y for at, y in zip(tint.x, tint.y, strict=True) if at == pytest.approx(x)]
    return min(heights), max(heights)


@pytest.mark.parametrize("x", XS)
@pytest.mark.parametrize("y", YS)
def test_ranges_are_tinted_for_the_gpus_asked_and_enclose_line_and_ends(asked: Scenario, x: XAxis, y: YAxis) -> None:
    shown = operating_points(asked, x=x, y=y)
    (tint,) = [t for t in build_frontier(shown, ranges=("h100_sxm",)).data if t.fill == "toself"]
    for point in next(c for c in shown.curves if c.gpu == "h100_sxm").points:
        for at in (point.fast, point.expected, point.slow):
            assert at
            low, high = ends_at(tint, getattr(at, x))
            assert low * (1 - 1e-9) <= getattr(at, y) <= high * (1 + 1e-9)
    assert not [t for t in build_frontier(shown).data if t.fill == "toself"]


@pytest.mark.parametrize("x", XS)
def test_a_range_has_one_upper_and_one_lower_end_at_every_place_across(asked: Scenario, x: XAxis) -> None:
    figure = build_frontier(operating_points(asked, x=x, split="width"), ranges=GPUS)
    tints = [t for t in figure.data if t.fill == "toself"]
    assert len(tints) > 3
    for tint in tints:
        half = len(tint.x) // 2
        assert list(tint.x[:half]) == sorted(set(tint.x[:half])) == list(tint.x[half:])[::-1]
        assert all(low <= high for high, low in zip(tint.y[:half], reversed(tint.y[half:]), strict=True))


def test_a_range_that_folds_back_is_drawn_by_its_outermost_lines(shown: OperatingPoints) -> None:
    """Points at (40, 10) and (50, 20), with fast ends (60, 15) and (55, 30) and slow ends (30, 5) and (35, 12).

    Upper edge: at 40 the way from (35, 12) to (50, 20), 12 + 8 x 5 / 15; at 55 the second point's fast end, at 60 the
    first's. Lower edge: the way (30, 5), (40, 10), (60, 15) of the first point: at 35 half of 5 and 10, at 50 half of
    10 and 15, at 55 a quarter below 15.
    """
    curve = shown.curves[0]

    def at(speed: float, rate: float) -> Performance:
        changed = {"tokens_per_s_per_user": speed, "output_tokens_per_s_per_gpu": rate}
        return curve.points[0].expected.model_copy(update=changed)

    points = [
        curve.points[0].model_copy(update={"fast": at(60, 15), "expected": at(40, 10), "slow": at(30, 5)}),
        curve.points[0].model_copy(update={"fast": at(55, 30), "expected": at(50, 20), "slow": at(35, 12)}),
    ]
    outline = range_outline(points, shown)
    assert outline["x"] == [30, 35, 40, 50, 55, 60, 60, 55, 50, 40, 35, 30]
    upper, lower = outline["y"][:6], outline["y"][:5:-1]
    assert upper == pytest.approx([5, 12, 12 + 8 / 3, 20, 30, 15])
    assert lower == pytest.approx([5, 7.5, 10, 12.5, 13.75, 15])


def test_measurements_are_points_with_their_source(asked: Scenario, shown: OperatingPoints) -> None:
    measured = measured_points(asked, GPUS)
    assert measured
    figure = build_frontier(shown, measured=measured)
    texts = [text for t in figure.data if t.text is not None for text in t.text if text.startswith("Measured")]
    assert len(texts) == len(measured)
    assert all("Source: " in text for text in texts)
    assert named(figure, "Measured (means)")
    table = measured_table(measured)
    assert len(table) == len(measured)
    assert table["Source"].all()


def test_the_plan_is_ringed_and_the_best_of_all_are_points_without_a_line(shown: OperatingPoints) -> None:
    figure = build_frontier(shown)
    (ring,) = named(figure, "The plan")
    assert shown.planned
    assert ring.y[0] == pytest.approx(shown.planned.expected.output_tokens_per_s_per_gpu)
    (best,) = named(figure, "Best of all")
    assert best.mode == "markers"
    assert list(best.x) == sorted(best.x)
    assert list(best.y) == sorted(best.y, reverse=True)


def test_the_limit_and_every_point_within_lie_inside_the_axes(asked: Scenario) -> None:
    for x in XS:
        found = operating_points(asked, x=x)
        layout = build_frontier(found).layout
        low, high = (10**v if layout.xaxis.type == "log" else v for v in layout.xaxis.range)
        for curve in found.curves:
            assert all(low <= getattr(p.expected, x) <= high for p in curve.points)
        assert found.x_limit is None or low <= found.x_limit <= high


def test_tables_hold_every_point_and_their_range(shown: OperatingPoints) -> None:
    table = frontier_table(shown)
    assert len(table) == sum(len(c.points) + len(c.beyond) for c in shown.curves)
    assert "p95 TTFT (ms)" in table
    within = table[table["Within the limits"]]
    name = AXES[shown.y].title
    assert (within[f"{name}, 80 % from"] <= within[name] * 1.01).all()
    assert (within[name] <= within[f"{name}, 80 % to"] * 1.01).all()


def test_without_a_point_the_figure_says_so(asked: Scenario) -> None:
    nothing = OperatingPoints(
        x="ttft_ms",
        y="output_tokens_per_s_per_gpu",
        percentile=95,
        x_limit=None,
        curves=(),
        planned=None,
        missing=("l4",),
    )
    assert build_frontier(nothing).layout.annotations[0].text.startswith("Nothing fits")
    assert frontier_alt_text(nothing).endswith("no point is within the limits.")
    assert frontier_table(nothing).empty


def test_every_figure_has_one_sentence_in_place_of_it(shown: OperatingPoints, lengths: LengthMap) -> None:
    for text in (frontier_alt_text(shown), heat_map_alt_text(lengths)):
        assert text.endswith(".")
        assert "\n" not in text
        assert "unknown" not in text


def test_the_heat_map_shows_gpus_and_frames_the_scenario(lengths: LengthMap) -> None:
    figure = build_heat_map(lengths, framed=(8192, 1024))
    (heat,) = figure.data
    assert heat.text[1][1] == str(lengths.rows[1][1].gpus)
    assert heat.z[1][1] == pytest.approx(math.log(lengths.rows[1][1].gpus or 0))
    (frame,) = figure.layout.shapes
    assert (frame.x0, frame.y0) == (0.5, 0.5)
    assert heat.z[2][0] is None  # 60,000 tokens are beyond the context window
    assert "Beyond the context window" in heat.customdata[2][0]
    assert len(figure.layout.annotations) == 2
    assert "(tokens)" in figure.layout.xaxis.title.text
    assert json.loads(figure.to_json())["data"]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("gpu", ["h100_sxm", "mi355x", "b200_sxm"])
def test_every_number_of_the_heat_map_is_read_on_its_cell(lengths: LengthMap, gpu: str, dark: bool) -> None:
    (heat,) = build_heat_map(lengths.model_copy(update={"gpu": gpu}), dark=dark).data
    for _, shade in heat.colorscale:
        *channels, opacity = (float(n) for n in shade.removeprefix("rgba(").rstrip(")").split(","))
        colour = "#" + "".join(f"{round(n):02X}" for n in channels)
        assert template.contrast(heat.textfont.color, template.over_paper(colour, opacity, dark=dark)) >= 4.5


def test_the_heat_map_table_has_one_row_per_cell(lengths: LengthMap) -> None:
    table = heat_map_table(lengths)
    assert len(table) == 6
    assert table["GPUs"].isna().sum() == 2


def test_lengths_of_the_map_are_written_one_way(asked: Scenario) -> None:
    figure = build_heat_map(gpus_over_lengths(asked, "h100_sxm", [900, 96_000, 192_000], [100, 128_000]))
    (heat,) = figure.data
    assert heat.y == ("900", "96,000", "192,000")
    assert heat.x == ("100", "128,000")


def test_a_map_nothing_serves_says_why(asked: Scenario) -> None:
    beyond = gpus_over_lengths(asked, "h100_sxm", [90_000], [100, 200])
    assert "Beyond the context window" in build_heat_map(beyond).layout.annotations[0].text
    assert heat_map_alt_text(beyond) == "H100 SXM5 80GB serves none of these lengths."


def test_the_load_curve_takes_its_range(asked: Scenario) -> None:
    answer = plan(asked)
    assert answer.deployment
    band = load_band(Answer(understand(asked), answer))
    figure = build_load_curve(answer, limits=asked.limits, band=band)
    tints = [t for t in figure.data if t.fill == "toself"]
    assert len(tints) == 3
    assert max(tints[0].x) == pytest.approx(max(p.rps for p in band.fast))
    assert named(figure, "80 % range of the curve")
    assert not [t for t in build_load_curve(answer, limits=asked.limits).data if t.fill == "toself"]
