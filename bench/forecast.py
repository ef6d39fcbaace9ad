"""Whether forecasts hold what they say: share of what came within 80 % intervals, error beside seasonal naive, date."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from bench.load_seasons import DAY, HourlyLoad, Recipe, arrivals, made
from bench.table import Row
from reality.forecast.backtest import MODELS, backtest
from reality.forecast.models import Season, season_of
from sizing.base.arrays import Floats
from sizing.base.units import S_PER_HOUR

NAME = "forecasts of load: what 80 % intervals hold, error beside seasonal naive"
REPEATS = 24
"""Loads of each kind."""
KINDS: Mapping[str, tuple[Recipe, int, int]] = {
    "28 days, no growth": (Recipe(), 28, 28),
    "28 days, 3 % a week": (Recipe(growth=0.03), 28, 28),
    "28 days, 3 % a week, 84 days ahead": (Recipe(growth=0.03), 28, 84),
    "28 days, noisy days": (Recipe(growth=0.02, day_noise=0.06), 28, 28),
    "56 days, 3 % a week": (Recipe(growth=0.03), 56, 56),
    "56 days, a step of 1.5": (Recipe(growth=0.02, step=1.5), 56, 56),
    "90 days, 2 % a week, 120 days ahead": (Recipe(growth=0.02), 90, 120),
    "56 days, noise of Azure conversations": (Recipe(growth=0.02, trace="azure2023_conv"), 56, 56),
    "56 days, noise of Azure code": (Recipe(growth=0.02, trace="azure2023_code"), 56, 56),
    "56 days, noise of Mooncake": (Recipe(growth=0.02, trace="mooncake_conversation"), 56, 56),
}
"""Loads with a season: what they are made of, days known, days ahead."""
MINUTE = Season(day=6, lag=1, period=1, waves=())
"""Of a trace in steps of 10 s: nothing repeats within its hour; what a day is to a season, a minute is to it."""
TRACE_AHEAD = 60
"""Steps ahead: ten minutes."""
TRACE_ORIGINS = (0.5, 0.6, 0.7, 0.8)
"""Shares of a trace that are known."""


@dataclass(frozen=True, kw_only=True)
class ForecastScore:
    """One forecast held against what came; ``dated``: whether the interval of the date held, None without a date."""

    held: float
    error: float
    error_naive: float
    method: str
    dated: bool | None = None


def foreseen(known: Floats, came: Floats, season: Season, expected: Floats | None = None) -> ForecastScore:
    """The better model's forecast of what came; ``expected`` (H,) is the truth behind it, from which the date comes."""
    tried = backtest(known, season)
    score = tried.scores[tried.better]
    projection = MODELS[tried.better](known, len(came), season)
    logs = np.log(came + projection.shift) - projection.centre
    naive = MODELS["seasonal_naive"](known, len(came), season)
    seen = np.isfinite(logs)
    slow = score.slow_factor * projection.slow
    dated = None
    if expected is not None:
        dated = _dated(expected, projection.rps(projection.centre + slow), projection.rps(projection.centre - slow))
    return ForecastScore(
        held=float(np.mean(np.abs(logs[seen]) <= score.factor * projection.spread[seen])),
        error=float(np.nanmean(np.abs(projection.rps(projection.centre) - came))),
        error_naive=float(np.nanmean(np.abs(naive.rps(naive.centre) - came))),
        method=tried.better,
        dated=dated,
    )


def _dated(expected: Floats, most: Floats, least: Floats) -> bool | None:
    """Whether the day on which the expected load first reaches its largest of two thirds ahead lies in the interval."""
    until = len(expected) * 2 // 3
    limit = float(expected[:until].max())
    reached = int(np.argmax(expected >= limit))
    if reached < len(expected) // 4:  # no growth that would ever reach a limit later
        return None
    early, late = np.flatnonzero(most >= limit), np.flatnonzero(least >= limit)
    low = int(early[0]) if len(early) else len(expected)
    high = int(late[0]) if len(late) else len(expected)
    return low // DAY <= reached // DAY <= high // DAY


def of_kind(recipe: Recipe, days: int, ahead: int, seeds: range) -> Iterator[ForecastScore]:
    """Forecasts of loads that are made alike."""
    for seed in seeds:
        load: HourlyLoad = made(recipe, days + ahead, seed)
        now = days * DAY
        yield foreseen(load.rps[:now], load.rps[now:], season_of(S_PER_HOUR, days), load.expected[now:])


def of_trace(name: str) -> Iterator[ForecastScore]:
    """Forecasts of ten minutes of a recorded trace from several moments."""
    counts = arrivals()[name]
    for share in TRACE_ORIGINS:
        now = int(len(counts) * share)
        yield foreseen(counts[:now], counts[now : now + TRACE_AHEAD], MINUTE)


def rows_of(what: str, outcomes: list[ForecastScore]) -> list[Row]:
    """Shares in percent, and the error over that of seasonal naive."""
    rows = [
        Row(what=f"{what}: within 80 %", unit="%", samples=(100.0 * _mean([one.held for one in outcomes]),)),
        Row(
            what=f"{what}: error / seasonal naive",
            unit="",
            samples=(_mean([one.error for one in outcomes]) / _mean([one.error_naive for one in outcomes]),),
            limit=1.0,
        ),
        Row(
            what=f"{what}: regression used",
            unit="%",
            samples=(100.0 * _mean([one.method == "fourier_regression" for one in outcomes]),),
        ),
    ]
    dated = [one.dated for one in outcomes if one.dated is not None]
    if len(dated) > len(outcomes) // 2:
        rows.append(Row(what=f"{what}: date within 80 %", unit="%", samples=(100.0 * _mean(dated),)))
    return rows


def _mean(values: list[float] | list[bool]) -> float:
    return float(np.mean(values)) if values else math.nan


def run() -> list[Row]:
    """Every kind of load, every trace, and all together."""
    rows, every = [], []
    for what, (recipe, days, ahead) in KINDS.items():
        outcomes = list(of_kind(recipe, days, ahead, range(REPEATS)))
        rows += rows_of(what, outcomes)
        every += outcomes
    for name in arrivals():
        outcomes = list(of_trace(name))
        rows += rows_of(f"{name}, 10 minutes of 10 s", outcomes)
        every += outcomes
    return rows + rows_of("all", every)
