"""Step times that live windows taught: what they are, accepted for the scenario of the library that is open, undone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from sharing.access import Right
from sharing.errors import SharingError
from sizing.base.format import percent
from ui.access import actor, allowed
from ui.database import library
from ui.format import as_markdown
from ui.library.opening import KEPT, OpenedVersion
from ui.reality.scenario import of_size
from ui.shell import draw_figure

if TYPE_CHECKING:
    from reality.diagnosis.result import Diagnosis, Recalibration
    from sharing.bonds import Calibrations
    from sharing.bonds.records import Accepted

REFUSED = "learned_refused"
"""Session key of what the library said no to when a button was pressed."""


def _calibrations() -> Calibrations:
    from sharing.bonds import Calibrations

    return Calibrations(library())


def _kept() -> int | None:
    """The number of the scenario that is compared, where it is one of the library."""
    kept: OpenedVersion | None = st.session_state.get(KEPT) if of_size() else None
    return None if kept is None else kept.scenario_id


def accepted() -> Accepted | None:
    """What was accepted for the scenario that is compared; None where nothing was, or the library cannot say."""
    number = _kept()
    if number is None:
        return None
    try:
        return _calibrations().of_scenario(number)
    except SharingError:  # the bar of the library says so already
        return None


def draw_learned(diagnosis: Diagnosis, counts: Accepted | None) -> None:
    """What windows say of step times, with the buttons; ``counts``: what was accepted before."""
    one = diagnosis.recalibration
    if one is None and counts is None:
        return
    st.subheader("Step times", anchor=False)
    if one is not None:
        if one.drift:
            st.warning(as_markdown(one.drift), icon=":material/trending_up:")
        _figures(one)
        st.caption(as_markdown(one.why))
    if problem := st.session_state.pop(REFUSED, ""):
        st.error(as_markdown(problem), icon=":material/error:")
    with st.container(horizontal=True):
        _draw_accept(diagnosis)
        if counts is not None:
            _draw_undo(counts)


def _figures(one: Recalibration) -> None:
    from reality.learned.words import added_in_words
    from reality.step_times import milliseconds

    rows = (
        ("Decode, times as planned", one.factor_decode, f"80 %: {one.decode_low:.2f} to {one.decode_high:.2f}"),
        ("Prefill, times as planned", one.factor_prefill, f"80 %: {one.prefill_low:.2f} to {one.prefill_high:.2f}"),
        ("Before the engine, times", one.factor_fixed, "What a request takes before the engine has it."),
    )
    with st.grid(6, min_column_width=150, gap="small", border=True):
        for title, value, help_text in rows:
            draw_figure(title, f"{value:.2f}", help=help_text)
        draw_figure(
            "Each sequence adds",
            f"{milliseconds(one.sequence_ms)} ms",
            help=f"Of the host, to schedule, sample and send, beyond the plan: {added_in_words(one)}.",
        )
        draw_figure("Windows", one.windows, help=f"From {one.since} to {one.until}." if one.since else None)
        if one.error_before is not None and one.error_after is not None:
            draw_figure(
                f"Error elsewhere, {percent(one.error_before)} before",
                percent(one.error_after),
                help="Median error on windows that were left out, with these step times and before.",
            )


def _draw_accept(diagnosis: Diagnosis) -> None:
    """The button, where there is something to accept; where the scenario is nobody's, what to do first."""
    one = diagnosis.recalibration
    if one is None or not one.offered or not allowed(Right.SAVE):
        return
    number = _kept()
    if number is None:
        st.caption("To use these step times in later comparisons, open the scenario from the library and accept them.")
        return
    st.button(
        f"Accept for scenario {number}",
        key="accept_learned",
        icon=":material/model_training:",
        on_click=_accept,
        args=(number, diagnosis),
        help="Later comparisons, diagnoses and sizings with the measured traffic use these step times. Can be undone.",
    )


def _draw_undo(counts: Accepted) -> None:
    from reality.step_times import factors_in_words

    st.caption(
        f"Accepted {counts.accepted_at:%Y-%m-%d %H:%M} UTC by {as_markdown(counts.accepted_by)}: "
        f"{factors_in_words(counts.calibration)}."
    )
    if allowed(Right.SAVE):
        st.button(
            "Undo",
            key="undo_learned",
            icon=":material/undo:",
            on_click=_undo,
            args=(counts.scenario_id,),
            help="The step times of the plan count again, or those accepted before.",
        )


def _accept(number: int, diagnosis: Diagnosis) -> None:
    from reality.learned.acceptance import calibration_of

    try:
        _calibrations().accept(number, calibration_of(diagnosis), by=actor())
    except SharingError as error:
        st.session_state[REFUSED] = str(error)


def _undo(number: int) -> None:
    try:
        _calibrations().undo(number, by=actor())
    except SharingError as error:
        st.session_state[REFUSED] = str(error)
