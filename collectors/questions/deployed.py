"""What is deployed, beside how it does: names of the model served, GPU products, KV-cache settings, load over time.

A comparison with a plan needs it: numbers of another model, or from other GPUs, say nothing about the plan.
"""

from __future__ import annotations

import math
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from collectors.backends.backend import Backend, Vectors
from collectors.connect import backend_or_own, read, without_ring
from collectors.errors import SourceError
from collectors.prometheus.promql import step_for
from collectors.reading.discovery import look_around
from collectors.reading.gpus import gpu_scope
from collectors.reading.observation import Observation, State
from collectors.reading.topology import MIN_SCRAPES, Topology, find_topology, presence
from collectors.source import Source
from collectors.vocabulary.detect import detect_engine
from collectors.vocabulary.expressions import scalar_expressions, selected

LOAD_POINTS = 60
"""Points of the load over the window: a minute each in an hour."""

LEAST_STEP_S = 10.0
SILENT = (State.UNREACHABLE, State.NO_DATA, State.STALE)
NOT_A_PRODUCT = ("gpu_uuid", "UUID")
"""Labels that stand in for the product where an exporter names none."""


@dataclass(frozen=True, kw_only=True)
class KvSettings:
    """KV cache of one kind of engine process: tokens per block, blocks, number format; ``engines`` have it."""

    block_tokens: int | None
    blocks: int | None
    cache_type: str
    engines: int


@dataclass(frozen=True, kw_only=True)
class LoadOverTime:
    """Arrivals in requests/s, each the mean of the ``step_s`` before it; NaN where there is no data."""

    step_s: float
    rps: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Deployed:
    """What is deployed; empty where it cannot be told. ``gpus_by``: how GPUs were joined (pod, host, gpu_selector)."""

    models: tuple[str, ...] = ()
    gpu_products: tuple[str, ...] = ()
    gpus_by: str = ""
    kv: tuple[KvSettings, ...] = ()
    load: LoadOverTime | None = None
    problem: str = ""


def read_deployed(
    backend: Backend,
    source: Source,
    *,
    at_s: float,
    window_s: float | None = None,
    clock: Callable[[], float] = time.time,
) -> Deployed:
    """What is deployed at ``at_s``, and the load over the window before it. A failure is in ``problem``."""
    try:
        return _read(backend, source, at_s, window_s or source.window_s, clock)
    except SourceError as error:
        return Deployed(problem=str(error))


def read_deployment(
    source: Source,
    *,
    at_s: float | None = None,
    window_s: float | None = None,
    backend: Backend | None = None,
    clock: Callable[[], float] = time.time,
    wait: Callable[[float], None] = time.sleep,
) -> tuple[Observation, Deployed]:
    """One observation and what is deployed, at the same moment. A source that cannot be reached is an answer."""
    try:
        with backend_or_own(source, backend, window_s=window_s, clock=clock, wait=wait) as own:
            observed = read(source, at_s=at_s, window_s=window_s, backend=own, clock=clock)
            if observed.state in SILENT:
                return observed, Deployed()
            return observed, read_deployed(own, source, at_s=observed.at_s, window_s=observed.window_s, clock=clock)
    except sqlite3.Error as error:
        return without_ring(source, error, at_s=clock(), window_s=window_s or source.window_s), Deployed()


def _read(backend: Backend, source: Source, at_s: float, window_s: float, clock: Callable[[], float]) -> Deployed:
    look = look_around(backend, source, at_s, clock)
    engine = detect_engine(look.names, wanted=source.engine)
    if engine is None:
        return Deployed()
    topology = find_topology(backend, source, look, engine, window_s)
    found = backend.vectors(_expressions(topology), at_s=look.at_s)
    model, product = engine.vocabulary.model_label, _product_label(topology)
    return Deployed(
        models=_values(found, "models", model),
        gpu_products=_values(found, "products", product),
        gpus_by=topology.gpus.how,
        kv=_kv(found),
        load=_load(backend, topology, look.at_s),
    )


def _product_label(topology: Topology) -> str | None:
    vocabulary = topology.gpus.vocabulary
    return None if vocabulary is None or vocabulary.product_label in NOT_A_PRODUCT else vocabulary.product_label


def _expressions(topology: Topology) -> dict[str, str]:
    asked = {}
    series, model, product = (
        presence(topology.choices, topology.scope),
        topology.scope.model_label,
        _product_label(topology),
    )
    if series and model:
        asked["models"] = f"count by ({model}) ({series})"
    if product:
        inside = gpu_scope(topology.gpus, topology.scope).selection()
        asked["products"] = f"count by ({product}) ({topology.gpus.sign}{{{inside}}})"
    capacity = topology.choices.get("kv_capacity_tokens")
    if capacity and capacity.candidate and capacity.candidate.info:
        info = selected(capacity.candidate, capacity.candidate.info, topology.scope)
        asked["kv"] = f"count by (block_size, num_gpu_blocks, cache_dtype) ({info})"
    return asked


def _values(found: Vectors, key: str, label: str | None) -> tuple[str, ...]:
    values = {sample.labels.get(label, "") for sample in found.of(key)} if label else set()
    return tuple(sorted(value for value in values if value))


def _kv(found: Vectors) -> tuple[KvSettings, ...]:
    return tuple(
        KvSettings(
            block_tokens=_whole(sample.labels.get("block_size")),
            blocks=_whole(sample.labels.get("num_gpu_blocks")),
            cache_type=sample.labels.get("cache_dtype", ""),
            engines=round(sample.value),
        )
        for sample in found.of("kv")
    )


def _whole(text: str | None) -> int | None:
    """vLLM writes None for what it does not know."""
    return int(text) if text and text.isdecimal() else None


def _load(backend: Backend, topology: Topology, at_s: float) -> LoadOverTime | None:
    """Arrivals over the window; None where the window holds no two steps of enough scrapes."""
    key = next((k for k in ("arrivals", "first_tokens") if (c := topology.choices.get(k)) and c.candidate), None)
    candidate = topology.choices[key].candidate if key else None
    if key is None or candidate is None:
        return None
    window = topology.scope.window_s
    step = step_for(window, interval_s=max(LEAST_STEP_S, MIN_SCRAPES * topology.scope.step_s), points=LOAD_POINTS)
    if window < 2 * step:
        return None
    asked = scalar_expressions(key, candidate, replace(topology.scope, window_s=step))
    found = backend.ranges({key: asked[key]}, start_s=at_s - window + step, end_s=at_s, step_s=step)
    series = found.series.get(key, ())
    if not series:
        return None
    values = series[0].on_grid(found.start_s, found.end_s, found.step_s)[1]
    return LoadOverTime(step_s=found.step_s, rps=tuple(v if math.isfinite(v) else math.nan for v in values))
