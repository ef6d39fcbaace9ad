"""Ranked alternatives to choose from, and what was excluded with the smallest change that would let it in."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from sizing.result import Candidate
from ui import state
from ui.choices import label
from ui.format import as_markdown
from ui.results.answer import fix_button
from ui.results.key_figures import gpu_range
from ui.state import Answer

USE = "Use"
_CLICK = "use_alternative"


def draw_alternatives(answer: Answer) -> None:
    """The ranking; a click restricts the form to that deployment."""
    shown = answer.plan.alternatives
    if not shown:
        st.caption("No other deployment meets the limits with the hardware considered.")
        return
    at = f"p{answer.scenario.limits.percentile:g}"
    number = st.column_config.NumberColumn
    st.dataframe(
        alternatives_table(shown),
        hide_index=True,
        key="alternatives",
        alt="Deployments that meet the limits, best first",
        column_config={
            USE: st.column_config.ButtonColumn("", key=_CLICK, on_click=_use, args=(answer,), width="small"),
            "gpu": st.column_config.TextColumn("GPU", pinned=True),
            "gpus": number("GPUs", format="localized"),
            "range": st.column_config.TextColumn("GPUs (80 %)"),
            "systems": number("Systems", format="localized"),
            "engine": "Engine", "precision": "Weights", "tp": number("TP"), "pp": number("PP"), "ep": number("EP"),
            "usd": number("USD a month", format="localized", step=1),
            "ttft": number(f"{at} TTFT (ms)", format="localized", step=1),
            "itl": number(f"{at} ITL (ms)", format="%.1f"),
            "rate": number("Output tokens/s per GPU", format="localized", step=1),
            "limited": "Limited by", "source": "Step times from",
        },
    )


def alternatives_table(candidates: tuple[Candidate, ...]) -> pd.DataFrame:
    """One row per deployment, in rank order."""
    return pd.DataFrame([{
        USE: USE, "gpu": label("gpu", c.deployment.gpu), "gpus": c.deployment.gpus,
        "range": gpu_range(c.gpus_low, c.gpus_high).removesuffix(" (80 %)"), "systems": c.deployment.systems,
        "usd": None if c.usd_per_month is None else float(f"{c.usd_per_month:.3g}"),
        "ttft": float(f"{c.ttft_ms:.3g}"), "itl": float(f"{c.itl_ms:.3g}"),
        "rate": float(f"{c.output_tokens_per_s_per_gpu:.3g}"),
        "engine": label("engine", c.deployment.engine), "precision": label("prec", c.deployment.weight_precision),
        "tp": c.deployment.tp, "pp": c.deployment.pp, "ep": c.deployment.ep, "limited": c.limited_by,
        "source": c.source,
    } for c in candidates])


def draw_excluded(answer: Answer) -> None:
    """GPUs that cannot serve the scenario: why, and what would change it."""
    for number, excluded in enumerate(answer.plan.excluded):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{label('gpu', excluded.gpu)}** ({as_markdown(excluded.closest)}): "
                        f"{as_markdown(excluded.reason)} {as_markdown(excluded.relaxation)}", width="stretch")
            fix_button(excluded.fix, answer.scenario, key=f"let_in_{number}")


def _use(answer: Answer) -> None:
    click = st.session_state[_CLICK]
    state.use_candidate(answer.plan.alternatives[click.row], answer.scenario)
