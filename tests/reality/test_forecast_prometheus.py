"""``python -m reality forecast`` against a real Prometheus with four weeks of history: resets, gaps, two replicas."""

import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from bench.load_seasons import DAY, Recipe, made
from bench.server import free_port
from bench.tsdb import curve, sorted_series, write_block
from tests.collectors.servers import Prometheus, running_prometheus
from tests.commands import run, run_process, source_file
from tests.reality.truths import DEMO_SCENARIO

DAYS = 28
EVERY_S = 300.0
MODEL = "meta-llama/Llama-3.3-70B-Instruct"
NAMES = {"first": "vllm:time_to_first_token_seconds_count", "running": "vllm:num_requests_running"}
RETENTION = "--storage.tsdb.retention.time=400d"


@dataclass(frozen=True, kw_only=True)
class Weeks:
    """A Prometheus with four weeks until ``end_s``, and the true load of each hour, in requests/s."""

    url: str
    end_s: float
    rps: np.ndarray


@pytest.fixture(scope="module")
def weeks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weeks]:
    if shutil.which("prometheus") is None:
        pytest.skip("Prometheus is not installed")
    folder, end = tmp_path_factory.mktemp("weeks"), time.time() // 3600 * 3600
    rps = made(Recipe(growth=0.05, noise=0.05, day_noise=0.01, outages=False), DAYS, seed=8).rps / 6.0
    _write(folder / "tsdb" / "01K0000000000000000000TEST", rps, end)
    with running_prometheus(folder, flags=[RETENTION]) as prometheus:
        _wait(prometheus, end)
        yield Weeks(url=prometheus.url, end_s=end, rps=rps)


def _wait(prometheus: Prometheus, end: float) -> None:
    assert prometheus.query("vllm:num_requests_running", at=end - 60)


def _write(folder: Path, rps: np.ndarray, end: float) -> None:
    """Two replicas with half of the load each; one begins anew every third day, both are not scraped for ten hours."""
    start = end - DAYS * 86_400
    times = np.arange(start, end + 1, EVERY_S)
    hours = np.minimum(((times - start) // 3600).astype(int), len(rps) - 1)
    scraped = ~((hours >= 10 * 24) & (hours < 10 * 24 + 10))
    times_ms, series = (times[scraped] * 1000).astype(int).tolist(), []
    for replica in ("a", "b"):
        labels = {"job": "vllm", "instance": f"{replica}:8000", "model_name": MODEL}
        count = np.cumsum(rps[hours] / 2 * EVERY_S)
        if replica == "a":
            restarts = np.arange(100, len(count), 3 * 288)
            since = np.searchsorted(restarts, np.arange(len(count)), side="right")
            count = count - np.r_[0.0, count[restarts]][since]
        for name, values in (("first", count), ("running", np.full(len(count), 3.0))):
            series.append(({"__name__": NAMES[name], **labels}, curve(times_ms, values[scraped])))
    samples = len(series) * len(times_ms)
    write_block(folder, sorted_series(series), start_ms=times_ms[0], end_ms=times_ms[-1] + 1, samples=samples)


def test_four_weeks_are_read_and_foreseen(tmp_path: Path, weeks: Weeks) -> None:
    file = source_file(tmp_path, prometheus={"url": weeks.url})
    asked = ("--json", "--analytic", "--history", "28d", "--at", weeks.end_s)
    done = run_process("reality", "forecast", DEMO_SCENARIO, file, *asked)
    assert (done.returncode, done.stderr) == (0, "")
    said = json.loads(done.stdout)
    assert said["state"] == "ok"
    assert said["history"]["days"] == pytest.approx(DAYS, abs=0.2)
    assert said["history"]["known"] == pytest.approx(1 - 10 / (24 * DAYS), abs=0.01)
    assert said["busiest_rps"] == pytest.approx(weeks.rps[-7 * DAY :].max(), rel=0.03)
    assert said["capacity"]["carried_by"] == "deployment"
    assert said["capacity"]["replicas"] == 2
    assert said["method"] in ("fourier_regression", "seasonal_naive")
    assert said["backtest"][said["method"]]["error"] == min(
        said["backtest"][name]["error"] for name in ("fourier_regression", "seasonal_naive")
    )
    assert said["growth_per_week"]["low"] < 0.05 < said["growth_per_week"]["high"]
    assert set(said["reaches_limit_at"]) == {"value", "low", "high"}
    assert said["order_by"] < said["reaches_limit_at"]["low"]
    assert said["order"]["gpu"] == "h100_sxm"


def test_text_for_a_person_and_a_history_that_is_too_short(tmp_path: Path, weeks: Weeks) -> None:
    file = source_file(tmp_path, prometheus={"url": weeks.url})
    asked = (DEMO_SCENARIO, file, "--analytic", "--at", weeks.end_s)
    text = run("reality", "forecast", *asked).stdout
    assert text.startswith("The busiest hour of the last week had")
    assert "80 % interval" in text
    short = run("reality", "forecast", *asked, "--history", "5d", "--json")
    said = json.loads(short.stdout)
    assert (short.returncode, said["state"], said["reaches_limit_at"], said["order_by"]) == (
        0,
        "too_little_history",
        None,
        None,
    )
    assert "14 days" in said["answer"]


def test_an_unreachable_source_is_an_answer(tmp_path: Path) -> None:
    file = source_file(tmp_path, prometheus={"url": f"http://127.0.0.1:{free_port()}"})
    done = run("reality", "forecast", DEMO_SCENARIO, file, "--json", "--analytic")
    said = json.loads(done.stdout)
    assert (done.returncode, said["state"], said["method"]) == (0, "unreachable", None)
    assert said["answer"].startswith("No forecast: test cannot be read. Nothing listens at")


@pytest.mark.parametrize("history", ["soon", "3h", "500d", "-1d"])
def test_wrong_arguments_are_exit_2(tmp_path: Path, history: str) -> None:
    done = run("reality", "forecast", DEMO_SCENARIO, tmp_path / "none.yaml", f"--history={history}")
    assert done.returncode == 2
    assert "from 1 day to 400 days" in done.stderr
