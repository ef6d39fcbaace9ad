import json
import math
import tomllib
from collections.abc import Callable
from pathlib import Path

import plotly.graph_objects as go
import pytest

from sizing.base.result import LoadPoint, Plan
from sizing.catalog.gpu_rows import gpus
from sizing.planning.explain_memory import memory_parts
from sizing.scenario.schema import Limits
from ui.figures import template
from ui.figures.load_curve import build_load_curve, load_curve_alt_text, load_curve_table
from ui.figures.memory import build_memory_bar, memory_alt_text
from ui.figures.trade_off import build_trade_off, e2e_of, frontier, trade_off_alt_text

Build = Callable[..., go.Figure]
CONFIG = tomllib.loads((Path(__file__).parents[3] / ".streamlit" / "config.toml").read_text(encoding="utf-8"))


def build_all(plan: Plan, limits: Limits, *, dark: bool = False) -> list[go.Figure]:
    return [
        build_memory_bar(plan, dark=dark),
        build_load_curve(plan, limits=limits, dark=dark),
        build_trade_off(plan, selected=1, limits=limits, dark=dark),
    ]


def axis_titles(figure: go.Figure) -> list[str]:
    layout = figure.to_plotly_json()["layout"]
    return [a["title"]["text"] for name, a in layout.items() if "axis" in name and a.get("visible", True)]


def points(figure: go.Figure) -> int:
    return sum(len(trace.x) for trace in figure.data)


@pytest.mark.parametrize("dark", [False, True])
def test_every_axis_names_its_unit_and_every_latency_its_percentile(plan: Plan, limits: Limits, dark: bool) -> None:
    titles = [title for figure in build_all(plan, limits, dark=dark) for title in axis_titles(figure)]
    assert titles
    for title in titles:
        assert "(" in title or title == "GPUs"
        if any(latency in title for latency in ("TTFT", "ITL", "E2E")):
            assert title.startswith("p95 ")


def test_figures_are_transparent_small_and_the_same_for_the_same_plan(plan: Plan, limits: Limits) -> None:
    for figure, again in zip(build_all(plan, limits), build_all(plan, limits), strict=True):
        assert figure.layout.template.layout.paper_bgcolor == "rgba(0,0,0,0)"
        assert points(figure) <= template.MAX_POINTS
        assert figure.to_json() == again.to_json()


def test_a_long_load_curve_is_thinned(plan: Plan, limits: Limits) -> None:
    first = plan.load_curve[0]
    many = tuple(first.model_copy(update={"rps": i / 1000}) for i in range(1, 9000))
    assert points(build_load_curve(plan.model_copy(update={"load_curve": many}), limits=limits)) <= template.MAX_POINTS


def test_memory_parts_fill_the_gpu_exactly(plan: Plan) -> None:
    assert sum(part.size for part in memory_parts(plan)) == pytest.approx(80.0)


def test_an_h100_with_80_gib_is_drawn_with_80(plan: Plan) -> None:
    one = plan.per_instance.model_copy(update={"memory_per_gpu_gb": 80 * 2**30 / 1e9})
    drawn = plan.model_copy(update={"per_instance": one})
    assert sum(part.size for part in memory_parts(drawn)) == pytest.approx(80.0)
    text = json.dumps(build_memory_bar(drawn).to_plotly_json(), default=str)
    assert "80 GiB" in text
    assert "85.9" not in text + memory_alt_text(drawn)
    assert memory_alt_text(drawn).startswith("Memory of one GPU (80 GiB)")


def test_memory_of_an_instance_is_shared_by_its_gpus(plan: Plan) -> None:
    two = plan.model_copy(update={"deployment": plan.deployment.model_copy(update={"tp": 2})})
    assert memory_parts(two)[0].size == pytest.approx(memory_parts(plan)[0].size / 2)


def test_memory_that_is_overcommitted_shows_no_negative_part(plan: Plan) -> None:
    over = plan.per_instance.model_copy(update={"free_gb": -5, "weights_gb": 90})
    parts = memory_parts(plan.model_copy(update={"per_instance": over}))
    assert min(part.size for part in parts) == 0


def test_load_curve_marks_plan_limits_and_knee(plan: Plan, limits: Limits) -> None:
    figure = build_load_curve(plan, limits=limits)
    names = [trace.name for trace in figure.data if trace.showlegend]
    assert [name.split(",")[0] for name in names] == ["Limit", "Planned load", "Every limit holds", "Knee"]
    planned = [t for t in figure.data if t.mode == "markers" and not t.showlegend]
    assert [t.x[0] for t in planned] == [plan.per_instance.rps] * 3
    assert len([t for t in figure.data if t.mode == "lines" and len(t.x) == 2]) == 2  # TTFT and ITL are limited


def test_limits_and_planned_values_lie_inside_their_panels(plan: Plan, limits: Limits) -> None:
    layout = build_load_curve(plan, limits=limits).layout
    assert layout.yaxis.range[1] > limits.ttft_ms
    assert layout.yaxis2.range[1] > limits.itl_ms
    assert layout.yaxis3.range[1] > plan.latency.e2e_ms.at_percentile / 1000


def test_points_beyond_stability_are_left_out(plan: Plan, limits: Limits) -> None:
    endless = plan.load_curve[-1].model_copy(update={"rps": 99.0, "ttft_ms": math.inf, "e2e_ms": math.inf})
    figure = build_load_curve(plan.model_copy(update={"load_curve": (*plan.load_curve, endless)}), limits=limits)
    assert max(x for trace in figure.data for x in trace.x if x is not None) < 99
    assert "Infinity" not in figure.to_json()


def test_frontier_holds_only_what_nothing_beats(plan: Plan) -> None:
    best = frontier(plan.trade_off)
    assert [c.deployment.gpus for c in best] == sorted(c.deployment.gpus for c in best)
    for one in best:
        assert not any(c.deployment.gpus <= one.deployment.gpus and c.e2e_ms < one.e2e_ms for c in plan.trade_off)


@pytest.mark.parametrize(("fastest", "unit"), [(950.0, "s"), (90.0, "ms")])
def test_the_trade_off_has_one_unit_on_its_axis_and_its_slider(
    plan: Plan, limits: Limits, fastest: float, unit: str
) -> None:
    """Seconds where one deployment takes a second or more, milliseconds where none does."""
    first, *_ = plan.trade_off
    slower = first.model_copy(update={"e2e_ms": 10.0 * fastest})
    faster = first.model_copy(update={"e2e_ms": fastest})
    steps = (slower, faster)
    figure = build_trade_off(plan.model_copy(update={"trade_off": steps}), selected=1, limits=limits)
    assert figure.layout.yaxis.title.text == f"p95 E2E ({unit})"
    drawn = {y for trace in figure.data for y in trace.y}
    assert {e2e_of(one, steps) for one in steps} == {f"{y:g} {unit}" for y in drawn}


@pytest.mark.parametrize("selected", [None, -1, 99])
def test_a_selection_that_is_not_there_is_not_drawn(plan: Plan, limits: Limits, selected: int | None) -> None:
    assert "Selected" not in [t.name for t in build_trade_off(plan, selected=selected, limits=limits).data]
    assert "selected" not in trade_off_alt_text(plan, selected=selected, limits=limits)


def test_without_a_deployment_every_figure_says_so(nothing_fits: Plan, limits: Limits) -> None:
    for figure in build_all(nothing_fits, limits):
        assert figure.layout.annotations[0].text.startswith("No deployment")
        assert len(figure.data) == 0
    assert load_curve_table(nothing_fits).empty


def test_every_figure_has_one_sentence_in_place_of_it(plan: Plan, nothing_fits: Plan, limits: Limits) -> None:
    for given in (plan, nothing_fits):
        for text in (
            memory_alt_text(given),
            load_curve_alt_text(given, limits=limits),
            trade_off_alt_text(given, selected=0, limits=limits),
        ):
            assert text.endswith(".")
            assert "\n" not in text
            assert "unknown" not in text


def test_tables_carry_units_and_the_numbers_of_the_figure(plan: Plan, limits: Limits) -> None:
    table = load_curve_table(plan, limits=limits)
    assert "p95 TTFT (ms)" in table
    assert len(table) == len(plan.load_curve)
    assert table["p95 E2E (ms)"].iloc[-1] == pytest.approx(plan.load_curve[-1].e2e_ms, rel=0.01)


@pytest.mark.parametrize(("dark", "theme"), [(False, "light"), (True, "dark")])
def test_every_colour_is_seen_on_the_page(dark: bool, theme: str) -> None:
    page = CONFIG["theme"][theme]["backgroundColor"]
    assert template.PAPER[dark] == page
    for colour in (*template.palette(dark=dark), template.NEUTRAL[dark]):
        assert template.contrast(colour, page) >= 3
    assert template.contrast(template.INK[dark], page) >= 7


@pytest.mark.parametrize(("dark", "theme"), [(False, "light"), (True, "dark")])
def test_figures_and_theme_share_one_palette(dark: bool, theme: str) -> None:
    shared = CONFIG["theme"][theme]["chartCategoricalColors"][: len(template.palette(dark=dark))]
    assert list(template.palette(dark=dark)) == shared


@pytest.mark.parametrize("dark", [False, True])
def test_text_in_a_bar_is_readable(dark: bool) -> None:
    for colour in template.palette(dark=dark):
        assert template.contrast(template.text_on(colour), colour) >= 4.5


def test_contrast_is_that_of_wcag() -> None:
    assert template.contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert template.contrast("#777777", "#FFFFFF") == pytest.approx(4.48, abs=0.01)


def test_every_hardware_has_a_look_of_its_own() -> None:
    looks = [template.hardware_look(gpu) for gpu in gpus()]
    assert len({(look.colour, look.symbol) for look in looks}) == len(looks)


def test_a_hardware_keeps_its_colour_and_marker_in_both_themes() -> None:
    for gpu in gpus():
        light, dark = template.hardware_look(gpu), template.hardware_look(gpu, dark=True)
        assert template.LIGHT.index(light.colour) == template.DARK.index(dark.colour)
        assert (light.symbol, light.dash) == (dark.symbol, dark.dash)


def test_a_custom_accelerator_has_a_stable_look() -> None:
    assert template.hardware_look("my_chip") == template.hardware_look("my_chip")
    assert template.hardware_look("my_chip").name == "my_chip"


def test_figures_are_plain_json(plan: Plan, limits: Limits) -> None:
    for figure in build_all(plan, limits):
        assert json.loads(figure.to_json())["data"]


def test_a_measured_plan_has_one_point_and_says_so(plan: Plan, limits: Limits) -> None:
    measured = plan.model_copy(update={"load_curve": (), "trade_off": ()})
    assert "measured record" in load_curve_alt_text(measured, limits=limits)
    assert "measured record" in build_trade_off(measured, selected=None, limits=limits).layout.annotations[0].text


def test_a_limit_far_above_the_curve_does_not_flatten_it(plan: Plan) -> None:
    calm = tuple(
        LoadPoint(rps=i, concurrency=1, ttft_ms=10, itl_ms=1, e2e_ms=100, output_tokens_per_s_per_gpu=1)
        for i in range(1, 9)
    )
    generous = Limits(ttft_ms=2000, itl_ms=None, e2e_ms=None)
    top = build_load_curve(plan.model_copy(update={"load_curve": calm}), limits=generous).layout.yaxis.range[1]
    assert top == pytest.approx(2300)
