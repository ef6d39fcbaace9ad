"""What Explore computes, by workers and once for everybody: a control that only redraws costs nothing.

Results are frozen, so sessions share them without a copy.
"""

from collections.abc import Hashable
from typing import TypeVar

import streamlit as st

from sizing.explore.frontier import FrontierSplit, OperatingPoints
from sizing.explore.inverse import Pushed, Served, systems_to_own
from sizing.explore.load_band import LoadBand
from sizing.explore.measured_points import MeasuredPoint, measured_points
from sizing.explore.operating_point import XAxis, YAxis
from sizing.explore.shared_pool import PoolObjective, SharedPool
from sizing.scenario.schema import Scenario
from ui.state import place_told, plan_of
from ui.work import computing
from ui.work.computing import Have
from ui.work.plans import computed
from ui.work.questions import Computation

KEPT = 64
"""Answers kept of each; the largest, a frontier of five GPUs, is some 0.5 MB."""
_FRONTIER = Computation(compute=computing.frontier, kept=KEPT, what="frontier")
_BAND = Computation(compute=computing.band, kept=KEPT, what="load curve")
_SERVED = Computation(compute=computing.served, kept=KEPT, what="answer")
_PUSHED = Computation(compute=computing.pushed, kept=KEPT, what="answer")
_POOL = Computation(compute=computing.pool, kept=KEPT, what="pool")

T = TypeVar("T")


def _computed(of: Computation[T], doing: str, *key: Hashable) -> T:
    with place_told(doing) as tell:
        return computed(of, key, tell)


def _of_plan(of: Computation[T], doing: str, scenario_json: str, *further: Hashable) -> T:
    """As :func:`_computed`, of a scenario with its plan, which its worker need not make again."""
    plan = plan_of(scenario_json)
    with place_told(doing) as tell:
        return computed(of, (scenario_json, *further), tell, taken=(scenario_json, plan, *further))


def points_of(scenario_json: str, x: XAxis, y: YAxis, gpus: tuple[str, ...], split: FrontierSplit) -> OperatingPoints:
    """Latency against throughput, with the plan's own deployment at its load."""
    return _of_plan(_FRONTIER, "Working out the frontier", scenario_json, x, y, gpus, split)


@st.cache_resource(max_entries=KEPT, ttl="6h", show_spinner=False)
def measured_of(scenario_json: str, gpus: tuple[str, ...]) -> tuple[MeasuredPoint, ...]:
    """The published measurements nearest to the scenario."""
    return measured_points(Scenario.model_validate_json(scenario_json), gpus)


def band_of(scenario_json: str) -> LoadBand:
    """The 80 % range of the load curve of the plan's deployment."""
    return _of_plan(_BAND, "Working out the range of the load curve", scenario_json)


def served_of(scenario_json: str, on: str, have: Have, amount: float) -> Served:
    """What GPUs of one kind, systems, or a budget or power for them serve. Raises SizingError."""
    return _computed(_SERVED, "Working out what it serves", scenario_json, on, have, amount)


def pushed_of(scenario_json: str, on: str, have: Have, gpus: int) -> tuple[Pushed, ...]:
    """How far the prompt and each limit that holds can be pushed on these GPUs."""
    return _computed(_PUSHED, "Working out how far it goes", scenario_json, on, have, gpus)


@st.cache_resource(max_entries=KEPT, ttl="6h", show_spinner=False)
def systems_of(scenario_json: str) -> dict[str, str]:
    """Names of the servers and racks that somebody may have of the considered GPUs, by id."""
    return {key: one.name for key, one in systems_to_own(Scenario.model_validate_json(scenario_json)).items()}


def pool_of(scenario_jsons: tuple[str, ...], objective: PoolObjective) -> SharedPool:
    """The shared pool of several scenarios. Raises SizingError."""
    return _computed(_POOL, "Placing the workloads", scenario_jsons, objective)
