"""The dashboard as a user starts it: a process of its own, on a free port."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import requests

from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, kw_only=True)
class Dashboard:
    """A running dashboard: where it answers, and where its output goes."""

    url: str
    log: Path

    def bugs(self) -> str:
        """The part of the log from the first traceback on; empty when there was none."""
        text = self.log.read_text(errors="replace")
        starts = [text.find(sign) for sign in ("Uncaught app execution", "Traceback (most recent call last)")]
        found = [start for start in starts if start >= 0]
        return text[min(found) :] if found else ""


@contextlib.contextmanager
def running_dashboard(
    home: Path,
    *,
    root: Path = ROOT,
    environment: Mapping[str, str] | None = None,
    cold: bool = False,
    program: Sequence[str | Path] = (sys.executable, "-m", "ui"),
) -> Iterator[Dashboard]:
    """Start the dashboard of ``root``, wait until a run of it has succeeded, and stop it at the end.

    ``program`` takes the options of ``streamlit run``.

    With ``cold`` no page has run yet: the first one that is opened meets a server that has never run ``app.py``.
    ``home`` becomes the process's home, so that no setting or secret of the user's own Streamlit takes part.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    dashboard = Dashboard(url=f"http://localhost:{port}", log=home / f"dashboard-{port}.log")
    command = [*program, "--server.headless=true", f"--server.port={port}"]
    with dashboard.log.open("wb") as log:
        process = subprocess.Popen(
            command,
            cwd=root,
            env={**os.environ, "HOME": str(home), **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        _wait_until_it_answers(dashboard, process, "health" if cold else "script-health-check")
        yield dashboard
    finally:
        process.terminate()
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_it_answers(dashboard: Dashboard, process: subprocess.Popen[bytes], check: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    answer = "no answer yet"
    while time.monotonic() < deadline and process.poll() is None:
        try:
            response = requests.get(f"{dashboard.url}/_stcore/{check}", timeout=PATIENCE_S)
        except requests.ConnectionError:
            time.sleep(0.1)
            continue
        answer = f"{response.status_code} {response.text[:200]}"
        if response.ok:
            return
        time.sleep(0.5)
    raise RuntimeError(f"The dashboard did not start ({answer}):\n{dashboard.log.read_text(errors='replace')}")
