"""The Live page below its guard: controls, then one fragment that refreshes everything else."""

from functools import partial

import pandas as pd
import streamlit as st

from collectors.questions.history import History
from collectors.reading.layout import replica_name
from collectors.reading.observation import Observation
from ui import shell, sources
from ui.format import as_markdown
from ui.live.charts import draw_latency, draw_load
from ui.live.gpus import draw_gpus
from ui.live.mapping import draw_mapping, follow_change
from ui.live.moment import SHOWN_AT, LiveWindow, draw_moment
from ui.live.overview import draw_overview
from ui.live.planned import PlannedQuantities, draw_plan_switch
from ui.live.serving_cost import draw_cost, draw_price, draw_serving_cost
from ui.live.tiles import draw_tiles
from ui.live.verdict import draw_first_time, draw_verdict
from ui.shell import PERCENT, draw_csv, draw_tabs, in_percent, refreshed
from ui.sources.moment import address_of
from ui.sources.picker import Picked

NOTHING = "There is no good data of this time yet."
READING = "Being read: this comes as soon as the source has answered."
FIRST_LOOKS_S = 1.0
"""Seconds between two looks while there is nothing to show yet."""

MOST_ROWS = 1_000
"""Rows sent to a browser; the CSV has them all."""


def draw() -> None:
    """Source, range and plan on top; the fragment below looks again by itself, unless the page is paused."""
    top = shell.header("Live")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        picked = sources.pick()
        moment = draw_moment(picked)
    with top:
        st.page_link(
            "pages/reality.py",
            label="Plan vs reality at this time",
            icon=":material/balance:",
            query_params=address_of("reality", seen_from="live"),
            help="What was planned beside what this source measures, over the same time.",
        )
        price = draw_price()
    planned = draw_plan_switch()
    if moment.problem:
        st.warning(as_markdown(moment.problem), icon=":material/schedule:")
    waiting = _nothing_yet(picked, moment)
    every = FIRST_LOOKS_S if waiting else None if moment.paused else sources.REFRESH_S
    refreshed(_body, every)(picked, moment, planned, price, waiting=waiting)


def _nothing_yet(picked: Picked, moment: LiveWindow) -> bool:
    """Whether something that the page needs is asked for and was never answered."""
    if picked.pending:
        return True
    answer = sources.observed(picked.known, end_s=moment.end_s)
    if answer.good is None:
        return answer.pending and answer.newest is None
    lines = _lines(picked, moment, answer.good)
    return lines.pending and lines.good is None


def _body(
    picked: Picked, moment: LiveWindow, planned: PlannedQuantities | None, price: float | None, *, waiting: bool
) -> None:
    follow_change()
    if picked.pending:  # which deployments there are decides what is asked; a run of the whole page draws the choice
        if not sources.deployments_of(picked.known).pending:
            st.rerun()
        draw_first_time(picked)
        return
    if waiting and not _nothing_yet(picked, moment):
        st.rerun()  # something is there: on with the usual pace
    dark = st.context.theme.type == "dark"
    answer = sources.observed(picked.known, end_s=moment.end_s)
    shown = draw_verdict(answer, picked, moment)
    lines, pending = None, answer.pending
    if shown is not None:
        at_s = moment.end_s if moment.end_s is not None else answer.newest.at_s if answer.newest else shown.at_s
        st.session_state[SHOWN_AT] = at_s
        history = _lines(picked, moment, shown)
        lines, pending = history.good, history.pending
        draw_tiles(shown, lines, planned, late=bool(answer.problem))
        draw_cost(shown, planned, price)
        draw_serving_cost(picked.known, moment.end_s, planned)
        if history.problem and not answer.problem:
            st.warning(
                f"The charts below are of the last good reading. {as_markdown(history.problem)}",
                icon=":material/history:",
            )
        if lines is not None and lines.since_s is not None:
            st.caption(
                f"The lines of this fleet reach back to {moment.clock(lines.since_s)} so far: "
                "every refresh adds an older part."
            )
    _tabs(picked, shown, lines, moment, planned, otherwise=READING if pending else NOTHING, dark=dark)


def _lines(picked: Picked, moment: LiveWindow, seen: Observation) -> sources.LatestAnswer[History]:
    return sources.over_time(picked.known, span_s=moment.span_s, end_s=moment.end_s, now_s=seen.at_s)


def _tabs(
    picked: Picked,
    shown: Observation | None,
    lines: History | None,
    moment: LiveWindow,
    planned: PlannedQuantities | None,
    *,
    otherwise: str,
    dark: bool,
) -> None:
    """The open tab; ``otherwise`` stands where what it needs is not there."""
    end_s = st.session_state.get(SHOWN_AT, 0.0)
    span = (end_s - moment.span_s, end_s)
    nothing = partial(st.caption, otherwise)
    draw_tabs(
        {
            "Latency": partial(draw_latency, lines, span, moment, planned, dark=dark) if lines else nothing,
            "Load": partial(draw_load, lines, span, moment, planned, dark=dark) if lines else nothing,
            "GPUs": partial(draw_gpus, picked, shown, lines, span, moment, dark=dark) if shown else nothing,
            "Replicas": partial(draw_replicas, shown) if shown else nothing,
            "Mapping": partial(draw_mapping, picked, shown),
            "All sources": draw_overview,
        },
        key="tab",
    )


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
