"""The Live page on a Prometheus of the test, with a clock that moves when the test says so."""

import time
from collections.abc import Callable
from pathlib import Path

from streamlit.testing.v1 import AppTest

from tests.app.conftest import WatchedLatest, started
from tests.app.pages_text import plain
from tests.collectors.feeds import Page, histogram, steady
from tests.patience import PATIENCE_S
from ui.sources.reading import Registry

PAGE = "pages/live.py"
ID = 'model_name="m",engine="0"'
VLLM = (
    f"vllm:num_requests_running{{{ID}}} 8",
    f"vllm:num_requests_waiting{{{ID}}} 0",
    f"vllm:kv_cache_usage_perc{{{ID}}} 0.4",
    f"vllm:generation_tokens_total{{{ID}}} @50",
    f"vllm:prompt_tokens_total{{{ID}}} @500",
    f'vllm:request_success_total{{{ID},finished_reason="stop"}} @2',
    f"vllm:num_preemptions_total{{{ID}}} 0",
    *histogram("vllm:time_to_first_token_seconds", {0.1: 1.0, 0.25: 1.9, 0.5: 2.0}, 0.3, ID),
    *histogram("vllm:inter_token_latency_seconds", {0.01: 30, 0.025: 49, 0.05: 50}, 0.6, ID),
)
"""One replica: 2 requests/s, 50 output tokens/s, p95 TTFT 0.25 s."""


def vllm(*more: str, without: str = "\0") -> Page:
    """The page of one replica, with lines added or left out."""
    return steady(*(line for line in (*VLLM, *more) if without not in line))


def open_live(registry: Registry, **parameters: str) -> AppTest:
    """The page as a link opens it, once it has something to say."""
    return settled(started(goto="live", **parameters), registry)


def settled(app: AppTest, registry: Registry, *, until: Callable[[AppTest], bool] = lambda app: True) -> AppTest:
    """Run until nothing drawn waits for an answer and the condition holds: nothing here depends on how fast the machine
    is. A question that is answered while a page is drawn, which no longer waited for it, is drawn the next time."""
    latest, end = registry.latest, time.monotonic() + PATIENCE_S
    assert isinstance(latest, WatchedLatest)
    while time.monotonic() < end:
        latest.wait_for_all(PATIENCE_S)
        latest.told_pending = False
        app.run()
        assert not app.exception, [f"{e.message} {e.stack_trace}" for e in app.exception]
        if "for the first time" not in said(app) and not latest.told_pending and until(app):
            return app
    raise AssertionError(f"The page never settled: {said(app)}")


def said(app: AppTest) -> str:
    """Every box and caption of the page, without Markdown's escapes."""
    parts = [*app.error, *app.warning, *app.info, *app.success, *app.caption]
    return plain("\n".join(part.value for part in parts))


def figures(app: AppTest) -> dict[str, str]:
    """The tiles by label."""
    return {metric.label: metric.value for metric in app.metric}


def source_file(folder: Path, url: str, more: str = "", *, name: str = "prod", timeout_s: float = 30.0) -> None:
    """A file of the sources folder."""
    text = f"schema_version: 1\nname: {name}\nprometheus: {{url: '{url}', timeout_s: {timeout_s}}}\n"
    text += f"window_s: 300\n{more}"
    (folder / f"{name}.yaml").write_text(text)
