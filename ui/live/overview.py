"""Every source at a glance: its state and a few figures, without waiting long for any of them."""

import pandas as pd
import streamlit as st

from collectors.prometheus.histograms import SHOWN
from collectors.reading.observation import Observation, State
from sizing.base.format import rounded
from ui import sources
from ui.format import as_markdown
from ui.library.bond import PlannedThere, planned_at_sources
from ui.live.verdict import ATTENTION, WORDS, duration, word_for
from ui.shell import in_percent
from ui.sources import KnownSource, LatestAnswer, Origin

ASKING = "Being read"
SEVERITY = (
    WORDS[State.SATURATED],
    WORDS[State.UNREACHABLE],
    WORDS[State.STALE],
    WORDS[State.PARTIAL],
    ATTENTION,
    WORDS[State.NO_DATA],
    ASKING,
    WORDS[State.OK],
)
"""What is said of a source, the worst first."""
WAIT_S = 0.3
"""Longest wait for all sources together."""


def draw_overview(*, key: str = "overview") -> None:
    """One row per source, the demo only where there is no other; files that cannot be used below."""
    known_sources = sources.listing()
    connected = tuple(known for known in known_sources.sources if known.origin is not Origin.DEMO)
    table, written = in_percent(overview_table(connected or known_sources.sources), "KV cache, peak")
    st.dataframe(
        table,
        hide_index=True,
        key=key,
        placeholder="no data",
        alt="State of every source",
        column_config={"Why": st.column_config.TextColumn(width="large"), **written},
    )
    for one in known_sources.broken:
        for problem in one.problems:
            st.error(as_markdown(f"{one.file}: {problem}"), icon=":material/error:")


def overview_table(known: tuple[KnownSource, ...]) -> pd.DataFrame:
    """The sources with what is known of them, the worst first, of equals the one that is nearest to its planned load;
    an empty cell is unknown. What is planned stands beside it where a scenario of the library runs there.

    All are asked before any is waited for.
    """
    for one in known:
        sources.observed(one, wait_s=0.0)
    planned = planned_at_sources()
    rows = [_row(one, sources.observed(one, wait_s=WAIT_S), planned.get(one.name)) for one in known]

    def severity(row: dict[str, object]) -> tuple[int, float]:
        load, plan = row["Requests/s"], row["Planned requests/s"]
        fuller = load / plan if isinstance(load, int | float) and isinstance(plan, int | float) else 0.0
        return SEVERITY.index(str(row["State"])), -fuller

    rows.sort(key=severity)
    return pd.DataFrame(rows if planned else [_without_plan(row) for row in rows])


def _without_plan(row: dict[str, object]) -> dict[str, object]:
    """The row where no source has a scenario of the library."""
    return {name: value for name, value in row.items() if not name.startswith("Planned") and name != "Scenario"}


def _row(known: KnownSource, answer: LatestAnswer[Observation], plan: PlannedThere | None) -> dict[str, object]:
    newest, good = answer.newest, answer.good
    state = word_for(newest) if newest is not None else WORDS[State.UNREACHABLE] if answer.problem else ASKING
    why = (newest.reasons[0] if newest is not None and newest.reasons else answer.problem) or ""
    row: dict[str, object] = {
        "Source": known.name,
        "From": known.file or known.origin.value,
        "State": state,
        "Why": why,
    }
    shown = good
    for name, key in (
        ("Requests/s", "arrivals_rps"),
        ("KV cache, peak", "kv_usage_max"),
        ("Replicas", "replicas"),
        ("GPUs", "gpus"),
    ):
        value = shown.number(key) if shown else None
        row[name] = None if value is None else rounded(value)
        if name == "Requests/s":
            row["Planned requests/s"] = None if plan is None else plan.peak_rps
        if name == "GPUs":
            row["Planned GPUs"] = None if plan is None else plan.gpus
    ttft = shown.distribution("ttft_ms").at(SHOWN).value if shown else None
    row[f"{SHOWN} TTFT (ms)"] = None if ttft is None else rounded(ttft)
    row["Planned TTFT limit (ms)"] = None if plan is None else plan.ttft_ms
    row["Scenario"] = "" if plan is None else plan.name
    row["Newest sample"] = "" if not shown or shown.age_s is None else f"{duration(shown.age_s)} old"
    return row
