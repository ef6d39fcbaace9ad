"""GPUs needed over prompt and output length: where more of either tips the answer over."""

import math
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from sizing.base.format import count, counted
from sizing.explore.length_map import LengthCell, LengthMap
from ui.figures.template import INK, READABLE, alpha, axis, contrast, hardware_look, layout, message, over_paper

_NONE = "-"
"""What a cell that nothing serves shows."""


def build_heat_map(lengths: LengthMap, *, framed: tuple[float, float] | None = None, dark: bool = False) -> go.Figure:
    """GPUs in every cell, darker for more; the cell of ``asked`` (ISL, OSL) is framed."""
    cells = [cell for row in lengths.rows for cell in row]
    if not any(cell.gpus for cell in cells):
        reasons = " ".join(dict.fromkeys(cell.reason for cell in cells))
        return message(f"Nothing serves any of these lengths. {reasons}".strip(), dark=dark)
    look = hardware_look(lengths.gpu, dark=dark)
    counts = [cell.gpus for cell in cells if cell.gpus]
    data = {
        "type": "heatmap",
        "x": [count(n) for n in lengths.output_tokens],
        "y": [count(n) for n in lengths.input_tokens],
        "z": [[math.log(c.gpus) if c.gpus else None for c in row] for row in lengths.rows],
        "zmin": math.log(min(counts)),
        "zmax": max(math.log(max(counts)), math.log(min(counts)) + 0.7),
        "text": [[count(c.gpus) if c.gpus else _NONE for c in row] for row in lengths.rows],
        "customdata": [[_hover(c) for c in row] for row in lengths.rows],
        "texttemplate": "%{text}",
        "hovertemplate": "%{customdata}<extra></extra>",
        "colorscale": [[0.0, alpha(look.colour, 0.08)], [1.0, alpha(look.colour, _darkest(look.colour, dark=dark))]],
        "showscale": False,
        "xgap": 2,
        "ygap": 2,
        "hoverongaps": True,
        "textfont": {"size": 14, "color": INK[dark]},
    }
    return go.Figure(
        data=[data],
        layout=layout(
            dark=dark,
            height=440,
            shapes=_frame(lengths, framed, dark=dark),
            annotations=_unserved(lengths, dark=dark),
            xaxis=axis("Output length (tokens)", type="category", showgrid=False),
            yaxis=axis("Prompt length (tokens)", type="category", showgrid=False),
        ),
    )


def heat_map_table(lengths: LengthMap) -> pd.DataFrame:
    """One row per pair of lengths."""
    return pd.DataFrame(
        [
            {
                "Prompt length (tokens)": round(cell.input_tokens, 1),
                "Output length (tokens)": round(cell.output_tokens, 1),
                "GPUs": cell.gpus,
                "Systems": cell.systems,
                "Deployment of one instance": cell.configuration,
                "Why not": cell.reason,
            }
            for row in lengths.rows
            for cell in row
        ]
    ).astype({"GPUs": "Int64", "Systems": "Int64"})


def heat_map_alt_text(lengths: LengthMap) -> str:
    """The map in one sentence, for those who do not see it."""
    served = [cell for row in lengths.rows for cell in row if cell.gpus]
    name = lengths.gpu_name
    if not served:
        return f"{name} serves none of these lengths."
    least, most = (pick(served, key=lambda c: c.gpus or 0) for pick in (min, max))
    total = sum(len(row) for row in lengths.rows)
    missing = f"; {total - len(served)} of {total} pairs cannot be served" if total > len(served) else ""
    return (
        f"{name} over prompt and output length: from {counted(least.gpus, 'GPU')} at {_pair(least)} to "
        f"{count(most.gpus)} at {_pair(most)}{missing}."
    )


def _darkest(colour: str, *, dark: bool) -> float:
    """The strongest opacity of a cell on which its number is still read: every cell has one colour of text."""
    steps = (percent / 100 for percent in range(75, 0, -5))
    return next(one for one in steps if contrast(INK[dark], over_paper(colour, one, dark=dark)) >= READABLE)


def _pair(cell: LengthCell) -> str:
    return f"{count(cell.input_tokens)} in and {count(cell.output_tokens)} out"


def _hover(cell: LengthCell) -> str:
    first = f"{count(cell.input_tokens)} tokens in, {count(cell.output_tokens)} out"
    if not cell.gpus:
        return f"{first}<br>{cell.reason}"
    return f"{first}<br>{counted(cell.gpus, 'GPU')} in {counted(cell.systems or 0, 'system')}<br>{cell.configuration}"


def _frame(lengths: LengthMap, framed: tuple[float, float] | None, *, dark: bool) -> list[dict[str, Any]]:
    """The frame round the cell that is the scenario."""
    if framed is None:
        return []
    rows = [i for i, n in enumerate(lengths.input_tokens) if math.isclose(n, framed[0])]
    columns = [i for i, n in enumerate(lengths.output_tokens) if math.isclose(n, framed[1])]
    line = {"color": INK[dark], "width": 3}
    return [
        {"type": "rect", "x0": c - 0.5, "x1": c + 0.5, "y0": r - 0.5, "y1": r + 0.5, "line": line}
        for r in rows
        for c in columns
    ]


def _unserved(lengths: LengthMap, *, dark: bool) -> list[dict[str, Any]]:
    """A dash where nothing serves the lengths: an empty cell has no text of its own."""
    return [
        {"x": c, "y": r, "text": _NONE, "showarrow": False, "font": {"color": INK[dark], "size": 14}}
        for r, row in enumerate(lengths.rows)
        for c, cell in enumerate(row)
        if not cell.gpus
    ]
