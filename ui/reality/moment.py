"""The window that is compared: how long, and until when."""

from datetime import UTC, datetime

import streamlit as st

from ui.sources.moment import EARLIEST, RANGES, LinkedWindow, asked_end, draw_range, hold

UNTIL = "until"


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
