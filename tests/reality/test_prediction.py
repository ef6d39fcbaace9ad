"""The plan's engine against worlds that it made itself: what is as predicted is found within, what is not is found."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reality.compare import compare
from reality.prediction import predict
from reality.traffic import observed_traffic
from tests.reality.truths import LoadOverTime, deployed, planned, scenario, simulated_truth, verdicts

ON_SPEED = (
    "ttft_ms.mean",
    "ttft_ms.p50",
    "ttft_ms.p95",
    "tpot_ms.mean",
    "tpot_ms.p95",
    "itl_ms.mean",
    "e2e_ms.mean",
    "e2e_ms.p95",
    "queue_ms.mean",
    "output_tokens_per_s_per_gpu",
    "running",
    "kv_usage",
    "kv_capacity_tokens",
)


@given(
    load=st.floats(0.1, 0.85),
    prompt=st.integers(300, 4000),
    output=st.integers(50, 500),
    cached=st.floats(0, 0.6),
    replicas=st.integers(1, 6),
    seed=st.integers(1, 1000),
)
def test_what_the_engine_made_lies_within_what_it_predicts(
    load: float, prompt: int, output: int, cached: float, replicas: int, seed: int
) -> None:
    asked = scenario(
        input_tokens={"p50": prompt, "p95": 2.5 * prompt},
        output_tokens={"p50": output, "p95": 3.0 * output},
        prefix_cached_tokens=round(cached * prompt * 0.9),
        peak_rps=4.0,
    )
    ready = planned(asked)
    rps = load * ready.answer.plan.per_instance.stable_rps * replicas
    observed, seen = simulated_truth(asked, rps=rps, replicas=replicas, seed=seed)
    found = compare(ready, observed, seen)
    off = {key: v for key, v in verdicts(found).items() if key in ON_SPEED and v != "within"}
    assert off == {}, found.answer
    assert found.judged


def test_a_perfect_deployment_has_small_errors() -> None:
    asked = scenario()
    observed, seen = simulated_truth(asked, rps=12.0, replicas=4)
    found = compare(planned(asked), observed, seen)
    errors = {row.key: row.error for row in found.performance if row.error is not None}
    assert abs(errors["tpot_ms.mean"]) < 0.03
    assert abs(errors["e2e_ms.mean"]) < 0.04
    assert abs(errors["ttft_ms.mean"]) < 0.10
    assert abs(errors["running"]) < 0.04
    assert abs(errors["output_tokens_per_s_per_gpu"]) < 0.02
    assert found.answer.startswith(
        "Load, mean of prompts, mean of outputs and prefix hit rate as planned (within 10 %). All "
    )


@pytest.mark.parametrize(("slower", "verdict"), [(2.0, "higher"), (0.5, "lower")])
def test_another_speed_is_found(slower: float, verdict: str) -> None:
    asked = scenario()
    observed, seen = simulated_truth(asked, rps=6.0, replicas=4, slower=slower)
    found = compare(planned(asked), observed, seen)
    told = verdicts(found)
    assert {told[k] for k in ("ttft_ms.mean", "tpot_ms.mean", "itl_ms.mean", "e2e_ms.mean", "running")} == {verdict}
    assert told["output_tokens_per_s_per_gpu"] == "within", "what comes in goes out"
    error = next(row.error for row in found.performance if row.key == "tpot_ms.mean")
    assert error is not None
    assert (error < -0.3) if slower > 1 else (error > 0.5)


def test_load_that_changes_is_predicted_as_it_changed() -> None:
    """Half an hour quiet, half an hour busy: mean TTFT is above that of the mean load, as in the queue of each half."""
    asked = scenario()
    ready = planned(asked)
    assert ready.row is not None
    observed, _ = simulated_truth(asked, rps=10.0, replicas=4)
    flat = observed_traffic(
        ready.answer.question, observed, deployed(load=LoadOverTime(step_s=120.0, rps=(10.0,) * 30))
    )
    steps = observed_traffic(
        ready.answer.question, observed, deployed(load=LoadOverTime(step_s=120.0, rps=(2.0,) * 15 + (18.0,) * 15))
    )
    assert flat is not None
    assert np.mean(steps.rates) == pytest.approx(10.0)
    even, uneven = (predict(ready.answer.question, ready.row, t, replicas=4) for t in (flat, steps))
    assert uneven.values["ttft_ms.p95"].value > 1.3 * even.values["ttft_ms.p95"].value
    assert uneven.values["running"].value > 1.05 * even.values["running"].value


def test_a_load_beyond_the_engine_has_an_open_interval() -> None:
    asked = scenario()
    ready = planned(asked)
    observed, _ = simulated_truth(asked, rps=4.0, replicas=4)
    overloaded = observed.model_copy(update={"numbers": observed.numbers | {"arrivals_rps": 60.0}})
    found = compare(ready, overloaded, deployed())
    row = next(r for r in found.performance if r.key == "ttft_ms.mean")
    assert (row.predicted.value, row.predicted.high) == (None, None)
    assert found.stable_rps < 60
    assert row.error is None


def test_the_ends_of_an_interval_lie_around_its_value() -> None:
    asked = scenario()
    ready = planned(asked)
    assert ready.row is not None
    observed, seen = simulated_truth(asked, rps=10.0, replicas=4)
    traffic = observed_traffic(ready.answer.question, observed, seen)
    assert traffic is not None
    found = predict(ready.answer.question, ready.row, traffic, replicas=4, spread=0.01)
    for key, interval in found.values.items():
        assert interval.value is not None, key
        assert interval.low <= interval.value <= interval.high, key


@pytest.mark.parametrize("steps", [1, 30])
def test_a_replica_sees_its_share_of_the_arrivals(steps: int) -> None:
    """Also where the window is too short, or too quiet, for more than one step."""
    from reality.prediction import _arrivals

    asked = scenario(arrivals={"gamma": {"cv": 2.0}})
    ready = planned(asked)
    observed, _ = simulated_truth(asked, rps=10.0, replicas=4)
    seen = deployed(load=LoadOverTime(step_s=120.0, rps=(10.0,) * steps))
    traffic = observed_traffic(ready.answer.question, observed, seen)
    assert len(traffic.rates) == steps
    assert _arrivals(ready.answer.question, traffic, 1).cv == 2.0
    quarter = _arrivals(ready.answer.question, traffic, 4)
    assert quarter.expected(1000.0) == pytest.approx(2500.0)
    assert quarter.cv**2 == pytest.approx(1.0 + (2.0**2 - 1.0) / 4.0), "thinned: towards Poisson"


def test_a_window_of_one_step_is_predicted_like_many_even_steps() -> None:
    asked = scenario()
    ready = planned(asked)
    assert ready.row is not None
    observed, _ = simulated_truth(asked, rps=10.0, replicas=4)
    found = []
    for steps in (1, 30):
        seen = deployed(load=LoadOverTime(step_s=120.0, rps=(10.0,) * steps))
        traffic = observed_traffic(ready.answer.question, observed, seen)
        assert traffic is not None
        found.append(predict(ready.answer.question, ready.row, traffic, replicas=4).values)
    for key in ("ttft_ms.mean", "tpot_ms.mean", "running", "kv_usage"):
        one, many = (values[key].value for values in found)
        assert one == pytest.approx(many, rel=0.05), key
