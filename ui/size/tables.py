"""Ranked alternatives to choose from, and what was excluded with the smallest change that would let it in."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from sizing.base.result import Candidate
from ui import state
from ui.form.choices import label
from ui.format import known
from ui.size.key_figures import gpu_range, parallelism
from ui.size.origin import origin_of
from ui.size.trade_off import hardware_and_engine
from ui.state import Answer

USE = "Use"
_CLICK, _LET_IN = "use_alternative", "let_in"


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
            "deployment": st.column_config.TextColumn("Deployment", pinned=True, width=300),
            USE: st.column_config.ButtonColumn("", key=_CLICK, on_click=_use, args=(answer,), width=60),
            "usd": number("USD a month", format="localized", step=1),
            "instance": st.column_config.TextColumn("Instances", width=110),
            "range": st.column_config.TextColumn("GPUs (80 %)"),
            "systems": number("Systems", format="localized"),
            "ttft": number(f"{at} TTFT (ms)", format="localized"),
            "itl": number(f"{at} ITL (ms)", format="localized"),
            "e2e": number(f"{at} E2E (ms)", format="localized"),
            "rate": number("Output tokens/s per GPU", format="localized"),
            "serving": st.column_config.TextColumn("Serving", width=110),
            "limited": "Limited by",
            "source": "Step times from",
            "origin": st.column_config.TextColumn("Figures", width=90, help="Where instances and latency come from."),
        },
    )
    if any(c.decided_by == "analytic" for c in shown) and answer.plan.decided_by == "simulation":
        st.caption(
            ":material/calculate: The plan is simulated. An estimate is that of the analytic load model; used, "
            "the deployment is simulated too, and may need another number of instances."
        )


def alternatives_table(candidates: tuple[Candidate, ...]) -> pd.DataFrame:
    """One row per deployment, in rank order; numbers to three significant digits."""
    return pd.DataFrame(
        [
            {
                "deployment": hardware_and_engine(c),
                USE: USE,
                "instance": parallelism(c.deployment),
                "usd": known(c.usd_per_month),
                "origin": origin_of(c),
                "range": gpu_range(c.gpus_low, c.gpus_high),
                "systems": c.deployment.systems,
                "ttft": known(c.ttft_ms),
                "itl": known(c.itl_ms),
                "e2e": known(c.e2e_ms),
                "rate": known(c.output_tokens_per_s_per_gpu),
                "serving": label("serving", c.deployment.serving),
                "limited": c.limited_by,
                "source": c.provenance.step_times.name,
            }
            for c in candidates
        ]
    )


def draw_excluded(answer: Answer) -> None:
    """GPUs that cannot serve the scenario: why, and what would change it."""
    shown = answer.plan.excluded
    if not shown:
        return
    st.markdown("**Excluded, and the smallest change that would let them in**")
    st.dataframe(
        pd.DataFrame(
            [
                {
                    "gpu": label("gpu", e.gpu),
                    "reason": e.reason,
                    "fix": e.fix.label if e.fix else None,
                    "relaxation": e.relaxation,
                    "closest": e.closest,
                }
                for e in shown
            ]
        ),
        hide_index=True,
        key="excluded",
        alt="Excluded GPUs with the reason and the smallest relaxation",
        column_config={
            "gpu": st.column_config.TextColumn("GPU", pinned=True),
            "reason": st.column_config.TextColumn("Reason", width=260),
            "fix": st.column_config.ButtonColumn("Change", key=_LET_IN, on_click=_let_in, args=(answer,)),
            "relaxation": "Smallest relaxation",
            "closest": "Closest configuration",
        },
    )


def _let_in(answer: Answer) -> None:
    fix = answer.plan.excluded[st.session_state[_LET_IN].row].fix
    if fix:
        state.apply_fix(fix, answer.scenario)


def _use(answer: Answer) -> None:
    click = st.session_state[_CLICK]
    state.use_candidate(answer.plan.alternatives[click.row], answer.scenario)
