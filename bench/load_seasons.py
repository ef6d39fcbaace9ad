"""Loads whose truth is known: seasons of day and week with growth, noise, outages and a step, and arrivals as recorded.

``arrivals.csv`` holds requests of each 10 s of three published traces: Azure LLM inference 2023, conversation and code
(CC-BY 4.0, Splitwise, ISCA 2024), and Mooncake's conversations (Apache-2.0, FAST 2025), an hour each.
"""

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from sizing.base.arrays import Floats

DAY, WEEK = 24, 168
"""Hours of a day and of a week."""
WEEKEND = 0.55
"""Load of a weekend over that of a working day."""
STAYS = 0.7
"""Correlation of the level of a day with that of the day before."""
ARRIVALS = Path(__file__).parent / "arrivals.csv"


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What a load is made of: growth a week, noise of an hour and of a day (log), a step, outages, a trace's noise."""

    growth: float = 0.0
    noise: float = 0.1
    day_noise: float = 0.03
    step: float = 1.0
    outages: bool = True
    trace: str = ""


@dataclass(frozen=True, kw_only=True, eq=False)
class HourlyLoad:
    """Hourly loads in requests/s, NaN where unknown, and what was expected of each hour."""

    rps: Floats
    expected: Floats


@cache
def arrivals() -> dict[str, Floats]:
    """Requests per 10 s of each trace."""
    with ARRIVALS.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {row["trace"]: np.array(row["requests_of_each_10_s"].split(), dtype=np.float64) for row in rows}


def made(recipe: Recipe, days: int, seed: int) -> HourlyLoad:
    """Load by the hour over so many days; the step, if any, comes between a quarter and half of them."""
    rng = np.random.default_rng(seed)
    hours = np.arange(days * DAY)
    of_day, of_week = hours % DAY, (hours // DAY) % 7
    shape = np.exp(0.9 * np.cos(2 * np.pi * (of_day - 14) / DAY) + 0.25 * np.cos(4 * np.pi * (of_day - 11) / DAY))
    expected = 20.0 * shape * np.where(of_week >= 5, WEEKEND, 1.0) * np.exp(np.log1p(recipe.growth) * hours / WEEK)
    if recipe.step != 1.0:
        expected[int(len(hours) * rng.uniform(0.25, 0.5)) :] *= recipe.step
    level = np.zeros(days)
    for day in range(1, days):
        level[day] = STAYS * level[day - 1] + rng.normal(0.0, recipe.day_noise)
    noise = _of_trace(recipe.trace, len(hours), rng) if recipe.trace else rng.normal(0.0, recipe.noise, len(hours))
    rps = expected * np.exp(level[hours // DAY] + noise)
    return HourlyLoad(rps=_with_outages(rps, days, rng) if recipe.outages else rps, expected=expected)


def _of_trace(name: str, count: int, rng: np.random.Generator) -> Floats:
    """Logarithms of the trace's counts of a minute over their mean, in pieces of a day's length, one after another."""
    counts = arrivals()[name]
    minutes = counts[: len(counts) // 6 * 6].reshape(-1, 6).mean(axis=1)
    logs = np.log(np.maximum(minutes, 0.5) / minutes.mean())
    starts = rng.integers(0, len(logs) - DAY, size=count // DAY + 1)
    pieces = np.concatenate([logs[start : start + DAY] for start in starts])[:count]
    return np.asarray(pieces - np.median(pieces))


def _with_outages(rps: Floats, days: int, rng: np.random.Generator) -> Floats:
    """One outage in ten days, of 2 to 11 hours: no data, or a part of the load."""
    broken = rps.copy()
    for _ in range(rng.poisson(days / 10.0)):
        start, length = rng.integers(0, len(rps)), rng.integers(2, 12)
        rest = np.nan if rng.random() < 0.5 else rng.uniform(0.0, 0.4)
        broken[start : start + length] *= rest
    return broken
