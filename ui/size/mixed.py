"""One load on several fleets, beside the plan, which is one."""

import pandas as pd
import streamlit as st

from sizing.base.format import count, ms, percent, rounded, usd
from sizing.base.mixed import MixedFleet, PoolsOfTypes
from sizing.mixed.text import fleet, prompts, saves, sentence
from sizing.pipelines.text import Named
from ui.format import as_markdown
from ui.state import FormAnswer


def draw_mixed(answer: FormAnswer) -> None:
    """Which requests each fleet takes and what that costs; nothing where no mix is asked."""
    mixed, name = answer.plan.mixed, answer.question.gpu_name
    if mixed is None:
        return
    p = f"p{answer.scenario.limits.percentile:g}"
    with st.container(border=True, gap="xsmall", key="mixed_fleet"):
        st.markdown("**Mixed fleet**")
        st.markdown(as_markdown(sentence(mixed, name)))
        if mixed.parts:
            _draw_parts(mixed, name, p)
        if mixed.apart is not None and saves(mixed.apart):
            _draw_pools(mixed.apart, name, p)
        if mixed.assumptions:
            with st.expander("What this rests on", type="compact", key="mixed_assumptions"):
                st.markdown("\n".join(f"- {as_markdown(one)}" for one in mixed.assumptions))


def _draw_parts(mixed: MixedFleet, name: Named, p: str) -> None:
    """Each fleet of a split by prompt length."""
    number, text = st.column_config.NumberColumn, st.column_config.TextColumn
    st.dataframe(
        mixed_table(mixed, name),
        hide_index=True,
        key="mixed_parts",
        alt="Each fleet with its prompts, systems, latency and cost",
        column_config={
            "prompts": text("Prompts", width=170, pinned=True),
            "share": text("Requests", width=70),
            "gpus": text("GPUs", width=130),
            "system": text("Systems", width=170),
            "ttft": number(f"{p} TTFT (ms)", format="localized", width=96),
            "itl": number(f"{p} ITL (ms)", format="localized", width=88),
            "usd": number("USD a month", format="localized", step=1, width=86, help="Hardware at list prices."),
        },
    )


def _draw_pools(apart: PoolsOfTypes, name: Named, p: str) -> None:
    """Prefill and decode on two GPU types, and what both together do."""
    text = st.column_config.TextColumn
    st.dataframe(
        pools_table(apart, name),
        hide_index=True,
        key="mixed_pools",
        alt="Prefill and decode instances on two GPU types with their systems",
        column_config={
            "pool": text("Instances", width=90, pinned=True),
            "gpus": text("GPUs", width=150),
            "layout": text("Layout", width=70),
            "system": text("Systems", width=170),
        },
    )
    paid = "" if apart.usd_per_month is None else f"; {usd(apart.usd_per_month)} a month of hardware"
    st.caption(as_markdown(f"{p} TTFT {ms(apart.ttft_ms)}, ITL {ms(apart.itl_ms)}, by simulation{paid}."))


def mixed_table(mixed: MixedFleet, name: Named) -> pd.DataFrame:
    """One row for each part, numbers to three significant digits."""
    return pd.DataFrame(
        {
            "prompts": prompts(one.ranges) if one.ranges else "all alike",
            "share": percent(one.share),
            "gpus": fleet(one, name),
            "system": f"{one.deployment.systems} x {one.deployment.system}",
            "ttft": None if one.latency is None else rounded(one.latency.ttft_ms.at_percentile or 0.0),
            "itl": None if one.latency is None else rounded(one.latency.itl_ms.at_percentile or 0.0),
            "usd": one.usd_per_month,
        }
        for one in mixed.parts
    )


def pools_table(apart: PoolsOfTypes, name: Named) -> pd.DataFrame:
    """One row for prefill, one for decode."""
    return pd.DataFrame(
        {
            "pool": role,
            "gpus": f"{count(pool.gpus)} x {name(pool.gpu)}",
            "layout": f"{count(pool.instances)} x {pool.layout}",
            "system": f"{count(pool.systems)} x {pool.system}",
        }
        for role, pool in (("prefill", apart.prefill), ("decode", apart.decode))
    )
