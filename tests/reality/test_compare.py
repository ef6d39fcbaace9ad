"""Comparisons of the demo and of made-up observations: verdicts where they are due, reasons where they are not."""

import json
from pathlib import Path
from typing import Any

import pytest

from collectors.prometheus.histograms import HistogramQuantiles
from collectors.reading.observation import MissingQuantity, State
from collectors.reading.remarks import RemarkKind, remark
from reality.answer import as_text
from reality.compare import compare, planned_of
from reality.money import planned_cost
from reality.prediction import UNSURE
from reality.result import DeployedFacts, FigureVerdict, Interval, PerformanceRow, RealityComparison, TrafficRow
from reality.verdict import says_little, tolerated, verdict
from sizing import Scenario
from sizing.base.quantity import Result
from sizing.economics.cost import cost
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer
from sizing.question.understand import understand
from tests.golden import Golden
from tests.reality.truths import (
    ObservedDeployment,
    demo,
    deployed,
    observation,
    planned,
    scenario,
    silent,
    simulated_truth,
    verdicts,
)
from tests.sizing.test_golden import PER_RELEASE

GOLDEN = Golden(Path(__file__).parent / "golden")
REFITTED = 0.5
"""Relative: the demo and the step times are fitted anew from time to time, each by less than this. A unit that is lost,
a row that is gone or a mean for a p99 is more."""
FITTED = {
    "answer",
    "reason",
    "reasons",
    "verdict",
    "judged",
    "difference",
    "error",
    "assumptions",
    "notes",
    "step_times",
    "low",
    "high",
    *PER_RELEASE,
}
"""What follows from the fit: the other tests here hold it."""
COUNTED = {"kv_capacity_tokens", "replicas", "gpus"}

SCENARIO = Scenario.model_validate(
    {
        "model": "meta-llama/Meta-Llama-3-8B-Instruct",
        "workload": {"input_tokens": 1000, "output_tokens": 100, "peak_rps": 10},
        "deployment": {"gpus": ["h100_sxm"]},
        "costs": {"api": {"input_usd_per_mtok": 1.0, "output_usd_per_mtok": 4.0}},
    }
)


def unfitted(value: Any) -> Any:
    """A comparison without what follows from the fit; counts become floats, which have a tolerance."""
    if isinstance(value, dict):
        queue = str(value.get("key", "")).startswith("queue_ms")  # near the limit a little speed is a lot of queue
        left_out = FITTED | ({"predicted", "measured"} if queue else set())
        return {key: unfitted(one) for key, one in value.items() if key not in left_out}
    if isinstance(value, list):
        return [unfitted(one) for one in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def on_load(found: RealityComparison) -> dict[str, str]:
    return {row.key: row.verdict for row in found.performance if row.key not in COUNTED}


def over_predicted(found: RealityComparison, key: str) -> float:
    (row,) = [row for row in found.performance if row.key == key]
    return row.measured.value / row.predicted.value


def test_a_quiet_demo_is_judged() -> None:
    found = demo(10.0)
    assert found.judged
    assert (found.state, found.reasons) == ("ok", ())
    unclear = {row.key: row.reason for row in found.performance if row.verdict == "cannot_judge"}
    assert set(unclear) <= {"queue_ms.mean", "queue_ms.p50", "queue_ms.p95"}, (
        "a queue this short is mostly its own steps"
    )
    quieter = {row.key: row.reason for row in demo(8.0).performance if row.verdict == "cannot_judge"}
    assert "up to 300 ms, holds the whole prediction" in quieter["queue_ms.p50"]
    told = verdicts(found)
    assert told["arrivals_rps_peak"] == told["input_tokens.mean"] == told["prefix_hit_ratio"] == "within"
    assert told["replicas"] == told["gpus"] == told["kv_capacity_tokens"] == "within"
    assert found.deployed.gpus_per_replica == 2
    assert found.deployed.models == ("demo/Llama-3.3-70B-Instruct-FP8",)
    assert found.requests >= 20_000


def test_a_slow_gpu_shows_against_the_prediction_at_the_same_load() -> None:
    well, slow = demo(15.9), demo(16.9)
    for key, more in (("tpot_ms.mean", 1.15), ("tpot_ms.p95", 1.3), ("e2e_ms.mean", 1.15)):
        assert over_predicted(slow, key) > more * over_predicted(well, key), key
    # One of four replicas: half as slow again, it may still lie within what the step times are known to.
    assert all(row.verdict in ("within", "higher") for row in slow.performance if row.key.startswith("tpot_ms"))


def test_dropping_cache_hits_are_traffic_not_speed() -> None:
    found = demo(9.4)
    told = verdicts(found)
    assert told["prefix_hit_ratio"] == "lower"
    assert "prefix hit rate" in found.answer.lower()
    assert on_load(found)["tpot_ms.mean"] == "within"


def test_a_saturated_deployment_has_traffic_but_no_verdict_on_speed() -> None:
    found = demo(11.2, 0.25, window_s=240)
    assert found.state == "saturated"
    assert set(on_load(found).values()) == {"cannot_judge"}
    assert verdicts(found)["arrivals_rps_peak"] == "higher"
    assert verdicts(found)["replicas"] == "within"
    assert "No verdict on speed" in found.answer
    assert any("Choose a window in which the queue empties" in reason for reason in found.reasons)
    assert all(row.measured.value is not None for row in found.performance if row.key.startswith("ttft"))


def test_a_window_of_which_some_minutes_are_saturated_is_judged_over_the_others() -> None:
    found = demo(11.2, 0.25)
    assert found.state == "ok"
    assert found.window_s < 0.25 * 3600
    assert "cannot_judge" not in {on_load(found)[key] for key in ("ttft_ms.mean", "tpot_ms.mean")}
    assert any(note.startswith("Judged over") for note in found.notes)


def test_a_lost_replica_blocks_speed_and_is_counted() -> None:
    found = demo(13.55)
    assert set(on_load(found).values()) == {"cannot_judge"}
    assert verdicts(found)["replicas"] == "lower"
    assert "Replicas 3 instead of 4" in found.answer
    assert any("stopped within the window" in reason for reason in found.reasons)


def test_more_replicas_than_planned_are_seen() -> None:
    found = demo(8.0, 0.2, None, 6)
    assert verdicts(found)["replicas"] == verdicts(found)["gpus"] == "higher"
    assert on_load(found)["tpot_ms.mean"] == "within", "predicted for six"


@pytest.mark.parametrize(
    ("state", "word", "said"),
    [
        (State.UNREACHABLE, "cannot be reached", "check its address"),
        (State.STALE, "is stale", "reports no more"),
        (State.NO_DATA, "has no data", "check selector"),
    ],
)
def test_without_data_there_is_an_answer_and_no_zero(state: State, word: str, said: str) -> None:
    found = compare(planned(scenario()), silent(state, "The host is unknown."), ObservedDeployment())
    assert found.state == state.value
    assert found.answer.startswith(f"No verdict: truth {word}.")
    assert said in found.answer
    assert "The host is unknown." in found.reasons
    assert set(verdicts(found).values()) == {"cannot_judge"}
    rows = [*found.traffic, *found.performance]
    assert all(row.measured == Interval(value=None, low=None, high=None) for row in rows)
    assert all(row.reason for row in rows)
    assert found.requests == 0


def test_too_few_requests_are_not_judged() -> None:
    asked = scenario()
    observed, seen = simulated_truth(asked, rps=0.2, replicas=1, window_s=120.0)
    few = {k: d.model_copy(update={"count": 24.0}) for k, d in observed.distributions.items()}
    found = compare(planned(asked), observed.model_copy(update={"distributions": few}), seen)
    assert set(on_load(found).values()) == {"cannot_judge"}
    row = next(r for r in found.performance if r.key == "ttft_ms.p95")
    assert row.reason == "only 24 requests in the window, at least 100 are needed: choose a longer window"
    assert verdicts(found)["input_tokens.mean"] == "cannot_judge"


def test_an_idle_deployment_has_no_prediction() -> None:
    idle = observation({"arrivals_rps": 0.0, "replicas": 4.0, "gpus": 8.0, "running": 0.0})
    found = compare(planned(scenario()), idle, deployed())
    assert set(on_load(found).values()) == {"cannot_judge"}
    assert "no request arrived in the window" in found.answer
    assert found.traffic[0].measured.value == 0.0, "zero requests were measured: that is no gap"


def test_a_missing_metric_names_its_reason() -> None:
    asked = scenario()
    observed, seen = simulated_truth(asked, rps=6.0, replicas=4)
    told = MissingQuantity(quantity="prefix_hit_ratio", reason="no metric; enable it with --enable-prefix-caching")
    less = observed.model_copy(
        update={
            "numbers": observed.numbers | {"prefix_hit_ratio": None},
            "distributions": observed.distributions | {"tpot_ms": HistogramQuantiles()},
            "missing": (told,),
        }
    )
    found = compare(planned(asked), less, seen)
    hits = next(r for r in found.traffic if r.key == "prefix_hit_ratio")
    assert (hits.verdict, hits.reason) == ("cannot_judge", told.reason)
    assert any("Prefix hit rate as planned (0 %)" in text for text in found.assumptions)
    assert verdicts(found)["tpot_ms.p95"] == "cannot_judge"
    assert verdicts(found)["e2e_ms.p95"] == "within"


def test_a_plan_that_deploys_nothing_still_compares_traffic() -> None:
    asked = scenario()
    impossible = asked.model_copy(update={"limits": asked.limits.model_copy(update={"ttft_ms": 1.0})})
    observed, seen = simulated_truth(asked, rps=12.0, replicas=4)
    found = compare(planned_of(impossible), observed, seen)
    assert verdicts(found)["input_tokens.mean"] == "within"
    assert set(on_load(found).values()) == {"cannot_judge"}
    assert any(reason.startswith("The plan deploys nothing.") for reason in found.reasons)


def test_a_measured_record_predicts_nothing() -> None:
    asked = scenario()
    raw = asked.model_dump() | {"measured": {"system": "dgx_h100", "rps_per_system": 6.0, "ttft_ms": 500}}
    observed, seen = simulated_truth(asked, rps=12.0, replicas=4)
    found = compare(planned_of(type(asked).model_validate(raw)), observed, seen)
    assert any("measured record" in reason for reason in found.reasons)
    assert set(on_load(found).values()) == {"cannot_judge"}


def test_tpot_is_never_compared_with_single_gaps() -> None:
    keys = [row.key for row in demo(10.0).performance if row.key.startswith("itl")]
    assert keys == ["itl_ms.mean"], "the engine knows percentiles of means per request only"


@pytest.mark.parametrize(
    ("expected", "measured", "said"),
    [
        ((100, 90, 120), (125, 119, 130), "within"),
        ((100, 90, 120), (125, 121, 130), "higher"),
        ((100, 90, 120), (80, 70, 89), "lower"),
        ((None, 90, None), (1e6, 1e6, 1e6), "within"),
        ((None, 90, None), (50, 40, 60), "lower"),
        ((100, 90, 120), (200, 100, None), "within"),
        ((100, 90, 120), (None, None, None), "cannot_judge"),
        ((None, None, None), (1, 1, 1), "cannot_judge"),
    ],
)
def test_verdicts(expected: tuple[float, ...], measured: tuple[float, ...], said: FigureVerdict) -> None:
    def interval(ends: tuple[float, ...]) -> Interval:
        return Interval(value=ends[0], low=ends[1], high=ends[2])

    assert verdict(interval(expected), interval(measured)) == said


def test_a_tenth_of_a_load_and_five_points_of_a_share_are_agreement() -> None:
    assert tolerated(20.0) == Interval(value=20.0, low=18.0, high=22.0)
    share = tolerated(0.4, ratio=True)
    assert (share.low, share.high) == (pytest.approx(0.35), pytest.approx(0.45))


@pytest.mark.parametrize("kind", [Interval, TrafficRow, PerformanceRow, DeployedFacts, RealityComparison])
def test_every_field_says_what_it_is(kind: type[Result]) -> None:
    for name, field in kind.model_fields.items():
        extra = field.json_schema_extra
        assert isinstance(extra, dict), name
        assert extra["quantity"]["label"], name
        assert field.description or name == "value", name


def test_text_shows_unknown_as_empty_and_never_as_zero() -> None:
    text = as_text(compare(planned(scenario()), silent(State.STALE), ObservedDeployment()))
    assert " 0 ms" not in text
    assert "Reason        It is silent." in text
    assert "TTFT at the server, p95" in as_text(demo(10.0))


def test_the_comparison_of_the_demo_is_that_of_the_last_release(renew_golden: bool) -> None:
    kept = unfitted(json.loads(demo(10.0).model_dump_json()))
    GOLDEN.check("demo_at_ten", kept, renew=renew_golden, rel_tol=REFITTED)


def test_a_partial_answer_of_the_server_is_not_judged_on_load() -> None:
    asked = scenario()
    observed, seen = simulated_truth(asked, rps=6.0, replicas=4)
    told = {"state": State.PARTIAL, "causes": (remark(RemarkKind.PARTIAL_ANSWER, warning=": store-2 is gone"),)}
    found = compare(planned(asked), observed.model_copy(update=told), seen)
    assert set(on_load(found).values()) == {"cannot_judge"}
    assert any("Repair what the server could not reach" in reason for reason in found.reasons)


def test_a_replica_that_is_down_leaves_the_others_judged() -> None:
    asked = scenario()
    observed, seen = simulated_truth(asked, rps=6.0, replicas=3)
    told = {"state": State.PARTIAL, "causes": (remark(RemarkKind.TARGETS_DOWN, targets="vllm-3"),)}
    found = compare(planned(asked), observed.model_copy(update=told), seen)
    assert on_load(found)["tpot_ms.mean"] == "within"
    assert "vllm-3 of the same scrape job is down." in found.reasons


def test_a_cache_too_small_for_any_request_is_said() -> None:
    asked = scenario()
    observed, seen = simulated_truth(asked, rps=6.0, replicas=4)
    tiny = observed.model_copy(update={"numbers": observed.numbers | {"kv_capacity_tokens": 16.0}})
    found = compare(planned(asked), tiny, seen)
    rows = [row for row in found.performance if row.verdict == "cannot_judge"]
    assert rows
    assert all(row.reason for row in rows)
    assert verdicts(found)["kv_capacity_tokens"] == "lower"


def test_arrivals_that_are_not_reported_are_not_zero() -> None:
    asked = scenario()
    observed, seen = simulated_truth(asked, rps=6.0, replicas=4)
    unknown = observed.model_copy(update={"numbers": observed.numbers | {"arrivals_rps": None}})
    found = compare(planned(asked), unknown, seen)
    assert "does not report how many requests arrive" in found.answer
    assert verdicts(found)["arrivals_rps_peak"] == "cannot_judge"
    assert found.traffic[0].measured.value is None
    assert verdicts(found)["input_tokens.mean"] == "within"


def found_at(rps: float) -> RealityComparison:
    asked = scenario()
    observed, seen = simulated_truth(asked, rps=rps, replicas=4)
    return compare(planned(asked), observed, seen)


def rows_of(found: RealityComparison) -> dict[str, PerformanceRow]:
    return {row.key: row for row in found.performance}


def slow_limit() -> float:
    """Requests/s that four replicas carry at the slow end, from what the assumptions say of its decode steps."""
    found = found_at(8.0)
    said = next(text for text in found.assumptions if "decode steps x" in text)
    slow = float(said.split(" to ")[1].split(",")[0])
    return found.stable_rps / slow


def test_a_wide_interval_says_why_beside_its_row() -> None:
    found = found_at(0.98 * slow_limit())
    rows = rows_of(found)
    wide = [r for r in rows.values() if says_little(r.predicted) and r.verdict == "within"]
    assert [r.key for r in wide if r.predicted.high is not None]
    for row in wide:
        told = "open above" if row.predicted.high is None else "wide, so that lying within says little"
        assert told in row.reason, row.key
        assert "at the slow end of the step times" in row.reason, row.key
    assert f"{len(wide)} of these intervals are open or very wide" in found.answer
    assert rows["tpot_ms.mean"].reason == ""


def test_a_quiet_load_needs_no_such_words() -> None:
    found = found_at(4.0)
    rows = rows_of(found)
    assert "very wide" not in found.answer
    assert not [r.key for r in rows.values() if "says little" in r.reason]


@pytest.mark.parametrize("share", [1.0 - UNSURE / 2.0, 1.05])
def test_at_the_limit_the_end_is_open_and_no_length_of_the_simulation(share: float) -> None:
    found = found_at(8.0)
    row = rows_of(found_at(share * found.stable_rps))["ttft_ms.p95"]
    assert (row.predicted.value, row.predicted.high) == (None, None)
    assert row.predicted.low < 5_000


def test_plan_and_api_are_over_the_same_tokens() -> None:
    """The API: (1,000 x 1 + 100 x 4) / 1,100 = 1.2727 USD; the plan: as the cost of the scenario says."""
    plan = analytic_plan(SCENARIO)
    planned, answer = planned_cost(Answer(understand(SCENARIO), plan)), cost(Answer(understand(SCENARIO), plan))
    assert planned.api_usd_per_million_tokens == pytest.approx(1400 / 1100)
    assert planned.usd_per_hour == pytest.approx((answer.usd_per_month or 0.0) / 730)
    allocated = next(lens for lens in answer.lenses if lens.name == "allocated")
    assert planned.usd_per_million_tokens == pytest.approx(allocated.per_unit.usd_per_million_blended_tokens)
