"""Presenting a scenario on a projector: large type, no form, the answer with its key figures and charts."""

from typing import Any

import plotly.graph_objects as go
import streamlit as st

from ui import access, state

KEY = "present"
PAGES = {"size": "Size", "compare": "Compare", "cost": "Cost"}
"""Pages that can be presented, with what they are called on the way from one to the next."""

_LOOKS = """<style>
html { font-size: clamp(17px, 1.7vw, 26px); }
[data-testid="stSidebar"], [data-testid="stExpandSidebarButton"] { display: none; }
[data-testid="stMainBlockContainer"] { padding-left: min(3rem, 4vw); padding-right: min(3rem, 4vw); }
.modebar, [data-testid="stElementToolbar"] { display: none !important; }
</style>"""
"""Everything on a page but its charts is measured in the size of its type. Chosen: 22 pixels on a projector of 1280,
where the answer and the key figures fit on little more than a screen, and 17 on a phone."""


CHARTS_LARGER = 1.4
"""How much larger everything written in a chart is than on a page."""


def is_presenting() -> bool:
    """Whether this page is presented; call it after the page was entered. The address keeps it."""
    if not any(map(state.is_at, PAGES)):
        return False
    state.linked(KEY, {False: "off", True: "on"}, default=False)
    return bool(st.session_state[KEY])


def draw_present() -> None:
    """The switch, beside what else can be done with a scenario."""
    if any(map(state.is_at, PAGES)):
        st.button(
            "Present",
            key="present_on",
            icon=":material/present_to_all:",
            on_click=_switch,
            args=(True,),
            help="Large type without the form, for a projector. Esc leads back.",
        )


def draw_looks() -> None:
    """Large type, and nothing beside the page."""
    st.html(_LOOKS)


def draw_presented_header(title: str) -> None:
    """What is presented, the ways to the other views of it, and the way back. Inputs stay as they are."""
    state.hold()
    draw_looks()
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.title(title, width="stretch", anchor=False)
        for slug, name in PAGES.items():
            if not state.is_at(slug) and access.may_open(slug):
                st.page_link(f"pages/{slug}.py", label=name, query_params=state.address_of(slug))
        st.button(
            "End",
            key="present_off",
            icon=":material/close:",
            type="tertiary",
            shortcut="Esc",
            on_click=_switch,
            args=(False,),
            help="Back to the form.",
        )


def _switch(on: bool) -> None:
    st.session_state[KEY] = on


def enlarged(figure: go.Figure) -> go.Figure:
    """A chart whose writing is read from the end of a room, with as much more room for it."""
    larger = go.Figure(_enlarged(figure.to_plotly_json()))
    return larger.update_layout(template=figure.layout.template)


def _enlarged(part: Any, within: str = "") -> Any:
    """The description of a figure with the sizes of its fonts, its height and its margins grown."""
    if isinstance(part, dict):
        return {
            key: _grown(value, fits=_grows(key, within)) if _is_number(value) else _enlarged(value, key)
            for key, value in part.items()
            if key != "template"
        }
    return [_enlarged(each, within) for each in part] if isinstance(part, list | tuple) else part


def _grows(key: str, within: str) -> bool:
    return (key == "size" and within.endswith("font")) or key == "height" or within == "margin"


def _grown(value: float, *, fits: bool) -> float:
    return value * CHARTS_LARGER if fits else value


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
