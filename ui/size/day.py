"""Capacity over the day: base and burst instances, when to add one, and what that saves."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from sharing.form.asked import AskedNumber
from sharing.form.numbers import show_number
from sizing.base.format import count, counted, ms, percent, requests_per_s, significant
from sizing.base.units import MS_PER_S, S_PER_MINUTE
from sizing.planning.instance_start import start_up_s
from sizing.replay.day_result import DayPlan, ScaleOut
from sizing.scenario.day_profile import working_day
from sizing.scenario.demand import PEAK_TO_MEAN, WORKING_HOURS
from sizing.scenario.schema import Scenario, Workload
from sizing.scenario.traffic import Arrivals, Profile, TraceArrivals
from ui.figures.day import build_day, day_alt_text, day_table, hourly_table
from ui.format import as_markdown
from ui.shell import draw_chart, draw_number, draw_problems, draw_table
from ui.size import jobs
from ui.state import FormAnswer, waiting_sentence

_JOB = "day_job"
_EDITED, _HALF_A_DAY = ("day_hours", "day_hours_pm"), 12
"""Session keys of the hours before and from noon on: 24 columns are wider than what stands beside the form."""
_LOOK_EVERY_S, _MOMENT_S = 0.4, 0.6
"""Seconds between two looks at the work, and what is waited for it at first, so that nothing flickers."""
_STARTUP_MIN = 3.0
"""Chosen: a container on a running machine, weights read from a disk beside it."""

Job = jobs.Job[DayPlan, jobs.DayAsked]


def draw_day(answer: FormAnswer, *, dark: bool) -> None:
    """The panel; the day is planned beside the page, whenever inputs change."""
    if not answer.scenario.deployment.allows("aggregated"):
        st.info(
            "Over the day only instances that do both prefill and decode (aggregated) are planned, and the form allows "
            "only separate ones: allow Aggregated under Serving, too.",
            icon=":material/info:",
        )
        return
    hours, assumed = _assumed_day(answer.scenario.workload)
    _editor(answer.scenario.workload.arrivals, hours, assumed)
    computed = start_up_s(answer.question, answer.chosen)
    minutes = draw_number(
        "Start-up of an instance (minutes)",
        AskedNumber(name="Start-up of an instance", high=240.0, example="3"),
        key="startup_minutes" if computed is None else f"startup_minutes_{computed:.0f}",
        default=_STARTUP_MIN if computed is None else round(computed / S_PER_MINUTE, 2),
        width=260,
        help="From the order to the first request: a machine, a container, the weights, the engine's own warm-up.",
    )
    if computed is not None:
        st.caption(
            f"{significant(computed)} s follow from where the weights are read (More assumptions, Weights read from); "
            "a machine that has to be started first comes on top. What is typed here counts."
        )
    job: Job | None = st.session_state.get(_JOB)
    about = (hours, minutes * S_PER_MINUTE)
    if job is None or job.scenario != answer.scenario or job.about != about:
        if job is not None:
            job.cancel()
        job = st.session_state[_JOB] = jobs.start_day(answer.scenario if _has_pools(answer) else answer, about)
        job.wait(_MOMENT_S)
    st.fragment(_panel, run_every=None if job.done else _LOOK_EVERY_S)(
        job, dark=dark, watched=not job.done, pools=_has_pools(answer)
    )


def _has_pools(answer: FormAnswer) -> bool:
    deployed = answer.plan.deployment
    return deployed is not None and deployed.pools is not None


def _assumed_day(workload: Workload) -> tuple[tuple[float, ...], str]:
    """Relative loads of 24 hours where the scenario tells none, and what was assumed about them."""
    if isinstance(workload.arrivals, Profile | TraceArrivals):
        return (), ""
    if workload.mode == "offline":
        return (1.0,) * 24, "Assumed: worked off evenly over the day. Edit the hours to enter your own."
    users = workload.users
    hours, ratio = (users.hours, users.peak_to_mean) if users else (WORKING_HOURS, PEAK_TO_MEAN)
    assumed = (
        f"Assumed: a working day of {hours:g} h, its busiest hour {ratio:g} times the mean. Edit the hours to "
        "enter your own."
    )
    return working_day(hours, ratio), assumed


def _editor(arrivals: Arrivals, hours: Sequence[float], assumed: str) -> None:
    """The 24 hours as two rows of numbers, those of the scenario unless some are assumed; an edit fills in the field of
    the form."""
    if isinstance(arrivals, TraceArrivals):
        st.caption(f":material/timeline: The load is that of {as_markdown(arrivals.trace)}, window by window.")
        return
    hourly = arrivals.profile if isinstance(arrivals, Profile) else hours
    if assumed:
        st.caption(f":material/info: {as_markdown(assumed)}")
    most = max(hourly)
    shown = pd.DataFrame(
        [[round(100.0 * hour / most) if assumed else hour for hour in hourly]],
        columns=[f"{hour:02d}" for hour in range(24)],
    )
    halves = (shown.iloc[:, :_HALF_A_DAY], shown.iloc[:, _HALF_A_DAY:])
    with st.expander("Load by hour, from midnight on", type="compact", expanded=bool(assumed)):
        for key, half in zip(_EDITED, halves, strict=True):
            st.data_editor(
                half,
                hide_index=True,
                key=key,
                on_change=_take_over,
                args=(shown, key),
                width="stretch",
                column_config={
                    name: st.column_config.NumberColumn(name, min_value=0.0, width=46) for name in half.columns
                },
            )
        st.caption(
            "Relative values: the busiest hour is the peak of the plan. The same 24 values stand in the form "
            "under “More on the workload”, and in the link."
        )


def _take_over(shown: pd.DataFrame, key: str) -> None:
    """Put the hours edited in the half of the day with this key into the form (for callbacks)."""
    values = [float(v) for v in shown.iloc[0]]
    for name, value in st.session_state[key]["edited_rows"].get(0, {}).items():
        values[int(name)] = float(value or 0.0)
    st.session_state["profile"] = " ".join(show_number(v) for v in values)
    del st.session_state[key]


def _panel(job: Job, *, dark: bool, watched: bool, pools: bool) -> None:
    job.look()
    if watched and job.done:
        st.rerun()
    if not job.done:
        st.progress(0.0, text=waiting_sentence(job.place, "Planning the day"))
        return
    day = job.outcome()
    if isinstance(day, tuple):
        draw_problems(day)
        return
    if pools:
        st.caption(
            ":material/info: The answer above runs prefill and decode apart; over the day instances that "
            f"do both are planned: {as_markdown(day.deployment)}."
        )
    st.markdown(f"**{as_markdown(day.answer)}**")
    _metrics(day)
    draw_chart(build_day(day, dark=dark), key="day", alt=day_alt_text(day))
    if day.scale_out is not None:
        _scale_out(day.scale_out, job.scenario)
    draw_table(lambda: hourly_table(day), key="day_hourly", what="Hour by hour")
    draw_table(lambda: day_table(day), key="day_moments", what="Every moment")
    for note in day.notes:
        st.caption(as_markdown(note))


def _metrics(day: DayPlan) -> None:
    about = DayPlan.model_fields
    with st.container(horizontal=True, gap="small"):
        st.metric("Base (instances)", count(day.base_instances), help=about["base_instances"].description)
        st.metric("Burst (instances)", count(day.burst_instances), help=about["burst_instances"].description)
        st.metric(
            "Add one above (per instance)",
            requests_per_s(day.threshold_rps),
            help=f"{percent(day.threshold)} of what an instance carries within the limits.",
        )
        st.metric("Switch off after", ms(day.cool_down_s * MS_PER_S), help=about["cool_down_s"].description)
        st.metric(
            "Instance hours saved",
            percent(day.saved_share),
            help=f"{day.instance_hours:,.0f} instead of {day.peak_instance_hours:,.0f} instance hours.",
        )


def _scale_out(one: ScaleOut, scenario: Scenario) -> None:
    at = f"p{scenario.limits.percentile:g}"
    met = "every limit is met" if one.meets_limits else "a limit is broken"
    st.markdown(
        f":material/trending_up: Fastest rise, simulated with {counted(one.requests, 'request')}: from "
        f"{count(one.instances_before)} to {counted(one.instances_after, 'instance')} with {at} TTFT "
        f"{ms(one.ttft_ms)} and E2E {ms(one.e2e_ms)}: {met}. Had they been ordered only once they were "
        f"needed: {at} TTFT {ms(one.late_ttft_ms)}."
    )
