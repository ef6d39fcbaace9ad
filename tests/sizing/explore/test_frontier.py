"""Operating points and frontiers: hand-checked figures, nothing dominated, consistent with plans of the scenario."""

import math
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizing import Scenario, plan
from sizing.base.errors import InvalidScenario
from sizing.catalog import gpus
from sizing.explore.frontier import FAR_BEHIND, operating_points
from sizing.explore.operating_point import (
    MORE_IS_BETTER,
    OperatingPoint,
    Performance,
    PointMetric,
    loads,
    share_of_systems,
)
from sizing.explore.points import SMALLEST_GAIN, pareto_front
from sizing.planning.answered import Answer
from sizing.prices.hardware import options
from sizing.question.understand import understand
from sizing.scenario.prices import Prices
from sizing.search.screen import all_configurations, evaluate
from tests.sizing.explore.frontiers import AXES, good, large_model, scenario


def pinned(tp: int = 1, pp: int = 1) -> Scenario:
    return scenario(
        deployment={
            "gpus": ["h100_sxm"],
            "engines": ["vllm"],
            "precisions": ["fp8"],
            "tp": [tp],
            "pp": [pp],
            "serving": ["aggregated"],
        }
    )


def beats(one: Performance, other: Performance, x: str, y: str) -> bool:
    return good(one, x) > good(other, x) and good(one, y) > good(other, y)


def test_figures_of_one_instance_follow_from_each_other_and_from_the_price_of_the_system() -> None:
    # HGX H100: 285,000 USD, typical in retail, over 5 years of 8,760 h, 8 x 0.7 x 1.82 = 10.192 kW, 8 GPUs
    usd_per_gpu_hour, kw_per_gpu = 285_000 / 5 / 8760 / 8, 10.192 / 8
    (curve,) = operating_points(pinned()).curves
    assert curve.points
    for point in curve.points:
        now = point.expected
        assert now.tokens_per_s_per_user == pytest.approx(1000 / now.itl_ms)
        assert now.output_tokens_per_s_per_gpu == pytest.approx(point.rps * 200)
        cost = usd_per_gpu_hour / (now.output_tokens_per_s_per_gpu * 3600) * 1e6
        assert now.usd_per_million_output_tokens_at_full_load == pytest.approx(cost)
        assert now.output_tokens_per_s_per_kw == pytest.approx(now.output_tokens_per_s_per_gpu / kw_per_gpu)


def test_cost_at_my_load_is_that_of_whole_systems_for_the_load_as_in_a_plan() -> None:
    asked = pinned()
    planned = plan(asked)
    assert planned.cost.usd_per_hour is not None
    assert planned.deployment is not None
    servers = [(o.gpus, o.usd_per_hour) for o in options(gpus()["h100_sxm"], "on_prem", Prices()) if o.usd_per_hour]
    tokens_a_day = 20 / 2 * 3600 * 8 * 200  # the busiest time is twice the mean of eight hours
    (curve,) = operating_points(asked, y="usd_per_million_output_tokens").curves
    for point in curve.points:
        instances = math.ceil(20 / point.rps - 1e-9)
        usd_per_hour = min(math.ceil(instances / each) * price for each, price in servers)
        cost = usd_per_hour * 24 / tokens_a_day * 1e6
        assert point.expected.usd_per_million_output_tokens == pytest.approx(cost)
    shown = operating_points(Answer(understand(asked), planned), y="usd_per_million_output_tokens").planned
    assert shown.expected.usd_per_million_output_tokens == planned.cost.usd_per_million_output_tokens
    assert planned.cost.usd_per_million_output_tokens == pytest.approx(
        min(p.expected.usd_per_million_output_tokens for p in curve.points)
    )


def test_an_instance_larger_than_a_system_is_charged_whole_systems() -> None:
    # TP8 x PP2 are 16 GPUs, two systems of 8
    question = understand(pinned(tp=8, pp=2))
    share = share_of_systems(question, all_configurations(question))
    assert share.usd_per_hour == pytest.approx(2 * 285_000 / 5 / 8760)
    assert share.power_kw == pytest.approx(2 * 10.192)


@pytest.mark.parametrize(("x", "y"), AXES)
def test_no_point_of_a_frontier_is_dominated(x: str, y: str) -> None:
    shown = operating_points(scenario(), x=x, y=y)
    assert {c.gpu for c in shown.curves} == {"h100_sxm", "h200_sxm"}
    for curve in shown.curves:
        for one in curve.points:
            assert not any(beats(other.expected, one.expected, x, y) for other in curve.points)
    best = [p for c in shown.curves for p in c.points if p.best]
    for one in best:
        assert not any(beats(p.expected, one.expected, x, y) for c in shown.curves for p in c.points)


@pytest.mark.parametrize(("x", "y"), AXES)
def test_nothing_within_the_limits_beats_the_frontier_by_more_than_the_smallest_gain(x: str, y: str) -> None:
    asked = scenario(deployment={"gpus": ["h100_sxm"], "engines": ["vllm"]})
    question = understand(asked)
    evaluated = evaluate(question, all_configurations(question))
    found = loads(question, evaluated, share_of_systems(question, evaluated.candidates))
    (curve,) = operating_points(asked, x=x, y=y).curves
    frontier_x = np.array([good(p.expected, x) for p in curve.points])
    frontier_y = np.array([good(p.expected, y) for p in curve.points])
    best = max(frontier_y)
    for row, k in np.argwhere(found.feasible):
        there = found.performance(int(row), int(k))
        here_x, here_y = good(there, x), good(there, y)
        far = here_y * FAR_BEHIND < best if best > 0 else here_y < best * FAR_BEHIND
        near = (frontier_x >= here_x - 2 * SMALLEST_GAIN * abs(here_x)) & (
            frontier_y >= here_y - 2 * SMALLEST_GAIN * abs(here_y)
        )
        assert far or near.any()


def test_points_are_within_the_limits_and_what_is_beyond_breaks_one() -> None:
    asked = scenario(limits={"ttft_ms": 400, "itl_ms": 30, "percentile": 95})

    def holds(point: OperatingPoint) -> bool:
        return point.expected.ttft_ms <= 400 and point.expected.itl_ms <= 30

    for curve in operating_points(asked).curves:
        assert curve.points
        assert all(p.feasible and holds(p) for p in curve.points)
        assert all(not p.feasible for p in curve.beyond)
        assert any(not holds(p) for p in curve.beyond)


def test_a_tighter_limit_never_makes_a_frontier_better() -> None:
    loose, tight = (
        operating_points(scenario(limits={"ttft_ms": ttft, "itl_ms": 100})).curves[0].points for ttft in (2000, 300)
    )
    for one in tight:
        assert any(
            p.expected.tokens_per_s_per_user >= one.expected.tokens_per_s_per_user * (1 - 2 * SMALLEST_GAIN)
            and p.expected.output_tokens_per_s_per_gpu
            >= one.expected.output_tokens_per_s_per_gpu * (1 - 2 * SMALLEST_GAIN)
            for p in loose
        )


def test_every_figure_is_a_metric_with_a_direction() -> None:
    assert set(get_args(PointMetric)) == set(Performance.model_fields) > MORE_IS_BETTER


def test_the_interval_holds_the_estimate() -> None:
    for curve in operating_points(scenario()).curves:
        for point in curve.points:
            assert point.slow
            assert point.fast
            for axis in Performance.model_fields:
                assert good(point.slow, axis) <= good(point.expected, axis) <= good(point.fast, axis)


def test_the_planned_point_is_the_plan() -> None:
    answer = plan(scenario())
    assert answer.deployment
    assert answer.per_instance
    assert answer.latency
    point = operating_points(Answer(understand(scenario()), answer)).planned
    assert point
    now = point.expected
    assert now.output_tokens_per_s_per_gpu == pytest.approx(answer.per_instance.output_tokens_per_s_per_gpu, rel=1e-6)
    assert (now.ttft_ms, now.itl_ms) == pytest.approx(
        (answer.latency.ttft_ms.at_percentile, answer.latency.itl_ms.at_percentile)
    )
    assert point.gpu == answer.deployment.gpu


def test_figures_of_pools_are_those_of_the_whole_group() -> None:
    (curve,) = operating_points(large_model(serving=["disaggregated"])).curves
    assert curve.points
    for point in curve.points:
        now, prefill = point.expected, point.prefill
        assert prefill
        each = prefill.tp * prefill.pp * prefill.dp, point.tp * point.pp * point.dp
        gpus = prefill.instances * each[0] + prefill.beside * each[1]
        rate = point.rps * prefill.beside
        assert now.output_tokens_per_s_per_gpu == pytest.approx(rate * 500 / gpus)
        assert f"{prefill.instances} x prefill" in point.configuration
        assert 1 <= prefill.beside <= 8


@pytest.mark.parametrize("y", ["output_tokens_per_s_per_gpu", "usd_per_million_output_tokens_at_full_load"])
def test_pools_stand_on_the_frontier_where_a_plan_chooses_them(y: str) -> None:
    either, apart, together = (
        operating_points(large_model(serving=kind), y=y).curves[0].points
        for kind in ([], ["disaggregated"], ["aggregated"])
    )
    assert all(p.prefill for p in apart)
    assert not any(p.prefill for p in together)
    assert any(p.prefill for p in either)
    best = {
        kind: max(good(p.expected, y) for p in points)
        for kind, points in (("either", either), ("apart", apart), ("together", together))
    }
    assert best["either"] == pytest.approx(max(best["apart"], best["together"]), rel=2 * SMALLEST_GAIN)
    assert best["apart"] > best["together"]


def test_lines_by_serving_are_one_of_each_kind() -> None:
    split = {c.variant: c for c in operating_points(large_model(), split="serving").curves}
    assert set(split) == {"aggregated", "disaggregated"}
    assert not any(p.prefill for p in (*split["aggregated"].points, *split["aggregated"].beyond))
    assert all(p.prefill for p in (*split["disaggregated"].points, *split["disaggregated"].beyond))


def test_the_planned_point_of_pools_is_the_plan() -> None:
    answer = plan(large_model())
    assert answer.deployment
    assert answer.deployment.prefill
    assert answer.per_instance
    assert answer.latency
    point = operating_points(Answer(understand(large_model()), answer)).planned
    assert point
    assert point.prefill
    assert point.prefill.instances == answer.deployment.prefill.instances
    now = point.expected
    assert now.output_tokens_per_s_per_gpu == pytest.approx(answer.per_instance.output_tokens_per_s_per_gpu, rel=1e-6)
    assert (now.ttft_ms, now.itl_ms) == pytest.approx(
        (answer.latency.ttft_ms.at_percentile, answer.latency.itl_ms.at_percentile)
    )


def test_split_curves_are_held_to_their_width_and_none_beats_the_best_of_all() -> None:
    whole = {c.gpu: c for c in operating_points(scenario()).curves}
    for curve in operating_points(scenario(), split="width").curves:
        widths = {"16 bit": ("bf16", "fp16"), "8 bit": ("fp8", "int8_sq", "int8_wo")}
        if curve.variant in widths:
            assert {p.weight_precision for p in curve.points} <= set(widths[curve.variant])
        top = max(p.expected.output_tokens_per_s_per_gpu for p in curve.points)
        assert top <= max(p.expected.output_tokens_per_s_per_gpu for p in whole[curve.gpu].points) / (1 - SMALLEST_GAIN)


def test_x_limit_is_in_the_unit_of_the_axis() -> None:
    asked = scenario(limits={"ttft_ms": 1500, "itl_ms": 50, "e2e_ms": None})
    assert operating_points(asked).x_limit == pytest.approx(20)  # 1 / 50 ms
    assert operating_points(asked, x="ttft_ms").x_limit == pytest.approx(1500)
    assert operating_points(asked, x="e2e_ms").x_limit is None


def test_what_does_not_fit_or_has_no_price_is_named() -> None:
    huge = scenario(model={"name": "Huge", "params_b": 1000}, deployment={"gpus": ["l4", "h200_sxm"]})
    assert operating_points(huge).missing == ("l4",)
    custom = {"id": "my_chip", "memory_gb": 192, "bandwidth_gbs": 8000, "fp16_tflops": 2250}
    own = scenario(deployment={"gpus": ["my_chip"], "custom_gpus": [custom]})
    assert operating_points(own).curves
    assert operating_points(own, y="usd_per_million_output_tokens").missing == ("my_chip",)


def test_gpus_narrow_what_is_shown_but_not_what_prices_cover() -> None:
    both, one = operating_points(scenario()), operating_points(scenario(), gpus=["h100_sxm"])
    assert [c.gpu for c in one.curves] == ["h100_sxm"]
    prices = [[p.expected.usd_per_million_output_tokens for p in s.curves[0].points] for s in (both, one)]
    assert prices[0] == pytest.approx(prices[1])


@pytest.mark.parametrize("mode", ["sequential", "offline"])
def test_modes_without_limits_have_points(mode: str) -> None:
    work = {"input_tokens": 500, "output_tokens": 100, "peak_rps": 5, "mode": mode}
    shown = operating_points(scenario(workload=work, limits={"ttft_ms": None, "itl_ms": None, "e2e_ms": None}))
    assert shown.x_limit is None
    assert all(c.points and not c.beyond for c in shown.curves)


def test_an_unknown_gpu_in_the_scenario_is_refused() -> None:
    with pytest.raises(InvalidScenario, match="abacus"):
        operating_points(scenario(deployment={"gpus": ["abacus"]}))


@given(st.lists(st.tuples(st.floats(0.1, 1e3), st.floats(0.1, 1e3), st.integers(0, 2)), min_size=1, max_size=60))
def test_undominated_points_beat_or_match_everything_in_their_group(points: list[tuple[float, float, int]]) -> None:
    x, y, group = (np.array(c) for c in zip(*points, strict=True))
    kept = pareto_front(x, y, group.astype(np.int64))
    for i in kept:
        assert not any(x[j] > x[i] and y[j] > y[i] and group[j] == group[i] for j in range(len(points)))
    for j in range(len(points)):
        assert any(
            x[i] >= x[j] * (1 - 2 * SMALLEST_GAIN) and y[i] >= y[j] * (1 - 2 * SMALLEST_GAIN) and group[i] == group[j]
            for i in kept
        )


def test_points_that_are_not_finite_never_count() -> None:
    kept = pareto_front(np.array([1.0, np.nan, 3.0]), np.array([1.0, 9.0, np.inf]), np.zeros(3, dtype=np.int64))
    assert list(kept) == [0]
