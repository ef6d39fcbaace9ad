"""A real Prometheus for the tests of a module, scraping pages that a test may change."""

import shutil
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.collectors.servers import Pages, Prometheus, Server, recording, running_prometheus, serving
from tests.patience import PATIENCE_S


@pytest.fixture(autouse=True)
def no_thread_left() -> Iterator[None]:
    """What scrapes, serves or asks in the background ends with its test, and cannot fail in a later one."""
    before = set(threading.enumerate())
    yield
    end_s = time.monotonic() + PATIENCE_S
    while left := [thread.name for thread in set(threading.enumerate()) - before]:
        assert time.monotonic() < end_s, left
        time.sleep(0.01)


@dataclass
class Replay:
    """A Prometheus and the pages it scrapes."""

    prometheus: Prometheus
    pages: Pages
    server: Server


def job(name: str, server: Server, path: str, instance: str | None = None) -> dict[str, object]:
    labels = {"instance": instance} if instance else {}
    target = f"127.0.0.1:{server.port}"
    return {"job_name": name, "metrics_path": path, "static_configs": [{"targets": [target], "labels": labels}]}


@pytest.fixture(scope="session")
def needs_prometheus() -> None:
    if shutil.which("prometheus") is None:
        pytest.skip("Prometheus is not installed")


@pytest.fixture(scope="module")
def replay(tmp_path_factory: pytest.TempPathFactory, needs_prometheus: None) -> Iterator[Replay]:
    """vLLM in a job, the same vLLM in a second job, an idle one, and two GPU exporters."""
    pages = Pages(
        {
            "/vllm": recording("vllm_rate4"),
            "/other": recording("vllm_idle").replace("tiny-llama", "other-model"),
            "/dcgm": recording("dcgm_L4"),
            "/lost": recording("vllm_idle").replace("tiny-llama", "lost-model"),
        }
    )
    with serving(pages) as server:
        jobs = [
            job("vllm", server, "/vllm", "node-a:8000"),
            job("vllm-again", server, "/vllm", "node-a:8000"),
            job("other", server, "/other", "node-b:8000"),
            job("lost", server, "/lost", "node-c:8000"),
            job("dcgm", server, "/dcgm", "node-a:9400"),
        ]
        with running_prometheus(tmp_path_factory.mktemp("prometheus"), jobs) as prometheus:
            prometheus.wait_for('count_over_time(vllm:num_requests_running{job="vllm"}[1m]) > 3')
            prometheus.wait_for("DCGM_FI_DEV_POWER_USAGE")
            yield Replay(prometheus=prometheus, pages=pages, server=server)
