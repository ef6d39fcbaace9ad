"""The load before and to come: the busiest hour of each day, its 80 % interval, and what the limits carry."""

from datetime import UTC, datetime

import pandas as pd
import plotly.graph_objects as go

from reality.forecast.result import Forecast
from sizing.base.format import requests_per_s, rounded, significant
from sizing.base.units import S_PER_DAY
from ui.figures.live_lines import Band, ChartLine, Level, LiveChart, build_lines

_DAYS = "%d %b\n%Y"
"""How the axis writes a day: the year below."""


def build_forecast(forecast: Forecast, *, dark: bool = False) -> go.Figure:
    """History, forecast with its band, the capacity across, and the day on which it is reached."""
    figure = build_lines(_chart(forecast), dark=dark)
    figure.update_layout(hovermode="x unified", xaxis={"tickformat": _DAYS, "hoverformat": "%Y-%m-%d"})
    return figure


def _chart(forecast: Forecast) -> LiveChart:
    past, ahead = forecast.past_days, forecast.days
    times = [*(_seconds(one.at) for one in past), *(_seconds(one.at) for one in ahead)]
    before, after = [float("nan")] * len(past), [float("nan")] * len(ahead)
    lines = [ChartLine(name="Busiest hour of a day", values=[one.rps for one in past] + after)]
    if ahead:
        lines.append(ChartLine(name="Forecast", values=before + [one.value for one in ahead], dash=1, colour=1))
    low, high = [one.low for one in ahead], [one.high for one in ahead]
    reached = forecast.reaches_limit_at
    if forecast.capacity is not None and reached is not None and reached.value is not None:
        at = _seconds(reached.value)
        marked = [forecast.capacity.rps if at <= t < at + S_PER_DAY else float("nan") for t in _days(times)]
        lines.append(ChartLine(name=f"Reached {reached.value[:10]}", values=marked, colour=4, marks=True))
    return LiveChart(
        unit="requests/s",
        quantity="Load",
        times_s=times,
        lines=tuple(lines),
        span_s=(times[0], times[-1]) if times else (0.0, 0.0),
        levels=_levels(forecast),
        band=Band(name="80 % interval", low=before + low, high=before + high, colour=1) if ahead else None,
        nothing="No history of arrivals.",
    )


def _days(times: list[float]) -> list[float]:
    """Ends of the days on which these moments lie: the first at or after a moment is the day it lies on."""
    return [t // S_PER_DAY * S_PER_DAY + S_PER_DAY - 1.0 for t in times]


def _levels(forecast: Forecast) -> tuple[Level, ...]:
    carried = forecast.capacity
    if carried is None:
        return ()
    return (Level(name=f"Within the limits {significant(carried.rps)}", value=carried.rps, limit=True),)


def forecast_table(forecast: Forecast) -> pd.DataFrame:
    """One row a day to come."""
    return pd.DataFrame(
        {
            "Day (UTC)": [one.at[:10] for one in forecast.days],
            "Busiest hour (requests/s)": [rounded(one.value) for one in forecast.days],
            "80 %, from": [rounded(one.low) for one in forecast.days],
            "80 %, to": [rounded(one.high) for one in forecast.days],
        }
    )


def forecast_alt_text(forecast: Forecast) -> str:
    """The figure in one sentence, for those who do not see it."""
    reached, carried = forecast.reaches_limit_at, forecast.capacity
    limit = f" The limits carry {requests_per_s(carried.rps)}." if carried else ""
    when = f" Reached on {reached.value[:10]}." if reached is not None and reached.value else ""
    return (
        f"Busiest hour of each day over {len(forecast.past_days)} days, and as foreseen over {len(forecast.days)}."
        f"{limit}{when}"
    )


def _seconds(at: str) -> float:
    return datetime.fromisoformat(at).astimezone(UTC).timestamp()
