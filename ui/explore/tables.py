"""The table view and the CSV of a chart."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import streamlit as st


def draw_table(make: Callable[[], pd.DataFrame], *, key: str, what: str) -> None:
    """The numbers of a chart behind a click, with a CSV; the table is made when it is opened."""
    with st.expander(
        f"{what}: table and CSV", icon=":material/table:", type="compact", key=f"{key}_table", on_change="rerun"
    ) as held:
        if not held.open:
            return
        table = make()
        st.dataframe(table, hide_index=True, key=f"{key}_rows", placeholder="", alt=f"{what} as a table")
        st.download_button(
            "CSV",
            table.to_csv(index=False),
            f"{key}.csv",
            "text/csv",
            key=f"{key}_csv",
            on_click="ignore",
            icon=":material/download:",
            help=f"{what} as a file.",
        )
