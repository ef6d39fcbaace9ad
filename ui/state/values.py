"""What the form of a session holds: its values, and the files that were given to it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from sharing.form.fields import FIELDS, MAY_BE_EMPTY
from sharing.form.presets import defaults
from sharing.form.trace import TraceInUse

CONFIG = "own_config"
"""Session key of the config.json that was given: {"config": {...}, "name": ...}."""

_CONFIG_FAULT = "config_fault"

BENCHMARK = "benchmark_in_use"
"""Session key of the imported benchmark that calibrates the scenario, as the keys of a scenario file."""

PRICE_BOOK = "price_book"
"""Session key of the prices of systems and rented GPUs that were typed, as the lists of a scenario's prices."""

TRACE = "trace_in_use"
"""Session key of the trace that fills in the workload."""

_GIVEN = "trace_given"
"""Session key of the last trace under its name, for a browser that goes back and forward over its use."""

RESTRICTIONS = tuple(key for key, field in FIELDS.items() if field.narrows)
"""Fields that leave out hardware or ways to run on it, beside the choice of GPUs."""

OF_DRAFTS = tuple(key for key, field in FIELDS.items() if field.needs == "spec=true")
"""Fields of the drafts that all instances take, where they take any: alone they leave out nothing."""


def values() -> dict[str, Any]:
    """The value of every field now."""
    held = st.session_state.to_dict()  # one by one takes twice as long
    return {key: _value(held, key) for key in FIELDS}


def value(key: str) -> Any:
    """The value of one field now; a link or a cleared choice may have left it empty."""
    return _value(st.session_state, key)


def _value(held: Mapping[Any, Any], key: str) -> Any:
    default = defaults()[key]
    now = held.get(key, default)
    if now is None and FIELDS[key].kind == "choice":
        return "" if key in MAY_BE_EMPTY else default
    return now


def write(update: Mapping[str, Any]) -> None:
    """Fill fields in (for callbacks: a widget that is drawn already cannot be changed)."""
    for key, value in update.items():
        st.session_state[key] = value


def restricted() -> bool:
    """Whether engine, precision, parallelism or drafts are restricted to another choice than in an untouched form."""
    return any(value(key) != defaults()[key] for key in RESTRICTIONS)


@dataclass(frozen=True, kw_only=True)
class ConfigFault:
    """What is wrong with the config.json that was given last, and the key of the widget that it was given by."""

    sentence: str
    given_by: str


def config_fault() -> ConfigFault | None:
    """What is wrong with the config.json that was given last; None where it is in use, or none was given."""
    fault: ConfigFault | None = st.session_state.get(_CONFIG_FAULT)
    return fault


def refuse_config(sentence: str, *, given_by: str) -> None:
    """The config.json that was given cannot be used; the one before stays for when it is taken back."""
    st.session_state[_CONFIG_FAULT] = ConfigFault(sentence=sentence, given_by=given_by)


def take_back_config() -> None:
    """Forget the config.json that was given last and could not be used, with what was wrong with it."""
    st.session_state.pop(_CONFIG_FAULT, None)


def use_config(config: Mapping[str, Any] | None) -> None:
    """Size this config.json, as ``{"config": ..., "name": ...}``, where the form asks for one; None: there is none."""
    take_back_config()
    if config is None:
        st.session_state.pop(CONFIG, None)
    else:
        st.session_state[CONFIG] = config


def benchmark() -> dict[str, Any] | None:
    """The imported benchmark that calibrates the scenario, as the keys of a scenario file."""
    imported: dict[str, Any] | None = st.session_state.get(BENCHMARK)
    return imported


def price_book() -> dict[str, Any]:
    """The lists of prices of this session, as keys of a scenario's prices; empty where nothing was typed."""
    book: dict[str, Any] = st.session_state.get(PRICE_BOOK, {})
    return book


def trace() -> TraceInUse | None:
    """The trace that fills in the workload, if any."""
    in_use: TraceInUse | None = st.session_state.get(TRACE)
    return in_use


def keep_trace(in_use: TraceInUse) -> None:
    """Fill the workload in from this trace."""
    st.session_state[TRACE] = st.session_state[_GIVEN] = in_use


def use_trace_named(name: str) -> None:
    """Use the trace of that name where it was given to this session, else none."""
    given: TraceInUse | None = st.session_state.get(_GIVEN)
    st.session_state[TRACE] = given if given is not None and given.name == name else None
