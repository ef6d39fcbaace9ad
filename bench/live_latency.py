"""How long the Live page takes with its data cached: by tab, for the demo, and the map of 10,000 GPUs."""

import time
from functools import partial

from streamlit.testing.v1 import AppTest

from bench.page_latency import ROOT, RUN_LIMIT_S, page_times, succeed
from bench.pages_under_test import as_in_a_server
from bench.table import Row
from bench.yardstick import Times, in_yardsticks
from collectors.questions.devices import COLUMNS, Device
from ui.figures.gpu_map import MEASURES, build_gpu_map, gpu_map_alt_text
from ui.sources.reading import registry

NAME = "Live: page script with its data cached, by tab; figures of a large fleet"

PAGE = "pages/live.py"
PAGE_LIMIT = in_yardsticks(quiet_ms=150.0)
"""Longest script run of the Live page."""
MAP_LIMIT = in_yardsticks(quiet_ms=150.0)
"""Longest drawing of the map of all GPUs."""
TABS = ("Latency", "Load", "GPUs", "Replicas", "Mapping", "All sources")
RUNS = 9
"""Runs of each; their median is reported."""
GPUS, PER_HOST = 10_000, 8
"""GPUs of the fleet, and of each of its hosts."""


@as_in_a_server()
def run() -> list[Row]:
    """First opening, one row per tab, then the map alone."""
    there, start = Times(), time.perf_counter()
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=RUN_LIMIT_S).run()
    with page_times() as first:
        app.switch_page(PAGE).run()
    while not app.metric or not app.get("plotly_chart"):
        time.sleep(0.2)
        succeed(app.run())
    there.add(1000 * (time.perf_counter() - start))
    shown = there.row("until the demo shows its first figures, imports included")
    return [
        shown,
        first.longest().row("longest block of the first opening"),
        *(_tab(app, tab) for tab in TABS),
        *_map(),
    ]


def _tab(app: AppTest, tab: str) -> Row:
    """Runs of the page within one refresh: what they show is cached."""
    app.session_state["tab"] = tab
    for _ in range(2):
        succeed(app.run())
        registry().latest.wait_for_all(RUN_LIMIT_S)
    with page_times() as times:
        for _ in range(RUNS):
            registry().latest.wait_for_all(RUN_LIMIT_S)
            succeed(app.run())
    return times.row(f"demo, {tab}", PAGE_LIMIT)


def _map() -> list[Row]:
    values = dict.fromkeys(COLUMNS, 0.5) | {"xid": 0.0, "throttle_reasons": 0.0}
    devices = [
        Device(
            labels={"gpu": str(i % PER_HOST), "UUID": f"GPU-{i}"},
            product="H100",
            host=f"node-{i // PER_HOST:05d}",
            pod=f"vllm-{i // PER_HOST}",
            values=values,
        )
        for i in range(GPUS)
    ]
    rows = []
    for number in (4_000, GPUS):
        times = Times()
        for _ in range(RUNS):
            times.time(partial(_drawn, devices[:number]))
        rows.append(times.row(f"map of {number:,} GPUs", MAP_LIMIT))
    return rows


def _drawn(devices: list[Device]) -> None:
    build_gpu_map(devices, MEASURES["sm_active"]).to_json()
    gpu_map_alt_text(devices, MEASURES["sm_active"])
