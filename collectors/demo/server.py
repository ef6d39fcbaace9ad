"""The demo as a process: metrics pages over HTTP that a Prometheus, or our own scraper, reads like any other."""

import contextlib
import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from collectors.demo.day import INCIDENTS
from collectors.demo.deployment import Demo

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class DemoServer:
    """Serves one demo. Paths: /metrics (everything), /replica/N/metrics, /gpus/metrics, /prometheus.yml, /sd."""

    def __init__(self, demo: Demo, *, host: str, port: int, clock: Callable[[], float] = time.time) -> None:
        self._demo, self._clock = demo, clock
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, kind, text = outer.answer(self.path.split("?")[0])
                body = text.encode()
                with contextlib.suppress(OSError):
                    self.send_response(status)
                    self.send_header("Content-Type", kind)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                pass

        self._http = ThreadingHTTPServer((host, port), Handler)
        self.host, self.port = host, int(self._http.server_address[1])

    def answer(self, path: str) -> tuple[int, str, str]:
        """Status, content type and text for a path."""
        with self._lock:
            self._demo.advance(self._clock())
            if path == "/metrics":
                return 200, CONTENT_TYPE, self._demo.page()
            if path == "/gpus/metrics":
                return 200, CONTENT_TYPE, self._demo.gpu_page()
            parts = path.strip("/").split("/")
            if len(parts) == 3 and parts[0] == "replica" and parts[2] == "metrics" and parts[1].isdecimal():
                return self._replica(int(parts[1]))
        if path == "/sd":
            return 200, "application/json", json.dumps(self.targets())
        if path == "/prometheus.yml":
            return 200, "text/plain; charset=utf-8", self.prometheus_config()
        return (200, "text/plain; charset=utf-8", self.index()) if path == "/" else (404, "text/plain", "not here\n")

    def _replica(self, number: int) -> tuple[int, str, str]:
        if number >= len(self._demo.replicas):
            return 404, "text/plain", "no such replica\n"
        page = self._demo.replica_page(number)
        return (503, "text/plain", "this replica is lost\n") if page is None else (200, CONTENT_TYPE, page)

    def targets(self) -> list[dict[str, object]]:
        """The targets in the format of Prometheus' HTTP service discovery."""
        address = f"{self.host}:{self.port}"
        engines: list[dict[str, object]] = [
            {
                "targets": [address],
                "labels": {
                    "__metrics_path__": f"/replica/{replica.number}/metrics",
                    "job": "demo-vllm",
                    "instance": f"{replica.pod}:8000",
                },
            }
            for replica in self._demo.replicas
        ]
        labels = {"__metrics_path__": "/gpus/metrics", "job": "demo-dcgm", "instance": "demo-node:9400"}
        return [*engines, {"targets": [address], "labels": labels}]

    def prometheus_config(self) -> str:
        """A configuration for a Prometheus that scrapes this demo."""
        sd = f"http://{self.host}:{self.port}/sd"
        return (
            "global:\n  scrape_interval: 5s\nscrape_configs:\n  - job_name: demo\n    honor_labels: true\n"
            f"    http_sd_configs:\n      - url: {sd}\n"
        )

    def index(self) -> str:
        """The pages of the demo deployment and what happens to it over the day, as text for a person."""
        lines = ["Demo deployment: invented load and an invented deployment, not a measurement.", ""]
        lines += [f"/replica/{r.number}/metrics" for r in self._demo.replicas]
        lines += ["/gpus/metrics", "/metrics (all of these on one page)", "/prometheus.yml", "/sd", "", "The day:"]
        for i in INCIDENTS:
            lines.append(f"{_clock(i.start_h)} to {_clock(i.end_h)}  {i.text}")
        return "\n".join(lines) + "\n"

    def serve(self) -> None:
        """Answer until :meth:`close`."""
        self._http.serve_forever(poll_interval=0.1)

    def start(self) -> None:
        """Answer in a thread."""
        threading.Thread(target=self.serve, name="demo", daemon=True).start()

    def close(self) -> None:
        """Stop answering."""
        self._http.shutdown()
        self._http.server_close()


def _clock(hour: float) -> str:
    return f"{int(hour):02d}:{round(hour % 1 * 60):02d}"
