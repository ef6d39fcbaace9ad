"""The diagnosis on the page: headline, limits, waterfall of causes, actions, and one click to size again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import streamlit as st

from collectors.backends.backend import Backend
from collectors.connect import SILENT
from collectors.source import Source
from sharing.bonds.records import Accepted
from sizing.base.errors import SizingError
from sizing.base.format import UNKNOWN, count, significant
from sizing.question.limits import LatencyLimits
from sizing.scenario.schema import Scenario
from ui import sources, state
from ui.format import as_markdown
from ui.library.opening import open_document
from ui.reality.learned import draw_learned
from ui.shell import chosen_currency, draw_chart, draw_figure, draw_problems, draw_rows, draw_table, refreshed
from ui.shell.progress import Held
from ui.sources.moment import LinkedWindow
from ui.sources.picker import Picked
from ui.state import answer_of

if TYPE_CHECKING:
    from reality.diagnosis.diagnose import Reading
    from reality.diagnosis.result import Diagnosis, Split

STATES: dict[str, tuple[str, str, Literal["green", "orange", "red"]]] = {
    "met": ("Limits kept", ":material/check_circle:", "green"),
    "broken": ("Limit broken", ":material/error:", "red"),
    "unclear": ("Unclear", ":material/help:", "orange"),
}
"""Word, icon and colour of a state: never colour alone."""
LOOK_EVERY_S = 1.0
"""Seconds between two looks while the reading is awaited."""
AT_MOST_S = 60.0
"""Seconds after which a diagnosis says what it knows."""
MEASURED_CAPACITY = "measured_capacity"
"""Session key: the largest load within the limits that the diagnosis on the page states (requests/s), or None."""
MOST_KEPT = 128
"""Diagnoses kept in memory, over all viewers."""


@st.cache_resource(max_entries=MOST_KEPT, ttl="1h", show_spinner=False)
def _held(key: tuple[str, ...]) -> Held[Diagnosis]:
    """The place of one diagnosis, for all who look at it."""
    return Held()


def draw_diagnosis(
    picked: Picked,
    scenario: Scenario,
    window: LinkedWindow,
    served_as: str,
    learned: Accepted | None,
    *,
    every_s: float,
    compared_as: str,
) -> None:
    """What is concluded of the window, or that it is being read; read as often as the comparison beside it.
    ``learned``: the step times accepted for the scenario; ``compared_as``: the sentence of the comparison below."""
    answer = _asked(picked, scenario, window, every_s)
    reading = answer.good or answer.newest
    if reading is None:
        if answer.pending:
            refreshed(_await, LOOK_EVERY_S)(picked, scenario, window, every_s)
        return
    json = scenario.model_dump_json()
    number = "" if learned is None else str(learned.id)
    key = (json, picked.known.key, str(window.span_s), str(reading.observed.at_s), number, served_as)
    try:
        diagnosis = _diagnosed(key, reading, learned)
    except SizingError as error:
        st.session_state[MEASURED_CAPACITY] = None
        draw_problems(error.problems)
        return
    st.session_state[MEASURED_CAPACITY] = diagnosis.capacity_within_limits_rps
    if not diagnosis.limits and diagnosis.reasons and diagnosis.reasons[0] in compared_as:
        return  # nothing can be concluded, and the comparison says why
    _draw(diagnosis, learned, dark=st.context.theme.type == "dark")


def _await(picked: Picked, scenario: Scenario, window: LinkedWindow, every_s: float) -> None:
    """Says what is waited for, until it is there. What a source that fails says stands above."""
    if not _asked(picked, scenario, window, every_s).pending:
        st.rerun()
    st.info("Reading what limits and replicas did: the diagnosis appears then.", icon=":material/hourglass_top:")


def _asked(picked: Picked, scenario: Scenario, window: LinkedWindow, every_s: float) -> sources.LatestAnswer[Reading]:
    """The deployment with everything a diagnosis needs, once for all viewers of the same limits."""
    span, end = window.span_s, window.end_s
    limits = LatencyLimits.of(scenario.limits, scenario.workload.mode)

    def read(backend: Backend, source: Source) -> Reading:
        from reality.diagnosis.diagnose import read_for_diagnosis  # its simulator would slow down the start

        return read_for_diagnosis(limits, source, at_s=end, window_s=span, backend=backend)

    return sources.ask(
        picked.known,
        f"diagnosis {span} {limits}",
        read,
        end_s=end,
        every_s=every_s,
        why_bad=lambda reading: " ".join(reading.observed.reasons) if reading.observed.state in SILENT else "",
    )


def _diagnosed(key: tuple[str, ...], reading: Reading, learned: Accepted | None) -> Diagnosis:
    """The diagnosis of one reading, under a bar while it is computed. ``key``: the scenario as JSON first, the name
    under which the model is served last. Raises SizingError."""
    place = st.empty()

    def told(share: float) -> None:
        place.progress(min(share, 1.0), text="Looking for the cause")

    def compute() -> Diagnosis:
        from reality.compare import planned_of  # the simulator's compiler would slow down the start of every page
        from reality.diagnosis.diagnose import diagnose
        from reality.diagnosis.replan import with_new_plan

        planned = planned_of(answer_of(key[0]), None if learned is None else learned.calibration)
        diagnosis = diagnose(planned, reading, served_as=key[-1], progress=told, at_most_s=AT_MOST_S)
        measured = diagnosis.as_measured
        return (
            diagnosis if measured is None else with_new_plan(diagnosis, planned, answer_of(measured.model_dump_json()))
        )

    try:
        return _held(key).computed(compute)
    finally:
        place.empty()


def _draw(diagnosis: Diagnosis, learned: Accepted | None, *, dark: bool) -> None:
    """Everything that is concluded; a diagnosis without limits says why nothing is."""
    from ui.figures.diagnosis import actions_table, limits_table

    word, icon, colour = STATES[diagnosis.state]
    with st.container(border=True, gap="small"):
        st.badge(word, icon=icon, color=colour)
        st.markdown(f"### {as_markdown(diagnosis.headline)}")
    if not diagnosis.limits:
        return
    _figures(diagnosis)
    draw_rows(limits_table(diagnosis), key="diagnosis_limits", alt="Limits beside what is measured", height="content")
    split = next((one for one in diagnosis.splits if one.quantity == diagnosis.worst_limit), None)
    if split is not None and diagnosis.causes:
        _draw_split(split, dark=dark)
    if diagnosis.actions:
        st.subheader("What would help", anchor=False)
        table = actions_table(diagnosis)
        draw_rows(table, key="diagnosis_actions", alt="Actions and what each gives", height="content")
    draw_learned(diagnosis, learned)
    _draw_resize(diagnosis)


def _figures(diagnosis: Diagnosis) -> None:
    """Load, what the limits carry, and what this traffic takes against the plan, in replicas and money."""
    currency, more, anew = chosen_currency(), diagnosis.gap_replicas, diagnosis.replanned

    def month(usd: float | None) -> str:
        return UNKNOWN if usd is None else signed(currency.written(currency.of(abs(usd))), usd)

    figures = (
        ("Load, requests/s", significant(diagnosis.load_rps), "Mean of the arrivals over the window."),
        (
            "Limits hold up to, requests/s",
            significant(diagnosis.capacity_within_limits_rps),
            "The largest load that keeps every limit as it runs now, with the step times that are measured. From which "
            "load on queues would grow stands below, by those of the plan.",
        ),
        (
            "Replicas vs plan",
            UNKNOWN if more is None else signed(count(abs(more)), more),
            "What this traffic needs of the planned replicas, less those planned.",
        ),
        (
            "Cost vs plan, a month",
            month(diagnosis.gap_usd_per_month),
            "Of these replicas, by what a replica of the plan costs.",
        ),
        (
            "New plan vs plan, a month",
            month(None if anew is None else anew.more_usd_per_month),
            "Cost of the plan for this traffic, less that of the plan.",
        ),
    )
    with st.grid(5, min_column_width=150, gap="small", border=True):
        for title, value, help_text in figures:
            draw_figure(title, value, help=help_text)


def signed(text: str, value: float) -> str:
    """A difference from the plan with its sign; none is as planned."""
    return "as planned" if value == 0 else f"{'+' if value > 0 else '−'}{text}"


def _draw_split(split: Split, *, dark: bool) -> None:
    from ui.figures.diagnosis import build_waterfall, causes_table, waterfall_alt_text

    st.subheader("What made the difference to the plan", anchor=False)
    draw_chart(build_waterfall(split, dark=dark), key="diagnosis_causes", alt=waterfall_alt_text(split))
    draw_table(lambda: causes_table(split), key="diagnosis_causes_rows", what="Causes")


def _draw_resize(diagnosis: Diagnosis) -> None:
    """One click to Size with the traffic that was measured."""
    measured = diagnosis.as_measured
    if measured is None:
        return
    if diagnosis.replanned is not None:
        from reality.diagnosis.sentences import against_the_plan

        st.caption(as_markdown(against_the_plan(diagnosis.replanned)))
    if st.button(
        "Size with this traffic",
        key="diagnosis_resize",
        icon=":material/straighten:",
        help="Fills Size with the measured load, lengths, cache hits and step times; limits and hardware stay.",
        on_click=open_document,
        args=(measured,),
    ):
        st.switch_page("pages/size.py", query_params=state.address_of("size"))
