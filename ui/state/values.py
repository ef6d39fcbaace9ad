"""What the form of a session holds: its values, and the files that were given to it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import streamlit as st

from ui.form.fields import FIELDS, MAY_BE_EMPTY
from ui.form.presets import presets
from ui.form.trace import TraceInUse
from ui.form.write import from_scenario

CONFIG = "own_config"
"""Session key of the config.json that was given: {"config": {...}, "name": ...}."""

BENCHMARK = "benchmark_in_use"
"""Session key of the imported benchmark that calibrates the scenario, as the keys of a scenario file."""

TRACE = "trace_in_use"
"""Session key of the trace that fills in the workload."""

RESTRICTIONS = ("engine", "prec", "kv", "tp", "pp", "ep", "serving", "batch")
"""Fields that leave out hardware or ways to run on it, beside the choice of GPUs."""


@cache
def defaults() -> dict[str, Any]:
    """The value of every field of an untouched form: the first preset."""
    return from_scenario(next(iter(presets().values())).scenario)


def values() -> dict[str, Any]:
    """The value of every field now."""
    return {key: value(key) for key in FIELDS}


def value(key: str) -> Any:
    """The value of one field now; a link or a cleared choice may have left it empty."""
    default = defaults()[key]
    now = st.session_state.get(key, default)
    return default if now is None and FIELDS[key].kind == "choice" and key not in MAY_BE_EMPTY else now


def write(update: Mapping[str, Any]) -> None:
    """Fill fields in (for callbacks: a widget that is drawn already cannot be changed)."""
    for key, value in update.items():
        st.session_state[key] = value


def restricted() -> bool:
    """Whether engine, precision or parallelism are restricted to a choice."""
    return any(value(key) for key in RESTRICTIONS)


def benchmark() -> dict[str, Any] | None:
    """The imported benchmark that calibrates the scenario, as the keys of a scenario file."""
    imported: dict[str, Any] | None = st.session_state.get(BENCHMARK)
    return imported


def trace() -> TraceInUse | None:
    """The trace that fills in the workload, if any."""
    in_use: TraceInUse | None = st.session_state.get(TRACE)
    return in_use
