"""The fleet of the benchmark is what it says, and is read as a small deployment would be."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import requests

from bench.collectors import MOST_QUERIES, Meter, refresh
from bench.fleet import FleetSize, recorded, write_fleet
from bench.server import prometheus
from bench.tsdb import curve, sorted_series, write_block
from collectors.backends.backend import Vectors
from collectors.backends.cache import PART_POINTS, CachingBackend
from collectors.connect import prometheus_backend
from collectors.queries.query import Group, Query
from collectors.queries.ttl import FLEET_REPLICAS
from collectors.questions.devices import read_devices
from collectors.questions.history import history
from collectors.reading import read_from
from collectors.reading.observation import State
from collectors.source import Source, source_from
from tests.patience import PATIENCE_S

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("prometheus") is None, reason="Prometheus is not installed"),
]

END_S = 1_795_200_000
FLEET = FleetSize(replicas=FLEET_REPLICAS + 20, gpus=2_080, hours=0.5)


def test_prometheus_reads_what_is_written(tmp_path: Path) -> None:
    """Counters, noise, gaps, negative and special values, through several chunks."""
    rng = np.random.default_rng(7)
    even = [END_S * 1000 + 15_000 * i for i in range(300)]
    uneven = [t + int(rng.integers(-4000, 4000)) + (3_600_000 if i > 150 else 0) for i, t in enumerate(even)]
    written = {
        "counter_total": (even, np.cumsum(rng.poisson(5, 300)).astype(float)),
        "noise": (uneven, rng.normal(0, 1e9, 300)),
        "steady": (even, np.full(300, 0.25)),
        "special": (uneven, np.where(rng.random(300) < 0.5, np.inf, -0.0)),
    }
    labels = {"job": "t", "quoted": 'a"b\\c', "Upper": "ü"}
    series = sorted_series([({"__name__": name, **labels}, curve(*told)) for name, told in written.items()])
    last = max(times[-1] for times, _ in written.values())
    folder = tmp_path / "data" / "01K0000000000000000000TEST"
    write_block(folder, series, start_ms=min(uneven[0], even[0]), end_ms=last + 1, samples=1200)
    with prometheus(tmp_path / "data") as (url, _):
        for name, (times, values) in written.items():
            form = {"query": f'{name}{{quoted="a\\"b\\\\c"}}[4h]', "time": str(last / 1000)}
            (found,) = requests.post(f"{url}/api/v1/query", data=form, timeout=PATIENCE_S).json()["data"]["result"]
            assert found["metric"] == {"__name__": name, **labels}
            assert [round(t * 1000) for t, _ in found["values"]] == times
            assert [float(v) for _, v in found["values"]] == values.tolist()


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[CachingBackend, Source, int]]:
    folder = tmp_path_factory.mktemp("fleet")
    write_fleet(folder / "data", FLEET, end_s=END_S)
    with prometheus(folder / "data") as (url, pid):
        source = source_from({"schema_version": 1, "prometheus": {"url": url, "timeout_s": 60}, "window_s": 300})
        assert source.prometheus is not None
        yield prometheus_backend(source, source.prometheus), source, pid


def test_fleet_is_read_whole(fleet: tuple[CachingBackend, Source, int]) -> None:
    backend, source, _ = fleet
    seen = read_from(backend, source, at_s=END_S)
    assert seen.state in (State.OK, State.SATURATED)
    assert (seen.number("replicas"), seen.number("gpus")) == (FLEET.replicas, FLEET.gpus)
    assert len(seen.replicas) == FLEET.replicas
    assert seen.scrape_interval_s == pytest.approx(FLEET.interval_s)
    page = {s.name: s.value for s in recorded("vllm_rate8")}
    mean = 1000 * page["vllm:e2e_request_latency_seconds_sum"] / page["vllm:e2e_request_latency_seconds_count"]
    assert seen.distribution("e2e_ms").mean == pytest.approx(mean, rel=0.01)
    ttft = seen.distribution("ttft_ms")
    assert ttft.at("p95").low <= ttft.at("p95").value
    assert any("replicas" in note for note in seen.notes)
    assert any("GPUs" in note for note in seen.notes)


def test_all_gpus_of_a_fleet_add_up_to_the_observation(fleet: tuple[CachingBackend, Source, int]) -> None:
    backend, source, _ = fleet
    seen, devices = read_from(backend, source, at_s=END_S), read_devices(backend, source, at_s=END_S)
    assert len(devices) == FLEET.gpus
    assert len({device.name for device in devices}) == FLEET.gpus
    drawn = [device.values["power"] for device in devices]
    assert seen.number("power_w") == pytest.approx(sum(watts for watts in drawn if watts is not None))
    assert all(device.host and device.pod and device.product for device in devices)


def test_sums_over_gpus_are_asked_plainly_and_are_the_same(fleet: tuple[CachingBackend, Source, int]) -> None:
    """Without filter and grouping; where an answer could hold a blank value, the whole expression is asked."""
    _, source, _ = fleet
    assert source.prometheus is not None
    own, asked = prometheus_backend(source, source.prometheus), []
    told = own._inner.vectors

    def listening(queries: Sequence[Query], *, at_s: float | None) -> Vectors:
        asked.extend(query.expression for query in queries if query.subject.group is Group.GPU)
        return told(queries, at_s=at_s)

    own._inner.vectors = listening
    seen = read_from(own, source, at_s=END_S)
    plain = [text for text in asked if "max by" not in text]
    assert any(text.startswith("avg(DCGM_FI_DEV_GPU_UTIL{") for text in plain)
    drawn = [d.values for d in read_devices(own, source, at_s=END_S)]
    for number, key, how in (
        ("gpu_busy", "busy", np.mean),
        ("gpu_sm_active", "sm_active", np.mean),
        ("power_w", "power", np.sum),
        ("gpu_temperature_max_c", "temperature", np.max),
        ("gpu_clock_min_mhz", "sm_clock", np.min),
    ):
        assert seen.number(number) == pytest.approx(how([values[key] for values in drawn]))
    assert seen.number("gpus") == FLEET.gpus


def test_only_wanted_columns_are_fetched(fleet: tuple[CachingBackend, Source, int]) -> None:
    backend, source, _ = fleet
    devices = read_devices(backend, source, at_s=END_S - 30, columns=("temperature",))
    assert {key for device in devices for key, value in device.values.items() if value is not None} == {"temperature"}


def test_refreshing_asks_few_queries_and_less_than_opening(fleet: tuple[CachingBackend, Source, int]) -> None:
    backend, source, pid = fleet
    meter = Meter(pid)
    with meter.counting():
        opened = meter.measure(lambda: refresh(backend, source, at_s=END_S - 480, span_s=900))
        again = [
            meter.measure(lambda t=t: refresh(backend, source, at_s=t, span_s=900))
            for t in range(END_S - 465, END_S - 299, 15)
        ]
        same = meter.measure(lambda: refresh(backend, source, at_s=END_S - 300, span_s=900))
    assert max(cost.queries for cost in (opened, *again)) <= MOST_QUERIES
    assert all(cost.queries < opened.queries for cost in again)
    assert max(cost.megabytes for cost in again[4:]) < opened.megabytes / 2, "no refresh fetches every GPU anew"
    assert same.queries == 0


@pytest.mark.parametrize("end_s", [END_S - 300, END_S - 240, END_S - 180])
def test_a_fleet_read_in_turns_shows_what_a_fresh_reading_shows(
    fleet: tuple[CachingBackend, Source, int], end_s: int
) -> None:
    """45 s after a full minute everything had its turn, which was about that minute; quantiles are of few buckets."""
    _, source, _ = fleet
    assert source.prometheus is not None
    narrow, asked = prometheus_backend(source, source.prometheus), []
    told = narrow._inner.vectors

    def listening(queries: Sequence[Query], *, at_s: float | None) -> Vectors:
        asked.extend(query.expression for query in queries)
        return told(queries, at_s=at_s)

    narrow._inner.vectors = listening
    for moment in range(end_s - 75, end_s + 46, 15):
        seen = read_from(narrow, source, at_s=moment)
        lines = history(narrow, source, start_s=moment - 600, end_s=moment).lines
    assert any('_bucket{le=~"' in text for text in asked)
    fresh = prometheus_backend(source, source.prometheus)._inner
    whole = read_from(fresh, source, at_s=end_s)
    for key, value in whole.numbers.items():
        if value is None or not key.startswith("gpu"):
            assert seen.numbers[key] == value, key
    for key, found in whole.distributions.items():
        if found.buckets:
            assert seen.distribution(key).model_dump() == pytest.approx(found.model_dump(), nan_ok=True), key
            assert len(seen.distribution(key).buckets) < len(found.buckets)
    drawn = history(fresh, source, start_s=end_s - 600, end_s=end_s).lines
    assert drawn.keys() == lines.keys()
    for key, values in drawn.items():
        assert lines[key] == pytest.approx(values, nan_ok=True), key
    assert not any("in turns" in note for note in whole.notes)


def test_ages_are_told(fleet: tuple[CachingBackend, Source, int]) -> None:
    _, source, _ = fleet
    assert source.prometheus is not None
    own = prometheus_backend(source, source.prometheus)
    read_from(own, source, at_s=END_S - 120)
    read_devices(own, source, at_s=END_S - 120)
    later = read_from(own, source, at_s=END_S - 105)
    assert any("in turns" in note and "quantiles 15 s" in note for note in later.notes)
    devices = read_devices(own, source, at_s=END_S - 105)
    assert devices[0].moments_s["throttle_reasons"] == END_S - 120


def test_lines_of_a_fleet_end_where_its_observation_is(fleet: tuple[CachingBackend, Source, int]) -> None:
    """When everything had its turn: the newest point of a line waits for it."""
    backend, source, _ = fleet
    for moment in range(END_S, END_S + 46, 15):
        seen = read_from(backend, source, at_s=moment)
        lines = history(backend, source, start_s=moment - 900, end_s=moment).lines
    assert lines["running"][-1] == pytest.approx(seen.number("running"))
    assert lines["ttft_ms.p95"][-1] == pytest.approx(seen.distribution("ttft_ms").at("p95").value)


def test_long_lines_of_a_fleet_are_read_in_parts(fleet: tuple[CachingBackend, Source, int]) -> None:
    """The newest part first, an older one with every question; in the end they are what one question would answer."""
    _, source, _ = fleet
    assert source.prometheus is not None
    own = prometheus_backend(source, source.prometheus)
    start_s = END_S - 7_200
    known = []
    for moment in range(END_S, END_S + 46, 15):
        read_from(own, source, at_s=moment)
        lines = history(own, source, start_s=start_s, end_s=moment)
        known.append(lines.since_s)
    assert known[0] == END_S - 60 * (PART_POINTS // 2)
    assert known[1] == END_S - 60 * (PART_POINTS // 2 + PART_POINTS)
    assert known[-1] is None
    whole = history(own._inner, source, start_s=start_s, end_s=END_S)
    assert whole.times_s == lines.times_s
    for key, values in whole.lines.items():
        assert lines.lines[key] == pytest.approx(values, nan_ok=True), key
