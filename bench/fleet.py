"""A day of a large fleet in a Prometheus data directory: pages as real exporters write them, thousands of times."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.tsdb import Curve, curve, sorted_series, write_block
from collectors.backends.scrape.text import PageSample, read_page

RECORDINGS = Path(__file__).parents[1] / "tests" / "collectors" / "recordings"
GPUS_PER_NODE = 8
"""GPUs of a node, as in DGX and HGX systems."""
SHAPES = 4
"""Different courses of the load; a replica follows one of them with all its series."""
RECORDED_S = 600.0
"""Length of the recording that is repeated."""
DAY_S = 86_400
"""Length of the history that is written."""
ULID = "01K0000000000000000000F1EE"
# Beside the default fields of the recorded page: those that the documentation asks operators to switch on.
EXTENDED = {
    "DCGM_FI_PROF_SM_ACTIVE": 0.5,
    "DCGM_FI_DEV_POWER_MGMT_LIMIT": 700.0,
    "DCGM_FI_DEV_CLOCKS_EVENT_REASONS": 0.0,
    "DCGM_FI_DEV_XID_ERRORS": 0.0,
}
STEADY = {"DCGM_FI_DEV_POWER_MGMT_LIMIT", "DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "DCGM_FI_DEV_XID_ERRORS"}
BUSY = {
    "DCGM_FI_DEV_SM_CLOCK": 1900.0,
    "DCGM_FI_DEV_GPU_UTIL": 97.0,
    "DCGM_FI_DEV_GPU_TEMP": 62.0,
    "DCGM_FI_DEV_MEMORY_TEMP": 70.0,
    "DCGM_FI_DEV_POWER_USAGE": 480.0,
    "DCGM_FI_DEV_FB_USED": 73_000.0,
    "DCGM_FI_DEV_FB_FREE": 7_500.0,
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": 0.95,
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": 0.3,
    "DCGM_FI_PROF_DRAM_ACTIVE": 0.5,
}
GAUGES = {"vllm:num_requests_running": 24.0, "vllm:num_requests_waiting": 0.4, "vllm:kv_cache_usage_perc": 0.5}
"""Values of the gauges of a replica under its mean load."""


@dataclass(frozen=True, kw_only=True)
class FleetSize:
    """How large, and how often it is scraped (a minute is the default of Prometheus)."""

    replicas: int = 2_000
    gpus: int = 10_000
    interval_s: int = 60
    hours: float = 24.0


def recorded(name: str) -> list[PageSample]:
    """A page as a real exporter wrote it."""
    return read_page((RECORDINGS / f"{name}.txt").read_text())


def write_fleet(folder: Path, fleet: FleetSize, *, end_s: int) -> int:
    """A data directory whose newest samples are at ``end_s``; returns the number of series."""
    start_s = end_s - int(fleet.hours * 3600)
    seconds = np.arange(start_s, end_s + 1, fleet.interval_s)
    times_ms = (seconds * 1000).tolist()
    load = [_load(seconds - start_s, shape) for shape in range(SHAPES)]
    series: list[tuple[dict[str, str], Curve]] = []
    for sample in recorded("vllm_rate8"):
        shapes = [curve(times_ms, _engine(sample, load[k], k)) for k in range(SHAPES)]
        for i in range(fleet.replicas):
            series.append(({"__name__": sample.name, **dict(sample.labels), **_replica(i, fleet)}, shapes[i % SHAPES]))
    for name, level in _fields().items():
        shapes = [curve(times_ms, _gpu(name, level, len(seconds), k)) for k in range(SHAPES)]
        for i in range(fleet.gpus):
            series.append(({"__name__": name, **_device(i, fleet)}, shapes[(i // GPUS_PER_NODE) % SHAPES]))
    in_order = sorted_series([*series, *_up(fleet, times_ms)])
    samples = len(in_order) * len(seconds)
    write_block(folder / ULID, in_order, start_ms=times_ms[0], end_ms=times_ms[-1] + 1, samples=samples)
    return len(in_order)


def _up(fleet: FleetSize, times_ms: list[int]) -> list[tuple[dict[str, str], Curve]]:
    one = curve(times_ms, np.ones(len(times_ms)))
    nodes = range(-(-fleet.gpus // GPUS_PER_NODE))
    engines = [_replica(i, fleet) for i in range(fleet.replicas)]
    exporters = [{"job": "dcgm", "instance": f"{_address(n)}:9400"} for n in nodes]
    return [({"__name__": "up", **labels}, one) for labels in (*engines, *exporters)]


def _load(elapsed: NDArray[np.int64], shape: int) -> NDArray[np.float64]:
    """Load over the day, 1 on average, with noise."""
    rng = np.random.default_rng(shape)
    wave = 1.0 + 0.6 * np.sin(2 * np.pi * elapsed / DAY_S + shape)
    return np.asarray(wave * rng.uniform(0.8, 1.2, len(elapsed)), dtype=np.float64)


def _engine(sample: PageSample, load: NDArray[np.float64], shape: int) -> NDArray[np.float64]:
    """A gauge around its level, a counter that grows as fast as while the page was recorded; buckets stay in order."""
    if sample.name in GAUGES:
        rng = np.random.default_rng(shape)
        return np.asarray(np.round(GAUGES[sample.name] * load * rng.uniform(0.5, 1.5, len(load)), 4), dtype=np.float64)
    if sample.name.endswith(("_total", "_bucket", "_count", "_sum")):
        grown = np.cumsum(load) * (sample.value * 60.0 / RECORDED_S)
        return grown if sample.name.endswith("_sum") else np.floor(grown)
    return np.full(len(load), sample.value)


def _fields() -> dict[str, float]:
    fields = {sample.name: sample.value for sample in recorded("dcgm_L4") if sample.name.startswith("DCGM")}
    return fields | EXTENDED | BUSY


def _gpu(name: str, level: float, count: int, shape: int) -> NDArray[np.float64]:
    if name in STEADY or level == 0:
        return np.full(count, level)
    values = level * np.random.default_rng(shape).uniform(0.85, 1.0, count)
    return np.asarray(np.cumsum(values) if "TOTAL" in name else np.round(values, 2), dtype=np.float64)


def _address(node: int) -> str:
    return f"10.{node >> 16 & 255}.{node >> 8 & 255}.{node & 255}"


def _replica(i: int, fleet: FleetSize) -> dict[str, str]:
    node = i * fleet.gpus // fleet.replicas // GPUS_PER_NODE
    pod = f"llama-70b-{i:05}"
    return {"job": "vllm", "namespace": "llm", "pod": pod, "instance": f"{_address(node)}:{8000 + i % 8}"}


def _device(i: int, fleet: FleetSize) -> dict[str, str]:
    node, place = divmod(i, GPUS_PER_NODE)
    return {
        "job": "dcgm",
        "instance": f"{_address(node)}:9400",
        "Hostname": f"gpu-node-{node:04}",
        "UUID": f"GPU-00000000-0000-4000-8000-{i:012d}",
        "gpu": str(place),
        "device": f"nvidia{place}",
        "pci_bus_id": f"00000000:{0x18 + place:02X}:00.0",
        "modelName": "NVIDIA H100 80GB HBM3",
        "DCGM_FI_DRIVER_VERSION": "580.105.08",
        "namespace": "llm",
        "container": "vllm",
        "pod": f"llama-70b-{i * fleet.replicas // fleet.gpus:05}",
    }
