"""The way to the question the other way round: what servers, GPUs, a budget or power that are given serve."""

from collections.abc import Mapping
from types import MappingProxyType

import streamlit as st

from ui import state
from ui.work.computing import Have

HAVE: Mapping[Have, str] = MappingProxyType(
    {"gpus": "GPUs", "systems": "Servers", "usd": "Monthly budget", "kw": "Power"}
)
"""What may be given, in words."""
TAB = "What can this serve?"
"""The tab of Explore that answers it."""


def draw_given(title: str, have: Have, *, key: str, icon: str, help: str) -> None:
    """A button that opens the question on Explore, for the scenario as it stands."""
    if st.button(title, key=key, icon=icon, help=help, type="tertiary"):
        state.bring("explore", {"show": [TAB], "have": [HAVE[have]]})
        st.switch_page("pages/explore.py", query_params=state.address_of("explore"))
