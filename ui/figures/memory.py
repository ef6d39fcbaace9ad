"""What fills the memory of one GPU of the chosen deployment."""

from collections.abc import Mapping
from typing import NamedTuple

import plotly.graph_objects as go

from sizing.base.format import MemoryUnit, memory, memory_unit, percent, significant
from sizing.base.result import Plan
from sizing.planning.explain_memory import MemoryPart, memory_parts, prefill_memory_parts
from ui.figures.template import INK, NEUTRAL, alpha, axis, layout, message, palette, text_on

_NOTHING = "No deployment fits, so there is no memory to show."
_LABELLED = 0.07
"""Share of the GPU from which on a part carries its value inside the bar."""


class PartLook(NamedTuple):
    """How a part is drawn; ``colour`` counts in the palette, None is neutral."""

    colour: int | None
    pattern: str
    opacity: float


LOOKS: Mapping[str, PartLook] = {
    "Weights": PartLook(0, "", 1.0),
    "KV cache in use": PartLook(1, "", 1.0),
    "KV cache free": PartLook(1, "/", 0.2),
    "Activations": PartLook(2, "x", 1.0),
    "CUDA graphs": PartLook(4, "+", 1.0),
    "Driver and buffers": PartLook(3, ".", 1.0),
    "Not used": PartLook(None, "", 0.18),
}


def build_memory_bar(plan: Plan, *, dark: bool = False) -> go.Figure:
    """One horizontal bar: what fills the memory of one GPU at the planned load, in GB, with a line at its size."""
    parts = memory_parts(plan)
    if plan.per_instance is None or not parts:
        return message(_NOTHING, dark=dark)
    whole, others = plan.per_instance.memory_per_gpu_gb, prefill_memory_parts(plan)
    unit, total = memory_unit(whole), memory_unit(whole).of(whole)
    bars = [_bar(part, total, unit, dark=dark) for part in (zip(parts, others, strict=True) if others else zip(parts))]
    line = {
        "type": "line",
        "x0": total,
        "x1": total,
        "y0": 0,
        "y1": 1,
        "yref": "y domain",
        "line": {"color": INK[dark], "width": 2},
    }
    label = {
        "x": total,
        "y": 1,
        "yref": "y domain",
        "text": _sized(total, unit),
        "showarrow": False,
        "xanchor": "right",
        "yanchor": "bottom",
        "font": {"color": INK[dark]},
    }
    return go.Figure(
        data=bars,
        layout=layout(
            dark=dark,
            barmode="stack",
            height=310 if others else 250,
            xaxis=axis(f"Memory of one GPU ({unit.value})", range=[0, total * 1.01]),
            yaxis={"visible": bool(others), "autorange": "reversed"},
            legend={"yref": "container", "y": 0.0, "yanchor": "bottom", "traceorder": "normal"},
            margin={"t": 24, "b": 132},
            shapes=[line],
            annotations=[label],
        ),
    )


def memory_alt_text(plan: Plan) -> str:
    """The memory bar in one sentence, for those who do not see it."""
    parts = memory_parts(plan)
    if plan.per_instance is None or not parts:
        return _NOTHING
    gpu_gb = plan.per_instance.memory_per_gpu_gb
    unit = memory_unit(gpu_gb)
    sentence = f"Memory of one GPU ({memory(gpu_gb, gpu_gb)}) at the planned load: {_said(parts, unit)}."
    others = prefill_memory_parts(plan)
    return f"{sentence} That is a decode instance; a prefill instance: {_said(others, unit)}." if others else sentence


def _said(parts: tuple[MemoryPart, ...], unit: MemoryUnit) -> str:
    return ", ".join(f"{part.name.lower().replace('kv', 'KV')} {_sized(part.size, unit)}" for part in parts)


def _sized(size: float, unit: MemoryUnit) -> str:
    return f"{significant(size)} {unit.value}"


def _bar(parts: tuple[MemoryPart, ...], total: float, unit: MemoryUnit, *, dark: bool) -> dict[str, object]:
    """One part of the bar; of two bars where there are decode and prefill instances."""
    part, names = parts[0], ["Decode", "Prefill"] if len(parts) > 1 else [""]
    look = LOOKS[part.name]
    colour = NEUTRAL[dark] if look.colour is None else palette(dark=dark)[look.colour]
    hatch, ink = (colour, INK[dark]) if look.opacity < 1 else (text_on(colour), text_on(colour))
    return {
        "type": "bar",
        "orientation": "h",
        "name": part.name,
        "x": [p.size for p in parts],
        "y": names,
        "text": [_sized(p.size, unit) if p.size > _LABELLED * total else "" for p in parts],
        "textposition": "inside",
        "textangle": 0,
        "insidetextanchor": "middle",
        "marker": {
            "color": alpha(colour, look.opacity),
            "line": {"color": colour, "width": 1},
            "pattern": {
                "shape": look.pattern,
                "bgcolor": alpha(colour, look.opacity),
                "fgcolor": hatch,
                "fgopacity": 0.45,
                "size": 8,
                "solidity": 0.2,
            },
        },
        "textfont": {"color": ink},
        "customdata": [f"{_sized(p.size, unit)} ({percent(p.size / total if total else 0)} of the GPU)" for p in parts],
        "hovertemplate": f"{part.name}: %{{customdata}}<extra></extra>",
    }
