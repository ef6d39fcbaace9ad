"""No data, zero, stale, partial and unreachable look different in what `read` prints, and none is drawn as 0."""

import pytest

from collectors.cli import as_line, as_text, mapping_text
from collectors.errors import Unreachable
from collectors.reading.observation import Observation, State
from tests.collectors.feeds import Feed, Page, histogram, steady

ID = 'model_name="m",engine="0"'
IDLE = (
    f"vllm:num_requests_running{{{ID}}} 0",
    f"vllm:num_requests_waiting{{{ID}}} 0",
    f"vllm:kv_cache_usage_perc{{{ID}}} 0",
    f"vllm:generation_tokens_total{{{ID}}} @0",
    f'vllm:request_success_total{{{ID},finished_reason="stop"}} @0',
)
TTFT = histogram("vllm:time_to_first_token_seconds", {0.25: 1.0, 0.5: 2.0}, 0.5, ID)


def until(second: float, page: Page) -> Page:
    return lambda elapsed: page(elapsed) if elapsed < second else None


def zero() -> Observation:
    return Feed({"a:8000": steady(*IDLE)}).read()


def no_data() -> Observation:
    return Feed({"a:8000": steady("node_load1 0")}).read()


def stale() -> Observation:
    """The engine is gone; the node's exporter goes on."""
    return Feed({"a:8000": until(400, steady(*IDLE)), "a:9100": steady("node_load1 1")}).read()


def partial() -> Observation:
    return Feed({"a:8000": steady(*IDLE), "b:8000": until(400, steady(*IDLE))}).read()


def unreachable() -> Observation:
    feed = Feed({"a:8000": steady(*IDLE)})

    def vectors(*_: object, **__: object) -> None:
        raise Unreachable("Nothing listens at a:8000: connection refused.")

    feed.backend.vectors = vectors
    return feed.read()


CASES = {"zero": zero, "no_data": no_data, "stale": stale, "partial": partial, "unreachable": unreachable}


@pytest.fixture(scope="module")
def seen() -> dict[str, Observation]:
    return {name: make() for name, make in CASES.items()}


def test_each_has_its_own_state_and_first_lines(seen: dict[str, Observation]) -> None:
    assert {name: observed.state for name, observed in seen.items()} == {
        "zero": State.OK,
        "no_data": State.NO_DATA,
        "stale": State.STALE,
        "partial": State.PARTIAL,
        "unreachable": State.UNREACHABLE,
    }
    assert len({tuple(as_text(observed).splitlines()[:2]) for observed in seen.values()}) == len(CASES)
    assert len({as_line(observed) for observed in seen.values()}) == len(CASES)


@pytest.mark.parametrize("name", ["no_data", "stale", "unreachable"])
def test_unknown_is_not_drawn(seen: dict[str, Observation], name: str) -> None:
    text = as_text(seen[name])
    assert "running" not in text
    assert all(value is None for value in seen[name].numbers.values())
    assert seen[name].reasons


def test_zero_is_drawn(seen: dict[str, Observation]) -> None:
    lines = as_text(seen["zero"]).splitlines()
    assert any(line.split()[:2] == ["running", "0"] for line in lines)
    assert any(line.split()[:2] == ["finished_rps", "0"] for line in lines)
    assert not any(line.startswith("ttft_ms") for line in lines), "of no request there is no latency"


def test_partial_draws_what_it_knows_and_says_what_is_missing(seen: dict[str, Observation]) -> None:
    text = as_text(seen["partial"])
    assert "b:8000 stopped reporting" in text
    assert "running" in text


def test_quantiles_stand_with_mean_and_interval() -> None:
    text = as_text(Feed({"a:8000": steady(*IDLE, *TTFT)}).read())
    (line,) = [line for line in text.splitlines() if line.startswith("ttft_ms")]
    assert line.split(None, 1)[1] == "mean 250, p50 250 (0 to 250), p95 475 (250 to 500), p99 495 (250 to 500)"


def test_mapping_is_shown_with_what_the_source_replaces() -> None:
    own = {"ttft": {"histogram": "my_ttft_ms", "scale": 0.001}}
    page = steady(*IDLE, *histogram("my_ttft_ms", {100: 1.0, 500: 2.0}, 300.0))
    observed = Feed({"a:8000": page}).read(metrics=own)
    lines = {line.split()[0]: line for line in mapping_text(observed).splitlines()[1:]}
    assert "my_ttft_ms_bucket" in lines["ttft"]
    assert "from the source file" in lines["ttft"]
    assert lines["running"].split(None, 1)[1].startswith("avg_over_time(sum(vllm:num_requests_running{}")
    assert observed.distribution("ttft_ms").mean == pytest.approx(150)


def test_missing_quantity_names_its_flag() -> None:
    told = {m.quantity: m.reason for m in Feed({"a:8000": steady(*IDLE)}).read().missing}
    assert "--enable-prefix-caching" in told["prefix_hit_ratio"]
    assert "No prefix_hit_ratio" in as_text(Feed({"a:8000": steady(*IDLE)}).read())
