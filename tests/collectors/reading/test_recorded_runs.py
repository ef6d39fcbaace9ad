"""Runs of a real vLLM at known rates, recorded before and after: what is read is what was measured then."""

import pytest

from collectors.reading.observation import Observation, State
from tests.collectors.feeds import Feed
from tests.collectors.servers import recording


def between(first: str, second: str) -> Observation:
    """What happened between two pages."""
    pages = recording(first), recording(second)
    return Feed({"a:8000": lambda elapsed: pages[elapsed >= 450]}).read(selector={"model_name": "tiny-llama"})


@pytest.mark.parametrize(
    ("first", "second", "ttft_ms", "tpot_ms", "queue_ms"),
    [("vllm_rate4", "vllm_rate6", 57, 6.6, 0), ("vllm_rate6", "vllm_rate8", 73, 5.5, 6)],
)
def test_means_of_the_recorded_sweep(first: str, second: str, ttft_ms: float, tpot_ms: float, queue_ms: float) -> None:
    seen = between(first, second)
    assert seen.distribution("ttft_ms").mean == pytest.approx(ttft_ms, rel=0.02)
    assert seen.distribution("tpot_ms").mean == pytest.approx(tpot_ms, rel=0.02)
    assert seen.distribution("queue_ms").mean == pytest.approx(queue_ms, abs=1)
    for key in ("ttft_ms", "itl_ms", "tpot_ms", "e2e_ms"):
        d = seen.distribution(key)
        assert d.at("p50").low <= d.at("p50").value <= d.at("p50").high
        assert d.at("p50").value <= d.at("p95").value <= d.at("p99").value


def test_overload_is_saturated_and_the_client_saw_what_the_bucket_says() -> None:
    waiting = recording("vllm_overloaded")
    assert Feed({"a:8000": lambda _: waiting}).read().state is State.SATURATED
    d = between("vllm_overloaded", "vllm_after_overload").distribution("ttft_ms")
    assert d.at("p95").low < 6729 < d.at("p95").high  # the load generator's p95 of the overload


def test_preemptions_show_although_the_gauges_look_harmless() -> None:
    seen = between("vllm_kv_pressure", "vllm_after_kv_pressure")
    assert seen.number("preemptions_per_s") > 0
    assert seen.number("kv_usage_max") < 0.95
