"""Simulate this hour: the deployment of the answer under random traffic or a trace, beside what the plan says."""

from collections.abc import Mapping

import pandas as pd
import streamlit as st

from sharing.form.asked import AskedNumber
from sizing.base.format import counted, percent, rounded, significant
from sizing.base.latency_and_cost import Latency
from sizing.planning.assumptions import ROUTED
from sizing.replay.simulation_result import Distribution, SimulationResult
from sizing.replay.what_if import Fails, WhatIf, differences, failure_text
from sizing.scenario.day_profile import at_peak
from sizing.scenario.traffic import Profile
from ui import state
from ui.figures.simulated import build_simulated, simulated_alt_text, simulated_table
from ui.format import as_markdown
from ui.shell import draw_chart, draw_choice, draw_number, draw_problems, draw_table, grouped
from ui.size import jobs
from ui.state import FormAnswer, waiting_sentence

_JOB = "simulation_job"
_LOOK_EVERY_S = 0.4
"""Seconds between two looks at a running simulation."""
_MOST_HOURS = 24 * 7
"""A week: what a longer run adds is below what the step times are uncertain by."""
_VERDICTS = {
    "stable": (st.success, ":material/check_circle:"),
    "unstable": (st.error, ":material/error:"),
    "stopped": (st.warning, ":material/block:"),
    "infeasible": (st.error, ":material/error:"),
}
PREVIOUS = "Previous inputs: simulate again"
"""The note beside results that are older than the inputs, or than the settings of the simulation."""
_FAILS: Mapping[Fails, str] = {"instance": "An instance", "system": "A system"}
"""What may fail, in the words of the control."""
_PEAK, _DAY, _TRACE = "Busiest time", "Whole day", "Replay the trace"

Job = jobs.Job[SimulationResult, jobs.SimulationJob]


def draw_simulate(answer: FormAnswer, *, dark: bool) -> None:
    """The panel; it refreshes itself only while a simulation runs, and never holds up the page."""
    job: Job | None = st.session_state.get(_JOB)
    running = job is not None and not job.done
    if job is not None and running and job.scenario != answer.scenario:
        job.cancel()  # nobody waits for the figures of inputs that were changed
    st.fragment(_panel, run_every=_LOOK_EVERY_S if running else None)(answer, dark=dark, watched=running)


def _panel(answer: FormAnswer, *, dark: bool, watched: bool) -> None:
    job: Job | None = st.session_state.get(_JOB)
    running = job is not None and not job.done
    if job is not None:
        job.look()
    if watched and not running:
        st.rerun()
    st.markdown("Runs the deployment of the answer request by request, beside the page.")
    traffic = _traffic(answer, disabled=running)
    with st.expander("With a failure, or batched otherwise", type="compact"):
        what_if = _what_if(disabled=running)
    label = "Simulate this hour" if traffic == (_PEAK, 1.0) else f"Simulate: {traffic[0].lower()}"
    run = _run(answer, *traffic, what_if)
    if st.button(label, key="simulate", icon=":material/play_arrow:", disabled=running, help="Runs beside the page."):
        st.session_state[_JOB] = _start(answer, run)
        st.rerun()
    if job is None:
        return
    if running:
        _progress(job)
    else:
        _finished(job, answer, as_asked_now=(job.scenario, job.about) == (answer.scenario, run), dark=dark)


def _traffic(answer: FormAnswer, *, disabled: bool) -> tuple[str, float]:
    """Which traffic, and how many hours of it."""
    choices = [_PEAK]
    choices += [_DAY] if isinstance(answer.scenario.workload.arrivals, Profile) else []
    choices += [_TRACE] if state.trace() else []
    chosen = _PEAK
    if len(choices) > 1:
        chosen = draw_choice(
            "Traffic",
            choices,
            default=choices[-1],
            key="simulated_traffic",
            kept="nowhere",
            disabled=disabled,
            help="Busiest time: the peak load all the time. Whole day: by the hours of the form. Replay: the requests "
            "of the trace as they came, faster where a higher peak is asked.",
        )
    if chosen != _PEAK:
        return chosen, 24.0
    hours = draw_number(
        "Simulated time (h)",
        AskedNumber(name="Simulated time", low=0.1, high=_MOST_HOURS, example="1"),
        key="simulated_hours",
        default=1.0,
        disabled=disabled,
        width=200,
        help="Longer runs make the result more certain: its intervals become narrower.",
    )
    return _PEAK, hours


def _what_if(*, disabled: bool) -> WhatIf:
    minutes = draw_number(
        "A failure lasts (minutes)",
        AskedNumber(name="Minutes of the failure", high=10_080.0, example="5"),
        key="fail_minutes",
        default=0.0,
        disabled=disabled,
        width=260,
        help="0: nothing fails. It fails after a third of the simulated time, its requests start again elsewhere, and "
        "it returns with empty caches. Spare instances serve as well.",
    )
    fails = draw_choice(
        "What fails",
        _FAILS,
        key="fails",
        kept="nowhere",
        disabled=disabled or not minutes,
        help="One instance, or a system with all the instances that it holds.",
    )
    static = st.toggle(
        "Static batching instead of in-flight",
        key="static_batching",
        disabled=disabled,
        help="A batch runs to the end of its longest answer before the next one starts.",
    )
    return WhatIf(static_batching=static, fail_minutes=minutes, fails=fails)


def _run(answer: FormAnswer, traffic: str, hours: float, what_if: WhatIf) -> jobs.SimulationJob:
    """What the controls ask for now."""
    if traffic == _TRACE:
        return jobs.SimulationJob(what_if=what_if, hours=None, simulated=None, replayed=True)
    at_its_peak = traffic == _PEAK and isinstance(answer.scenario.workload.arrivals, Profile)
    stands_for = at_peak(answer.scenario, answer.plan.sustained_rps, "poisson") if at_its_peak else None
    return jobs.SimulationJob(what_if=what_if, hours=hours, simulated=stands_for, replayed=False)


def _start(answer: FormAnswer, run: jobs.SimulationJob) -> Job:
    trace = state.trace() if run.replayed else None
    return jobs.start_simulation(
        answer,
        simulated=run.simulated,
        hours=run.hours,
        what_if=run.what_if,
        trace=None if trace is None else trace.requests,
    )


def _progress(job: Job) -> None:
    state_ = "Stopping" if job.cancelled.is_set() else "Simulating" if job.share else "Starting"
    done = f"{state_}: {percent(round(job.share, 2))} of the requests"
    st.progress(min(job.share, 1.0), text=waiting_sentence(job.place, "Simulating") if job.place else done)
    st.button(
        "Cancel",
        key="cancel_simulation",
        icon=":material/stop:",
        on_click=job.cancel,
        disabled=job.cancelled.is_set(),
        help="Stops within a second; what was simulated so far is shown.",
    )


def _finished(job: Job, answer: FormAnswer, *, as_asked_now: bool, dark: bool) -> None:
    result = job.outcome()
    if isinstance(result, tuple):
        if job.cancelled.is_set():
            st.info(as_markdown(" ".join(result)), icon=":material/block:")
        else:
            draw_problems(result)
        return
    show, icon = _VERDICTS[result.verdict]
    if result.verdict == "stable" and not result.meets_limits:
        show, icon = st.warning, ":material/warning:"
    if not as_asked_now:
        st.badge(PREVIOUS, icon=":material/history:", color="orange")
        show, icon = st.info, ":material/history:"
    show(as_markdown(result.answer), icon=icon)
    if result.failure is not None:
        st.markdown(f":material/power_off: {as_markdown(failure_text(result.failure))}")
    if result.ttft_ms is not None:
        _figures(job, result, answer, dark=dark)
    for note in result.notes:
        st.caption(as_markdown(note))


def _figures(job: Job, result: SimulationResult, answer: FormAnswer, *, dark: bool) -> None:
    """Percentiles beside those of the plan, why they differ, and how it went over time."""
    table = compared(result, answer)
    st.dataframe(
        table,
        hide_index=True,
        key="simulated_latencies",
        placeholder="",
        alt="Simulated latencies against the limits and the plan",
        column_config=grouped(table),
    )
    if job.scenario == answer.scenario:
        what_if, replayed = job.about.what_if, job.about.replayed
        for sentence in differences(result, answer, what_if, replayed=replayed):
            st.markdown(f":material/compare_arrows: {as_markdown(sentence)}")
    draw_chart(build_simulated(result, dark=dark), key="simulated", alt=simulated_alt_text(result))
    draw_table(lambda: simulated_table(result), key="simulated_series", what="Second by second")
    st.caption(
        f"{counted(result.requests, 'request')}, {counted(result.instances, 'instance')}; "
        f"{ROUTED[job.scenario.deployment.routing]}. Intervals: what chance leaves open (95 %); how sure the "
        "engine's speed is comes on top."
    )


def compared(result: SimulationResult, answer: FormAnswer) -> pd.DataFrame:
    """One row per latency: limit, simulated percentiles, the plan's value at the asked one."""
    limits, planned = answer.scenario.limits, answer.plan.latency
    at = f"p{limits.percentile:g}"
    rows = (
        ("TTFT", result.ttft_ms, limits.ttft_ms, planned.ttft_ms if planned else None),
        ("ITL", result.itl_ms, limits.itl_ms, planned.itl_ms if planned else None),
        ("E2E", result.e2e_ms, limits.e2e_ms, planned.e2e_ms if planned else None),
        ("Queue", result.queue_ms, None, None),
    )
    return pd.DataFrame([_row(name, one, limit, other, at) for name, one, limit, other in rows if one is not None])


def _row(name: str, one: Distribution, limit: float | None, planned: Latency | None, at: str) -> dict[str, object]:
    low, high = one.at_percentile.low, one.at_percentile.high
    span = f"{significant(low)} or more" if high is None else f"{significant(low)} to {significant(high)}"
    return {
        "Latency": name,
        "Limit (ms)": "none" if limit is None else f"{limit:,g}",
        f"{at} simulated (ms)": rounded(one.at_percentile.value),
        "Interval (ms)": span,
        f"{at} in the plan (ms)": rounded(planned.at_percentile)
        if planned and planned.at_percentile is not None
        else None,
        **{f"p{p:g} (ms)": rounded(one.at(p).value) for p in Latency.percents() if f"p{p:g}" != at},
    }
