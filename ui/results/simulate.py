"""Simulate this hour: the deployment of the answer under random traffic or a trace, beside the analytic figures."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from sizing.format import rounded
from sizing.result import Latency
from sizing.simulation.result import Distribution, SimulationResult
from ui import simulating
from ui.figures.simulated import build_simulated, simulated_alt_text, simulated_table
from ui.format import as_markdown, count
from ui.state import Answer

_JOB = "simulation_job"
_LOOK_EVERY_S = 0.4
_VERDICTS = {"stable": (st.success, ":material/check_circle:"), "unstable": (st.error, ":material/error:"),
             "stopped": (st.warning, ":material/block:"), "infeasible": (st.error, ":material/error:")}
CHART = {"config": {"displaylogo": False}}


def draw_simulate(answer: Answer, *, dark: bool) -> None:
    """The panel; it refreshes itself only while a simulation runs, and never holds up the page."""
    job = st.session_state.get(_JOB)
    running = job is not None and not job.done
    st.fragment(_panel, run_every=_LOOK_EVERY_S if running else None)(answer, dark=dark, watched=running)


def _panel(answer: Answer, *, dark: bool, watched: bool) -> None:
    job: simulating.Job | None = st.session_state.get(_JOB)
    running = job is not None and not job.done
    if watched and not running:
        st.rerun()
    st.markdown("Runs the deployment of the answer request by request: its own traffic for an hour, or your trace.")
    upload = st.file_uploader(
        f"Trace (CSV or Parquet, up to {simulating.MAX_TRACE_MB} MB)", type=["csv", "gz", "parquet"], key="trace_file",
        max_upload_size=simulating.MAX_TRACE_MB, disabled=running,
        help="One row per request: timestamp (seconds or date), input_tokens, output_tokens and, optionally, "
             "cached_tokens. Leave empty to simulate the traffic of the form.",
    )
    label = "Simulate this trace" if upload else "Simulate this hour"
    if st.button(label, key="simulate", icon=":material/play_arrow:", disabled=running, help="Runs beside the page."):
        content = upload.getvalue() if upload else None
        name = upload.name if upload else ""
        st.session_state[_JOB] = simulating.start(answer.scenario, trace_name=name, trace=content)
        st.rerun()
    if job is None:
        return
    if running:
        _progress(job)
    else:
        _finished(job, answer, dark=dark)


def _progress(job: simulating.Job) -> None:
    state = "Stopping" if job.cancelled.is_set() else "Simulating" if job.share else "Starting"
    st.progress(min(job.share, 1.0), text=f"{state}: {job.share:.0%} of the requests")
    st.button("Cancel", key="cancel_simulation", icon=":material/stop:", on_click=job.cancel,
              disabled=job.cancelled.is_set(), help="Stops at the next look; what was simulated so far is shown.")


def _finished(job: simulating.Job, answer: Answer, *, dark: bool) -> None:
    found = job.outcome()
    if isinstance(found, str):
        for sentence in found.splitlines():
            st.error(as_markdown(sentence), icon=":material/error:")
        return
    if job.scenario != answer.scenario:
        st.caption(":material/history: Simulated for the previous inputs.")
    show, icon = _VERDICTS[found.verdict]
    if found.verdict == "stable" and not found.meets_limits:
        show, icon = st.warning, ":material/warning:"
    show(as_markdown(found.answer), icon=icon)
    if found.ttft_ms is None:
        return
    st.dataframe(compared(found, answer), hide_index=True, key="simulated_latencies",
                 alt="Simulated latencies against the limits and the analytic estimate")
    st.plotly_chart(build_simulated(found, dark=dark), key="simulated", alt=simulated_alt_text(found), **CHART)
    for note in found.notes:
        st.caption(as_markdown(note))
    st.caption(f"{count(found.requests)} requests, {count(found.instances)} instances behind round-robin routing. "
               "The intervals are of the simulation only, not of the step times.")
    st.download_button("Series as CSV", simulated_table(found).to_csv(index=False), "simulated.csv", "text/csv",
                       key="simulated_csv", icon=":material/download:")


def compared(found: SimulationResult, answer: Answer) -> pd.DataFrame:
    """One row per latency: limit, simulated percentiles, the analytic value at the asked one."""
    limits, analytic = answer.scenario.limits, answer.plan.latency
    at = f"p{limits.percentile:g}"
    rows = (
        ("TTFT", found.ttft_ms, limits.ttft_ms, analytic and analytic.ttft_ms),
        ("ITL", found.itl_ms, limits.itl_ms, analytic and analytic.itl_ms),
        ("E2E", found.e2e_ms, limits.e2e_ms, analytic and analytic.e2e_ms),
        ("Queue", found.queue_ms, None, None),
    )
    return pd.DataFrame([_row(name, one, limit, other, at) for name, one, limit, other in rows if one is not None])


def _row(name: str, one: Distribution, limit: float | None, analytic: Latency | None, at: str) -> dict[str, object]:
    high = "unknown" if one.asked.high is None else f"{rounded(one.asked.high):g}"
    return {
        "Latency": name, "Limit (ms)": "none" if limit is None else f"{limit:g}",
        f"{at} simulated (ms)": rounded(one.asked.value), "Interval (ms)": f"{rounded(one.asked.low):g} to {high}",
        f"{at} analytic (ms)": rounded(analytic.asked) if analytic and analytic.asked is not None else None,
        **{f"{p} (ms)": rounded(getattr(one, p).value) for p in ("p50", "p95", "p99") if p != at},
    }
