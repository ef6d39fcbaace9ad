"""Numbers over time of a source whose metrics pages are read directly."""

from collectors.questions.history import History, history
from collectors.source import source_from
from tests.app.live import vllm
from tests.collectors.feeds import NOW, WINDOW_S, Feed


def lines(seconds: float) -> History:
    """What the charts of the last quarter of an hour have, when pages were read for so long."""
    feed = Feed({"a:8000": vllm()}, seconds=seconds)
    raw = {"schema_version": 1, "name": "t", "scrape": {"targets": ["http://x/metrics"]}, "window_s": WINDOW_S}
    return history(feed.backend, source_from(raw), start_s=NOW - 900.0, end_s=NOW, clock=lambda: NOW)


def test_the_first_reading_has_no_rates_yet_and_all_else() -> None:
    assert {"running", "waiting", "kv_usage"} <= lines(0.0).lines.keys()
    assert not {"finished_rps", "ttft_ms.mean", "ttft_ms.p95"} & lines(0.0).lines.keys()
    assert {"running", "finished_rps", "ttft_ms.mean", "ttft_ms.p95"} <= lines(10.0).lines.keys()
