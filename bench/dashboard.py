"""The dashboard of a benchmark: a process of its own, which can be killed, and started again at the same address."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil
import requests

from bench.server import free_port
from ui.work.counted import WORKERS

ROOT = Path(__file__).parents[1]
STARTED_S = 180
"""Chosen: far beyond what a start takes on a busy machine."""
MB = 1 << 20


class Dashboard:
    """A dashboard at a free port, not started yet. ``cores`` are those that it may use; none: all."""

    def __init__(self, home: Path, settings: Mapping[str, str], cores: Sequence[int] = ()) -> None:
        self.port = free_port()
        self.log = home / f"dashboard-{self.port}.log"
        self._environment = {**os.environ, "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "", **settings}
        pinned = ["taskset", "--cpu-list", ",".join(map(str, cores))] if cores else []
        served = [sys.executable, "-m", "ui", "--server.headless=true", f"--server.port={self.port}"]
        self._command = [*pinned, *served]
        self._running: subprocess.Popen[bytes] | None = None

    @property
    def origin(self) -> str:
        """Where it answers."""
        return f"http://localhost:{self.port}"

    def start(self) -> None:
        """Start it and wait until it answers."""
        with self.log.open("ab") as log:
            self._running = subprocess.Popen(self._command, cwd=ROOT, env=self._environment, stdout=log, stderr=log)
        end = time.monotonic() + STARTED_S
        while time.monotonic() < end and self._running.poll() is None:
            try:
                if requests.get(f"{self.origin}/_stcore/health", timeout=STARTED_S).ok:
                    return
            except requests.ConnectionError:
                time.sleep(0.1)
        raise SystemExit(f"The dashboard did not start:\n{self.log.read_text(errors='replace')[-2000:]}")

    def kill(self) -> None:
        """End it as a machine that fails does: without a word."""
        if self._running is not None:
            self._running.kill()
            self._running.wait()

    def stop(self) -> None:
        """End it as an administrator does."""
        if self._running is not None:
            self._running.terminate()
            try:
                self._running.wait(timeout=30)
            except subprocess.TimeoutExpired:
                self.kill()

    def family(self) -> list[psutil.Process]:
        """The process and those that it has started."""
        assert self._running is not None
        process = psutil.Process(self._running.pid)
        return [process, *process.children(recursive=True)]

    def cpu_s(self) -> float:
        """Processor seconds so far."""
        return sum(sum(one.cpu_times()[:2]) for one in self.family())

    def memory_mb(self) -> float:
        """Memory that belongs to it, pages that processes share counted once each."""
        return sum(float(one.memory_info().rss) for one in self.family()) / MB

    def counted(self) -> Mapping[str, float]:
        """Counters of the server by name and labels."""
        text = requests.get(f"{self.origin}/metrics", timeout=STARTED_S).text
        lines = (line.rsplit(" ", 1) for line in text.splitlines() if line.startswith("sizing_"))
        return {name: float(value) for name, value in lines}

    def wait_for_workers(self) -> None:
        """Until its workers are prepared, which they are some seconds after its first answer."""
        end = time.monotonic() + STARTED_S
        while time.monotonic() < end:
            counted = self.counted()
            if counted[f'{WORKERS}{{are="prepared"}}'] == counted[f'{WORKERS}{{are="wanted"}}']:
                return
            time.sleep(0.5)
        raise SystemExit("The workers did not start.")


@contextmanager
def running(settings: Mapping[str, str] | None = None) -> Iterator[Dashboard]:
    """A dashboard that answers, stopped at the end, with a home of its own."""
    with tempfile.TemporaryDirectory() as home:
        dashboard = Dashboard(Path(home), settings or {})
        try:
            dashboard.start()
            yield dashboard
        finally:
            dashboard.stop()
