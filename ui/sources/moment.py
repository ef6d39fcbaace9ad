"""The time that a page about a deployment looks at, as links name it: ``range`` up to ``end``; without an end, now.

Live and Plan vs reality share it, and the source, by the keys of their widgets: who goes from one to the other looks at
the same thing.
"""

import math
from dataclasses import dataclass
from datetime import UTC, datetime

import streamlit as st

from sizing.base.format import significant
from sizing.base.units import S_PER_DAY, S_PER_HOUR, S_PER_MINUTE
from ui import state
from ui.shell import draw_choice
from ui.sources.picker import DEPLOYMENT, SOURCE, Picked

RANGES = {
    "15 min": 15 * S_PER_MINUTE,
    "1 h": S_PER_HOUR,
    "6 h": 6 * S_PER_HOUR,
    "24 h": S_PER_DAY,
    "7 d": 7 * S_PER_DAY,
}
"""Seconds of every range that can be chosen."""
RANGE, END = "range", "end"
FORMAT = "%Y-%m-%dT%H:%M:%SZ"
EARLIEST = datetime(2015, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class LinkedWindow:
    """A range of ``span_s`` up to ``end_s``; None: up to now. ``problem`` says what is wrong with the link's moment."""

    label: str
    span_s: float
    end_s: float | None
    problem: str = ""


def draw_range(title: str, *, help: str) -> str:
    """The choice of a range; returns its label."""
    return draw_choice(title, tuple(RANGES), key=RANGE, default="1 h", help=help)


def asked_end() -> tuple[float | None, str]:
    """The moment that is looked at, as the address has it; see :func:`read_end`."""
    state.linked(END, default="")
    return read_end(st.session_state[END])


def read_end(text: str | None) -> tuple[float | None, str]:
    """The moment in a link, in seconds since 1970, or what is wrong with it. No moment at all is now."""
    if not text:
        return None, ""
    try:
        at_s = datetime.strptime(text, FORMAT).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None, f"“{text[:40]}” is not a moment; write end=2026-11-21T12:00:00Z. The page shows now instead."
    if not EARLIEST.timestamp() <= at_s <= datetime.now(UTC).timestamp() + 60:
        return None, f"There is no data of {text[:40]}: it is in the future or before 2015. The page shows now instead."
    return at_s, ""


def as_text(at_s: float) -> str:
    """A moment as links carry it."""
    return datetime.fromtimestamp(math.floor(at_s), UTC).strftime(FORMAT)


def hold(at_s: float | None) -> None:
    """Look at a moment from now on (for callbacks); None: now."""
    st.session_state[END] = "" if at_s is None else as_text(at_s)


def window_in_words(window_s: float, until: str = "") -> str:
    """The window of a verdict, up to now or ``until``: "in the last 5 minutes", "in the hour until 12:05"."""
    return f"in the {period(window_s)} until {until}" if until else f"in the last {period(window_s)}"


def period(seconds: float) -> str:
    """A length of time without its one: "hour", "18 seconds", "5 minutes", "24 hours", "7 days"."""
    if seconds >= 2 * S_PER_DAY:
        number, unit = seconds / S_PER_DAY, "day"
    elif seconds >= S_PER_HOUR:
        number, unit = seconds / S_PER_HOUR, "hour"
    elif seconds >= S_PER_MINUTE:
        number, unit = seconds / S_PER_MINUTE, "minute"
    else:
        number, unit = seconds, "second"
    written = significant(number, 2)
    return unit if written == "1" else f"{written} {unit}s"


def address_of(page: str, *, seen_from: str) -> dict[str, list[str]]:
    """The parameters of a page about a deployment, at the source and the time of the page it is ``seen_from``."""
    here = state.address_of(seen_from)
    looked_at = {key: here[key] for key in (SOURCE, DEPLOYMENT, RANGE, END) if key in here}
    return state.address_of(page) | looked_at


def written_out(picked: Picked, label: str, at_s: float | None) -> dict[str, list[str]]:
    """Source, range and moment as parameters of an address, those of an untouched page, too."""
    looked_at = picked.link | {RANGE: label} | ({END: as_text(at_s)} if at_s is not None else {})
    return {key: [text] for key, text in looked_at.items()}
