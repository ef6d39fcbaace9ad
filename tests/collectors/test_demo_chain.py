"""The demo as a process, a real Prometheus with the configuration that the demo hands out, and the command lines."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
import yaml

from tests.collectors.servers import Prometheus, running_prometheus
from tests.collectors.test_cli import check_contract
from tests.commands import ROOT, run
from tests.patience import PATIENCE_S

WINDOW_S = 8.0
REPLICAS, GPUS = 3, 6


@pytest.fixture(scope="module")
def demo() -> Iterator[str]:
    """Address of ``python -m collectors demo``, from the line it prints."""
    command = [sys.executable, "-m", "collectors", "demo", "--port", "0", "--replicas", str(REPLICAS), "--at", "08:00"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            address = next(word for word in process.stdout.readline().split() if word.startswith("http"))
            yield address.removesuffix("/metrics")
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def prometheus(demo: str, tmp_path_factory: pytest.TempPathFactory, needs_prometheus: None) -> Iterator[Prometheus]:
    jobs = yaml.safe_load(requests.get(f"{demo}/prometheus.yml", timeout=PATIENCE_S).text)["scrape_configs"]
    jobs[0]["http_sd_configs"][0]["refresh_interval"] = "1s"
    with running_prometheus(tmp_path_factory.mktemp("demo"), jobs) as running:
        enough = f"min(count_over_time(vllm:num_requests_running[{WINDOW_S:g}s])) > 5"
        running.wait_for(f"{enough} and count(vllm:num_requests_running) == {REPLICAS}")
        running.wait_for(f"count(DCGM_FI_DEV_POWER_USAGE) == {GPUS}")
        yield running


@pytest.fixture(scope="module")
def source(prometheus: Prometheus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("source") / "demo.yaml"
    raw = {"schema_version": 1, "name": "demo", "prometheus": {"url": prometheus.url}, "window_s": WINDOW_S}
    file.write_text(yaml.safe_dump(raw))
    return file


def printed(package: str, *arguments: object) -> str:
    done = run(package, *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_demo_is_read_through_prometheus(source: Path) -> None:
    seen = check_contract(printed("collectors", "read", str(source), "--json"))
    values = seen["values"]
    assert (seen["engine"], seen["gpu_exporter"]) == ("vllm", "dcgm")
    assert seen["state"] in ("ok", "saturated")
    assert (values["replicas"], values["gpus"]) == (REPLICAS, GPUS)
    assert 0.5 < values["arrivals_rps"] < 50
    assert 0 < values["kv_usage"] <= 1
    assert 100 < values["power_w"] / GPUS < 800
    assert values["itl_ms"]["p95_low"] <= values["itl_ms"]["p95"] <= values["itl_ms"]["p95_high"]


def test_generated_tokens_are_those_that_the_pages_count(demo: str, source: Path) -> None:
    def counted() -> tuple[float, float]:
        text = requests.get(f"{demo}/metrics", timeout=PATIENCE_S).text
        lines = [line for line in text.splitlines() if line.startswith("vllm:generation_tokens_total")]
        assert len(lines) == REPLICAS
        return time.time(), sum(float(line.split()[-1]) for line in lines)

    begun_s, before = counted()
    time.sleep(WINDOW_S + 2.0)
    ended_s, after = counted()
    # Scrapes lie up to a second off both ends of the window.
    rate = json.loads(printed("collectors", "read", str(source), "--json"))["values"]["generation_tokens_per_s"]
    assert rate == pytest.approx((after - before) / (ended_s - begun_s), rel=0.35)


def test_the_demo_is_compared_with_its_plan(source: Path) -> None:
    scenario = ROOT / "reality" / "data" / "demo_scenario.yaml"
    found = json.loads(printed("reality", "compare", str(scenario), str(source), "--json"))
    assert found["deployed"]["models"] == ["demo/Llama-3.3-70B-Instruct-FP8"]
    assert (found["deployed"]["replicas"], found["deployed"]["gpus"]) == (REPLICAS, GPUS)
    rows = {row["key"]: row for row in found["performance"]}
    assert rows["replicas"]["verdict"] == rows["gpus"]["verdict"] == "lower"
    assert not found["answer"].startswith("No verdict: this is not the planned deployment")
