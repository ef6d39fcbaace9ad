"""A column put together by hand: place, GPU, format, engine and load, each as on Size unless it is chosen."""

from typing import Any

import streamlit as st

from sharing.form.choices import labels
from sharing.form.read import OWN_GPU
from sizing.decision.columns import ComparisonColumn
from ui.compare.beside import KEY, MOST, OWN
from ui.compare.column_text import FIELDS, KEPT, column_text
from ui.shell import draw_problems

LOADS = (0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
"""Times the load of the scenario that a column can have."""

_TITLES = {"location": "Place", "gpu": "GPU", "precision": "Weight format", "engine": "Engine"}
_AS_IT_IS, _PROBLEM = "As on Size", "column_problem"
_OF_ITS_OWN = ("gpu", "precision", "engine")


def draw_adding() -> None:
    """The fields of a column behind a click, and what is wrong with them below it."""
    with st.popover("Put a column together", icon=":material/add_column_right:"):
        kept = st.toggle(
            "The plan's own hardware",
            key="column_kept",
            help="Its GPU, engine, formats and layout, of which more or fewer may be needed at another place or load.",
        )
        for name in FIELDS:
            _choice(name, disabled=kept and name in _OF_ITS_OWN)
        st.select_slider(
            "Times the load",
            LOADS,
            value=1.0,
            key="column_load",
            format_func=lambda factor: f"{factor:g} x",
            help="Of the scenario.",
        )
        st.button("Add the column", key="column_add", on_click=_add, icon=":material/add:", type="primary")
        if problem := st.session_state.get(_PROBLEM):
            draw_problems([problem])


def _choice(name: str, *, disabled: bool) -> None:
    options = {"": _AS_IT_IS} | {one: text for one, text in labels(FIELDS[name]).items() if one != OWN_GPU}
    st.selectbox(
        _TITLES[name],
        list(options),
        key=f"column_{name}",
        format_func=options.__getitem__,
        disabled=disabled,
        help=f"“{_AS_IT_IS}” leaves what the form says.",
    )


def _add() -> None:
    """Put the column beside the others; what is wrong with that stays to be said."""
    kept = bool(st.session_state["column_kept"])
    given: dict[str, Any] = {name: st.session_state[f"column_{name}"] for name in FIELDS}
    column = ComparisonColumn(
        location=given["location"] or None,
        **{name: "" if kept else given[name] for name in _OF_ITS_OWN},
        keep_hardware=kept,
        load=float(st.session_state["column_load"]),
    )
    text, beside = column_text(column), list(st.session_state[KEY])
    st.session_state[_PROBLEM] = _problem(text, beside)
    if not st.session_state[_PROBLEM]:
        st.session_state[OWN] = (*st.session_state.get(OWN, ()), text)
        st.session_state[KEY] = [*beside, text]


def _problem(text: str, beside: list[str]) -> str:
    if text in ("", KEPT):
        return "Nothing differs from the scenario: choose a place, GPU, weight format, engine or load."
    if text in beside:
        return f"The column “{text}” is there already."
    if len(beside) >= MOST:
        return f"{MOST} columns stand beside the scenario already: remove one first."
    return ""
