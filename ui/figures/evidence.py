"""Published measurements: output tokens/s per GPU against ITL, one colour and marker per GPU."""

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from sizing.base.format import counted
from ui.figures.template import MAX_POINTS, axis, hardware_look, layout, message, spread_out

_NOTHING = "Hardly any of these measurements states both ITL and output tokens/s."

FEWEST = 3
"""Fewest points that are drawn as a chart."""


def drawn(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows that state both quantities."""
    return rows[(rows["itl_ms_mean"] > 0) & (rows["per_gpu"] > 0)]


def build_evidence(rows: pd.DataFrame, *, dark: bool = False) -> go.Figure:
    """Measured points; axes are logarithmic where they span much, as in the whole library."""
    points = drawn(rows)
    if len(points) < FEWEST:
        return message(_NOTHING, dark=dark)
    points = points.iloc[:: -(-len(points) // MAX_POINTS)]
    data = [_gpu(str(gpu), part, dark=dark) for gpu, part in points.groupby("gpu_id", sort=True)]
    return go.Figure(
        data=data,
        layout=layout(
            dark=dark,
            height=520,
            xaxis=axis("Mean ITL (ms)", **spread_out(points["itl_ms_mean"].tolist())),
            yaxis=axis("Output tokens/s per GPU (tokens/s)", **spread_out(points["per_gpu"].tolist())),
        ),
    )


def evidence_alt_text(rows: pd.DataFrame) -> str:
    """The chart in one sentence, for those who do not see it."""
    points = drawn(rows)
    if len(points) < FEWEST:
        return _NOTHING
    itl, rate = points["itl_ms_mean"], points["per_gpu"]
    return (
        f"{counted(len(points), 'measurement')} on {counted(points['gpu_id'].nunique(), 'GPU')}: mean ITL from "
        f"{itl.min():.3g} to {itl.max():,.3g} ms, output tokens/s per GPU from {rate.min():.3g} to {rate.max():,.5g}."
    )


def _gpu(gpu: str, rows: pd.DataFrame, *, dark: bool) -> dict[str, Any]:
    look = hardware_look(gpu, dark=dark)
    return {
        "type": "scatter",
        "mode": "markers",
        "name": look.name,
        "showlegend": True,
        "x": rows["itl_ms_mean"].tolist(),
        "y": rows["per_gpu"].tolist(),
        "marker": {"color": look.colour, "symbol": look.symbol, "size": 7, "opacity": 0.7},
        "customdata": rows[["model", "engine", "weight_precision", "mode", "source"]].to_numpy().tolist(),
        "hovertemplate": "%{customdata[0]}<br>" + look.name + ", %{customdata[1]}, %{customdata[2]}<br>%{customdata[3]}"
        "<br>ITL %{x:,.3~r} ms, %{y:,.3~r} tokens/s per GPU<br>%{customdata[4]}<extra></extra>",
    }
