"""What Explore computes, once for everybody: keyed by the scenario, so that a control that only redraws costs nothing.

Results are frozen, so sessions share them without a copy.
"""

from __future__ import annotations

import streamlit as st

from sizing.explore.frontier import OperatingPoints, Split, operating_points
from sizing.explore.inverse import (
    LimitName,
    Pushed,
    Served,
    longest_prompt,
    served_by_budget,
    served_by_gpus,
    tightest_limit,
)
from sizing.explore.length_map import on_gpu
from sizing.explore.load_band import LoadBand, load_band
from sizing.explore.measured_points import MeasuredPoint, measured_points
from sizing.explore.operating_point import XAxis, YAxis
from sizing.explore.shared_pool import PoolObjective, SharedPool, place
from sizing.scenario.schema import Scenario
from ui.state import answer_of

_kept = st.cache_resource(max_entries=64, ttl="6h", show_spinner=False)
LIMITS: tuple[LimitName, ...] = ("ttft_ms", "itl_ms", "e2e_ms")


def _scenario(scenario_json: str) -> Scenario:
    return Scenario.model_validate_json(scenario_json)


@_kept
def points_of(scenario_json: str, x: XAxis, y: YAxis, gpus: tuple[str, ...], split: Split) -> OperatingPoints:
    """Latency against throughput, with the plan's own deployment at its load."""
    return operating_points(answer_of(scenario_json), x=x, y=y, gpus=gpus, split=split)


@_kept
def measured_of(scenario_json: str, gpus: tuple[str, ...]) -> tuple[MeasuredPoint, ...]:
    """The published measurements nearest to the scenario."""
    return measured_points(_scenario(scenario_json), gpus)


@_kept
def band_of(scenario_json: str) -> LoadBand:
    """The 80 % range of the load curve of the plan's deployment."""
    return load_band(answer_of(scenario_json))


@_kept
def served_of(scenario_json: str, gpu: str, gpus: int | None, usd_per_month: float | None) -> Served:
    """What a number of GPUs of one kind, or a budget for them, serves. Raises SizingError."""
    scenario = on_gpu(_scenario(scenario_json), gpu)
    return served_by_gpus(scenario, gpus) if gpus is not None else served_by_budget(scenario, usd_per_month or 0.0)


@_kept
def pushed_of(scenario_json: str, gpu: str, gpus: int) -> tuple[Pushed, ...]:
    """How far the prompt and each limit that holds can be pushed on these GPUs."""
    scenario = on_gpu(_scenario(scenario_json), gpu)
    limited = [name for name in LIMITS if getattr(scenario.limits, name) is not None]
    streamed = scenario.workload.mode == "streaming"
    usable = limited if streamed else [n for n in limited if n == "e2e_ms" and scenario.workload.mode == "sequential"]
    return (longest_prompt(scenario, gpus), *(tightest_limit(scenario, name, gpus) for name in usable))


@_kept
def pool_of(scenario_jsons: tuple[str, ...], objective: PoolObjective) -> SharedPool:
    """The shared pool of several scenarios. Raises SizingError."""
    return place([_scenario(one) for one in scenario_jsons], objective)
