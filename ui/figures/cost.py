"""Money: what each way costs part by part, over the months to come, and over the load."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from sizing.economics.api import provider_name
from sizing.economics.curves import OverLoad
from sizing.economics.dates import AGES
from sizing.economics.present_value import Investment
from sizing.economics.results import CostAnswer, CostSource, WayToPay
from sizing.economics.text import CONSTANTS, PARTS, WAY_NAMES, described, senses, why_unknown
from sizing.economics.views import BaseWay, ViewName
from ui.currency import DOLLARS, Currency
from ui.figures.template import (
    DASHES,
    INK,
    NEUTRAL,
    axis,
    layout,
    message,
    palette,
    quick_figure,
    short_ticks,
    spread_out,
)
from ui.format import known

ORDER: tuple[ViewName, ...] = (
    *("on_prem", "on_prem_best", "cloud", "cloud_best", "cloud_hours", "hybrid", "blended"),
    *("api_cheapest", "api", "api_median"),
)
"""Ways as a chart stacks them: owned, rented, mixed, by the token."""
assert set(ORDER) == set(WAY_NAMES)

_PATTERNS = ("", "/", "\\", "x", "-", "|", "+", ".")


def build_ways(cost: CostAnswer, *, currency: Currency = DOLLARS, dark: bool = False) -> go.Figure:
    """One stacked bar per way, its parts told apart by colour and pattern."""
    ways = sorted((way for way in cost.ways if way.usd_per_month is not None), key=lambda way: ORDER.index(way.name))
    if not ways:
        return message("No price is known for any way.", dark=dark)
    parts = [part for part in PARTS if any(way.parts.get(part) for way in ways)]
    colours = palette(dark=dark)
    data = [
        {
            "type": "bar",
            "orientation": "h",
            "name": PARTS[part].capitalize(),
            "y": [WAY_NAMES[way.name] for way in ways],
            "x": [way.parts.get(part, 0.0) for way in ways],
            "marker": {
                "color": colours[n % len(colours)],
                "pattern": {"shape": _PATTERNS[n // len(colours) % len(_PATTERNS)]},
            },
            "hovertemplate": f"%{{y}}, {PARTS[part]}: {currency.code} %{{x:,.0f}} a month<extra></extra>",
        }
        for n, part in enumerate(parts)
    ]
    most = max(way.usd_per_month or 0.0 for way in ways)
    return quick_figure(
        data=data,
        layout=layout(
            dark=dark,
            barmode="stack",
            legend={"traceorder": "normal"},
            height=150 + 42 * len(ways),
            separators=currency.separators,
            annotations=[_total(way, currency) for way in ways],
            xaxis=axis(f"All costs ({currency.code} a month)", range=[0, most * 1.2], **currency.axis),
            yaxis=axis("", autorange="reversed", type="category", ticksuffix=" "),
        ),
    )


def _total(way: WayToPay, currency: Currency) -> dict[str, Any]:
    """The sum of a bar, behind its end."""
    at = {"x": way.usd_per_month, "y": WAY_NAMES[way.name], "xanchor": "left", "showarrow": False}
    return {**at, "text": f" {currency.written(way.usd_per_month)}"}


def ways_table(cost: CostAnswer, currency: Currency = DOLLARS, *, cents: bool = False) -> pd.DataFrame:
    """One row per way: what it is, what it costs, and why not where it has no cost.

    With ``cents``, for a file, amounts are not rounded further and every part has a column: they add up to their sum.
    """
    ways = sorted(cost.ways, key=lambda way: ORDER.index(way.name))
    return pd.DataFrame([_way(way, currency.code, cents=cents) for way in ways])


def parts_table(cost: CostAnswer, currency: Currency = DOLLARS) -> pd.DataFrame:
    """One row per part with the sum below, one column per way that has a cost."""
    ways = sorted((way for way in cost.ways if way.usd_per_month is not None), key=lambda way: ORDER.index(way.name))
    parts = [part for part in PARTS if any(way.parts.get(part) for way in ways)]
    names = [PARTS[part].capitalize() for part in parts]
    columns = {
        WAY_NAMES[way.name]: [*(known(way.parts.get(part)) for part in parts), known(way.usd_per_month)] for way in ways
    }
    return pd.DataFrame({f"{currency.code} a month": [*names, "All parts"], **columns})


def _way(way: WayToPay, code: str, *, cents: bool) -> dict[str, Any]:
    def amount(usd: float | None) -> float | None:
        return known(usd) if not cents or usd is None else round(usd, 2)

    shown = {
        "Way": WAY_NAMES[way.name],
        f"All costs ({code} a month)": amount(way.usd_per_month),
        "low": amount(way.low),
        "high": amount(way.high),
        f"Hardware and power only ({code} a month)": amount(way.hardware_and_power_usd_per_month),
        "What": _what(way),
        "Utilisation (%)": None if way.utilization is None else round(way.utilization * 100.0, 1),
        "Energy (kWh a month)": known(way.energy_kwh_per_month),
        "Carbon (kg CO2e a month)": known(way.carbon_kg_per_month),
    }
    if not cents:
        return shown
    parts = {f"{PARTS[part].capitalize()} ({code})": round(value, 2) for part, value in way.parts.items()}
    return {**shown, "Systems": known(way.systems), **parts}


def _what(way: WayToPay) -> str:
    """What is paid for, or why the way has no cost."""
    if way.unavailable is not None:
        why = why_unknown(way)
        return why[0].upper() + why[1:]
    return described(way)


def source_name(source: CostSource) -> str:
    """What a price or constant is of, as people call it."""
    return CONSTANTS.get(source.what, source.what)


def sources_table(sources: Sequence[CostSource]) -> pd.DataFrame:
    """One row per price and constant that the cost rests on."""
    return pd.DataFrame(
        [{"What": source_name(one), "Source": one.source, "Date": one.date, "Age": AGES[one.age]} for one in sources]
    )


def units_table(cost: CostAnswer, currency: Currency = DOLLARS) -> pd.DataFrame:
    """The cost per request and per million tokens in every sense."""
    return pd.DataFrame(
        [
            {
                "Counted": name,
                f"{currency.code} per request": known(unit.usd_per_request),
                f"{currency.code} per million input tokens": known(unit.usd_per_million_input_tokens),
                f"{currency.code} per million output tokens": known(unit.usd_per_million_output_tokens),
                f"{currency.code} per million tokens": known(unit.usd_per_million_blended_tokens),
            }
            for name, unit in senses(cost)
        ]
    )


def ways_alt_text(cost: CostAnswer, currency: Currency = DOLLARS) -> str:
    """The bars in one sentence, for those who do not see them."""
    return (
        "All costs a month: "
        + ", ".join(f"{WAY_NAMES[w.name]} {currency.written(w.usd_per_month)}" for w in cost.ways)
        + "."
    )


def build_months(
    months: Mapping[BaseWay, Sequence[float]], *, total: bool, currency: Currency = DOLLARS, dark: bool = False
) -> go.Figure:
    """A line per way over 36 months: each month, or all of them up to then."""
    if not months:
        return message("No price is known for any way.", dark=dark)
    lines = {name: list(np.cumsum(each)) if total else list(each) for name, each in months.items()}
    data = [_line(name, list(range(1, len(values) + 1)), values, currency, dark=dark) for name, values in lines.items()]
    title = f"{currency.code} since the start" if total else f"{currency.code} a month"
    return _over_months(data, title, currency, dark=dark)


def build_payments(investment: Investment, *, currency: Currency = DOLLARS, dark: bool = False) -> go.Figure:
    """A line per way over 36 months: what has been paid since the start, purchases when they are made."""
    data = []
    for way in investment.ways:
        paid = np.cumsum([*way.payments[:-1], way.payments[-1] + way.residual_usd]).tolist()
        data.append(_line(way.name, list(range(len(paid))), paid, currency, dark=dark))
    return _over_months(data, f"Paid since the start ({currency.code})", currency, dark=dark)


def _over_months(data: list[dict[str, Any]], title: str, currency: Currency, *, dark: bool) -> go.Figure:
    """Lines of money over 36 months."""
    return go.Figure(
        data=data,
        layout=layout(
            dark=dark,
            height=420,
            xaxis=axis("Month", dtick=6),
            separators=currency.separators,
            yaxis=axis(title, rangemode="tozero", **currency.axis),
        ),
    )


def payments_table(investment: Investment, currency: Currency = DOLLARS) -> pd.DataFrame:
    """One row per month from today on, a column per way; the last month less what the purchases are still worth."""
    columns = {f"{WAY_NAMES[way.name]} ({currency.code})": np.round(way.payments, 2) for way in investment.ways}
    return pd.DataFrame({"Month": range(investment.months + 1), **columns})


def investment_table(investment: Investment, currency: Currency = DOLLARS) -> pd.DataFrame:
    """One row per way: paid at once and in all, what is left, present cost, and owning beside it."""
    beside = {one.name: one for one in investment.owning_against}
    rows = [
        {
            "Way": WAY_NAMES[way.name],
            f"Paid at once ({currency.code})": known(way.purchase_usd),
            f"Paid in 36 months ({currency.code})": known(way.paid_usd + way.residual_usd),
            f"Residual value ({currency.code})": known(way.residual_usd),
            f"Present cost ({currency.code})": known(way.present_cost_usd),
            f"NPV of owning beside it ({currency.code})": known(beside[way.name].npv_usd)
            if way.name in beside
            else None,
            "Payback of owning (month)": beside[way.name].payback_month if way.name in beside else None,
        }
        for way, one in ((way, beside.get(way.name)) for way in investment.ways)
    ]
    return pd.DataFrame(rows)


def offers_table(cost: CostAnswer, currency: Currency = DOLLARS) -> pd.DataFrame:
    """One row per API that prices the model, the cheapest first."""
    per = f"({currency.code} per million)"
    return pd.DataFrame(
        [
            {
                "Provider": provider_name(one.provider),
                "Model": one.model,
                f"{currency.code} a month": known(one.usd_per_month),
                f"Input {per}": one.input_usd_per_mtok,
                f"Cached input {per}": one.cached_input_usd_per_mtok,
                f"Output {per}": one.output_usd_per_mtok,
                "Source": f"{one.source}, {one.date}",
            }
            for one in cost.api_offers
        ]
    )


def months_table(months: Mapping[BaseWay, Sequence[float]], currency: Currency = DOLLARS) -> pd.DataFrame:
    """One row per month, a column per way; the sums are those of the chart."""
    columns = {f"{WAY_NAMES[name]} ({currency.code})": [round(v, 2) for v in each] for name, each in months.items()}
    count = max((len(each) for each in months.values()), default=0)
    return pd.DataFrame({"Month": range(1, count + 1), **columns})


def _line(name: ViewName, x: Sequence[float], y: Sequence[float], currency: Currency, *, dark: bool) -> dict[str, Any]:
    place = list(WAY_NAMES).index(name)  # the place of a way is that of its colour
    return {
        "type": "scatter",
        "mode": "lines",
        "name": WAY_NAMES[name],
        "x": x,
        "y": y,
        "line": {
            "color": palette(dark=dark)[place % len(palette(dark=dark))],
            "dash": DASHES[place % len(DASHES)],
            "width": 2,
            # whole systems are added at once; tokens are paid for one by one
            "shape": "linear" if name == "api" else "hv",
        },
        "hovertemplate": f"%{{x:,.4~g}}: {currency.code} %{{y:,.0f}}<extra>{WAY_NAMES[name]}</extra>",
    }


def build_over_load(
    curve: OverLoad, cost: CostAnswer, *, currency: Currency = DOLLARS, dark: bool = False
) -> go.Figure:
    """Cost over requests a day; the planned load as a line, the break-even with an API marked."""
    if not curve.usd_per_month:
        return message("No price is known for any way.", dark=dark)
    x = curve.requests_per_day.tolist()
    data = [_line(name, x, values.tolist(), currency, dark=dark) for name, values in curve.usd_per_month.items()]
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
                "hovertemplate": f"%{{x:,.4~g}} requests a day: {currency.code} %{{y:,.0f}}<extra>Break-even</extra>",
            }
        )
    every = [v for values in curve.usd_per_month.values() for v in values.tolist()]
    return go.Figure(
        data=data,
        layout=layout(
            dark=dark,
            height=460,
            shapes=[*_cheaper(curve, cost, dark=dark), _planned(curve, dark=dark)],
            separators=currency.separators,
            xaxis=axis("Requests a day", **short_ticks(x)),
            yaxis=axis(f"{currency.code} a month", **spread_out(every)),
        ),
    )


def _cheaper(curve: OverLoad, cost: CostAnswer, *, dark: bool) -> Iterator[dict[str, Any]]:
    """A band over each range of loads in which the chosen way costs less than the API."""
    first, last = curve.requests_per_day[0], curve.requests_per_day[-1]
    for one in cost.break_even.api_ranges or ():
        yield {
            "type": "rect",
            "x0": one.from_requests_per_day or first,
            "x1": one.to_requests_per_day or last,
            "yref": "paper",
            "y0": 0,
            "y1": 1,
            "line": {"width": 0},
            "fillcolor": palette(dark=dark)[2],
            "opacity": 0.12,
            "layer": "below",
        }


def _planned(curve: OverLoad, *, dark: bool) -> dict[str, Any]:
    """A line at the load of the plan."""
    return {
        "type": "line",
        "x0": curve.planned,
        "x1": curve.planned,
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "line": {"color": NEUTRAL[dark], "dash": "dot"},
        "label": {
            "text": "this plan",
            "textangle": 0,
            "textposition": "end",
            "xanchor": "right",
            "yanchor": "top",
            "font": {"color": INK[dark]},
        },
    }


def over_load_table(curve: OverLoad, currency: Currency = DOLLARS) -> pd.DataFrame:
    """One row per load, a column per way."""
    columns = {
        f"{WAY_NAMES[name]} ({currency.code} a month)": np.round(values, 2)
        for name, values in curve.usd_per_month.items()
    }
    return pd.DataFrame({"Requests a day": [known(v) for v in curve.requests_per_day.tolist()], **columns})
