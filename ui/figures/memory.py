"""What fills the memory of one GPU of the chosen deployment."""

from __future__ import annotations

from typing import NamedTuple

import plotly.graph_objects as go

from sizing.base.deployed import Deployed, PerInstance, Pool
from sizing.base.format import MemoryUnit, memory, memory_unit, percent, significant
from sizing.base.result import Plan
from ui.figures.template import INK, NEUTRAL, alpha, axis, layout, message, palette, text_on

_NOTHING = "No deployment fits, so there is no memory to show."
_LABELLED = 0.07
"""Share of the GPU from which on a part carries its value inside the bar."""


class Part(NamedTuple):
    """One part of the memory of a GPU, in the unit of its size; ``colour`` counts in the palette, None is neutral."""

    name: str
    size: float
    colour: int | None
    pattern: str
    opacity: float


def memory_parts(plan: Plan) -> tuple[Part, ...]:
    """The parts of one GPU's memory: those of the instance divided by its GPUs, and what is left over.

    In the unit in which the GPU has the size of its name, GB or GiB (:func:`sizing.base.format.memory_unit`).
    Where prefill and decode run apart, of a decode instance.
    """
    return _parts(plan.per_instance, plan.deployment)


def prefill_memory_parts(plan: Plan) -> tuple[Part, ...]:
    """The same of a prefill instance; nothing where there is none."""
    return _parts(plan.per_prefill_instance, plan.deployment.kinds[0] if plan.deployment else None)


def _parts(one: PerInstance | None, deployed: Deployed | Pool | None) -> tuple[Part, ...]:
    if one is None or deployed is None:
        return ()
    gpus = max(1, deployed.tp * deployed.pp * deployed.dp)
    parts = [
        Part("Weights", one.weights_gb / gpus, 0, "", 1.0),
        Part("KV cache in use", one.kv_used_gb / gpus, 1, "", 1.0),
        Part("KV cache free", one.free_gb / gpus, 1, "/", 0.2),
        Part("Activations", one.activations_gb / gpus, 2, "x", 1.0),
        Part("Runtime overhead", one.overhead_gb / gpus, 3, ".", 1.0),
    ]
    left = one.memory_per_gpu_gb - sum(max(0.0, part.size) for part in parts)
    parts.append(Part("Not used", left, None, "", 0.18))
    unit = memory_unit(one.memory_per_gpu_gb)
    return tuple(part._replace(size=unit.of(max(0.0, part.size))) for part in parts)


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
            height=280 if others else 220,
            xaxis=axis(f"Memory of one GPU ({unit.value})", range=[0, total * 1.01]),
            yaxis={"visible": bool(others), "autorange": "reversed"},
            legend={"y": -0.62, "yanchor": "top", "traceorder": "normal"},
            margin={"t": 24},
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


def _said(parts: tuple[Part, ...], unit: MemoryUnit) -> str:
    return ", ".join(f"{part.name.lower().replace('kv', 'KV')} {_sized(part.size, unit)}" for part in parts)


def _sized(size: float, unit: MemoryUnit) -> str:
    return f"{significant(size)} {unit.value}"


def _bar(parts: tuple[Part, ...], total: float, unit: MemoryUnit, *, dark: bool) -> dict[str, object]:
    """One part of the bar; of two bars where there are decode and prefill instances."""
    part, names = parts[0], ["Decode", "Prefill"] if len(parts) > 1 else [""]
    colour = NEUTRAL[dark] if part.colour is None else palette(dark=dark)[part.colour]
    hatch, ink = (colour, INK[dark]) if part.opacity < 1 else (text_on(colour), text_on(colour))
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
            "color": alpha(colour, part.opacity),
            "line": {"color": colour, "width": 1},
            "pattern": {
                "shape": part.pattern,
                "bgcolor": alpha(colour, part.opacity),
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
