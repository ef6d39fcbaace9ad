"""The versions of a scenario: who saved each, when, what it changed and what it led to."""

import pandas as pd
import streamlit as st

from sharing.library.records import KeyChange, LibraryAction, Version
from sharing.report.engines import engines
from sizing.base.format import counted
from sizing.decision.text import name_of
from ui import state
from ui.currency import Currency
from ui.format import as_markdown
from ui.library import open_version, open_with_source
from ui.library.save import changes_table

MOST_NAMED = 3
"""Changes that the line of a version names. Chosen: what fits on it; the table below has them all."""


def draw_history(history: tuple[Version, ...], currency: Currency) -> None:
    """A line for each version, the latest first; all changes of one, and opening it as it was then."""
    with st.expander(f"History: {counted(len(history), 'version')}", icon=":material/history:"):
        st.dataframe(
            history_table(history, currency),
            hide_index=True,
            key="scenario_history",
            alt="History of the scenario",
            placeholder="",
            column_config={
                "What changed": st.column_config.Column(width="large"),
                _cost(currency): st.column_config.NumberColumn(format="localized"),
            },
        )
        by_number = {version.number: version for version in history}
        number = st.selectbox("Version", list(by_number), key="scenario_version", help="To open as it was then.")
        if number in by_number:
            _draw_version(by_number[number], latest=max(by_number))


def history_table(history: tuple[Version, ...], currency: Currency) -> pd.DataFrame:
    """A row for each version."""
    figures = [version.figures for version in history]
    costs = [None if one is None or one.usd_per_month is None else currency.of(one.usd_per_month) for one in figures]
    return pd.DataFrame(
        {
            "Version": [version.number for version in history],
            "When (UTC)": [f"{version.at:%Y-%m-%d %H:%M}" for version in history],
            "Who": [version.author for version in history],
            "What changed": [summary(version) for version in history],
            "GPUs": pd.array([one.gpus if one else None for one in figures], dtype="Int64"),
            _cost(currency): [None if cost is None else round(cost) for cost in costs],
            "Engine": [one.engine_version if one else "" for one in figures],
        }
    )


def _cost(currency: Currency) -> str:
    return f"Hardware ({currency.code}/month)"


def summary(version: Version) -> str:
    """What a version did, in a line."""
    if version.action is not LibraryAction.SAVED:
        return version.action.value.capitalize()
    if not version.changes:
        return "Saved without a change"
    named = "; ".join(map(_written, version.changes[:MOST_NAMED]))
    more = len(version.changes) - MOST_NAMED
    return f"{named}; and {more} more" if more > 0 else named


def _written(change: KeyChange) -> str:
    return f"{name_of(change.key)}: {change.before or 'none'} → {change.after or 'none'}"


def _draw_version(version: Version, *, latest: int) -> None:
    if version.action is LibraryAction.SAVED and version.changes:
        st.dataframe(
            changes_table(version.changes),
            hide_index=True,
            key="version_changes",
            alt="What it changed",
            placeholder="",
        )
    if between := engines(version.figures.engine_version if version.figures else ""):
        st.caption(as_markdown(between))
    if st.button("Open this version", key="version_open", help="In Size, to edit."):
        open_in_size(version, latest)


def open_in_size(version: Version, latest: int) -> None:
    """Fill the form from a version, to be saved on top of the ``latest``, and go there, with its source. Raises
    UnreadableVersion."""
    open_version(version, on_top_of=latest)
    open_with_source(version.scenario_id)
    st.switch_page("pages/size.py", query_params=state.address_of("size"))
