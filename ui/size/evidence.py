"""Why to believe the answer: assumptions, a second opinion, nearest measurements, what it serves in business terms."""

import pandas as pd
import streamlit as st

from sharing.form.choices import label
from sizing.base.format import count, counted, large, ms, percent, rounded, significant, with_noun
from sizing.base.latency_and_cost import Business
from sizing.base.result import CrossCheck, Plan
from sizing.evidence.published import Measurement, Near
from sizing.evidence.sources import SOURCES, source_day, source_url
from sizing.methodology.accuracy import MODES
from sizing.planning.answered import Answer
from sizing.scenario.schema import Batch
from ui.format import as_markdown, bullets, known
from ui.shell import is_narrow
from ui.size.explain import explain_all

_FIVE_LINES_PX = 96
_TEXTS_PX = {"Measured": 150, "Load": 92, "Source": 100}
_NUMBERS_PX = {"Mean ITL (ms)": 90, "Mean TTFT (ms)": 96, "Tokens/s per GPU": 112, "Distance": 60}
"""Height of a row and widths of columns. Chosen: all stand beside the form at 1440 pixels, and texts wrap."""


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


def draw_nearest(measurements: tuple[Near, ...]) -> None:
    """Measured rows with what sets them apart, their values and their source; nearest first. Texts take the room of
    columns in which no measurement says anything."""
    text, number = st.column_config.TextColumn, st.column_config.NumberColumn
    table = nearest_table(measurements).dropna(axis="columns", how="all")
    spare = sum(px for name, px in _NUMBERS_PX.items() if name not in table) // len(_TEXTS_PX)
    pinned = None if is_narrow() else "Measured"
    st.dataframe(
        table,
        hide_index=True,
        key="nearest",
        placeholder="",
        row_height=_FIVE_LINES_PX,
        alt="Measurements nearest to this deployment",
        column_config={
            **{name: text(width=px + spare, pinned=name == pinned) for name, px in _TEXTS_PX.items()},
            **{name: number(format="localized", width=px) for name, px in _NUMBERS_PX.items()},
            "Link": st.column_config.LinkColumn(display_text="open", width=46, help="Opens the source."),
        },
    )


def nearest_table(measurements: tuple[Near, ...]) -> pd.DataFrame:
    """One measurement a row: what ran, its load, its values (ITL and TTFT in ms, output tokens/s of a GPU)."""
    return pd.DataFrame([_row(near.measurement, near.distance) for near in measurements])


def _row(measured: Measurement, distance: float) -> dict[str, object]:
    row, day = measured.configuration, source_day(measured.source_date)
    source = SOURCES[measured.source].label if measured.source in SOURCES else measured.source
    rate = measured.output_tokens_per_s
    flight = f", {count(measured.concurrency)} in flight" if measured.concurrency else ""
    return {
        "Measured": f"{measured.model.id.rpartition('/')[2]} on {count(measured.gpus)} x {row.gpu.name}, "
        f"{row.engine.label}, {label('prec', row.precision.id)}",
        "Load": f"{count(measured.input_tokens)} in / {count(measured.output_tokens)} out{flight}, "
        f"{MODES[measured.mode].lower()}",
        "Mean ITL (ms)": known(measured.itl_ms),
        "Mean TTFT (ms)": known(measured.ttft_ms),
        "Tokens/s per GPU": known(None if rate is None else rate / measured.gpus),
        "Distance": rounded(distance, 2),
        "Source": source if day in source else f"{source}, {day}",
        "Link": source_url(measured.source_link),
    }
