"""What moves the cost: a tornado, what flips the answer, what each promise costs, two inputs together."""

from collections.abc import Sequence
from textwrap import wrap

import pandas as pd
import plotly.graph_objects as go

from sizing.base.format import large
from sizing.decision.flips import Flip
from sizing.decision.outcome import Outcome
from sizing.decision.promises import Promise
from sizing.decision.text import GPU_CHANGE, gpu_change, in_words, name_of, shown, unit_of
from sizing.decision.tornado import Bar, Tornado, TwoInputs, counted, swing
from ui.currency import DOLLARS, Currency
from ui.figures.template import INK, axis, layout, message, palette
from ui.format import known

SHOWN_BARS = 12
"""Inputs that a tornado shows: those that move the cost most."""

_NAME = 16
"""Characters of a name before its line is broken: bars have room beside it on a phone."""

_CELL_TEXT = 12
"""Pixels of a number in a cell. Chosen: because five of them stand side by side on a phone."""


def build_tornado(drawn: Tornado, *, currency: Currency = DOLLARS, dark: bool = False) -> go.Figure:
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
                "y": ["<br>".join(wrap(name_of(bar.key), _NAME)) for bar in bars],
                "x": [0.0 if v is None else v - base for v in values],
                "base": base,
                "marker": {"color": colour, "pattern": {"shape": pattern}},
                "customdata": [_end(bar, end, currency) for bar in bars],
                "hovertemplate": "%{customdata}<extra></extra>",
            }
        )
    unit = currency.axis if drawn.in_money else {}
    return go.Figure(
        data=data,
        layout=layout(
            dark=dark,
            barmode="overlay",
            separators=currency.separators,
            height=140 + 34 * len(bars),
            xaxis=axis(f"{currency.code} a month" if drawn.in_money else "GPUs", **unit),
            yaxis=axis("", autorange="reversed", type="category", ticksuffix=" "),
        ),
    )


def _end(bar: Bar, end: str, currency: Currency) -> str:
    outcome = getattr(bar, end)
    value = bar.low if end == "at_low" else bar.high
    return f"{name_of(bar.key)} {shown(bar.key, value)}: {_then(outcome, currency)}"


def _then(outcome: Outcome | None, currency: Currency) -> str:
    return "cannot be" if outcome is None else in_words(outcome, currency.written)


def unmoved(drawn: Tornado) -> list[str]:
    """Inputs that move nothing within their range."""
    return [name_of(bar.key) for bar in drawn.bars if swing(bar, drawn.base) == 0]


def tornado_table(drawn: Tornado, currency: Currency = DOLLARS) -> pd.DataFrame:
    """One row per input with both ends."""
    return pd.DataFrame(
        [
            {
                "Input": name_of(bar.key),
                "Now": shown(bar.key, bar.value),
                "Low": shown(bar.key, bar.low),
                "Answer at low": _then(bar.at_low, currency),
                "High": shown(bar.key, bar.high),
                "Answer at high": _then(bar.at_high, currency),
                "Range from": {"share": "20 % to both sides", "sources": "sources", "natural": "its bounds"}[bar.basis],
            }
            for bar in drawn.bars
        ]
    )


def flips_table(flips: Sequence[Flip], currency: Currency = DOLLARS) -> pd.DataFrame:
    """The nearest values at which something else would be ordered."""
    return pd.DataFrame(
        [
            {
                "Input": name_of(flip.key),
                "Now": shown(flip.key, flip.value),
                "Flips at": shown(flip.key, flip.at),
                "Answer then": in_words(flip.after, currency.written),
            }
            for flip in flips
        ]
    )


def promises_table(promises: Sequence[Promise], currency: Currency = DOLLARS) -> pd.DataFrame:
    """What each promise costs."""
    return pd.DataFrame(
        [
            {
                "Promise": name_of(one.key),
                "Now": shown(one.key, one.value),
                "Relaxed to": "not promised" if one.relaxed is None else shown(one.key, one.relaxed),
                GPU_CHANGE: gpu_change(one.gpus_saved),
                f"Saved ({currency.code} a month)": known(one.usd_saved),
                "Answer then": in_words(one.outcome, currency.written),
            }
            for one in promises
        ]
    )


def build_two_inputs(drawn: TwoInputs, *, currency: Currency = DOLLARS, dark: bool = False) -> go.Figure:
    """A cell per pair of values: its cost, or GPUs where no price is known."""
    cells = [cell for row in drawn.outcomes for cell in row]
    money = all(cell is None or not cell.feasible or cell.usd_per_month is not None for cell in cells)
    values = [[None if c is None else (c.usd_per_month if money else c.gpus) for c in row] for row in drawn.outcomes]
    data = {
        "type": "heatmap",
        "x": [shown("", v) for v in drawn.x],
        "y": [shown("", v) for v in drawn.y],
        "z": values,
        "text": [[_cell(v, currency if money else None) for v in row] for row in values],
        "texttemplate": "%{text}",
        "customdata": [[_then(c, currency) for c in row] for row in drawn.outcomes],
        "hovertemplate": "%{customdata}<extra></extra>",
        "colorscale": [[0.0, "rgba(128,128,128,0.06)"], [1.0, "rgba(0,114,178,0.6)"]],
        "showscale": False,
        "xgap": 2,
        "ygap": 2,
        "textfont": {"size": _CELL_TEXT, "color": INK[dark]},
    }
    return go.Figure(
        data=[data],
        layout=layout(
            dark=dark,
            height=380,
            xaxis=axis(_titled(drawn.x_key), type="category", showgrid=False),
            yaxis=axis(_titled(drawn.y_key), type="category", showgrid=False),
        ),
    )


def _titled(key: str) -> str:
    """An input with its unit, for an axis."""
    unit = unit_of(key)
    return f"{name_of(key).capitalize()} ({unit})" if unit else name_of(key).capitalize()


def _cell(value: float | None, money: Currency | None) -> str:
    """A number that fits into a cell on a phone; the caption has its unit."""
    if value is None:
        return "-"
    if money is None:
        return large(value)
    for scale, suffix in ((1e6, "M"), (1e3, "k")):
        if value >= scale:
            return f"{value / scale:.3g}{suffix}".replace(".", money.separators[0])
    return f"{value:.3g}"


def two_inputs_table(drawn: TwoInputs, currency: Currency = DOLLARS) -> pd.DataFrame:
    """One row per pair of values."""
    return pd.DataFrame(
        [
            {
                name_of(drawn.x_key).capitalize(): shown(drawn.x_key, x),
                name_of(drawn.y_key).capitalize(): shown(drawn.y_key, y),
                "Answer": _then(cell, currency),
            }
            for y, row in zip(drawn.y, drawn.outcomes, strict=True)
            for x, cell in zip(drawn.x, row, strict=True)
        ]
    )
