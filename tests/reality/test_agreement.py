"""Agreement is claimed only where the measured value itself agrees, not because intervals are wide."""

import numpy as np
import pytest

from reality.performance import Blocked, performance_rows
from reality.prediction import Prediction
from reality.result import Interval
from reality.traffic import in_words, traffic_rows
from sizing.question.understand import understand
from tests.reality.truths import deployed, in_buckets, observation, scenario

COARSE = [1.0, 100.0, 1000.0, 10_000.0]


def queue_of(value_ms, predicted):
    """The row of the p99 queue, measured about at a value with coarse buckets, against a prediction."""
    measured = in_buckets(np.full(20_000, value_ms), np.ones(20_000), COARSE)
    seen = observation({"arrivals_rps": 10.0}, {"queue_ms": measured})
    prediction = Prediction(
        values={"queue_ms.p99": predicted},
        kv_tokens=1e6,
        stable_rps=10.0,
        slow_share=0.5,
        requests=10_000,
        source="roofline",
        assumed=(),
    )
    rows = performance_rows(seen, prediction, None, None, Blocked())
    return next(row for row in rows if row.key == "queue_ms.p99")


@pytest.mark.parametrize("predicted", [Interval(value=300, low=150, high=1200), Interval(value=300, low=200, high=450)])
def test_a_queue_three_times_the_prediction_is_not_as_expected(predicted):
    row = queue_of(900.0, predicted)
    assert row.measured.value > 2.9 * predicted.value
    assert row.verdict == "cannot_judge"
    assert "times the prediction" in row.reason


def test_a_queue_near_the_prediction_is_as_expected():
    row = queue_of(900.0, Interval(value=800, low=500, high=1200))
    assert (row.verdict, row.reason) == ("within", "")


def traffic(prompts, edges):
    """Rows of the traffic with these prompt lengths."""
    lengths = in_buckets(np.asarray(prompts, dtype=float), np.ones(len(prompts)), edges)
    question = understand(scenario(input_tokens={"p50": 1000, "p95": 2000}))
    seen = observation({"arrivals_rps": 10.0}, {"input_tokens": lengths})
    return question, traffic_rows(question, seen, deployed(), "")


def test_longer_tails_are_not_as_planned_though_the_mean_is():
    planned = scenario(input_tokens={"p50": 1000, "p95": 2000})
    mean = understand(planned).traffic.input_tokens
    # 90 % of the prompts a little shorter, 10 % at 2,460 tokens: p95 23 % above the plan, the mean as planned.
    short = (mean - 0.1 * 2460) / 0.9
    fine = np.linspace(50, 5000, 200).tolist()
    _, rows = traffic([short] * 9_000 + [2460.0] * 1_000, fine)
    by_key = {row.key: row for row in rows}
    assert by_key["input_tokens.mean"].verdict == "within"
    assert by_key["input_tokens.p95"].difference == pytest.approx(0.23, abs=0.02)
    assert by_key["input_tokens.p95"].verdict == "higher"
    words = in_words(rows)
    assert "p95 of prompts 23 % longer" in words.replace("24 %", "23 %").replace("22 %", "23 %")
    assert "mean of prompts" in words


def test_a_coarse_histogram_is_no_agreement():
    _, rows = traffic([1200.0] * 9_000 + [2460.0] * 1_000, [500.0, 1000.0, 1900.0, 3000.0])
    row = next(row for row in rows if row.key == "input_tokens.p95")
    assert row.difference > 0.1
    assert row.measured.low < 2200
    assert row.verdict == "cannot_judge"
    assert "too uncertain" in row.reason
