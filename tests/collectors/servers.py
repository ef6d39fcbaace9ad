"""Servers of our own for the tests: one that answers as told, one that replays metrics pages, a real Prometheus."""

import contextlib
import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import requests

from bench.server import free_port
from collectors.demo.feed import Tracked, write_history
from tests.patience import PATIENCE_S

RECORDINGS = Path(__file__).parent / "recordings"
TEXT = "text/plain; version=0.0.4"


@dataclass
class Asked:
    """One request that a server saw."""

    method: str
    path: str
    headers: Mapping[str, str]
    form: Mapping[str, list[str]]


@dataclass
class Told:
    """One answer to give."""

    status: int = 200
    body: bytes = b""
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    pause_s: float = 0.0
    claim_bytes: int | None = None


Answering = Callable[[Asked], Told]


class Server:
    """An HTTP server on a free port, or on the one given; ``asked`` lists what it saw."""

    def __init__(self, answer: Answering, *, port: int = 0) -> None:
        self.answer = answer
        self.asked: list[Asked] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._any("GET")

            def do_POST(self) -> None:
                self._any("POST")

            def _any(self, method: str) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                parts = urlsplit(self.path)
                form = parse_qs(body) if method == "POST" else parse_qs(parts.query)
                asked = Asked(method=method, path=parts.path, headers=dict(self.headers), form=form)
                outer.asked.append(asked)
                told = outer.answer(asked)
                time.sleep(told.pause_s)
                with contextlib.suppress(OSError):
                    self.send_response(told.status)
                    self.send_header("Content-Type", told.content_type)
                    size = len(told.body) if told.claim_bytes is None else told.claim_bytes
                    self.send_header("Content-Length", str(size))
                    for name, value in told.headers.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(told.body)

            def log_message(self, *args: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = self._http.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    @property
    def http(self) -> ThreadingHTTPServer:
        return self._http

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


@contextlib.contextmanager
def serving(answer: Answering, *, port: int = 0) -> Iterator[Server]:
    server = Server(answer, port=port)
    try:
        yield server
    finally:
        server.close()


def success(data: object, **more: object) -> Told:
    return Told(body=json.dumps({"status": "success", "data": data, **more}).encode())


def vector(*samples: tuple[Mapping[str, str], float | str], at: float = 1_800_000_000.0) -> Told:
    result = [{"metric": dict(labels), "value": [at, str(value)]} for labels, value in samples]
    return success({"resultType": "vector", "result": result})


def recorded(path: str) -> Told:
    """A recorded answer with its HTTP status."""
    held: dict[str, Any] = json.loads((RECORDINGS / path).read_text())
    document = held.get("response", held)
    return Told(status=held.get("http_status", 200), body=json.dumps(document).encode())


class Pages:
    """Replays metrics pages by path: each path shows its current page, which a test may change; None is an outage."""

    def __init__(self, pages: Mapping[str, str | None]) -> None:
        self.pages = dict(pages)

    def __call__(self, asked: Asked) -> Told:
        page = self.pages.get(asked.path)
        if page is None:
            return Told(status=503, body=b"down", content_type="text/plain")
        return Told(body=page.encode(), content_type=TEXT)


def recording(name: str) -> str:
    return (RECORDINGS / f"{name}.txt").read_text()


@dataclass
class Prometheus:
    """A real Prometheus of this test."""

    url: str
    process: subprocess.Popen[bytes]

    def query(self, expression: str, at: float | None = None) -> list[Any]:
        form = {"query": expression} | ({"time": str(at)} if at is not None else {})
        answer = requests.post(f"{self.url}/api/v1/query", data=form, timeout=PATIENCE_S)
        answer.raise_for_status()
        return list(answer.json()["data"]["result"])

    def wait_for(self, expression: str) -> None:
        """Until an expression has a sample: Prometheus finds its targets some seconds after the start."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            if self.query(expression):
                return
            time.sleep(0.2)
        raise AssertionError(f"Prometheus never answered {expression}")


def write_blocks(folder: Path, feed: Tracked, *, start_s: float, end_s: float) -> None:
    """What a feed would have shown, as blocks of a Prometheus that then runs on this folder. Needs ``promtool``."""
    write_history(folder / "h.om", feed, start_s=start_s, end_s=end_s)
    command = ["promtool", "tsdb", "create-blocks-from", "openmetrics", str(folder / "h.om"), str(folder / "tsdb")]
    subprocess.run(command, check=True, capture_output=True)


@contextlib.contextmanager
def running_prometheus(
    folder: Path, jobs: Sequence[Mapping[str, Any]] = (), *, interval: str = "1s", flags: Sequence[str] = ()
) -> Iterator[Prometheus]:
    """A Prometheus on a free port with its data under ``folder``."""
    config = folder / "prometheus.yml"
    config.write_text(json.dumps({"global": {"scrape_interval": interval}, "scrape_configs": list(jobs)}))
    port = free_port()
    command = [
        "prometheus",
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'tsdb'}",
        f"--web.listen-address=127.0.0.1:{port}",
        *flags,
    ]
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        prometheus = Prometheus(url=f"http://127.0.0.1:{port}", process=process)
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            with contextlib.suppress(requests.RequestException):
                if requests.get(f"{prometheus.url}/-/ready", timeout=1).ok:
                    break
            time.sleep(0.05)
        else:
            raise AssertionError((folder / "prometheus.log").read_text()[-2000:])
        yield prometheus
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE_S)
