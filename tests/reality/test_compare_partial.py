"""A comparison from incomplete data: what can still be judged is, and the rest is said."""

from collectors.reading.observation import State
from collectors.reading.remarks import RemarkKind, remark
from reality.compare import compare
from tests.reality.test_compare import on_load
from tests.reality.truths import planned, scenario, simulated_truth, verdicts


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
