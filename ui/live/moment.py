"""The time that the page looks at: a range that ends now, or at a moment that a link or a pause holds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from urllib.parse import urlencode
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st

from ui.sources.moment import RANGE, RANGES, asked_end, hold, keep, parameters
from ui.sources.picker import Picked

SHOWN_AT = "live_shown_at"


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
        label = (
            st.segmented_control(
                "Range",
                list(RANGES),
                default="1 h",
                required=True,
                key=RANGE,
                bind="query-params",
                help="How far back the charts go. The figures above them stand for the last minutes of it.",
            )
            or "1 h"
        )
        end_s, problem = asked_end()
        if end_s is None:
            st.button(
                "Pause",
                key="live_pause",
                icon=":material/pause:",
                on_click=_pause,
                help="Stop refreshing and stay at this moment.",
            )
        else:
            st.button(
                "Resume",
                key="live_resume",
                icon=":material/play_arrow:",
                on_click=hold,
                args=(None,),
                type="primary",
                help="Follow the deployment again.",
            )
        with st.popover("Link", icon=":material/link:", help="A link to the same source, range and moment."):
            shown_at = end_s if end_s is not None else st.session_state.get(SHOWN_AT)
            st.code(link(picked, label, shown_at), language=None, wrap_lines=True)
            st.caption(
                "Names the source, never its address or credentials."
                + (
                    " This source was typed in this session: the link works in this session only."
                    if picked.known.origin == "typed"
                    else ""
                )
            )
    keep(picked, label, end_s)
    return Moment(label=label, span_s=RANGES[label], end_s=end_s, zone=_zone(), problem=problem)


def link(picked: Picked, label: str, at_s: float | None) -> str:
    """Address of this page with source, range and moment written out."""
    return f"{(st.context.url or '').split('?')[0]}?{urlencode(parameters(picked, label, at_s))}"


def _pause() -> None:
    hold(st.session_state.get(SHOWN_AT) or datetime.now(UTC).timestamp())


def _zone() -> tzinfo:
    """The time zone of the browser; UTC where it does not say."""
    try:
        return ZoneInfo(st.context.timezone or "UTC")
    except (ZoneInfoNotFoundError, ValueError):
        return UTC
