"""The real Prometheus of a benchmark."""

import contextlib
import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import requests


def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@contextlib.contextmanager
def prometheus(
    data: Path, *, jobs: Sequence[Mapping[str, object]] = (), interval: str = "60s"
) -> Iterator[tuple[str, int]]:
    """A Prometheus on a free port that answers from a data directory and scrapes ``jobs``: address and process id."""
    program = shutil.which("prometheus")
    if program is None:
        raise SystemExit("This benchmark needs Prometheus: apt-get install prometheus, or brew install prometheus.")
    port = free_port()
    config = data.parent / "prometheus.yml"
    settings = {"scrape_interval": interval, "scrape_timeout": min(interval, "10s", key=lambda text: int(text[:-1]))}
    config.write_text(json.dumps({"global": settings, "scrape_configs": list(jobs)}))
    flags = {
        "config.file": config,
        "storage.tsdb.path": data,
        "web.listen-address": f"127.0.0.1:{port}",
        "storage.tsdb.retention.time": "60d",
    }
    with (data.parent / "prometheus.log").open("wb") as log:
        command = [program, *(f"--{key}={value}" for key, value in flags.items())]
        process = subprocess.Popen(command, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(1200):
            with contextlib.suppress(requests.RequestException):
                if requests.get(f"{url}/-/ready", timeout=1).ok:
                    break
            time.sleep(0.1)
        yield url, process.pid
    finally:
        process.terminate()
        process.wait(timeout=60)
