"""The Explore page below its guard."""

from __future__ import annotations

from functools import partial

import streamlit as st

from sharing.report.prices import has_own_prices
from ui.explore.curves import draw_lengths, draw_load
from ui.explore.frontier import draw_frontier
from ui.explore.serves import draw_serves
from ui.explore.shared_pool import draw_pool
from ui.shell import draw_own_prices, draw_tabs
from ui.size.above import draw_above
from ui.state import Answer


def draw() -> None:
    """The scenario with its form behind a click, the answer, and the views of it."""
    answer = draw_above("Explore")
    if answer is not None:
        draw_own_prices(present=has_own_prices(answer.scenario))
        _views(answer, dark=st.context.theme.type == "dark")


def _views(answer: Answer, *, dark: bool) -> None:
    draw_tabs(
        {
            "Latency against throughput": partial(draw_frontier, answer, dark=dark),
            "Load curve": partial(draw_load, answer, dark=dark),
            "Lengths": partial(draw_lengths, answer, dark=dark),
            "What can this serve?": partial(draw_serves, answer),
            "Shared pool": partial(draw_pool, answer),
        },
        key="show",
    )
