"""How a simulated hour went: requests in flight, waiting, and arriving, over time."""

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from sizing.base.format import ms, requests_per_s, rounded
from sizing.base.units import S_PER_HOUR, S_PER_MINUTE
from sizing.replay.simulation_result import SimulationResult
from ui.figures.template import LEAST_END, Look, axis, layout, message, palette

_NOTHING = "The load is beyond what can be carried, so there is nothing to draw."
_HOURS_FROM = 4 * S_PER_HOUR
"""From here on the time axis counts hours."""
MOST_POINTS = 1_200
"""Points of one line; seconds beyond are averaged for the drawing, the table keeps them."""


def build_simulated(result: SimulationResult, *, dark: bool = False) -> go.Figure:
    """Arrivals, requests in flight and requests waiting, one panel each, over the simulated time."""
    series = result.series
    if series is None:
        return message(_NOTHING, dark=dark)
    unit, width = _unit(result)
    together = -(-len(series.waiting) // MOST_POINTS)
    time = [(k + 0.5) * series.bin_s * together / width for k in range(-(-len(series.waiting) // together))]
    panels = tuple(
        (name, _means(values, together))
        for name, values in (
            ("Arrivals (requests/s)", series.arrived_rps),
            ("In flight (requests)", series.running),
            ("Waiting (requests)", series.waiting),
        )
    )
    data: list[dict[str, Any]] = []
    axes: dict[str, Any] = {"xaxis": axis(f"Time ({unit})", range=[0, max(time[-1], LEAST_END)], anchor="y3")}
    for place, (name, values) in enumerate(panels):
        look = Look(name=name, colour=palette(dark=dark)[place], dash="solid", symbol="circle")
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": time,
                "y": values,
                "xaxis": "x",
                "showlegend": False,
                "yaxis": "y" if place == 0 else f"y{place + 1}",
                "name": name,
                "line": {"color": look.colour, "width": 2, "dash": look.dash},
                "hovertemplate": f"%{{x:.3~g}} {unit}: %{{y:,.3~r}}<extra>{name}</extra>",
            }
        )
        low = 1 - (place + 1) / 3 + (0.06 if place < 2 else 0.0)
        axes["yaxis" if place == 0 else f"yaxis{place + 1}"] = axis(
            name, domain=[round(low, 4), round(1 - place / 3, 4)], rangemode="tozero", nticks=4
        )
    return go.Figure(data=data, layout=layout(dark=dark, height=480, **axes))


def _means(values: tuple[float, ...], together: int) -> list[float]:
    """Means of so many neighbours; the last of fewer."""
    parts = (values[k : k + together] for k in range(0, len(values), together))
    return [sum(part) / len(part) for part in parts]


def simulated_table(result: SimulationResult) -> pd.DataFrame:
    """The series as a table, one row per bin."""
    series = result.series
    if series is None:
        return pd.DataFrame()
    columns = {
        "Time (s)": [k * series.bin_s for k in range(len(series.waiting))],
        "Arrivals (requests/s)": series.arrived_rps,
        "In flight (requests)": series.running,
        "Waiting (requests)": series.waiting,
        "Mean TTFT (ms)": series.ttft_ms,
        "KV cache in use (%)": [100.0 * share for share in series.kv_use],
        "Time in engine steps (%)": [100.0 * share for share in series.busy],
    }
    return pd.DataFrame({name: [None if v is None else rounded(v) for v in values] for name, values in columns.items()})


def simulated_alt_text(result: SimulationResult) -> str:
    """The figure in one sentence, for those who do not see it."""
    if result.series is None:
        return _NOTHING
    unit, width = _unit(result)
    slowest = max((t for t in result.series.ttft_ms if t is not None), default=0.0)
    return (
        f"Load over {result.simulated_s / width:,.3g} {unit}: {requests_per_s(result.offered_rps)} on average, at most "
        f"{max(result.series.running):,.0f} requests in flight and {max(result.series.waiting):,.0f} waiting; mean "
        f"TTFT of the slowest moment {ms(slowest)}."
    )


def _unit(result: SimulationResult) -> tuple[str, float]:
    """Unit of the time axis and its seconds."""
    return ("h", S_PER_HOUR) if result.simulated_s >= _HOURS_FROM else ("minutes", S_PER_MINUTE)
