"""A comparison on the page: sentence, reasons, figures, traffic, intervals, and what it rests on."""

import re
from typing import Literal

import streamlit as st

from collectors.reading.observation import State
from reality.answer import COUNTED, range_of, shown
from reality.result import PerformanceRow, RealityComparison
from sizing.base.format import UNKNOWN, count, counted, significant
from sizing.base.units import S_PER_DAY, S_PER_HOUR, S_PER_MINUTE
from ui.figures.verdicts import build_verdicts, drawn, performance_table, traffic_table, verdicts_alt_text
from ui.format import as_markdown, bullets
from ui.live.verdict import OF_A_WINDOW, WORDS
from ui.shell import draw_chart, draw_choice, draw_download, draw_figure, draw_wrapped
from ui.sources.moment import window_in_words

CHART, TABLE = "Chart", "Table"
STATES: dict[str, tuple[str, str, Literal["green", "orange", "red", "gray"]]] = {
    "ok": ("Data complete", ":material/check_circle:", "green"),
    "partial": ("Data partial", ":material/rule:", "orange"),
    "saturated": (WORDS[State.SATURATED], ":material/speed:", "red"),
    "stale": ("Stale", ":material/schedule:", "orange"),
    "no_data": ("No data", ":material/block:", "gray"),
    "unreachable": ("Unreachable", ":material/cloud_off:", "red"),
}
"""Word, icon and colour of a state: never colour alone."""


def draw_results(comparison: RealityComparison, *, ends_now: bool, dark: bool) -> None:
    """Everything below the controls; ``ends_now``: the window moves on with time."""
    until = f"{comparison.at.replace('T', ' ').removesuffix('Z')} UTC"
    with st.container(border=True, gap="small"):
        word, icon, colour = STATES[comparison.state]
        window = window_in_words(comparison.window_s, "" if ends_now else until)
        st.badge(f"{word} {window}" if State(comparison.state) in OF_A_WINDOW else word, icon=icon, color=colour)
        st.markdown(f"## {as_markdown(comparison.answer)}")
        st.caption(
            f"{as_markdown(comparison.scenario)} against {as_markdown(comparison.source)}, "
            f"{_span(comparison.window_s)} until {until}."
        )
    for reason in comparison.reasons:
        if reason in comparison.answer:  # the headline says it
            continue
        st.warning(as_markdown(reason), icon=":material/info:")
    _figures(comparison)
    st.subheader("What the traffic is", anchor=False)
    draw_wrapped(traffic_table(comparison.traffic), alt="Planned traffic beside the measured one")
    st.subheader("What the plan's engine predicts for this traffic, and what is measured", anchor=False)
    _intervals(comparison, dark=dark)
    _topologies(comparison)
    _downloads(comparison)


def _figures(comparison: RealityComparison) -> None:
    rows = {row.key: row for row in comparison.performance}
    judged = [row for row in comparison.performance if row.verdict != "cannot_judge" and row.key not in COUNTED]
    inside = f"{sum(r.verdict == 'within' for r in judged)} of {len(judged)}" if judged else UNKNOWN
    figures = (
        ("As expected", inside, "Quantities whose measured interval meets the predicted one."),
        (
            "Queues grow from, requests/s",
            significant(comparison.stable_rps),
            "From this load on queues grow for ever, by the plan's engine for the deployed replicas at the observed "
            "lengths. An estimate; limits of latency may break at a smaller load.",
        ),
        ("Replicas", _of(rows["replicas"]), "Replicas with data now, and those planned."),
        ("GPUs", _of(rows["gpus"]), "GPUs joined to the deployment, and those planned."),
    )
    with st.grid(4, min_column_width=150, gap="small", border=True):
        for title, value, help_text in figures:
            draw_figure(title, value, help=help_text)


def _of(row: PerformanceRow) -> str:
    planned = count(row.predicted.value) if row.predicted.value is not None else UNKNOWN
    if row.measured.value is None:
        return UNKNOWN
    more = row.predicted.value is not None and row.measured.value > row.predicted.value
    return f"{count(row.measured.value)}{', planned' if more else ' of'} {planned}"


def _intervals(comparison: RealityComparison, *, dark: bool) -> None:
    view = draw_choice("View", [CHART, TABLE], key="reality_view", labelled=False, help="The same numbers.")
    if view == TABLE:
        shown_here = performance_table(comparison).drop(columns="Read from")  # the CSV has it
        draw_wrapped(shown_here, alt="Predicted and measured values with verdicts")
        return
    draw_chart(
        build_verdicts(comparison.performance, dark=dark), key="reality_chart", alt=verdicts_alt_text(comparison)
    )
    st.caption(
        "Band: 80 % interval of the prediction. Point: measured; its bar: how exactly it is known, from the ranges "
        "(buckets) and the number of requests. TPOT is the mean gap of a request; the percentiles are over requests."
    )
    _without_picture(comparison)


def _without_picture(comparison: RealityComparison) -> None:
    """Rows that no chart can show, each with its reason: unknown is not 0."""
    shown_rows = drawn(comparison.performance)
    missing = [r for r in comparison.performance if r not in shown_rows]
    if not missing:
        return
    what = counted(len(missing), "quantity", "quantities")
    with st.expander(f"{what} without a point", icon=":material/visibility_off:"):
        st.markdown(
            bullets(
                f"{row.label}: measured {shown(row.measured.value, row.unit)}, predicted "
                f"{range_of(row.predicted, row.unit)}. {_sentence(row.reason)}"
                for row in missing
            )
        )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') or not text else '.'}"


def _topologies(comparison: RealityComparison) -> None:
    with st.expander("What this rests on", icon=":material/foundation:"):
        seen = comparison.deployed
        lines = [
            f"Planned: {comparison.planned_deployment or UNKNOWN}.",
            f"Deployed: {', '.join(seen.models) or 'model unknown'}, engine {seen.engine or UNKNOWN}, "
            f"{', '.join(seen.gpu_products) or 'GPU type unknown'}.",
            *comparison.assumptions,
            *(
                [f"Step times from {comparison.step_times}; {counted(comparison.requests, 'request')} simulated."]
                if comparison.step_times
                else []
            ),
            *comparison.notes,
        ]
        st.markdown(bullets(lines))


def _downloads(comparison: RealityComparison) -> None:
    stem = re.sub(r"[^a-z0-9]+", "-", f"{comparison.scenario} {comparison.at}".lower()).strip("-")[:80] or "comparison"
    with st.container(horizontal=True):
        draw_download(
            "Comparison (JSON)",
            lambda: comparison.model_dump_json(indent=2),
            f"{stem}.json",
            "application/json",
            key="reality_json",
            icon="data_object",
            help="As python -m reality compare --json prints it.",
        )
        draw_download(
            "Predicted and measured (CSV)",
            lambda: performance_table(comparison).to_csv(index=False),
            f"{stem}.csv",
            "text/csv",
            key="reality_csv",
            icon="table",
            help="One quantity a row, with the PromQL it was read from.",
        )


def _span(seconds: float) -> str:
    for unit, size in (("days", S_PER_DAY), ("h", S_PER_HOUR), ("min", S_PER_MINUTE)):
        if seconds >= size * (2 if unit == "days" else 1):
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.0f} s"
