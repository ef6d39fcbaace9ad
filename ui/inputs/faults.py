"""What is wrong with a field stands under that field: the form leaves the places, filled in once all of it is read."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from sharing.form.problems import FieldFault
from ui import state
from ui.format import as_markdown


@dataclass(frozen=True, kw_only=True)
class ClosedFold:
    """Fields behind a click that are not drawn: what holds them, how they are drawn, and a place below the click."""

    holds: DeltaGenerator
    draw: Callable[[], object]
    below: DeltaGenerator


@dataclass(frozen=True)
class Places:
    """The place under each field that is drawn, by the field's key, and the folds whose fields are not."""

    under: dict[str, DeltaGenerator] = field(default_factory=dict)
    folds: list[ClosedFold] = field(default_factory=list)


_PLACES: ContextVar[Places | None] = ContextVar("places_under_fields", default=None)
"""Of the form that is being drawn: a run of the page has a thread, and so a context, of its own."""


@contextmanager
def places_kept(places: Places) -> Iterator[None]:
    """Collects in ``places`` what fields and folds leave while the form is drawn."""
    token = _PLACES.set(places)
    try:
        yield
    finally:
        _PLACES.reset(token)


def leave_place(*keys: str) -> None:
    """Leave room for what may be wrong with these fields, which stand side by side; it takes none while it is empty."""
    places = _PLACES.get()
    if places is not None:
        places.under.update(dict.fromkeys(keys, st.container(gap="xsmall")))


def leave_fold(holds: DeltaGenerator, draw: Callable[[], object]) -> None:
    """Leave room below a closed fold for what may be wrong with a field in it."""
    places = _PLACES.get()
    if places is not None:
        places.folds.append(ClosedFold(holds=holds, draw=draw, below=st.container(gap="xsmall")))


def draw_faults(places: Places, faults: Iterable[FieldFault]) -> None:
    """Each fault under its field, and below the fold that hides the field."""
    faults = tuple(faults)
    _look_into_folds(places, [fault for fault in faults if fault.at not in places.under])
    for fault in faults:
        if fault.at in places.under:
            with places.under[fault.at]:
                _draw_sentence(fault)
                _draw_readings(fault)


def _look_into_folds(places: Places, hidden: list[FieldFault]) -> None:
    """Draw the fields of closed folds where that finds the field of a fault, whose sentence then stands below, too."""
    for fold in places.folds:
        if not hidden:
            return
        with places_kept(places), fold.holds:
            fold.draw()
        with fold.below:
            for fault in hidden:
                if fault.at in places.under:
                    _draw_sentence(fault)
        hidden = [fault for fault in hidden if fault.at not in places.under]


def _draw_sentence(fault: FieldFault) -> None:
    """What nobody has filled in yet is asked for, not marked as wrong."""
    sentence = as_markdown(fault.sentence)
    st.markdown(f":small[{sentence}]" if state.untouched(fault) else f":red[:material/error: :small[{sentence}]]")


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
