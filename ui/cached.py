"""What is computed once for everybody: answers by scenario, and names of the catalogue by id."""

from __future__ import annotations

import threading
from functools import cache

import streamlit as st

from sizing.base.result import Plan
from sizing.scenario.schema import Scenario
from ui.presets import presets

MAX_ANSWERS = 256
"""Answers kept in memory; one is some 100 KB."""


@st.cache_resource(max_entries=MAX_ANSWERS, ttl="6h", show_spinner=False)
def plan_of(scenario_json: str) -> Plan:
    """The answer to a scenario, the only one this product gives: pages, exports, links and commands show it.

    A plan is frozen, so sessions share it without a copy. Raises SizingError.
    """
    import sizing

    return sizing.plan(Scenario.model_validate_json(scenario_json))


@cache
def warm_up() -> threading.Thread:
    """Load what the first answer and its evidence need while the first page is being drawn."""
    thread = threading.Thread(target=_first_answer, name="warm-up", daemon=True)
    thread.start()
    return thread


def _first_answer() -> None:
    import sizing
    from sizing.evidence.published import evidence

    sizing.plan(next(iter(presets().values())).scenario)
    evidence()


@cache
def model_ids() -> tuple[str, ...]:
    """Every model of the catalogue, by name."""
    from sizing.catalog import models

    return tuple(sorted(models(), key=str.lower))


@cache
def gpu_names() -> dict[str, str]:
    """Names of the accelerators that can be sized, by id."""
    from sizing.catalog import gpus

    return {gpu.id: gpu.name for gpu in gpus().values() if gpu.sizable}


@cache
def system_names() -> dict[str, str]:
    """Names of the servers and racks, by id."""
    from sizing.catalog import systems

    return {system.id: system.name for system in systems().values()}


@cache
def engine_labels() -> dict[str, str]:
    """Labels of the serving engines, by id."""
    from sizing.catalog.engines import engines

    return {engine.id: engine.label for engine in engines().values()}


@cache
def precision_labels() -> dict[str, str]:
    """Labels of the weight precisions, by id."""
    from sizing.catalog.precisions import precisions

    return {name: precision.label for name, precision in precisions().items()}
