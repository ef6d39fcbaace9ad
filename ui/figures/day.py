"""Load and instances over the day."""

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from sizing.base.format import count, percent, requests_per_s, rounded
from sizing.base.units import S_PER_HOUR, S_PER_MINUTE
from sizing.replay.day_result import DayPlan
from ui.figures.template import LEAST_END, axis, layout, palette

_SHORT_S = 3.0 * S_PER_HOUR
"""Up to here the time axis counts minutes."""


def build_day(plan: DayPlan, *, dark: bool = False) -> go.Figure:
    """Load above; below the instances paid for as an area, base and burst, and those needed as steps."""
    unit, width = _unit(plan)
    time = [moment.time_s / width for moment in plan.moments]
    data = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": time,
            "y": values,
            "xaxis": "x",
            "yaxis": where,
            "name": name,
            "hovertemplate": f"%{{x:.3~g}} {unit}: %{{y:,.3~r}}<extra>{name}</extra>",
            **look,
        }
        for name, values, where, look in _lines(plan, palette(dark=dark))
    ]
    axes = {
        "xaxis": axis(
            f"Time ({unit})", range=[0, max(time[-1], LEAST_END)], anchor="y2", **({"dtick": 3} if unit == "h" else {})
        ),
        "yaxis": axis("Load (requests/s)", domain=[0.6, 1.0], rangemode="tozero", nticks=4),
        "yaxis2": axis("Instances", domain=[0.0, 0.5], rangemode="tozero", nticks=6),
    }
    return go.Figure(data=data, layout=layout(dark=dark, height=460, **axes))


def _lines(plan: DayPlan, colours: Sequence[str]) -> Iterator[tuple[str, list[float], str, dict[str, Any]]]:
    """Name, values, axis and look of every line."""
    moments = plan.moments
    load = [rounded(m.rps) for m in moments]
    yield "Load", load, "y", {"line": {"color": colours[0], "width": 2}}
    base: list[float] = [plan.base_instances] * len(moments)
    yield "Base", base, "y2", {"line": {"color": colours[2], "width": 1, "shape": "hv"}, "fill": "tozeroy"}
    steps = {"width": 2, "shape": "hv"}
    ordered: list[float] = [m.ordered for m in moments]
    yield "Base and burst, paid for", ordered, "y2", {"line": {"color": colours[1], **steps}}
    needed: list[float] = [m.needed + plan.spare_instances for m in moments]
    yield "Needed", needed, "y2", {"line": {"color": colours[4], **steps, "dash": "dot"}}


def day_table(plan: DayPlan) -> pd.DataFrame:
    """The moments as a table."""
    return pd.DataFrame(
        {
            "Time (h)": [round(m.time_s / S_PER_HOUR, 3) for m in plan.moments],
            "Load (requests/s)": [rounded(m.rps) for m in plan.moments],
            "Needed (instances)": [m.needed + plan.spare_instances for m in plan.moments],
            "Serving (instances)": [m.serving for m in plan.moments],
            "Paid for (instances)": [m.ordered for m in plan.moments],
        }
    )


def hourly_table(plan: DayPlan) -> pd.DataFrame:
    """One row per hour: base and burst instances at its busiest, and instance hours."""
    rows: dict[int, list[Any]] = {}
    for moment in plan.moments:
        rows.setdefault(int(moment.time_s // S_PER_HOUR), []).append(moment)
    return pd.DataFrame(
        [
            {
                "Hour": f"{hour:02d}",
                "Peak load (requests/s)": rounded(max(m.rps for m in moments)),
                "Base (instances)": plan.base_instances,
                "Burst (instances)": max(m.ordered for m in moments) - plan.base_instances,
            }
            for hour, moments in sorted(rows.items())
        ]
    )


def day_alt_text(plan: DayPlan) -> str:
    """The figure in one sentence, for those who do not see it."""
    return (
        f"Load of {requests_per_s(plan.mean_rps)} on average and {requests_per_s(plan.peak_rps)} at its peak; "
        f"{count(plan.base_instances)} base and up to {count(plan.burst_instances)} burst instances, "
        f"{percent(plan.saved_share)} fewer instance hours than with the peak provisioned all the time."
    )


def _unit(plan: DayPlan) -> tuple[str, float]:
    """Unit of the time axis and its seconds."""
    return ("h", S_PER_HOUR) if plan.moments[-1].time_s > _SHORT_S else ("minutes", S_PER_MINUTE)
