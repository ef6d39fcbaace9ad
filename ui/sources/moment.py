"""The time that a page about a deployment looks at, as links name it: ``range`` up to ``end``; without an end, now.

Live and Plan vs reality share it, and the source: who goes from one to the other looks at the same thing.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

import streamlit as st
from streamlit.errors import StreamlitAPIException

from sizing.base.units import S_PER_DAY, S_PER_HOUR, S_PER_MINUTE
from ui import state
from ui.shell import draw_choice
from ui.sources import listing
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
_KEPT = "kept_where_and_when"


@dataclass(frozen=True, kw_only=True)
class Window:
    """A range of ``span_s`` up to ``end_s``; None: up to now. ``problem`` says what is wrong with the link's moment."""

    label: str
    span_s: float
    end_s: float | None
    problem: str = ""


def draw_range(title: str, *, help: str) -> str:
    """The choice of a range; returns its label."""
    return draw_choice(title, tuple(RANGES), key=RANGE, default="1 h", help=help)


def asked_end() -> tuple[float | None, str]:
    """The moment in the address; see :func:`read_end`."""
    return read_end(st.query_params.get(END))


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
    """Put a moment into the address; None: now."""
    if at_s is None:
        st.query_params.pop(END, None)
    else:
        st.query_params[END] = as_text(at_s)


def parameters(picked: Picked, label: str, at_s: float | None) -> dict[str, str]:
    """Source, range and moment as parameters of an address."""
    return picked.link | {RANGE: label} | ({END: as_text(at_s)} if at_s is not None else {})


def bring_along() -> None:
    """For a viewer who just came from another page: what was looked at last, unless the address says otherwise.

    Must run before any of the widgets is drawn.
    """
    if not state.came():
        return
    kept = st.session_state.get(_KEPT, {})
    if kept and listing().named(kept[SOURCE]) is None:
        kept = {}
    named = {key: st.query_params[key] for key in (SOURCE, DEPLOYMENT, RANGE, END) if key in st.query_params}
    # A link that names a source means that one: deployment and moment of another are not its own.
    wanted = named if SOURCE in named else kept | named
    for key in (SOURCE, DEPLOYMENT, RANGE):
        st.session_state.pop(key, None)
        if key in wanted and not (key == RANGE and wanted[key] not in RANGES):
            st.session_state[key] = wanted[key]
    with suppress(StreamlitAPIException):  # fields that are bound already write the address themselves
        st.query_params.update({key: text for key, text in wanted.items() if key not in st.query_params})


def keep(picked: Picked, label: str, at_s: float | None) -> None:
    """Remember what is looked at, for the next page."""
    st.session_state[_KEPT] = parameters(picked, label, at_s)
