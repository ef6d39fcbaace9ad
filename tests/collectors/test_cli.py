"""The command line: the contract of ``read --json``, exit codes, and never a traceback."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest
import requests

from bench.server import free_port
from commandline.run import INTERRUPTED
from tests.collectors.servers import Asked, Pages, Server, Told, recording, serving
from tests.commands import ROOT, run, run_process, source_file
from tests.patience import PATIENCE_S
from tests.reality.truths import DEMO_SCENARIO

STATES = {"ok", "no_data", "stale", "partial", "unreachable", "saturated"}
NUMBERS = ("arrivals_rps", "finished_rps", "prompt_tokens_per_s", "generation_tokens_per_s", "running", "waiting")
NUMBERS += ("kv_usage", "preemptions_per_s", "error_ratio", "replicas", "gpus", "gpu_busy", "power_w")
SPREADS = ("ttft_ms", "itl_ms", "tpot_ms", "e2e_ms", "queue_ms", "input_tokens", "output_tokens")
PARTS = {"mean", *(f"{q}{end}" for q in ("p50", "p95", "p99") for end in ("", "_low", "_high"))}


def check_contract(text: str) -> dict[str, Any]:
    """The observation, checked against its contract."""
    seen: dict[str, Any] = json.loads(text)
    assert seen["state"] in STATES
    assert isinstance(seen["reasons"], list)
    assert seen["window_s"] > 0
    assert "engine" in seen
    for key in NUMBERS:
        assert seen["values"][key] is None or isinstance(seen["values"][key], int | float)
    for key in SPREADS:
        spread = seen["values"][key]
        assert set(spread) >= PARTS
        for q in ("p50", "p95", "p99"):
            if spread[q] is not None and spread[f"{q}_high"] is not None:
                assert spread[f"{q}_low"] <= spread[q] <= spread[f"{q}_high"]
    return seen


@pytest.fixture
def engine() -> Iterator[Server]:
    with serving(Pages({"/metrics": recording("vllm_after_overload"), "/gpus": recording("dcgm_L4")})) as server:
        yield server


def test_read_by_direct_scrape(tmp_path: Path, engine: Server) -> None:
    targets = [f"{engine.url}/metrics", f"{engine.url}/gpus"]
    file = source_file(tmp_path, scrape={"targets": targets, "interval_s": 1.0, "store": "ring.sqlite"})
    done = run_process("collectors", "read", file, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    seen = check_contract(done.stdout)
    assert (seen["engine"], seen["state"]) == ("vllm", "ok")
    assert (seen["values"]["arrivals_rps"], seen["values"]["replicas"], seen["values"]["gpus"]) == (0, 1, 1)
    assert (tmp_path / "ring.sqlite").exists()
    assert "newest sample" in run("collectors", "read", file).stdout


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (Told(status=401), "credentials"),
        (Told(status=500), "500"),
        (Told(body=b"<html>", content_type="text/html"), "web page"),
        (Told(body=b'{"a": 1'), "JSON"),
        (Told(body=b"half a line {", content_type="text/plain"), "metrics"),
        (Told(body=b"\xff\xfe", content_type="text/plain"), "text"),
        (Told(status=302, headers={"Location": "http://elsewhere.invalid/"}), "not followed"),
    ],
)
@pytest.mark.parametrize("kind", ["prometheus", "scrape"])
def test_bad_answer_is_an_observation(tmp_path: Path, told: Told, words: str, kind: str) -> None:
    with serving(lambda asked: told) as server:
        where = {"url": server.url} if kind == "prometheus" else {"targets": [server.url], "store": "r.sqlite"}
        done = run("collectors", "read", source_file(tmp_path, **{kind: where}), "--json")
    assert done.returncode == 0, done.stderr
    seen = check_contract(done.stdout)
    assert seen["state"] == "unreachable"
    assert words in seen["reasons"][0] or "JSON" in seen["reasons"][0]


@pytest.mark.parametrize("url", ["http://127.0.0.1:{port}", "http://no-such-host.invalid"])
def test_unreachable_source_is_an_answer(tmp_path: Path, url: str) -> None:
    address = url.format(port=free_port())
    for where in ({"prometheus": {"url": address}}, {"scrape": {"targets": [address], "store": "r.sqlite"}}):
        done = run("collectors", "read", source_file(tmp_path, **where), "--json")
        assert done.returncode == 0
        assert check_contract(done.stdout)["state"] == "unreachable"


@pytest.mark.parametrize("command", ["read", "watch"])
def test_invalid_file_is_exit_2_and_one_line_a_problem(tmp_path: Path, command: str) -> None:
    done = run("collectors", command, source_file(tmp_path, promethues={"url": "http://x"}, window_s=-1))
    assert done.returncode == 2
    assert done.stdout == ""
    assert "did you mean prometheus" in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 2
    assert run("collectors", command, str(tmp_path / "absent.yaml")).returncode == 2


@pytest.mark.parametrize(
    "arguments", [("read",), (), ("demo", "--port", "x"), ("demo", "--at", "25:00"), ("demo", "--out", "x")]
)
def test_wrong_arguments_are_exit_2(arguments: tuple[str, ...]) -> None:
    done = run("collectors", *arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_watch_prints_a_line_each_time(tmp_path: Path, engine: Server) -> None:
    where = {"targets": [f"{engine.url}/metrics"], "interval_s": 1.0, "store": "r.sqlite"}
    done = run("collectors", "watch", source_file(tmp_path, scrape=where), "--every", "0.5", "--times", "2", "--json")
    lines = done.stdout.splitlines()
    assert (done.returncode, len(lines)) == (0, 2)
    assert all(json.loads(line)["state"] == "ok" for line in lines)


@pytest.mark.parametrize(("package", "command"), [("collectors", "read"), ("reality", "compare")])
def test_ctrl_c_is_exit_130_in_silence_and_waits_for_no_server(tmp_path: Path, package: str, command: str) -> None:
    """A script must not take a reading that was stopped for one that was made; the server here never answers."""
    asked, stopped = threading.Event(), threading.Event()

    def slow(_: object) -> Told:
        asked.set()
        stopped.wait(10 * PATIENCE_S)
        return Told()

    with serving(slow) as server:
        file = source_file(tmp_path, prometheus={"url": server.url, "timeout_s": 300.0})
        scenario = [str(DEMO_SCENARIO), "--analytic"] if package == "reality" else []
        try:
            command_line = [package, command, *scenario[:1], file, *scenario[1:]]
            code = _ended_by_ctrl_c(command_line, lambda _: asked.wait(PATIENCE_S))
        finally:
            stopped.set()
    assert code == INTERRUPTED


def test_ctrl_c_ends_watching_well(tmp_path: Path, engine: Server) -> None:
    where = {"targets": [f"{engine.url}/metrics"], "interval_s": 1.0, "store": "r.sqlite"}
    watch = ["collectors", "watch", source_file(tmp_path, scrape=where), "--every", "60"]
    assert _ended_by_ctrl_c(watch, lambda stdout: bool(stdout.readline())) == 0


def test_ctrl_c_ends_watching_a_target_that_hangs_at_once(tmp_path: Path) -> None:
    """The first reading is answered, so that it is the thread in the background that hangs then."""
    printed, hanging, stopped = threading.Event(), threading.Event(), threading.Event()
    page = Pages({"/metrics": recording("vllm_after_overload")})

    def slow(asked: Asked) -> Told:
        if printed.is_set():
            hanging.set()
            stopped.wait(10 * PATIENCE_S)
        return page(asked)

    def hangs(stdout: IO[str]) -> bool:
        assert "OK" in stdout.readline()
        printed.set()
        return hanging.wait(PATIENCE_S)

    with serving(slow) as server:
        where = {"targets": [f"{server.url}/metrics"], "interval_s": 1.0, "timeout_s": 300.0, "store": "r.sqlite"}
        try:
            watch = ["collectors", "watch", source_file(tmp_path, scrape=where), "--every", "600"]
            code = _ended_by_ctrl_c(watch, hangs)
        finally:
            stopped.set()
    assert code == 0


def _ended_by_ctrl_c(command: list[str], begun: Callable[[IO[str]], bool]) -> int:
    """Exit code of a command that is interrupted once it has ``begun``, and says nothing after that."""
    start = [sys.executable, "-m", *command]
    with subprocess.Popen(start, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert begun(process.stdout)
            process.send_signal(signal.SIGINT)
            assert process.communicate(timeout=PATIENCE_S) == ("", "")
        finally:
            process.kill()
    return process.returncode


def test_ring_in_a_folder_that_cannot_be_written_is_kept_in_memory(tmp_path: Path, engine: Server) -> None:
    (tmp_path / "file").write_text("")
    where = {"targets": [f"{engine.url}/metrics"], "interval_s": 1.0, "store": "file/ring.sqlite"}
    done = run("collectors", "read", source_file(tmp_path, scrape=where), "--json")
    assert check_contract(done.stdout)["state"] == "ok"


def test_demo_is_a_process_that_can_be_read(tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, "-m", "collectors", "demo", "--port", str(port), "--at", "10:30"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert str(port) in process.stdout.readline()
        page = requests.get(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE_S)
        assert page.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        where = {"targets": [f"http://127.0.0.1:{port}/metrics"], "interval_s": 1, "store": "r.sqlite"}
        seen = check_contract(run("collectors", "read", source_file(tmp_path, scrape=where), "--json").stdout)
        assert (seen["values"]["replicas"], seen["values"]["gpus"]) == (4, 8)
        assert seen["values"]["ttft_ms"]["mean"] > 50
        busy = run("collectors", "demo", "--port", str(port))
        assert (busy.returncode, "Traceback" in busy.stderr) == (2, False)
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert process.returncode == 0
