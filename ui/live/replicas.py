"""Replicas side by side: one that does less, or waits more, than its neighbours stands out."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from collectors.reading.layout import replica_name
from collectors.reading.observation import Observation
from ui.shell import PERCENT, draw_csv, in_percent

MOST_ROWS = 1_000
"""Rows sent to a browser; the CSV has them all."""


def draw_replicas(observed: Observation) -> None:
    """One row per replica; an empty cell is unknown."""
    if not observed.replicas:
        st.info("No replica can be told apart at this source.", icon=":material/search_off:")
        return
    table = replica_table(observed)
    shown, _ = in_percent(table.head(MOST_ROWS), "KV cache in use")
    st.dataframe(
        shown,
        hide_index=True,
        key="replicas",
        placeholder="no data",
        alt="Replicas with their share of the load",
        column_config={
            "KV cache in use": st.column_config.ProgressColumn(min_value=0.0, max_value=100.0, format=PERCENT),
            "Output tokens/s": st.column_config.NumberColumn(format="localized"),
        },
    )
    more = f" The first {MOST_ROWS} of {len(table)} are shown." if len(table) > MOST_ROWS else ""
    st.caption(f"Running, waiting and KV cache: last scrape. Output tokens/s: mean of the window.{more}")
    draw_csv(table, key="replicas", what="The replicas")


def replica_table(observed: Observation) -> pd.DataFrame:
    """The replicas, the fullest first."""
    rows = [
        {
            "Replica": replica_name(r.labels),
            "Running": r.running,
            "Waiting": r.waiting,
            "KV cache in use": r.kv_usage,
            "Output tokens/s": None if r.generation_tokens_per_s is None else round(r.generation_tokens_per_s, 1),
        }
        for r in observed.replicas
    ]
    return pd.DataFrame(rows).sort_values(["KV cache in use", "Replica"], ascending=[False, True])
