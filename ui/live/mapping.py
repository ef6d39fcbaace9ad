"""What each quantity was read from: the query to copy, its traps, what is missing and why; and a way to change it."""

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd
import streamlit as st
import yaml
from pydantic import ValidationError

from collectors.reading import read_from
from collectors.reading.observation import Mapped, Observation
from collectors.source import Source
from collectors.vocabulary import MetricCandidate, engine_vocabularies
from collectors.vocabulary.schema import DISTRIBUTIONS, SCALARS
from sharing.form.problems import message_of
from ui import sources
from ui.format import as_markdown
from ui.shell import draw_problems
from ui.sources import known as sessions
from ui.sources.known import KnownSource
from ui.sources.picker import Picked

TRIAL_S = 20.0
"""Longest wait for the trial of an expression: the viewer pressed a button for it."""
KINDS = {
    "expr": "PromQL expression",
    "gauge": "Gauge",
    "counter": "Counter",
    "histogram": "Histogram",
    "mean": "PromQL of a mean",
}
_CHANGED = "mapping_changed"
_PROBLEM, _FIELDS = "mapping_problem", ("quantity", "kind", "text", "scale")


def draw_mapping(picked: Picked, observed: Observation | None) -> None:
    """The table of queries, then the form that replaces one of them in this session."""
    if observed is None or not observed.mapping:
        st.info("The mapping is known once the engine has been seen.", icon=":material/search_off:")
    else:
        _draw_in_use(observed)
    _draw_form(picked)


def _draw_in_use(observed: Observation) -> None:
    engine = engine_vocabularies().get(observed.engine or "")
    if engine is not None:
        variant = f" ({observed.engine_variant})" if observed.engine_variant else ""
        st.caption(
            as_markdown(
                f"Mapping of {engine.label}{variant}, from {engine.source}; {engine.date}. A latency "
                "shows the query of its p95. Verified: seen on a live server or a recording of one."
            )
        )
    wide = st.column_config.TextColumn(width="large")
    st.dataframe(
        pd.DataFrame([_row(quantity, mapped) for quantity, mapped in observed.mapping.items()]),
        hide_index=True,
        key="mapping_rows",
        alt="Query behind each quantity",
        column_config={"Quantity": st.column_config.TextColumn(pinned=True), "Query": wide, "Know": wide},
    )
    if observed.missing:
        st.markdown("**Without data**")
        st.dataframe(
            pd.DataFrame(
                [{"Quantity": m.quantity, "Why, and what would enable it": m.reason} for m in observed.missing]
            ),
            hide_index=True,
            key="missing_rows",
            alt="Quantities without data, with the reason",
            column_config={"Why, and what would enable it": wide},
        )


def _row(quantity: str, mapped: Mapped) -> dict[str, object]:
    """What one quantity is read from."""
    verified = "verified" if mapped.verified else "documentation"
    return {
        "Quantity": quantity,
        "Query": mapped.query,
        "Unit at the source": mapped.unit,
        "From": "this session or the source file" if mapped.overridden else verified,
        "Versions": mapped.versions,
        "Know": mapped.trap,
    }


def _draw_form(picked: Picked) -> None:
    name = picked.known.name
    edited = sessions.mapping_of(name)
    st.markdown("**Read a quantity from something else**")
    st.caption(
        "For a gateway's own metric, or a name that this version does not know. In this session only; the file "
        "of the source keeps it for everybody."
    )
    _draw_inputs(picked.known)
    if problem := st.session_state.pop(_PROBLEM, ""):
        draw_problems([problem])
    if edited:
        _draw_edited(name, edited)


def _draw_edited(name: str, edited: Mapping[str, MetricCandidate]) -> None:
    text = yaml.safe_dump(
        {"metrics": {key: one.model_dump(exclude_defaults=True) for key, one in edited.items()}}, sort_keys=False
    )
    st.markdown("In use in this session; as part of a source file:")
    st.code(text, language="yaml")
    st.button("Back to the built-in mapping", key="map_reset", on_click=_use, args=(name, {}), icon=":material/undo:")


def _draw_inputs(known: KnownSource) -> None:
    with st.form("mapping", border=True):
        quantity, kind, scale = st.columns([2, 2, 1])
        with quantity:
            st.selectbox(
                "Quantity",
                [*SCALARS, *DISTRIBUTIONS],
                key="map_quantity",
                help="As in the table above. Latencies need a histogram, or an expression for their mean.",
            )
        with kind:
            st.selectbox(
                "Read as",
                [kind for kind in KINDS if sessions.may_write() or kind not in sessions.FREE_KINDS],
                key="map_kind",
                format_func=KINDS.__getitem__,
                help="A metric name, or PromQL in which $sel stands for the selection and $w for the window.",
            )
        with scale:
            st.text_input(
                "Times",
                "1",
                key="map_scale",
                help="Turns the metric into seconds, tokens or shares of 1: 0.001 for milliseconds.",
            )
        st.text_input("Metric or expression", key="map_text", placeholder="my_gateway_ttft_ms")
        st.form_submit_button("Try and use", on_click=_apply, args=(known,), icon=":material/check:")


def follow_change() -> None:
    """Run the whole page again after a change: the fragment alone would go on with the source as it was."""
    if st.session_state.pop(_CHANGED, False):
        st.rerun()


def _use(name: str, mapping: dict[str, MetricCandidate]) -> None:
    sessions.set_mapping(name, mapping)
    st.session_state[_CHANGED] = True


def _apply(known: KnownSource) -> None:
    """Validate what was typed, try it on the source, and use it; a problem is a sentence."""
    quantity, kind, text, scale = (str(st.session_state.get(f"map_{field}") or "").strip() for field in _FIELDS)
    mapping = sessions.mapping_of(known.name)
    if kind in sessions.FREE_KINDS and not sessions.may_write():
        st.session_state[_PROBLEM] = "Your role may read a source by the names of metrics, not by PromQL of its own."
        return
    try:
        candidate = candidate_of(kind, text, scale)
        changed = with_override(known.source, quantity, candidate)
        _try(known, changed, quantity)
    except ValueError as error:
        st.session_state[_PROBLEM] = f"{quantity}: {error}"
        return
    _use(known.name, mapping | {quantity: candidate})


def candidate_of(kind: str, text: str, scale: str) -> MetricCandidate:
    """A candidate from the fields of the form. Raises ValueError with one sentence."""
    if not text:
        raise ValueError("the metric or expression is empty.")
    try:
        factor = float(scale or "1")
    except ValueError:
        raise ValueError(f"“{scale[:40]}” is not a number to multiply with; write 1 or 0.001.") from None
    if not 0 < factor < 1e12:
        raise ValueError("the number to multiply with must be above 0.")
    try:
        return MetricCandidate.model_validate({kind: text, "scale": factor})
    except ValidationError as invalid:
        raise ValueError(_said(invalid)) from None


def with_override(source: Source, quantity: str, candidate: MetricCandidate) -> Source:
    """The source with one quantity read otherwise. Raises ValueError where the kind does not suit the quantity."""
    try:
        Source.model_validate(
            {"schema_version": 1, "scrape": {"targets": ["http://x/metrics"]}, "metrics": {quantity: candidate}}
        )
    except ValidationError as invalid:
        raise ValueError(_said(invalid)) from None
    return source.model_copy(update={"metrics": {**source.metrics, quantity: candidate}})


def _said(invalid: ValidationError) -> str:
    return message_of(invalid.errors()[0]).rstrip(".") + "."


def _try(known: KnownSource, changed: Source, quantity: str) -> None:
    """Ask the source once. Raises ValueError when it rejects the expression or has nothing for it."""
    trial = replace(known, source=changed)
    answer = sources.ask(trial, "trial", lambda backend, source: read_from(backend, source), wait_s=TRIAL_S)
    if answer.pending or answer.good is None:
        raise ValueError(answer.problem or "the source did not answer in time; try again.")
    observed = answer.good
    if not sources.good_observation(observed):
        raise ValueError(" ".join(observed.reasons))
    rejected = observed.rejecting(quantity)
    if rejected is not None:
        raise ValueError(rejected.sentence)
    if quantity not in observed.mapping:
        raise ValueError("the source has no data for it: check the spelling.")
