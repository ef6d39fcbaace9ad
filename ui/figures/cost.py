"""Money: what each way costs part by part, over the months to come, over the load, and what moves it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from sizing.base.format import large, usd
from sizing.decision.flips import Flip
from sizing.decision.heat_map import TwoInputs
from sizing.decision.promises import Promise
from sizing.decision.text import in_words, name_of, shown
from sizing.decision.tornado import Bar, Tornado, counted, swing
from sizing.economics.curves import OverLoad
from sizing.economics.results import CostAnswer, WayToPay
from sizing.economics.text import PARTS, WHY_UNKNOWN
from sizing.economics.views import ViewName
from ui.figures.template import DASHES, INK, NEUTRAL, axis, layout, message, palette, spread_out
from ui.format import known

WAYS: Mapping[ViewName, str] = {
    "on_prem": "Own systems",
    "cloud": "Rented",
    "hybrid": "Hybrid",
    "api": "API",
    "blended": "Split",
}
"""Ways to pay as legends and tables call them; their place is that of their colour."""

_PATTERNS = ("", "/", "\\", "x", "-", "|", "+", ".")
SHOWN_BARS = 12
"""Inputs that a tornado shows: those that move the cost most."""


def build_ways(cost: CostAnswer, *, dark: bool = False) -> go.Figure:
    """One stacked bar per way, its parts told apart by colour and pattern."""
    ways = [way for way in cost.ways if way.usd_per_month is not None]
    if not ways:
        return message("No price is known for any way.", dark=dark)
    parts = [part for part in PARTS if any(way.parts.get(part) for way in ways)]
    colours = palette(dark=dark)
    data = [
        {
            "type": "bar",
            "orientation": "h",
            "name": PARTS[part].capitalize(),
            "y": [WAYS[way.name] for way in ways],
            "x": [way.parts.get(part, 0.0) for way in ways],
            "marker": {
                "color": colours[n % len(colours)],
                "pattern": {"shape": _PATTERNS[n // len(colours) % len(_PATTERNS)]},
            },
            "hovertemplate": f"%{{y}}, {PARTS[part]}: $%{{x:,.0f}} a month<extra></extra>",
        }
        for n, part in enumerate(parts)
    ]
    totals = [
        {
            "x": way.usd_per_month,
            "y": WAYS[way.name],
            "text": f" {usd(way.usd_per_month)}",
            "showarrow": False,
            "xanchor": "left",
        }
        for way in ways
    ]
    most = max(way.usd_per_month or 0.0 for way in ways)
    return go.Figure(
        data=data,
        layout=layout(
            dark=dark,
            barmode="stack",
            height=150 + 46 * len(ways),
            annotations=totals,
            xaxis=axis("USD a month", range=[0, most * 1.2], tickprefix="$"),
            yaxis=axis("", autorange="reversed", type="category", ticksuffix=" "),
        ),
    )


def ways_table(cost: CostAnswer) -> pd.DataFrame:
    """One row per way: what it is, what it costs, and why not where it has no cost."""
    return pd.DataFrame([_way(way) for way in cost.ways])


def _way(way: WayToPay) -> dict[str, Any]:
    return {
        "Way": WAYS[way.name],
        "USD a month": known(way.usd_per_month),
        "low": known(way.low),
        "high": known(way.high),
        "What": " in ".join(filter(None, [way.system, way.place])),
        "Systems": known(way.systems),
        "Utilisation (%)": None if way.utilization is None else round(way.utilization * 100.0, 1),
        "Energy (kWh a month)": known(way.energy_kwh_per_month),
        "Carbon (kg CO2e a month)": known(way.carbon_kg_per_month),
        **{f"{PARTS[part].capitalize()} (USD)": round(value, 2) for part, value in way.parts.items()},
        "Why not": WHY_UNKNOWN[way.unavailable] if way.unavailable else "",
    }


def units_table(cost: CostAnswer) -> pd.DataFrame:
    """The cost per request and per million tokens in every sense."""
    senses = [
        (f"Allocated and {lens.name}" if lens.name == "used" else "Allocated", lens.per_unit) for lens in cost.lenses
    ]
    senses = [(name.replace("Allocated and used", "Used"), unit) for name, unit in senses]
    senses += [
        (name, unit) for name, unit in (("At full load", cost.full_load), ("Next system", cost.marginal)) if unit
    ]
    return pd.DataFrame(
        [
            {
                "Sense": name,
                "USD per request": known(unit.usd_per_request),
                "per million input tokens": known(unit.usd_per_million_input_tokens),
                "per million output tokens": known(unit.usd_per_million_output_tokens),
                "per million tokens": known(unit.usd_per_million_blended_tokens),
            }
            for name, unit in senses
        ]
    )


def ways_alt_text(cost: CostAnswer) -> str:
    """The bars in one sentence, for those who do not see them."""
    return "Cost a month: " + ", ".join(f"{WAYS[w.name]} {usd(w.usd_per_month)}" for w in cost.ways) + "."


def build_months(months: Mapping[ViewName, Sequence[float]], *, total: bool, dark: bool = False) -> go.Figure:
    """A line per way over 36 months: each month, or all of them up to then."""
    if not months:
        return message("No price is known for any way.", dark=dark)
    lines = {name: list(np.cumsum(each)) if total else list(each) for name, each in months.items()}
    data = [_line(name, list(range(1, len(values) + 1)), values, dark=dark) for name, values in lines.items()]
    title = "USD since the start" if total else "USD a month"
    return go.Figure(
        data=data,
        layout=layout(
            dark=dark, height=420, xaxis=axis("Month", dtick=6), yaxis=axis(title, rangemode="tozero", tickprefix="$")
        ),
    )


def months_table(months: Mapping[ViewName, Sequence[float]]) -> pd.DataFrame:
    """One row per month, a column per way; the sums are those of the chart."""
    columns = {f"{WAYS[name]} (USD)": [round(v, 2) for v in each] for name, each in months.items()}
    count = max((len(each) for each in months.values()), default=0)
    return pd.DataFrame({"Month": range(1, count + 1), **columns})


def _line(name: ViewName, x: Sequence[float], y: Sequence[float], *, dark: bool) -> dict[str, Any]:
    place = list(WAYS).index(name)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": WAYS[name],
        "x": x,
        "y": y,
        "line": {"color": palette(dark=dark)[place], "dash": DASHES[place], "width": 2},
        "hovertemplate": f"%{{x:,.4~g}}: $%{{y:,.0f}}<extra>{WAYS[name]}</extra>",
    }


def build_over_load(curve: OverLoad, cost: CostAnswer, *, dark: bool = False) -> go.Figure:
    """Cost over requests a day; the planned load as a line, the break-even with an API marked."""
    if not curve.usd_per_month:
        return message("No price is known for any way.", dark=dark)
    x = curve.requests_per_day.tolist()
    data = [_line(name, x, values.tolist(), dark=dark) for name, values in curve.usd_per_month.items()]
    at = cost.break_even.api
    if at.requests_per_day is not None and cost.usd_per_month is not None:
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": "Break-even with the API",
                "x": [at.requests_per_day],
                "y": [cost.usd_per_month],
                "marker": {"size": 14, "symbol": "x-open", "color": INK[dark], "line": {"width": 3}},
                "hovertemplate": "%{x:,.4~g} requests a day: $%{y:,.0f}<extra>Break-even</extra>",
            }
        )
    plan = {
        "type": "line",
        "x0": curve.planned,
        "x1": curve.planned,
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "line": {"color": NEUTRAL[dark], "dash": "dot"},
        "label": {"text": "this plan", "textposition": "end", "font": {"color": INK[dark]}},
    }
    every = [v for values in curve.usd_per_month.values() for v in values.tolist()]
    return go.Figure(
        data=data,
        layout=layout(
            dark=dark,
            height=460,
            shapes=[plan],
            xaxis=axis("Requests a day", **spread_out(x)),
            yaxis=axis("USD a month", **spread_out(every)),
        ),
    )


def over_load_table(curve: OverLoad) -> pd.DataFrame:
    """One row per load, a column per way."""
    columns = {f"{WAYS[name]} (USD a month)": np.round(values, 2) for name, values in curve.usd_per_month.items()}
    return pd.DataFrame({"Requests a day": [known(v) for v in curve.requests_per_day.tolist()], **columns})


def build_tornado(drawn: Tornado, *, dark: bool = False) -> go.Figure:
    """Bars from the answer at the low to that at the high end of each input, the largest on top."""
    bars = [bar for bar in drawn.bars if swing(bar, drawn.base) > 0][:SHOWN_BARS]
    base = counted(drawn.base, drawn.base)
    if not bars or base is None:
        return message("No input moves the answer within its range.", dark=dark)
    colours, data = palette(dark=dark), []
    for name, end, colour, pattern in (("Low end", "at_low", colours[0], ""), ("High end", "at_high", colours[1], "/")):
        values = [counted(getattr(bar, end), drawn.base) for bar in bars]
        data.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": name,
                "y": [name_of(bar.key) for bar in bars],
                "x": [0.0 if v is None else v - base for v in values],
                "base": base,
                "marker": {"color": colour, "pattern": {"shape": pattern}},
                "customdata": [_end(bar, end) for bar in bars],
                "hovertemplate": "%{customdata}<extra></extra>",
            }
        )
    unit = {"tickprefix": "$"} if drawn.in_money else {}
    return go.Figure(
        data=data,
        layout=layout(
            dark=dark,
            barmode="overlay",
            height=140 + 34 * len(bars),
            xaxis=axis("USD a month" if drawn.in_money else "GPUs", **unit),
            yaxis=axis("", autorange="reversed", type="category", ticksuffix=" "),
        ),
    )


def _end(bar: Bar, end: str) -> str:
    outcome = getattr(bar, end)
    value = bar.low if end == "at_low" else bar.high
    return f"{name_of(bar.key)} {shown(bar.key, value)}: {'cannot be' if outcome is None else in_words(outcome)}"


def tornado_table(drawn: Tornado) -> pd.DataFrame:
    """One row per input with both ends."""
    return pd.DataFrame(
        [
            {
                "Input": name_of(bar.key),
                "Now": shown(bar.key, bar.value),
                "Low": shown(bar.key, bar.low),
                "Answer at low": "cannot be" if bar.at_low is None else in_words(bar.at_low),
                "High": shown(bar.key, bar.high),
                "Answer at high": "cannot be" if bar.at_high is None else in_words(bar.at_high),
                "Range from": {"share": "20 % to both sides", "sources": "sources", "natural": "its bounds"}[bar.basis],
            }
            for bar in drawn.bars
        ]
    )


def flips_table(flips: Sequence[Flip]) -> pd.DataFrame:
    """The nearest values at which something else would be ordered."""
    return pd.DataFrame(
        [
            {
                "Input": name_of(flip.key),
                "Now": shown(flip.key, flip.value),
                "Flips at": shown(flip.key, flip.at),
                "Answer then": in_words(flip.after),
            }
            for flip in flips
        ]
    )


def promises_table(promises: Sequence[Promise]) -> pd.DataFrame:
    """What each promise costs."""
    return pd.DataFrame(
        [
            {
                "Promise": name_of(one.key),
                "Now": shown(one.key, one.value),
                "Relaxed to": "not promised" if one.relaxed is None else shown(one.key, one.relaxed),
                "GPUs saved": one.gpus_saved,
                "Saved (USD a month)": known(one.usd_saved),
                "Answer then": in_words(one.outcome),
            }
            for one in promises
        ]
    )


def build_two_inputs(drawn: TwoInputs, *, dark: bool = False) -> go.Figure:
    """A cell per pair of values: its cost, or GPUs where no price is known."""
    cells = [cell for row in drawn.outcomes for cell in row]
    money = all(cell is None or not cell.feasible or cell.usd_per_month is not None for cell in cells)
    values = [[None if c is None else (c.usd_per_month if money else c.gpus) for c in row] for row in drawn.outcomes]
    data = {
        "type": "heatmap",
        "x": [shown(drawn.x_key, v) for v in drawn.x],
        "y": [shown(drawn.y_key, v) for v in drawn.y],
        "z": values,
        "text": [[_cell(v, money=money) for v in row] for row in values],
        "texttemplate": "%{text}",
        "customdata": [["cannot be" if c is None else in_words(c) for c in row] for row in drawn.outcomes],
        "hovertemplate": "%{customdata}<extra></extra>",
        "colorscale": [[0.0, "rgba(128,128,128,0.06)"], [1.0, "rgba(0,114,178,0.6)"]],
        "showscale": False,
        "xgap": 2,
        "ygap": 2,
        "textfont": {"size": 14, "color": INK[dark]},
    }
    return go.Figure(
        data=[data],
        layout=layout(
            dark=dark,
            height=380,
            xaxis=axis(name_of(drawn.x_key).capitalize(), type="category", showgrid=False),
            yaxis=axis(name_of(drawn.y_key).capitalize(), type="category", showgrid=False),
        ),
    )


def _cell(value: float | None, *, money: bool) -> str:
    if value is None:
        return "-"
    return usd(value) if money else large(value)


def two_inputs_table(drawn: TwoInputs) -> pd.DataFrame:
    """One row per pair of values."""
    return pd.DataFrame(
        [
            {
                name_of(drawn.x_key).capitalize(): shown(drawn.x_key, x),
                name_of(drawn.y_key).capitalize(): shown(drawn.y_key, y),
                "Answer": "cannot be" if cell is None else in_words(cell),
            }
            for y, row in zip(drawn.y, drawn.outcomes, strict=True)
            for x, cell in zip(drawn.x, row, strict=True)
        ]
    )
