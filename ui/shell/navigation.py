"""The pages in the sidebar, each with the address that it has as it stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from ui import state


def draw_navigation(sections: Mapping[str, Sequence[StreamlitPage]]) -> None:
    """The pages by section, as links that can be copied and opened elsewhere; no section without a page."""
    with st.sidebar:
        for title, pages in sections.items():
            if not pages:
                continue
            with st.container(gap="xxsmall"):
                st.caption(title)
                for page in pages:
                    st.page_link(page, query_params=state.address_of(page.url_path))
