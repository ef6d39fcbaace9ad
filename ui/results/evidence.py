"""Why to believe the answer: assumptions, a second opinion, what it serves in business terms."""

from __future__ import annotations

import streamlit as st

from sizing.format import count, large, ms, significant
from sizing.result import Business, CrossCheck, Plan
from ui.explain import explain_all
from ui.format import as_markdown


def draw_business(business: Business) -> None:
    """Requests, users and tokens a day."""
    fields = type(business).model_fields
    shown = {
        "requests_per_day": large(business.requests_per_day), "daily_users": large(business.daily_users),
        "input_tokens_per_day": large(business.input_tokens_per_day),
        "output_tokens_per_day": large(business.output_tokens_per_day),
    }
    with st.grid(4, min_column_width=120, gap="small"):
        for name, value in shown.items():
            st.metric(str(fields[name].title), value, help=fields[name].description)
    st.caption(f"Over a day of {business.hours:g} hours with {business.requests_per_user:g} requests per user"
               + (f", {business.growth:.0%} growth included." if business.growth else "."))


def draw_evidence(plan: Plan) -> None:
    """Assumptions, source of the step times, second opinion."""
    st.markdown(f"**Step times from** {as_markdown(plan.source)}. **Limited by** {as_markdown(plan.limited_by)}.")
    st.markdown(as_markdown(plan.confidence))
    if plan.cross_check:
        _second_opinion(plan, plan.cross_check)
    st.markdown("**Assumed, because nobody said**")
    st.markdown("\n".join(f"- {as_markdown(text)}" for text in plan.assumptions) or "Nothing.")
    st.markdown("**Every figure, from formula to source**")
    explain_all(plan)


def _second_opinion(plan: Plan, check: CrossCheck) -> None:
    st.markdown("**Second opinion**")
    st.markdown(as_markdown(check.message))
    one = plan.per_instance
    if check.max_rps is None or one is None or plan.deployment is None:
        return
    st.table(
        {
            "": ["Requests/s per instance", "Instances", "Decode step", "Prefill of one prompt"],
            plan.source.capitalize(): [significant(one.max_rps), count(plan.deployment.instances),
                                       ms(one.decode_step_ms), ms(one.prefill_ms)],
            check.source.capitalize(): [significant(check.max_rps), count(check.instances),
                                        ms(check.decode_step_ms), ms(check.prefill_ms)],
        },
        border="horizontal", width="content", hide_index=True, alt="The answer by two sources of step times",
    )
