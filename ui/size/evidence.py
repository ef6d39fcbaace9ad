"""Why to believe the answer: assumptions, a second opinion, what it serves in business terms."""

import streamlit as st

from sizing.base.format import count, counted, large, ms, percent, significant, with_noun
from sizing.base.latency_and_cost import Business
from sizing.base.result import CrossCheck, Plan
from sizing.planning.answered import Answer
from sizing.scenario.schema import Batch
from ui.format import as_markdown, bullets
from ui.size.explain import explain_all


def draw_business(business: Business, batch: Batch | None) -> None:
    """Requests, users and tokens a day; of a ``batch`` on the mean day of a month."""
    fields = type(business).model_fields
    shown = {
        "requests_per_day": large(business.requests_per_day),
        **({} if business.daily_users is None else {"daily_users": large(business.daily_users)}),
        "input_tokens_per_day": large(business.input_tokens_per_day),
        "output_tokens_per_day": large(business.output_tokens_per_day),
    }
    with st.grid(len(shown), min_column_width=120, gap="small"):
        for name, value in shown.items():
            st.metric(str(fields[name].title), value, help=fields[name].description)
    each = business.requests_per_user
    st.caption(
        _course(business, batch)
        + ("" if each is None else f", with {with_noun(f'{each:g}', 'request')} per user")
        + (f", {percent(business.growth)} growth included." if business.growth else ".")
    )


def _course(business: Business, batch: Batch | None) -> str:
    """How the load runs over the day, or for a batch over the days of a month."""
    if batch is not None:
        days, hours = significant(batch.days_worked), with_noun(significant(batch.hours_per_day), "hour")
        return f"Mean of the days of a month, on {days} of which the batch runs for {hours}"
    over = f"Over a day of {with_noun(f'{business.hours:g}', 'hour')}"
    if business.peak_to_mean == 1.0:
        return f"{over}, as busy all the time"
    return f"{over}, busiest time {significant(business.peak_to_mean)} times the mean"


NEAREST = 5
"""Published measurements shown beside a plan."""


def draw_evidence(answer: Answer) -> None:
    """Source of the step times, the nearest measurements, second opinion, assumptions."""
    plan = answer.plan
    times = plan.provenance.step_times.name if plan.provenance else "nothing"
    st.markdown(f"**Step times from:** {as_markdown(times)}. **Limited by:** {as_markdown(plan.limited_by)}.")
    st.markdown(f"**How sure.** {as_markdown(plan.how_sure)}")
    if plan.cross_check:
        _second_opinion(plan, plan.cross_check)
    _nearest(answer)
    st.markdown("**Assumptions**")
    st.markdown(bullets(plan.assumptions) or "Nothing.")
    st.markdown("**Every figure, from formula to source**")
    explain_all(plan)


def _nearest(answer: Answer) -> None:
    """The measured rows nearest to the planned deployment, with their source."""
    from sizing.explore.nearest import narrowed_by, nearest_rows, own_rows
    from ui.benchmarks.nearest import draw_nearest

    near = nearest_rows(answer, 8 * NEAREST)
    published = tuple(n for n in near if n.measurement.itl_ms or n.measurement.output_tokens_per_s)[:NEAREST]
    own = own_rows(answer, NEAREST)
    if not (published or own):
        return
    plan, one = answer.plan, answer.plan.per_instance
    st.markdown(
        "**Nearest measurements: your own benchmark, then published ones**"
        if own
        else "**Nearest published measurements**"
    )
    if one is not None and plan.latency is not None:
        st.caption(
            f"Beside this plan: {counted(one.concurrency, 'request')} in flight per instance, median ITL "
            f"{ms(plan.latency.itl_ms.at(50.0))}, {significant(one.output_tokens_per_s_per_gpu)} output tokens/s per "
            "GPU. Distance 0: the same configuration; 1: about one doubling of one quantity apart. Where a "
            "benchmark keeps a fixed number of requests in flight (closed loop), they start together: its TTFT is not "
            "that of requests which come one by one."
        )
    if narrowed := narrowed_by(answer):
        st.caption(as_markdown(narrowed))
    draw_nearest(own + published)


def _second_opinion(plan: Plan, check: CrossCheck) -> None:
    st.markdown("**Second opinion**")
    st.markdown(as_markdown(check.message))
    one = plan.per_instance
    if check.max_rps is None or one is None or plan.deployment is None:
        return
    st.table(
        {
            "": ["Requests/s per instance", "Instances", "Decode step", "Prefill of one prompt"],
            plan.source.capitalize(): [
                significant(one.max_rps),
                count(plan.deployment.instances),
                ms(one.decode_step_ms),
                ms(one.prefill_ms),
            ],
            check.source.capitalize(): [
                significant(check.max_rps),
                count(check.instances),
                ms(check.decode_step_ms),
                ms(check.prefill_ms),
            ],
        },
        border="horizontal",
        width="content",
        hide_index=True,
        alt="The answer by two sources of step times",
    )
