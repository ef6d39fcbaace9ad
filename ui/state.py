"""What a session knows: the form's values, the scenario they make, and the last answer that held."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import streamlit as st
from pydantic import ValidationError
from streamlit.errors import StreamlitAPIException

from sizing.base.errors import SizingError
from sizing.base.result import Candidate, Deployed, Fix, Plan
from sizing.catalog.model import Model
from sizing.explore.operating_point import OperatingPoint
from sizing.scenario.schema import Scenario
from ui.cached import plan_of
from ui.choices import label
from ui.form.fields import FIELDS
from ui.form.link import dropped
from ui.form.problems import BadInput, sentence
from ui.form.read import to_scenario
from ui.form.trace import TraceInUse, in_use
from ui.form.write import changed, from_scenario, with_change
from ui.presets import presets

if TYPE_CHECKING:
    from sizing.scenario.trace import Trace

LINK_VERSION = "1"
"""Version of the defaults that links leave out; a link of another version says so."""

NAMED_TRACE = "trace"
"""Parameter that names the trace of a link: it cannot be carried, but who opens the link is to know."""

CONFIG = "own_config"
"""Session key of the config.json that was given: {"config": {...}, "name": ...}."""

BENCHMARK = "benchmark_in_use"
"""Session key of the imported benchmark that calibrates the scenario, as the keys of a scenario file."""

TRACE = "trace_in_use"
"""Session key of the trace that fills in the workload."""

WITH_FORM = ("size", "explore")
"""Pages that hold the form, and so the inputs in their address."""

_RESTRICTIONS = ("engine", "prec", "kv", "tp", "pp", "ep", "serving", "batch")
_LAST, _PAGE, _CAME, _DROPPED = "last_answer", "page_of_the_form", "came_from_another_page", "dropped_from_link"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A scenario and its plan."""

    scenario: Scenario
    plan: Plan


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What the page shows: the answer to these inputs, or what is wrong with them; ``last`` is the last that held."""

    answer: Answer | None
    problem: str
    last: Answer | None


@dataclass(frozen=True, kw_only=True)
class _Dropped:
    """What a link said in vain, with which inputs it was shown first, and whether they have changed since."""

    found: tuple[str, ...] = ()
    shown_with: dict[str, str | list[str]] | None = None
    over: bool = False


_NOTHING_DROPPED = _Dropped()


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
    return default if now is None and FIELDS[key].kind == "choice" and key not in ("model", "m_sys") else now


def outcome() -> Outcome:
    """Read the form and answer it. What is wrong with the inputs is a sentence, never an exception."""
    try:
        scenario = Scenario.model_validate(
            to_scenario(
                values(), config=st.session_state.get(CONFIG), benchmark=st.session_state.get(BENCHMARK), trace=trace()
            )
        )
        answer = Answer(scenario=scenario, plan=plan_of(scenario.model_dump_json()))
    except (BadInput, SizingError, ValidationError) as error:
        return Outcome(answer=None, problem=sentence(error), last=st.session_state.get(_LAST))
    last = st.session_state.get(_LAST)
    if answer.plan.feasible:
        st.session_state[_LAST] = last = answer
    return Outcome(answer=answer, problem="", last=last)


def last_answer() -> Answer | None:
    """The last answer that held in this session; None before any was asked for."""
    return st.session_state.get(_LAST)


def carry_over(page: str) -> None:
    """Take the inputs along to another page that has the form; before anything of it is drawn.

    A widget of one page is another widget than that of the same key on the next page, and in its first run it would
    start from its default. What the address of the next page says goes first; what it lacks is added.
    """
    if page in WITH_FORM:
        _note_dropped()
    st.session_state[_CAME] = st.session_state.get(_PAGE, page) != page
    if came():
        for key in (*FIELDS, "preset"):
            if key in st.session_state:
                st.session_state[key] = st.session_state[key]
        if page in WITH_FORM:
            with suppress(StreamlitAPIException):  # fields that are bound already write the address themselves
                st.query_params.update({k: v for k, v in parameters().items() if k not in st.query_params})
    st.session_state[_PAGE] = page


def came() -> bool:
    """Whether this is the first run of a page after another one of this session."""
    return bool(st.session_state.get(_CAME, False))


def _note_dropped() -> None:
    """Remember what the address says that no widget takes: once the widgets are drawn it is gone from there."""
    found = dropped({key: st.query_params.get_all(key) for key in st.query_params})
    if not set(found) <= set(st.session_state.get(_DROPPED, _NOTHING_DROPPED).found):
        st.session_state[_DROPPED] = _Dropped(found=found)


def model() -> Model | None:
    """The model of the form; None where the form says none that can be read."""
    from sizing.question.understand import model_of

    answered = outcome()
    known = answered.answer or answered.last
    return model_of(known.scenario) if known else None


def question(scenario: Scenario) -> str:
    """Model, lengths and load of a scenario in one line."""
    filled = from_scenario(scenario)
    model = filled["model"].rpartition("/")[2] or filled["size_name"]
    return f"{model}: {int(filled['isl']):,} tokens in, {int(filled['osl']):,} out, {filled['rps']} requests/s"


def load_preset(preset_id: str) -> None:
    """Fill the form with a preset (for callbacks)."""
    remove_trace()
    _write(from_scenario(presets()[preset_id].scenario))
    st.session_state["preset"] = preset_id


def apply_fix(fix: Fix, scenario: Scenario) -> None:
    """Make the one change that a warning or an exclusion proposes (for callbacks)."""
    _apply(scenario, ((fix.key, fix.value),))


def use_candidate(candidate: Candidate, scenario: Scenario) -> None:
    """Consider only this deployment (for callbacks)."""
    use_deployment(candidate.deployment, scenario)


def use_deployment(chosen: Deployed | OperatingPoint, scenario: Scenario) -> None:
    """Consider only the GPU, engine, formats and parallelism of ``chosen`` (for callbacks)."""
    split = chosen.prefill is not None  # parallelism at the top is that of a decode instance
    kinds = [chosen.prefill, chosen] if split else [chosen]
    limit = getattr(chosen, "batch_limit", None)
    pinned = {
        "gpus": [chosen.gpu],
        "engines": [chosen.engine],
        "precisions": [chosen.weight_precision],
        "kv_precisions": [chosen.kv_precision],
        **{name: sorted({getattr(kind, name) for kind in kinds}) for name in ("tp", "pp", "ep")},
        "serving": ["disaggregated" if split else "aggregated"],
        "batch_limits": [] if limit is None else [limit],
    }
    _apply(scenario, tuple((f"deployment.{name}", value) for name, value in pinned.items()))


def choose_model(model_id: str) -> None:
    """Ask for a model of the catalogue (for callbacks)."""
    _write({"model_by": "catalogue", "model": model_id})


def consider_only_measured() -> None:
    """Restrict the hardware to the deployment that the benchmark in use measured (for callbacks)."""
    from sizing.question.benchmark import measured_configuration
    from sizing.scenario.schema import Benchmark

    row = measured_configuration(Benchmark.model_validate(st.session_state[BENCHMARK]))
    _write(
        {
            "gpu": [row.gpu.id],
            "engine": [row.engine.id],
            "prec": [row.precision.id],
            "kv": [],
            "tp": [row.tp],
            "pp": [row.pp],
            "ep": [row.ep],
            "serving": ["aggregated"],
        }
    )


def remove_benchmark() -> None:
    """Size without the imported benchmark again (for callbacks)."""
    st.session_state.pop(BENCHMARK, None)


def trace() -> TraceInUse | None:
    """The trace that fills in the workload, if any."""
    held: TraceInUse | None = st.session_state.get(TRACE)
    return held


def use_trace(requests: Trace) -> None:
    """Fill the workload in from a trace (for callbacks). Raises InvalidTrace for one that is too short."""
    held = in_use(requests)
    st.session_state[TRACE] = held
    _write(dict(held.filled))


def remove_trace() -> None:
    """Size without the trace; what it filled in stays (for callbacks)."""
    if st.session_state.pop(TRACE, None) is not None and NAMED_TRACE in st.query_params:
        del st.query_params[NAMED_TRACE]


def consider_all() -> None:
    """Take back every restriction of the hardware (for callbacks)."""
    _write({key: FIELDS[key].blank for key in ("gpu", *_RESTRICTIONS)})


def restricted() -> bool:
    """Whether engine, precision or parallelism are restricted to a choice."""
    return any(value(key) for key in _RESTRICTIONS)


def parameters() -> dict[str, str | list[str]]:
    """What a link to these inputs carries. Prices, a config.json and a benchmark are never part of it."""
    now, default = values(), defaults()
    shown = {key: now[key] for key in FIELDS if now[key] != default[key] and not FIELDS[key].private}
    held = trace()
    named = {NAMED_TRACE: held.name} if held else {}
    return {"v": LINK_VERSION} | named | {key: _in_link(key, value) for key, value in shown.items()}


def link() -> str:
    """Address of the Size page that fills in these inputs."""
    return f"{(st.context.url or '').split('?')[0]}?{urlencode(parameters(), doseq=True)}"


def link_notes() -> tuple[str, ...]:
    """What to say about the link that was opened: left-out inputs that mean something else now, a trace it lacks."""
    notes = []
    version = st.query_params.get("v", LINK_VERSION)
    if version != LINK_VERSION:
        notes.append(
            f"This link was made for version {version[:20]} of the form, this is version {LINK_VERSION}: "
            "check the inputs that it does not name."
        )
    named = st.query_params.get(NAMED_TRACE)
    if named and trace() is None:
        notes.append(
            f"This link was made with the trace {named[:80]}, which a link cannot carry: lengths are "
            "lognormal by p50 and p95 and arrivals random, unless you fill the form in from that trace again."
        )
    return (*notes, *_dropped_notes())


def _dropped_notes() -> tuple[str, ...]:
    """What was left out of the link, until an input changes."""
    held: _Dropped = st.session_state.get(_DROPPED, _NOTHING_DROPPED)
    if not held.found or held.over:
        return ()
    now = parameters()
    if held.shown_with not in (None, now):
        st.session_state[_DROPPED] = replace(held, over=True)
        return ()
    st.session_state[_DROPPED] = replace(held, shown_with=now)
    return held.found


def mark_link() -> None:
    """Put the version of the defaults, and the name of the trace in use, into the address."""
    held = trace()
    for key, value in (("v", LINK_VERSION), *(((NAMED_TRACE, held.name),) if held else ())):
        if st.query_params.get(key) != value:
            st.query_params[key] = value


def _apply(scenario: Scenario, changes: tuple[tuple[str, Any], ...]) -> None:
    after = scenario
    for path, value in changes:
        after = with_change(after, path, value)
    update = changed(from_scenario(scenario), from_scenario(after))
    if update.keys() & {"isl", "osl"}:
        lengths = from_scenario(after)
        update |= {"isl": lengths["isl"], "osl": lengths["osl"], "unit": "tokens", "compose": False}
    _write(update)


def _write(update: dict[str, Any]) -> None:
    for key, value in update.items():
        st.session_state[key] = value


def _in_link(key: str, value: Any) -> str | list[str]:
    """A value as Streamlit writes it into the address: by its label."""
    match FIELDS[key].kind:
        case "many":
            return [label(key, option) for option in value] or ""
        case "choice":
            return label(key, value) if value else ""
        case "switch":
            return str(value).lower()
    return str(value)
