"""How the deployment is, in one box: the state with its reasons, alerts, and how old the data is."""

import streamlit as st

from collectors.reading.alerts import alerts
from collectors.reading.observation import Observation, State
from collectors.vocabulary import engine_vocabularies, gpu_vocabularies
from sizing.base.format import counted, significant
from sizing.base.units import S_PER_HOUR, S_PER_MINUTE
from ui.format import as_markdown
from ui.live.moment import LiveWindow
from ui.sources import LatestAnswer, Origin
from ui.sources.connection import DEMO_FIRST_HOURS, DEMO_HOURS
from ui.sources.moment import window_in_words
from ui.sources.picker import Picked
from ui.sources.reading import age_of, demo_is_whole

WORDS = {
    State.OK: "Healthy",
    State.SATURATED: "Overloaded",
    State.PARTIAL: "Partial data",
    State.STALE: "Stale: nothing new comes in",
    State.NO_DATA: "No data",
    State.UNREACHABLE: "Unreachable",
}
"""The word for each state: no two look alike."""

_ICONS = {
    State.OK: ":material/check_circle:",
    State.SATURATED: ":material/trending_up:",
    State.PARTIAL: ":material/pie_chart:",
    State.STALE: ":material/hourglass_disabled:",
    State.NO_DATA: ":material/search_off:",
    State.UNREACHABLE: ":material/cloud_off:",
}
OF_A_WINDOW = (State.OK, State.SATURATED, State.PARTIAL)
"""States that hold for the window which was read; the others are of its end."""
ATTENTION = "Needs attention"


def word_for(observed: Observation) -> str:
    """The verdict in a word or two."""
    return ATTENTION if observed.state is State.OK and alerts(observed) else WORDS[observed.state]


def draw_verdict(answer: LatestAnswer[Observation], picked: Picked, moment: LiveWindow) -> Observation | None:
    """The box, and what stands below it; returns the observation whose figures are to be shown."""
    newest, good = answer.newest, answer.good
    if picked.known.origin is Origin.DEMO:
        whole = demo_is_whole(picked.known)
        past = f"{DEMO_HOURS if whole else DEMO_FIRST_HOURS:g} h of past"
        filling = "" if whole else f"; up to {DEMO_HOURS:g} h are being made, which takes some minutes"
        st.info(
            "Demo deployment: every number is simulated. In its last hours it got a new system prompt, a burst and "
            f"a lost replica; a slow GPU follows. It has {past}{filling}.",
            icon=":material/science:",
        )
    if newest is not None:
        _box(newest, moment)
    elif answer.problem:
        st.error(f"**{WORDS[State.UNREACHABLE]}.** {as_markdown(answer.problem)}", icon=_ICONS[State.UNREACHABLE])
    elif good is None:
        draw_first_time(picked)
        return None
    if good is not None and answer.problem:
        age = _ago(_seconds_since(good, newest, answer))
        st.warning(f"Below: the last good data, of {moment.clock(good.at_s)}{age}.", icon=":material/history:")
    shown = good or newest
    if shown is not None and good is not None:
        _facts(shown, moment, late=bool(answer.problem))
    return shown if good is not None else None


def draw_first_time(picked: Picked) -> None:
    """What stands there until a source has answered once."""
    takes = {
        Origin.DEMO: "its last hour is being simulated, which takes some seconds",
        Origin.FILE: "the figures come as soon as it answers",
        Origin.TYPED: "the figures come as soon as it answers",
    }[picked.known.origin]
    pages = "; metrics pages need about 15 s for a first rate" if picked.known.source.scrape else ""
    st.info(
        f"Reading {as_markdown(picked.known.name)} for the first time: "
        f"{takes}{'' if picked.known.origin is Origin.DEMO else pages}.",
        icon=":material/hourglass_top:",
    )


def _box(observed: Observation, moment: LiveWindow) -> None:
    reasons = [*observed.reasons, *(alert.sentence for alert in alerts(observed))]
    title = f"**{_verdict(observed, moment)}.**"
    single = f"{title} {as_markdown(reasons[0])}" if len(reasons) == 1 else title
    listed = "".join(f"\n- {as_markdown(reason)}" for reason in reasons) if len(reasons) > 1 else ""
    box = {
        State.OK: st.warning if reasons else st.success,
        State.SATURATED: st.error,
        State.PARTIAL: st.warning,
        State.STALE: st.error,
        State.NO_DATA: st.info,
        State.UNREACHABLE: st.error,
    }[observed.state]
    box(
        single + listed, icon=":material/warning:" if observed.state is State.OK and reasons else _ICONS[observed.state]
    )
    for warning in observed.warnings[:3]:
        st.caption(f":material/info: {as_markdown(warning)}")


def _verdict(observed: Observation, moment: LiveWindow) -> str:
    """The word, with the time that it is about: pages that look at a longer window may say another."""
    if observed.state not in OF_A_WINDOW:
        return word_for(observed)
    until = moment.clock(observed.at_s) if moment.paused else ""
    return f"{word_for(observed)} {window_in_words(observed.window_s, until)}"


def _seconds_since(good: Observation, newest: Observation | None, answer: LatestAnswer[Observation]) -> float | None:
    """Age of the last good data: by the clock of the source where the newest answer has it."""
    if newest is not None and newest.state is not State.UNREACHABLE:
        return max(0.0, newest.at_s - good.at_s)
    return age_of(answer)


def _ago(seconds: float | None) -> str:
    return "" if seconds is None else f", {duration(seconds)} ago"


def duration(seconds: float) -> str:
    """Seconds as a person says it: "40 s", "2 min", "3.5 h"."""
    if seconds < 2 * S_PER_MINUTE:
        return f"{seconds:.0f} s"
    if seconds < 2 * S_PER_HOUR:
        return f"{seconds / S_PER_MINUTE:.0f} min"
    return f"{significant(seconds / S_PER_HOUR, 2)} h"


def _facts(observed: Observation, moment: LiveWindow, *, late: bool) -> None:
    """One line: engine, size, age, window. The age of old data is said above."""
    replicas, gpus = observed.number("replicas"), observed.number("gpus")
    engine = engine_vocabularies().get(observed.engine or "")
    exporter = gpu_vocabularies().get(observed.gpu_exporter or "")
    parts = [
        engine.label if engine else "",
        counted(replicas, "replica") if replicas is not None else "",
        f"{counted(gpus, 'GPU')} by {exporter.label}" if gpus is not None and exporter else "GPUs unknown",
        f"newest sample {duration(observed.age_s)} old" if observed.age_s is not None and not late else "",
        f"scraped every {significant(observed.scrape_interval_s, 2)} s" if observed.scrape_interval_s else "",
        f"figures of the {duration(observed.window_s)} before {moment.clock(observed.at_s)}",
    ]
    st.caption(as_markdown(" · ".join(part for part in parts if part)))
    above = {*observed.reasons, *(alert.sentence for alert in alerts(observed))}
    for note in [note for note in observed.notes if note not in above][:4]:
        st.caption(f":material/info: {as_markdown(note)}")
