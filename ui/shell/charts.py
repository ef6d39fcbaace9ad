"""A chart, and its numbers as a table and a CSV: the same on every page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from ui.shell.controls import draw_download

CONFIG: Mapping[str, object] = MappingProxyType(
    {"displaylogo": False, "modeBarButtonsToRemove": ["zoomIn2d", "zoomOut2d", "autoScale2d"]}
)
"""What Plotly is told about every chart: nothing leads to another host; buttons that double others are left out."""


def draw_chart(figure: go.Figure, *, key: str, alt: str) -> None:
    """A figure; ``alt`` says it in one sentence to those who do not see it."""
    st.plotly_chart(figure, key=key, alt=alt, config=dict(CONFIG))


def draw_table(make: Callable[[], pd.DataFrame], *, key: str, what: str) -> None:
    """The numbers of a chart behind a click, with a CSV; the table is made when it is opened."""
    with st.expander(
        f"{what}: table and CSV", icon=":material/table:", type="compact", key=f"{key}_table", on_change="rerun"
    ) as expander:
        if not expander.open:
            return
        table = make()
        st.dataframe(table, hide_index=True, key=f"{key}_rows", placeholder="", alt=f"{what} as a table")
        draw_csv(table, key=key, what=what)


def draw_csv(table: pd.DataFrame, *, key: str, what: str) -> None:
    """The button that downloads a table."""
    draw_download(
        f"CSV: {what}",
        table.to_csv(index=False),
        f"{key}.csv",
        "text/csv",
        key=f"{key}_csv",
        icon="download",
        help=f"{what} as a file.",
    )
