"""The time that the page looks at: a range that ends now, or at a moment that a link or a pause holds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from urllib.parse import urlencode
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st

from ui.sources.picker import Picked

RANGES = {"15 min": 900.0, "1 h": 3600.0, "6 h": 21_600.0, "24 h": 86_400.0, "7 d": 604_800.0}
RANGE, END, SHOWN_AT = "range", "end", "live_shown_at"
FORMAT = "%Y-%m-%dT%H:%M:%SZ"
EARLIEST = datetime(2015, 1, 1, tzinfo=UTC).timestamp()


@dataclass(frozen=True, kw_only=True)
class Moment:
    """A range of ``span_s`` up to ``end_s``; None: up to now, refreshed as time goes on."""

    label: str
    span_s: float
    end_s: float | None
    zone: tzinfo
    problem: str = ""

    @property
    def paused(self) -> bool:
        """Whether the page stands still."""
        return self.end_s is not None

    def clock(self, at_s: float) -> str:
        """A moment for a sentence, by the viewer's wall clock."""
        return f"{datetime.fromtimestamp(at_s, self.zone):%Y-%m-%d %H:%M:%S} {self.zone}"


def draw_moment(picked: Picked) -> Moment:
    """The range, a pause, and the link to what is seen."""
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small", width="content")
    with row:
        label = st.segmented_control(
            "Range", list(RANGES), default="1 h", required=True, key=RANGE, bind="query-params",
            help="How far back the charts go. The figures above them stand for the last minutes of it.") or "1 h"
        end_s, problem = read_end(st.query_params.get(END))
        if end_s is None:
            st.button("Pause", key="live_pause", icon=":material/pause:", on_click=_pause,
                      help="Stop refreshing and stay at this moment.")
        else:
            st.button("Resume", key="live_resume", icon=":material/play_arrow:", on_click=_resume, type="primary",
                      help="Follow the deployment again.")
        with st.popover("Link", icon=":material/link:", help="A link to the same source, range and moment."):
            shown_at = end_s if end_s is not None else st.session_state.get(SHOWN_AT)
            st.code(link(picked, label, shown_at), language=None, wrap_lines=True)
            st.caption("Names the source, never its address or credentials."
                       + (" This source was typed in this session: the link works in this session only."
                          if picked.known.origin == "typed" else ""))
    return Moment(label=label, span_s=RANGES[label], end_s=end_s, zone=_zone(), problem=problem)


def read_end(text: str | None) -> tuple[float | None, str]:
    """The moment in a link, in seconds since 1970, or what is wrong with it. No moment at all is now."""
    if not text:
        return None, ""
    try:
        at_s = datetime.strptime(text, FORMAT).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None, f"“{text[:40]}” is not a moment; write end=2026-11-21T12:00:00Z. The page shows now instead."
    if not EARLIEST <= at_s <= datetime.now(UTC).timestamp() + 60:
        return None, f"There is no data of {text[:40]}: it is in the future or before 2015. The page shows now instead."
    return at_s, ""


def link(picked: Picked, label: str, at_s: float | None) -> str:
    """Address of this page with source, range and moment written out."""
    parameters = picked.link | {RANGE: label} | ({END: as_text(at_s)} if at_s is not None else {})
    return f"{(st.context.url or '').split('?')[0]}?{urlencode(parameters)}"


def as_text(at_s: float) -> str:
    """A moment as links carry it."""
    return datetime.fromtimestamp(math.floor(at_s), UTC).strftime(FORMAT)


def _pause() -> None:
    at_s = st.session_state.get(SHOWN_AT) or datetime.now(UTC).timestamp()
    st.query_params[END] = as_text(at_s)


def _resume() -> None:
    st.query_params.pop(END, None)


def _zone() -> tzinfo:
    """The time zone of the browser; UTC where it does not say."""
    try:
        return ZoneInfo(st.context.timezone or "UTC")
    except (ZoneInfoNotFoundError, ValueError):
        return UTC
