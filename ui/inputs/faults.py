"""What is wrong with a field stands under that field: the form leaves the places, filled in once all of it is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from sharing.form.problems import FieldFault
from ui import state
from ui.format import as_markdown

Places = Mapping[str, DeltaGenerator]
"""The place under each field that is drawn, by the field's key."""

_PLACES: ContextVar[dict[str, DeltaGenerator] | None] = ContextVar("places_under_fields", default=None)
"""Of the form that is being drawn: a run of the page has a thread, and so a context, of its own."""


@contextmanager
def places_kept() -> Iterator[Places]:
    """Collects the places that fields leave while the form is drawn."""
    places: dict[str, DeltaGenerator] = {}
    token = _PLACES.set(places)
    try:
        yield places
    finally:
        _PLACES.reset(token)


def leave_place(*keys: str) -> None:
    """Leave room for what may be wrong with these fields, which stand side by side; it takes none while it is empty."""
    places = _PLACES.get()
    if places is not None:
        places.update(dict.fromkeys(keys, st.container(gap="xsmall")))


def draw_faults(places: Places, faults: Iterable[FieldFault]) -> None:
    """Each fault under its field. What nobody has filled in yet is asked for, not marked as wrong."""
    for fault in faults:
        if fault.at not in places:
            continue
        with places[fault.at]:
            sentence = as_markdown(fault.sentence)
            st.markdown(
                f":small[{sentence}]" if state.untouched(fault) else f":red[:material/error: :small[{sentence}]]"
            )
            _draw_readings(fault)


def _draw_readings(fault: FieldFault) -> None:
    """A button for each number that may have been meant."""
    if not fault.readings:
        return
    with st.container(horizontal=True, gap="xsmall"):
        for number, reading in enumerate(fault.readings):
            st.button(
                f"Use {reading}",
                key=f"reading_{fault.at}_{number}",
                on_click=state.replace_in,
                args=(fault.at, fault.unclear, reading),
                help=f"Writes {reading} into the field.",
            )
