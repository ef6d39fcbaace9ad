"""Sources that fail at the start, midway, in part or in strange ways; recovery is automatic."""

import json
from collections.abc import Iterator

import pytest

from collectors.backends.backend import PrometheusBackend, Vectors, batched
from collectors.connect import prometheus_backend, read
from collectors.prometheus import Clock
from collectors.prometheus.answers import Bucket, Sample
from collectors.prometheus.histograms import HistogramQuantiles, distribution
from collectors.queries.query import QuantityPart, Subject, of_source
from collectors.reading.engine_values import engine_numbers
from collectors.reading.observation import State
from collectors.source import Source, source_from
from collectors.vocabulary.expressions import Scope
from tests.collectors.fake_prometheus import FakePrometheus
from tests.collectors.feeds import NOW, Feed, histogram, steady
from tests.collectors.servers import Server, Told, recorded, serving, vector

ID = 'model_name="m",engine="0"'
BASE = (f"vllm:num_requests_running{{{ID}}} 8", f"vllm:num_requests_waiting{{{ID}}} 0")

BUCKETS = (Bucket(low=0.0, high=1.0, count=2.0), Bucket(low=1.0, high=2.0, count=1.0))


BASE += (f"vllm:kv_cache_usage_perc{{{ID}}} 0.4", f"vllm:generation_tokens_total{{{ID}}} @50")
BASE += (f'vllm:request_success_total{{{ID},finished_reason="stop"}} @2',)


@pytest.fixture
def fake() -> FakePrometheus:
    return FakePrometheus(Feed({"a:8000": steady(*BASE), "b:8000": steady(*BASE)}))


@pytest.fixture
def server(fake: FakePrometheus) -> Iterator[Server]:
    with serving(fake) as running:
        yield running


def backend_of(server: Server) -> tuple[Source, PrometheusBackend]:
    source = source_from({"schema_version": 1, "prometheus": {"url": server.url, "timeout_s": 3}, "window_s": 300})
    assert source.prometheus
    return source, prometheus_backend(source, source.prometheus, clock=Clock(wait=lambda _: None))


def test_source_that_breaks_midway_is_told_and_recovers(server: Server, fake: FakePrometheus) -> None:
    source, backend = backend_of(server)
    states = []
    for fault in (None, Told(status=503), Told(status=429), Told(body=b"<html>"), Told(body=b'{"status":"succ'), None):
        fake.fault = fault
        seen = read(source, backend=backend, clock=lambda: NOW)
        states.append(seen.state)
        assert seen.number("running") == (16 if fault is None else None)
        assert fault is None or len(seen.reasons) == 1
    assert states == [State.OK, *[State.UNREACHABLE] * 4, State.OK]


def test_fewer_than_twenty_queries(server: Server) -> None:
    source, backend = backend_of(server)
    read(source, backend=backend, clock=lambda: NOW)
    assert len(server.asked) <= 12
    assert all(asked.method == "POST" for asked in server.asked)


def test_one_rejected_query_takes_no_other_with_it(server: Server, fake: FakePrometheus) -> None:
    source, backend = backend_of(server)
    fake.reject = "kv_cache_usage_perc{}[300s]"
    seen = read(source, backend=backend, clock=lambda: NOW)
    assert seen.state is State.PARTIAL
    assert seen.number("kv_usage") is None
    assert seen.number("running") == 16
    assert any("rejects the query of kv_usage" in reason for reason in seen.reasons)


def test_partial_answer_makes_the_observation_partial(server: Server, fake: FakePrometheus) -> None:
    source, backend = backend_of(server)
    fake.extra = {"warnings": ["store 10.0.0.3:10901 timed out"]}
    seen = read(source, backend=backend, clock=lambda: NOW)
    assert seen.state is State.PARTIAL
    assert "10.0.0.3:10901" in seen.reasons[0]
    assert seen.number("running") == 16


def test_clock_skew_is_told_and_the_source_clock_counts(server: Server) -> None:
    source, backend = backend_of(server)
    seen = read(source, backend=backend, clock=lambda: NOW + 7200)
    assert seen.state is State.OK
    assert seen.at_s == NOW
    assert any("differ by 7200 s" in text for text in seen.warnings)


def test_lost_replica_makes_the_observation_partial() -> None:
    def dying(elapsed: float) -> str | None:
        return steady(*BASE)(elapsed) if elapsed < 500 else None

    seen = Feed({"a:8000": steady(*BASE), "b:8000": dying}).read()
    assert seen.state is State.PARTIAL
    assert (seen.number("replicas"), seen.number("replicas_lost")) == (1, 1)
    assert any("b:8000 stopped reporting" in reason for reason in seen.reasons)


def test_replica_down_for_longer_than_the_window_is_told_too() -> None:
    def dead(elapsed: float) -> str | None:
        return steady(*BASE)(elapsed) if elapsed < 100 else None

    seen = Feed({"a:8000": steady(*BASE), "b:8000": dead}).read()
    assert seen.state is State.PARTIAL
    assert [reason for reason in seen.reasons if "b:8000" in reason] == [
        "b:8000 is down: the last sample came 9 minutes ago."
    ]


def test_metric_that_disappears_is_unknown_afterwards() -> None:
    def page(elapsed: float) -> str:
        lines = BASE if elapsed < 100 else tuple(line for line in BASE if "kv_cache" not in line)
        return steady(*lines)(elapsed)

    seen = Feed({"a:8000": page}).read()
    assert seen.number("kv_usage") is None
    assert seen.state is State.PARTIAL


def test_label_explosion_stays_one_number() -> None:
    lines = [f'vllm:num_requests_running{{{ID},request="{i}"}} 1' for i in range(3000)]
    seen = Feed({"a:8000": steady(*lines, *BASE[1:])}, seconds=60).read()
    assert seen.number("running") == 3000
    assert seen.number("replicas") == 1


def test_full_kv_cache_with_preemptions_is_saturated() -> None:
    full = f"vllm:kv_cache_usage_perc{{{ID}}} 1.0"
    seen = Feed({"a:8000": steady(*BASE[:2], full, *BASE[3:], f"vllm:num_preemptions_total{{{ID}}} @0.2")}).read()
    assert seen.state is State.SATURATED
    assert "KV cache is full" in seen.reasons[0]


def test_waiting_that_dominates_ttft_is_saturated() -> None:
    lines = histogram("vllm:time_to_first_token_seconds", {0.5: 0, 1.0: 2}, 1.6, ID)
    lines += histogram("vllm:request_queue_time_seconds", {0.5: 0, 0.8: 2}, 1.2, ID)
    assert Feed({"a:8000": steady(*BASE, *lines)}).read().state is State.SATURATED


def test_engine_without_prefix_needs_a_selector() -> None:
    """Of a Prometheus; where the user lists the targets, they are the selection."""
    feed = Feed({"a:8000": steady("num_requests_running 3", "num_request_max 64")})
    assert (feed.read().engine, feed.read().number("running")) == ("nim", 3)
    shared = FakePrometheus(feed)
    with serving(shared) as server:
        source, backend = backend_of(server)
        assert read(source, backend=backend, clock=lambda: NOW).state is State.NO_DATA
        ours = source.model_copy(update={"selector": {"job": "scrape"}})
        assert read(ours, backend=backend, clock=lambda: NOW).number("running") == 3


def test_model_selector_on_an_engine_without_models_is_refused() -> None:
    seen = Feed({"a:8000": steady("tgi_queue_size 0")}).read(selector={"model_name": "m"})
    assert seen.state is State.NO_DATA
    assert "no model label" in seen.reasons[0]


def test_unknown_metrics_are_no_data() -> None:
    seen = Feed({"a:8000": steady("node_load1 0.5")}).read()
    assert seen.state is State.NO_DATA
    assert "no metrics of a known engine (1 of 1 scrape targets answer)" in seen.reasons[0]


def test_wanted_engine_that_is_not_there_is_no_data() -> None:
    assert Feed({"a:8000": steady(*BASE)}).read(engine="sglang").state is State.NO_DATA


def test_victoriametrics_drops_nan_series_and_that_is_unknown(server: Server) -> None:
    server.answer = lambda asked: recorded("vm_api/instant_prefix_hit_ratio.json")
    source, backend = backend_of(server)
    assert read(source, backend=backend, clock=lambda: NOW).state is State.NO_DATA


def test_batches_are_bounded() -> None:
    batches = batched([of_source(str(i), "x" * 2000) for i in range(50)])
    assert sum(len(b) for b in batches) == 50
    assert max(len(b) for b in batches) <= 16


def test_observation_is_json_without_nan() -> None:
    seen = Feed({"a:8000": steady(*BASE, "vllm:num_preemptions_total NaN")}).read()
    json.dumps(seen.as_json(), allow_nan=False)
    assert vector(({}, "NaN")).body


def test_dead_target_of_a_shared_job_is_not_held_against_another_model(server: Server, fake: FakePrometheus) -> None:
    other = [line.replace('"m"', '"other"') for line in BASE]

    def dead(elapsed: float) -> str | None:
        return steady(*other)(elapsed) if elapsed < 100 else None

    fake.feed = Feed({"a:8000": steady(*BASE), "b:8000": steady(*other), "c:8000": dead})
    source, backend = backend_of(server)
    ours = source.model_copy(update={"selector": {"model_name": "m"}})
    assert read(ours, backend=backend, clock=lambda: NOW).state is State.OK
    assert read(source, backend=backend, clock=lambda: NOW).state is State.PARTIAL


def test_dead_target_of_a_shared_job_that_reported_for_this_model_is_told(server: Server, fake: FakePrometheus) -> None:
    def dead(elapsed: float) -> str | None:
        return steady(*BASE)(elapsed) if elapsed < 100 else None

    other = [line.replace('"m"', '"other"') for line in BASE]
    fake.feed = Feed({"a:8000": steady(*BASE), "b:8000": steady(*other), "c:8000": dead})
    source, backend = backend_of(server)
    ours = source.model_copy(update={"selector": {"model_name": "m"}})
    seen = read(ours, backend=backend, clock=lambda: NOW)
    assert seen.state is State.PARTIAL
    assert "c:8000 is down: the last sample came 9 minutes ago" in seen.reasons[0]
    assert seen.number("replicas_lost") == 0  # the number did not change within the window


def test_a_distribution_of_fewer_than_no_observations_is_none() -> None:
    assert distribution(BUCKETS, rate_sum=-3.0, rate_count=-2.0, window_s=60.0, scale=1.0) == HistogramQuantiles()


def test_a_mean_of_positive_quantities_is_not_below_0() -> None:
    made = distribution(BUCKETS, rate_sum=-3.0, rate_count=3.0, window_s=60.0, scale=1.0)
    assert (made.mean, made.count) == (None, 180.0)
    assert made.at("p50").value is not None


def test_a_rate_below_0_is_unknown_and_a_queue_may_shrink() -> None:
    def sample(value: float) -> tuple[Sample, ...]:
        return (Sample(labels={}, time_s=0.0, value=value),)

    subjects = (Subject("running"), Subject("finished"), Subject("waiting", QuantityPart.GROWTH))
    vectors = Vectors(samples={subject: sample(-5.0) for subject in subjects})
    numbers = engine_numbers(vectors, {}, Scope(window_s=60.0, step_s=15.0))
    assert (numbers.get("running"), numbers.get("finished_rps")) == (None, None)
    assert numbers["waiting_growth_per_s"] == -5.0
