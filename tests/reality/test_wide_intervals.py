"""Near saturation a prediction says little, and says so beside the row; what cannot be carried has no number."""

import pytest

from reality.compare import compare
from reality.prediction import UNSURE
from reality.result import PerformanceRow, RealityComparison
from reality.verdict import says_little
from tests.reality.truths import planned, scenario, simulated_truth


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
