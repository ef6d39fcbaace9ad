"""One observation through a real Prometheus that scrapes recorded vLLM and DCGM pages."""

import time

import pytest

from bench.server import free_port
from collectors.connect import read
from collectors.queries.live_numbers import NUMBERS
from collectors.reading.observation import DISTRIBUTIONS, State
from collectors.source import Source, source_from
from tests.collectors.conftest import Replay
from tests.collectors.servers import recording

WINDOW_S = 20.0


def source(replay: Replay, **more: object) -> Source:
    raw = {"schema_version": 1, "name": "t", "prometheus": {"url": replay.prometheus.url}, "window_s": WINDOW_S}
    return source_from({**raw, "selector": {"model_name": "tiny-llama"}, **more})


def mean_between(metric: str) -> float:
    """The mean of what was observed between the two pages."""
    parts = []
    for part in ("sum", "count"):
        first, second = (
            next(
                float(x.split()[-1])
                for x in recording(f"vllm_rate{n}").splitlines()
                if x.startswith(f"{metric}_{part}")
            )
            for n in (4, 6)
        )
        parts.append(second - first)
    return parts[0] / parts[1]


@pytest.fixture(scope="module")
def moved(replay: Replay) -> float:
    """The moment after the page moved from the run at 4 to the run at 6 requests/s."""
    replay.pages.pages["/vllm"] = recording("vllm_rate6")
    replay.prometheus.wait_for('changes(vllm:generation_tokens_total{job="vllm"}[15s]) > 0')
    time.sleep(2.5)
    return time.time()


def test_numbers_agree_with_the_pages(replay: Replay, moved: float) -> None:
    seen = read(source(replay), at_s=moved)
    assert seen.engine == "vllm"
    assert seen.engine_variant == "v1"
    ttft = seen.distribution("ttft_ms")
    assert ttft.mean == pytest.approx(57, rel=0.03)  # what the recorded sweep says for 6 requests/s
    assert ttft.at("p95").low == 100
    assert ttft.at("p95").high == 250
    assert seen.distribution("tpot_ms").mean == pytest.approx(6.6, rel=0.03)
    assert seen.distribution("input_tokens").mean == pytest.approx(mean_between("vllm:request_prompt_tokens"))
    assert seen.distribution("e2e_ms").mean == pytest.approx(mean_between("vllm:e2e_request_latency_seconds") * 1000)
    assert seen.number("kv_capacity_tokens") == 524288
    assert seen.number("max_concurrency") == 256
    assert seen.number("error_ratio") == 0


def test_quantiles_equal_prometheus(replay: Replay, moved: float) -> None:
    seen = read(source(replay), at_s=moved)
    window = f"{round(seen.window_s * 1000)}ms"
    for name, key in DISTRIBUTIONS.items():
        metric = {"ttft": "time_to_first_token_seconds", "itl": "inter_token_latency_seconds"}.get(key)
        if metric is None:
            continue
        for q, part in ((0.5, "p50"), (0.95, "p95"), (0.99, "p99")):
            selector = 'job="vllm",model_name="tiny-llama"'
            expression = f"histogram_quantile({q}, sum by (le) (rate(vllm:{metric}_bucket{{{selector}}}[{window}])))"
            (answer,) = replay.prometheus.query(expression, moved)
            assert seen.distribution(name).at(part).value == pytest.approx(float(answer["value"][1]) * 1000, rel=1e-3)


def test_duplicate_scrape_is_counted_once(replay: Replay, moved: float) -> None:
    seen = read(source(replay), at_s=moved)
    series = 'vllm:generation_tokens_total{model_name="tiny-llama",job="vllm"}'
    single = f"sum(rate({series}[{round(seen.window_s * 1000)}ms]))"
    (answer,) = replay.prometheus.query(single, seen.at_s)
    assert seen.number("generation_tokens_per_s") == pytest.approx(float(answer["value"][1]), rel=1e-3)
    assert seen.number("replicas") == 1
    assert any("vllm, vllm-again scrape the same servers" in note for note in seen.notes)


def test_gpus_are_joined_by_host(replay: Replay, moved: float) -> None:
    seen = read(source(replay), at_s=moved)
    assert seen.number("gpus") == 1
    assert seen.number("power_w") == pytest.approx(16.365)
    assert seen.number("gpu_memory_total_gb") == pytest.approx((22563 + 470) * 1.048576 / 1000)
    other = read(source(replay, selector={"model_name": "other-model"}), at_s=moved)
    assert other.number("gpus") is None
    assert any("no pod or host ties" in m.reason for m in other.missing)
    mapped = read(source(replay, selector={"model_name": "other-model"}, gpu_selector={"gpu": 0}), at_s=moved)
    assert mapped.number("gpus") == 1


def test_zero_is_not_no_data(replay: Replay, moved: float) -> None:
    idle = read(source(replay, selector={"model_name": "other-model"}), at_s=moved)
    assert idle.state is State.OK
    assert idle.number("arrivals_rps") == 0
    assert idle.distribution("ttft_ms").mean is None
    nobody = read(source(replay, selector={"model_name": "no-such-model"}), at_s=moved)
    assert nobody.state is State.NO_DATA
    assert nobody.number("arrivals_rps") is None
    assert "no-such-model" in nobody.reasons[0]


def test_every_key_is_there_in_every_state(replay: Replay, moved: float) -> None:
    unreachable = source_from({"schema_version": 1, "prometheus": {"url": f"http://127.0.0.1:{free_port()}"}})
    for seen in (read(source(replay), at_s=moved), read(unreachable)):
        values = seen.as_json()["values"]
        assert set(values) == {*NUMBERS, *DISTRIBUTIONS}
    assert read(unreachable).state is State.UNREACHABLE


def test_engine_that_stops_is_stale_not_idle(replay: Replay, moved: float) -> None:
    replay.pages.pages["/lost"] = None
    replay.prometheus.wait_for('up{job="lost"} == 0')
    seen = read(source(replay, selector={"model_name": "lost-model"}))
    assert seen.state is State.STALE
    assert seen.age_s < 60
    assert set(seen.numbers.values()) == {None}
    assert "scrape targets answer" in seen.reasons[0]


def test_short_window_is_widened(replay: Replay, moved: float) -> None:
    seen = read(source(replay), at_s=moved, window_s=2.0)
    assert seen.window_s >= 3.5
    assert any("too few scrapes" in note for note in seen.notes)


def test_injected_label_value_selects_nothing(replay: Replay) -> None:
    evil = 'x"} or vllm:num_requests_running{model_name="tiny-llama'
    assert read(source(replay, selector={"model_name": evil})).state is State.NO_DATA


def test_mapping_can_be_overridden(replay: Replay, moved: float) -> None:
    metrics = {"running": {"expr": "count(vllm:num_requests_running{$sel}) * 42"}, "ttft": {"histogram": "not_there"}}
    seen = read(source(replay, metrics=metrics), at_s=moved)
    assert seen.number("running") == 42
    assert seen.mapping["running"].overridden
    assert any(m.quantity == "ttft_ms" and "source" in m.reason for m in seen.missing)
