"""The page below its guard: what is compared, then the comparison, which waits for a slow source by itself."""

from dataclasses import dataclass
from datetime import UTC, datetime

import streamlit as st

from collectors.backends.backend import Backend
from collectors.connect import SILENT
from collectors.questions.deployments import ObservedDeployment
from collectors.questions.judged import read_judged
from collectors.reading.observation import Observation
from collectors.source import Source
from reality.result import RealityComparison
from sharing.bonds.records import Accepted
from sizing.base.errors import SizingError
from sizing.scenario.schema import Scenario
from ui import shell, sources
from ui.format import as_markdown
from ui.library import draw_bond
from ui.live.verdict import OF_A_WINDOW, word_for
from ui.reality.diagnosis import MEASURED_CAPACITY, draw_diagnosis
from ui.reality.foresight import draw_foresight
from ui.reality.learned import accepted
from ui.reality.results import draw_results
from ui.reality.scenario import draw_scenario
from ui.shell import draw_problems, refreshed
from ui.sources.moment import EARLIEST, RANGES, LinkedWindow, address_of, asked_end, draw_range, hold, period
from ui.sources.picker import Picked
from ui.state import answer_of

LOOK_EVERY_S = 1.0
"""Seconds between two looks while the first answer is awaited."""
READINGS_PER_WINDOW = 60.0
"""Chosen: a window that ends now moves on by a sixtieth of itself, which no verdict notices."""
MAX_COMPARISONS = 128
"""Comparisons kept in memory, over all viewers."""
SERVED_AS = "served_as_planned"
"""Session key of the name under which the planned model is served, as the viewer states it."""

UNTIL = "until"


@dataclass(frozen=True, kw_only=True)
class Read:
    """What was read of a deployment at one moment."""

    observed: Observation
    deployed: ObservedDeployment


def draw() -> None:
    """Source, scenario and window on top; below, the comparison."""
    top = shell.header("Plan vs reality")
    picked = sources.pick()
    which, when = st.columns([2, 3], gap="medium")
    with which:
        scenario = draw_scenario(picked)
    with when:
        window = draw_window()
    with top:
        st.page_link(
            "pages/live.py",
            label="Live at this time",
            icon=":material/monitor_heart:",
            query_params=address_of("live", seen_from="reality"),
            help="This source over the same time: charts, replicas, GPUs.",
        )
    if window.problem:
        st.warning(as_markdown(window.problem), icon=":material/schedule:")
    if scenario is None:
        return
    with top:
        shell.chip(scenario.name)
    waiting = picked.pending or _waits(_asked(picked, window))
    renewed = _every(window) if window.end_s is None else None
    every = LOOK_EVERY_S if waiting else renewed
    st.session_state[MEASURED_CAPACITY] = None  # that of another scenario or source is not this one's
    refreshed(_body, every)(picked, scenario, window, waiting=waiting)
    if not picked.pending:
        draw_foresight(picked, scenario, window.end_s, every_s=renewed)
        draw_bond(picked.known.name, picked.deployment or "")


def _asked(picked: Picked, window: LinkedWindow) -> sources.LatestAnswer[Read]:
    """The deployment over the window: read once per sixtieth of the window for all viewers."""
    span, end = window.span_s, window.end_s

    return sources.ask(
        picked.known,
        f"deployment {span}",
        lambda backend, source: _read(source, backend, end, span),
        end_s=end,
        every_s=_every(window),
        why_bad=lambda read: " ".join(read.observed.reasons) if read.observed.state in SILENT else "",
    )


def _read(source: Source, backend: Backend, end_s: float | None, window_s: float) -> Read:
    observed, deployed = read_judged(source, at_s=end_s, window_s=window_s, backend=backend)
    return Read(observed=observed, deployed=deployed)


def _every(window: LinkedWindow) -> float:
    """Seconds between two readings of a window that ends now."""
    return max(sources.REFRESH_S, window.span_s / READINGS_PER_WINDOW)


def _waits(answer: sources.LatestAnswer[Read]) -> bool:
    return answer.pending and answer.newest is None and answer.good is None


def _body(picked: Picked, scenario: Scenario, window: LinkedWindow, *, waiting: bool) -> None:
    if picked.pending:
        if not sources.deployments_of(picked.known).pending:
            st.rerun()
        st.info("Asking the source which deployments it has.", icon=":material/hourglass_top:")
        return
    answer = _asked(picked, window)
    if _waits(answer):
        st.info(
            f"Reading {as_markdown(picked.title)}. The comparison appears when the source has answered.",
            icon=":material/hourglass_top:",
        )
        return
    if waiting:
        st.rerun()
    read = answer.good or answer.newest
    if read is None:
        st.error(f"No verdict: the source cannot be read. {as_markdown(answer.problem)}", icon=":material/cloud_off:")
        return
    if answer.late:
        st.warning(
            f"The newest reading failed: {as_markdown(answer.problem)} Below is the last good one.",
            icon=":material/history:",
        )
    _compared(picked, scenario, window, read)


def _compared(picked: Picked, scenario: Scenario, window: LinkedWindow, read: Read) -> None:
    names = read.deployed.models
    stated = st.session_state.get(SERVED_AS)
    served_as = stated if stated in names else ""
    try:
        with st.spinner("Predicting for the observed traffic", show_time=False):
            learned = accepted()
            compared = comparison(
                scenario.model_dump_json(),
                picked.known.key,
                window.span_s,
                read.observed.at_s,
                served_as,
                None if learned is None else learned.id,
                _read=read,
                _learned=learned,
            )
    except SizingError as error:
        draw_problems(error.problems)
        return
    _draw_other_verdict(picked, window, read.observed)
    _draw_own_name(compared.unmatched_name or served_as, served_as)
    draw_diagnosis(picked, scenario, window, served_as, learned, every_s=_every(window), compared_as=compared.answer)
    draw_results(compared, ends_now=window.end_s is None, dark=st.context.theme.type == "dark")


def _draw_own_name(name: str, served_as: str) -> None:
    """What states that a name is the planned model's, above the verdicts that say that it has to be stated."""
    if name:
        st.toggle(
            f"“{as_markdown(name)}” is the planned model under a name of its own",
            value=bool(served_as),
            key="served_as_toggle",
            on_change=_state_name,
            args=(name,),
            help="Names that say nothing about the model cannot be checked: you state it.",
        )


def _draw_other_verdict(picked: Picked, window: LinkedWindow, observed: Observation) -> None:
    """The verdict of Live where it is another: that of the last minutes of this window alone. A link has one line."""
    newest = sources.observed(picked.known, end_s=window.end_s, wait_s=0.0).newest
    if newest is None or newest.state is observed.state or not {newest.state, observed.state} <= {*OF_A_WINDOW}:
        return
    st.page_link(
        "pages/live.py",
        label=f"Live says “{word_for(newest)}” of the last {period(newest.window_s)}",
        icon=":material/monitor_heart:",
        query_params=address_of("live", seen_from="reality"),
    )


def _state_name(name: str) -> None:
    if st.session_state.get("served_as_toggle"):
        st.session_state[SERVED_AS] = name
    else:
        st.session_state.pop(SERVED_AS, None)


@st.cache_resource(max_entries=MAX_COMPARISONS, ttl="1h", show_spinner=False)
def comparison(
    scenario_json: str,
    source_key: str,
    window_s: float,
    at_s: float,
    served_as: str,
    learned_id: int | None = None,
    *,
    _read: Read,
    _learned: Accepted | None = None,
) -> RealityComparison:
    """The comparison of a scenario with one reading, shared by all who look at both; ``learned_id`` tells apart the
    step times accepted for it. Raises SizingError."""
    from reality.compare import compare, planned_of  # the simulator's compiler would slow down the start of every page

    planned = planned_of(answer_of(scenario_json), None if _learned is None else _learned.calibration)
    return compare(planned, _read.observed, _read.deployed, served_as=served_as)


def draw_window() -> LinkedWindow:
    """Length and end of the window. The end is that of the address, to the second; the field shows its minute."""
    length, end = st.columns([3, 2], gap="small")
    with length:
        label = draw_range(
            "Window", help="Long enough for some hundred requests, short enough that nothing was changed within it."
        )
    end_s, problem = asked_end()
    st.session_state[UNTIL] = _wall_clock(end_s) if end_s is not None else None
    with end:
        st.datetime_input(
            "Until (UTC)",
            value=None,
            min_value=EARLIEST.replace(tzinfo=None),
            max_value=_latest(),
            key=UNTIL,
            step=300,
            format="YYYY-MM-DD",
            on_change=_hold,
            help="End of the window. Empty: now.",
        )
    return LinkedWindow(label=label, span_s=RANGES[label], end_s=end_s, problem=problem)


def _hold() -> None:
    until = st.session_state.get(UNTIL)
    hold(until.replace(tzinfo=UTC).timestamp() if until else None)


def _wall_clock(at_s: float) -> datetime:
    """A moment as the widget has it: without a zone, here of UTC, in whole minutes."""
    return datetime.fromtimestamp(at_s, UTC).replace(second=0, microsecond=0, tzinfo=None)


def _latest() -> datetime:
    """Now, to the end of the quarter of an hour, so that the widget stays the same one for a while."""
    now = datetime.now(UTC)
    return datetime.fromtimestamp((now.timestamp() // 900 + 1) * 900, UTC).replace(tzinfo=None)
