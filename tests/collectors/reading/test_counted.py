"""Exact counts between two moments."""

import pytest

from collectors.source import source_from
from tests.collectors.feeds import NOW, Feed
from tests.tools.chain.counted import counted_between

ID = 'model_name="m",engine="0"'
SOURCE = source_from({"schema_version": 1, "scrape": {"targets": ["http://x/metrics"]}})


def page(tokens: float) -> str:
    return f"vllm:num_requests_running{{{ID}}} 1\nvllm:generation_tokens_total{{{ID}}} {tokens}\n"


def test_bracketed_run_is_counted_exactly() -> None:
    feed = Feed({"a:8000": lambda elapsed: page(500 + 7 * min(max(elapsed - 100, 0), 300))})
    seen = counted_between(feed.backend, SOURCE, start_s=NOW - 550, end_s=NOW - 50, clock=lambda: NOW)
    assert seen.counts == {"generation_tokens": 2100}
    assert seen.restarted == ()


def test_restart_is_told() -> None:
    feed = Feed({"a:8000": lambda elapsed: page(1000 + elapsed if elapsed < 300 else elapsed - 300)})
    seen = counted_between(feed.backend, SOURCE, start_s=NOW - 500, end_s=NOW, clock=lambda: NOW)
    assert seen.counts["generation_tokens"] == pytest.approx(300)
    assert seen.restarted == ("generation_tokens",)


def test_nothing_seen_counts_nothing() -> None:
    feed = Feed({"a:8000": lambda _: "node_load1 1\n"})
    assert counted_between(feed.backend, SOURCE, start_s=NOW - 60, end_s=NOW, clock=lambda: NOW).counts == {}
