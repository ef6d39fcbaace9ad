"""The time that the page looks at: a range that ends now, or at a moment that a link or a pause holds."""

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from urllib.parse import urlencode
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st

from sharing.links.live import without_addresses
from ui import state
from ui.sources.known import Origin
from ui.sources.moment import RANGES, LinkedWindow, asked_end, draw_range, hold, written_out
from ui.sources.picker import Picked

SHOWN_AT = "live_shown_at"


@dataclass(frozen=True, kw_only=True)
class LiveWindow(LinkedWindow):
    """The window, refreshed as time goes on while it has no end, and the time zone of the viewer."""

    zone: tzinfo

    @property
    def paused(self) -> bool:
        """Whether the page stands still."""
        return self.end_s is not None

    def clock(self, at_s: float) -> str:
        """A moment for a sentence, by the viewer's wall clock."""
        return f"{datetime.fromtimestamp(at_s, self.zone):%Y-%m-%d %H:%M:%S} {self.zone}"


def draw_moment(picked: Picked) -> LiveWindow:
    """The range, a pause, and the link to what is seen."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", width="content"):
        label = draw_range(
            "Range", help="How far back the charts go. The figures above them stand for the last minutes of it."
        )
        end_s, problem = asked_end()
        _draw_pause(paused=end_s is not None)
        _draw_link(picked, label, end_s)
    return LiveWindow(label=label, span_s=RANGES[label], end_s=end_s, zone=_zone(), problem=problem)


def _draw_pause(*, paused: bool) -> None:
    if paused:
        st.button(
            "Resume",
            key="live_resume",
            icon=":material/play_arrow:",
            on_click=hold,
            args=(None,),
            type="primary",
            help="Follow the deployment again.",
        )
    else:
        st.button(
            "Pause",
            key="live_pause",
            icon=":material/pause:",
            on_click=_pause,
            help="Stop refreshing and stay at this moment.",
        )


def _draw_link(picked: Picked, label: str, end_s: float | None) -> None:
    with st.popover("Link", icon=":material/link:", help="A link to the same source, range and moment."):
        shown_at = end_s if end_s is not None else st.session_state.get(SHOWN_AT)
        st.code(link(picked, label, shown_at), language=None, wrap_lines=True)
        typed = " This source was typed in this session: the link works in this session only."
        st.caption(
            "Names the source, never its address or credentials, and carries the inputs of the scenario."
            + (typed if picked.known.origin is Origin.TYPED else "")
        )


def link(picked: Picked, label: str, at_s: float | None) -> str:
    """Address of this page with source, range and moment written out."""
    carried = without_addresses(state.address_of("live") | written_out(picked, label, at_s))
    return f"{(st.context.url or '').split('?')[0]}?{urlencode(carried, doseq=True)}"


def _pause() -> None:
    hold(st.session_state.get(SHOWN_AT) or datetime.now(UTC).timestamp())


def _zone() -> tzinfo:
    """The time zone of the browser; UTC where it does not say."""
    try:
        return ZoneInfo(st.context.timezone or "UTC")
    except (ZoneInfoNotFoundError, ValueError):
        return UTC
