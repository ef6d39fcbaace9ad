"""Tabs of which only the open one computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st


def draw_tabs(bodies: Mapping[str, Callable[[], object]], *, key: str) -> None:
    """Tabs by title; the open one draws its body, and a link keeps which it is under ``key``.

    Streamlit runs the bodies of hidden tabs, too, unless each is guarded by ``.open``.
    """
    tabs = st.tabs(list(bodies), key=key, on_change="rerun", bind="query-params")
    for tab, body in zip(tabs, bodies.values(), strict=True):
        if tab.open:
            with tab:
                body()
