"""Tabs of which only the open one computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from ui import state
from ui.shell.notes import draw_wrong_in_link


def draw_tabs(bodies: Mapping[str, Callable[[], object]], *, key: str) -> None:
    """Tabs by title; the open one draws its body, and a link keeps which it is under ``key``.

    Streamlit runs the bodies of hidden tabs, too, unless each is guarded by ``.open``.
    """
    state.linked(key, {title: title for title in bodies}, default=next(iter(bodies)))
    draw_wrong_in_link(key, "tab")
    tabs = st.tabs(list(bodies), key=key, on_change="rerun")
    for tab, body in zip(tabs, bodies.values(), strict=True):
        if tab.open:
            with tab:
                body()
