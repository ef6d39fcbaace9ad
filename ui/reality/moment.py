"""The window that is compared: how long, and until when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import streamlit as st

WINDOWS = {"15 min": 900.0, "1 h": 3600.0, "6 h": 21_600.0, "24 h": 86_400.0, "7 d": 604_800.0}
WINDOW, UNTIL = "window", "until"
EARLIEST = datetime(2015, 1, 1)  # noqa: DTZ001 (the widget takes and gives wall-clock times, here of UTC)


@dataclass(frozen=True, kw_only=True)
class Window:
    """``span_s`` up to ``end_s``; None: up to now."""

    span_s: float
    end_s: float | None


def draw_window() -> Window:
    """Length and end of the window."""
    length, end = st.columns([3, 2], gap="small", vertical_alignment="bottom")
    with length:
        label = st.segmented_control(
            "Window", list(WINDOWS), default="1 h", required=True, key=WINDOW, bind="query-params",
            help="Long enough for some hundred requests, short enough that nothing was changed within it.") or "1 h"
    with end:
        until = st.datetime_input(
            "Until (UTC)", value=None, min_value=EARLIEST, max_value=_now(), key=UNTIL, bind="query-params", step=300,
            format="YYYY-MM-DD", help="End of the window. Empty: now.")
    return Window(span_s=WINDOWS[label], end_s=until.replace(tzinfo=UTC).timestamp() if until else None)


def _now() -> datetime:
    """Now in UTC, to the next quarter of an hour, so that the widget stays the same one for a while."""
    now = datetime.now(UTC).replace(second=0, microsecond=0, tzinfo=None)
    return now.replace(minute=now.minute // 15 * 15)
