"""The demo: repeatable, its day visible in what is read from it, scraped by a real Prometheus."""

import shutil
import subprocess
import time
from pathlib import Path

import pytest
import yaml

from collectors.backends.scrape.text import read_page
from collectors.connect import read
from collectors.demo.day import INCIDENTS, PEAK_RPS, conditions_at
from collectors.demo.deployment import Demo
from collectors.demo.feed import DemoFeed
from collectors.demo.server import DemoServer
from collectors.questions.devices import read_devices
from collectors.questions.history import history
from collectors.reading.observation import Observation, State
from collectors.source import source_from
from tests.collectors.servers import running_prometheus, write_blocks

NOW = 1_800_000_000.0
HOUR = 3600.0


def feed_at(hour: float, hours: float = 0.12, **more: object) -> DemoFeed:
    return DemoFeed(hours=hours, second_of_day=hour * HOUR, clock=lambda: NOW, **more)


def seen_at(hour: float, hours: float = 0.12) -> Observation:
    feed = feed_at(hour, hours)
    return read(feed.source(), backend=feed.backend, clock=lambda: NOW)


def test_same_seed_gives_the_same_pages() -> None:
    pages = [Demo(start_s=NOW, seed=seed).page() for seed in (1, 1, 2)]
    assert pages[0] == pages[1] != pages[2]


def test_a_longer_past_tells_the_same_of_its_last_hour() -> None:
    """The dashboard shows an hour at once and, minutes later, the six around it: the hour stays as it was seen."""
    seen = [
        read(feed.source(1_800.0), backend=feed.backend, clock=lambda: NOW)
        for feed in (feed_at(14.25, hours=0.6), feed_at(14.25, hours=1.0))
    ]
    one, other = ([o.numbers["arrivals_rps"], o.distributions["queue_ms"].mean] for o in seen)
    assert one == pytest.approx(other, rel=0.1)


def test_pages_are_valid_and_hold_what_real_ones_hold() -> None:
    names = {s.name for s in read_page(Demo(start_s=NOW).page())}
    assert {"vllm:time_to_first_token_seconds_bucket", "vllm:cache_config_info", "DCGM_FI_PROF_DRAM_ACTIVE"} <= names


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_promtool_reads_the_page() -> None:
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=Demo(start_s=NOW).page(), capture_output=True, text=True
    )
    assert "error while linting" not in done.stderr
    assert done.returncode in (0, 3)  # 3: style of names, which are not ours


def test_load_follows_the_day() -> None:
    night, morning = conditions_at(4 * HOUR), conditions_at(10.5 * HOUR)
    assert night.arrivals_rps < 0.3 * morning.arrivals_rps
    assert morning.arrivals_rps == pytest.approx(PEAK_RPS, rel=0.1)
    assert {i.kind for i in INCIDENTS} == {"burst", "lost", "slow", "cache"}


def test_quiet_hour_is_ok_and_agrees_with_itself() -> None:
    seen = seen_at(8.0)
    assert seen.state is State.OK
    assert (seen.engine, seen.number("replicas"), seen.number("gpus")) == ("vllm", 4, 8)
    rate, e2e = seen.number("arrivals_rps"), seen.distribution("e2e_ms").mean
    # Little's law: requests in the system = arrival rate x time in it.
    assert seen.number("running") + seen.number("waiting") == pytest.approx(rate * e2e / 1000, rel=0.15)
    tokens = seen.distribution("output_tokens").mean
    assert seen.number("generation_tokens_per_s") == pytest.approx(rate * tokens, rel=0.15)


def test_burst_saturates() -> None:
    seen = seen_at(11.2, hours=0.25)
    assert seen.state is State.SATURATED
    assert seen.distribution("ttft_ms").at("p95").value > 5 * seen_at(10.9).distribution("ttft_ms").at("p95").value


def test_lost_replica_is_seen_with_its_xid() -> None:
    seen = seen_at(13.55)
    assert seen.number("replicas") == 3
    assert any("demo-3" in reason for reason in seen.reasons)
    feed = feed_at(13.55)
    devices = read_devices(feed.backend, feed.source(), clock=lambda: NOW)
    assert {d.pod for d in devices if d.values["xid"]} == {"demo-3"}
    assert len(devices) == 8


def test_a_gpu_with_an_xid_does_not_go_on_working() -> None:
    demo = Demo(start_s=NOW, second_of_day=13.49 * HOUR)
    working = []
    for minute in range(1, 40):  # until after the replica has come back
        demo.advance(NOW + 60 * minute)
        working += [gpu.activity for gpu in demo.gpus if gpu.xid]
    assert set(working) == {(0.0, 0.0, 0.0)}
    # Its host was restarted, which clears the code: it works again and has none.
    assert all(gpu.activity[0] > 0 and gpu.xid == 0 for gpu in demo.gpus)


def test_slow_gpu_is_seen_with_its_cause() -> None:
    seen = seen_at(16.5)
    assert seen.number("gpus_throttled") == 1
    assert any("thermal" in note for note in seen.notes)
    feed = feed_at(16.5)
    (slow,) = [d for d in read_devices(feed.backend, feed.source(), clock=lambda: NOW) if d.harmful_causes]
    assert slow.pod == "demo-1"
    assert slow.values["sm_clock"] < 1500


def test_cache_hits_drop() -> None:
    assert seen_at(9.3).number("prefix_hit_ratio") == pytest.approx(0.05, abs=0.01)
    assert seen_at(10.0).number("prefix_hit_ratio") == pytest.approx(0.45, abs=0.01)


def test_time_lapse_moves_the_day_not_the_engine() -> None:
    demo = Demo(start_s=NOW, second_of_day=10 * HOUR, speed=600)
    demo.advance(NOW + 12)
    assert demo.day_second(demo.now_s) == pytest.approx(12 * HOUR)
    assert demo.now_s == NOW + 12


def _generated(demo: Demo, number: int) -> float:
    page = demo.replica_page(number)
    assert page is not None
    return next(s.value for s in read_page(page) if s.name == "vllm:generation_tokens_total")


def test_the_ring_holds_what_the_pages_say() -> None:
    """The feed fills its ring without writing and reading pages: both hold the same samples."""
    demo = Demo(start_s=NOW, second_of_day=11.1 * HOUR)
    assert demo.replica_samples(2) == read_page(demo.replica_page(2) or "")
    assert demo.gpu_samples() == read_page(demo.gpu_page())


def test_returned_replica_counts_from_zero() -> None:
    demo = Demo(start_s=NOW, second_of_day=13.74 * HOUR)
    assert demo.replica_page(3) is None
    demo.advance(NOW + 60)
    assert demo.replica_page(3) is not None
    assert _generated(demo, 3) < _generated(demo, 0)
    assert demo.replicas[3].started_s > demo.replicas[0].started_s


def test_history_has_lines_with_gaps_and_intervals() -> None:
    feed = feed_at(11.2, hours=0.5)
    lines = history(feed.backend, feed.source(), start_s=NOW - HOUR, end_s=NOW, points=60, clock=lambda: NOW)
    assert len(lines.times_s) <= 61
    assert {"arrivals_rps", "waiting", "kv_usage", "gpu_power", "ttft_ms.mean", "ttft_ms.p95_low"} <= set(lines.lines)
    waiting = lines.lines["waiting"]
    assert waiting[0] != waiting[0]  # before the first sample: a gap, not 0
    assert waiting[-1] > 100
    for value, low, high in zip(*(lines.lines[f"ttft_ms.p95{end}"] for end in ("", "_low", "_high")), strict=True):
        assert value != value or low <= value <= high


def test_real_prometheus_scrapes_the_demo_and_both_ways_agree(tmp_path: Path, needs_prometheus: None) -> None:
    server = DemoServer(Demo(start_s=time.time(), second_of_day=10.5 * HOUR), host="127.0.0.1", port=0)
    server.start()
    try:
        config = yaml.safe_load(server.prometheus_config())
        with running_prometheus(tmp_path, config["scrape_configs"], interval="1s") as prometheus:
            prometheus.wait_for("count(count_over_time(vllm:num_requests_running[1m]) >= 8) == 4")
            raw = {"schema_version": 1, "prometheus": {"url": prometheus.url}, "window_s": 30}
            seen = read(source_from(raw))
            targets = [f"http://127.0.0.1:{server.port}/metrics"]
            scrape = {"targets": targets, "interval_s": 1, "store": str(tmp_path / "ring.sqlite")}
            direct = read(source_from({"schema_version": 1, "scrape": scrape, "window_s": 30}))
    finally:
        server.close()
    for observed in (seen, direct):
        assert observed.engine == "vllm"
        assert (observed.number("replicas"), observed.number("gpus")) == (4, 8)
        assert observed.number("arrivals_rps") == pytest.approx(PEAK_RPS, rel=0.6)
    assert seen.number("running") == pytest.approx(direct.number("running"), rel=0.3)
    assert seen.number("power_w") == pytest.approx(direct.number("power_w"), rel=0.2)


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_history_file_becomes_a_prometheus(tmp_path: Path, needs_prometheus: None) -> None:
    now = time.time()
    feed = DemoFeed(hours=0.2, second_of_day=11.2 * HOUR, clock=lambda: now)
    write_blocks(tmp_path, feed, start_s=now - HOUR, end_s=now)
    with running_prometheus(tmp_path) as prometheus:
        raw = {"schema_version": 1, "prometheus": {"url": prometheus.url}, "window_s": 300}
        seen = read(source_from(raw), at_s=now)
    ours = read(feed.source(), backend=feed.backend, clock=lambda: now)
    assert seen.number("generation_tokens_per_s") == pytest.approx(ours.number("generation_tokens_per_s"), rel=0.02)
    assert seen.distribution("itl_ms").at("p95").value == pytest.approx(
        ours.distribution("itl_ms").at("p95").value, rel=0.02
    )
