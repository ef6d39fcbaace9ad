"""The GPUs: a map of all of them, their activity and power over time, XID errors, and what slows them down."""

from collections.abc import Callable

import pandas as pd
import streamlit as st

from collectors.questions.devices import Device
from collectors.questions.history import History
from collectors.reading.gpu_values import FIELDS
from collectors.reading.observation import Observation
from sizing.base.format import counted
from ui import sources
from ui.figures.gpu_map import MEASURES, MapMeasure, build_gpu_map, gpu_map_alt_text, gpu_table, trouble_of
from ui.format import as_markdown
from ui.live.charts import PERCENT, draw_lines, quantity_chart
from ui.live.moment import LiveWindow
from ui.shell import draw_chart, draw_choice, draw_table
from ui.sources.picker import Picked

FILTER_FROM = 64
"""GPUs from which on a filter by host or pod is offered."""
MOST_ROWS = 200
"""Rows of a list of troubles; who has more looks for a common cause first."""
_ACTIVITY = {
    "gpu_sm_active": "SM active",
    "gpu_tensor_active": "Tensor active",
    "gpu_dram_active": "Memory active",
    "gpu_busy": "Busy (a kernel ran)",
}
"""Lines of the activity chart with their names in the legend."""
_TELLING = {
    "sm_active": "gpu_sm_active",
    "tensor_active": "gpu_tensor_active",
    "dram_active": "gpu_dram_active",
    "power": "power_w",
    "busy": "gpu_busy",
    "memory": "gpu_memory_used_gb",
    "temperature": "gpu_temperature_max_c",
}
"""Measures by how much they tell, each with the number that says whether it is exported."""
TROUBLE = ("xid", "throttle_reasons")
"""Columns that show trouble, read with every measure."""
WAIT_S = 2.0
"""Longest wait for what only this tab asks for: the rest of the page stands already."""


def draw_gpus(
    picked: Picked,
    observed: Observation,
    lines: History | None,
    span: tuple[float, float],
    moment: LiveWindow,
    *,
    dark: bool,
) -> None:
    """The map first; XIDs and slowed-down GPUs beside it, then the lines."""
    chosen = _chosen_measure(observed)
    answer = _asked(picked, moment, chosen)
    devices = answer.good
    if devices is None:
        _say_why_none(answer.problem or "The GPUs are being read for the first time.")
    elif not devices:
        reason = next((m.reason for m in observed.missing if m.quantity == "gpus"), "No GPU is known")
        _say_why_none(f"{reason.rstrip('.')}.")
    else:
        if answer.problem:
            st.warning(
                f"The GPUs below are those of the last good reading. {as_markdown(answer.problem)}",
                icon=":material/history:",
            )
        draw_map(devices, chosen, observed.at_s, lambda: _asked(picked, moment, *MEASURES.values()).good, dark=dark)
        _draw_trouble(picked, devices, span, moment)
    if lines is not None:
        _draw_lines(lines, span, moment, dark=dark)
    _say_what_is_missing(observed)


def _chosen_measure(observed: Observation) -> MapMeasure:
    """What the map shows, chosen before the GPUs are asked: of thousands only what is shown is read."""
    if not observed.number("gpus"):
        return MEASURES["sm_active"]
    names = {key: measure.label for key, measure in MEASURES.items()}
    return MEASURES[draw_choice("Shown", names, default=first_exported(observed), key="gpu_measure", help=None)]


def first_exported(observed: Observation) -> str:
    """The measure that tells most of those that the exporter has."""
    return next((key for key, number in _TELLING.items() if observed.number(number) is not None), "sm_active")


def _asked(picked: Picked, moment: LiveWindow, *measures: MapMeasure) -> sources.LatestAnswer[tuple[Device, ...]]:
    """Every GPU with some measures, and with what shows trouble."""
    columns = dict.fromkeys(key for measure in measures for key in (*measure.keys, *TROUBLE))
    return sources.per_device(picked.known, columns=tuple(columns), end_s=moment.end_s, wait_s=WAIT_S)


def draw_map(
    devices: tuple[Device, ...],
    measure: MapMeasure,
    at_s: float,
    all_measures: Callable[[], tuple[Device, ...] | None],
    *,
    dark: bool,
) -> None:
    """One measure of every GPU at ``at_s``; ``all_measures`` reads the others when the table is opened."""
    wanted = ""
    if len(devices) > FILTER_FROM:
        wanted = st.text_input(
            "Only hosts and pods with",
            key="gpu_filter",
            width=260,
            placeholder="node-17",
            help="Part of a name. Large fleets are drawn by host; fewer GPUs one by one.",
        )
    shown = filtered(devices, wanted)
    if not shown:
        st.info(f"No host or pod has “{as_markdown(wanted[:60])}” in its name.", icon=":material/search_off:")
        return
    draw_chart(build_gpu_map(shown, measure, dark=dark), key="gpu_map", alt=gpu_map_alt_text(shown, measure))
    age = max((at_s - shown[0].moments_s.get(key, at_s) for key in measure.keys), default=0.0)
    st.caption(measure.note + (f" These values are {age:.0f} s older than the rest." if age >= 1.0 else ""))
    draw_table(
        lambda: gpu_table(filtered(all_measures() or devices, wanted)), key="gpus", what=counted(len(shown), "GPU")
    )


def filtered(devices: tuple[Device, ...], wanted: str) -> tuple[Device, ...]:
    """The GPUs whose host or pod holds the text."""
    part = wanted.strip().lower()
    return tuple(d for d in devices if part in d.host.lower() or part in d.pod.lower()) if part else devices


def _draw_trouble(picked: Picked, devices: tuple[Device, ...], span: tuple[float, float], moment: LiveWindow) -> None:
    log, slow = st.columns(2, gap="medium")
    with log:
        _draw_xids(picked, span, moment)
    with slow:
        st.markdown("**Slowed down, or with an error, now**")
        bad = [device for device in devices if trouble_of(device)]
        if not bad:
            st.caption(
                "No GPU."
                if any(d.values.get("throttle_reasons") is not None for d in devices)
                else "Not known: the exporter does not say why clocks are reduced."
            )
            return
        st.dataframe(
            pd.DataFrame([{"GPU": d.name, "Pod": d.pod, "Why": trouble_of(d)} for d in bad[:MOST_ROWS]]),
            hide_index=True,
            key="gpu_trouble",
            alt="GPUs that are slowed down or show an error",
        )


def _draw_xids(picked: Picked, span: tuple[float, float], moment: LiveWindow) -> None:
    st.markdown("**XID errors in this range**")
    answer = sources.xids_of(picked.known, span_s=moment.span_s, end_s=moment.end_s, now_s=span[1], wait_s=WAIT_S)
    if answer.good is None:
        st.caption(as_markdown(answer.problem) or "The errors are being read.")
        return
    if not answer.good:
        st.caption("None was reported.")
        return
    rows = [
        {
            "From": ("before " if e.since_start else "") + moment.clock(e.at_s),
            "GPU": f"{e.host}/{e.gpu}",
            "XID": e.code,
            "Meaning": e.meaning or "see NVIDIA's Xid catalog",
        }
        for e in answer.good[:MOST_ROWS]
    ]
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        key="xid_log",
        alt="XID errors by time",
        column_config={"Meaning": st.column_config.TextColumn(width="large")},
    )
    st.caption("The exporter keeps the last code until the driver is loaded anew: a repeated error shows once.")


def _draw_lines(lines: History, span: tuple[float, float], moment: LiveWindow, *, dark: bool) -> None:
    activity = quantity_chart(
        lines,
        span,
        "%",
        _ACTIVITY,
        quantity="Mean of all GPUs",
        scale=PERCENT,
        nothing="No GPU activity in this range.",
    )
    draw_lines(activity, moment, key="activity", dark=dark)
    left, right = st.columns(2, gap="medium")
    for column, quantity, unit, key in (
        (left, "Power of all GPUs", "W", "gpu_power"),
        (right, "Hottest GPU", "°C", "gpu_temperature"),
    ):
        with column:
            chart = quantity_chart(lines, span, unit, {key: quantity}, quantity=quantity)
            draw_lines(chart, moment, key=key, dark=dark)


def _say_why_none(reason: str) -> None:
    st.info(f"No map of the GPUs: {as_markdown(reason)}", icon=":material/developer_board_off:")


def _say_what_is_missing(observed: Observation) -> None:
    missing = [m for m in observed.missing if m.quantity in FIELDS]
    if missing:
        st.markdown(
            "**Not exported**\n"
            + "\n".join(f"- {as_markdown(m.quantity.replace('_', ' '))}: {as_markdown(m.reason)}" for m in missing)
        )
