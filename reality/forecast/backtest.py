"""What each model would have said before: forecasts from earlier moments, held against what came.

Errors are taken relative to what the model said of its own error at that distance, so that those near and far, from a
short and a long history, can be counted together (normalised conformal prediction: Papadopoulos et al. 2011). The
share of 80 % of them is the factor by which the model's own spread is widened.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reality.forecast.models import (
    DAYS_PER_WEEK,
    FOR_A_WEEK_DAYS,
    Model,
    Projection,
    Season,
    fourier_regression,
    seasonal_naive,
)
from sizing.base.arrays import Floats
from sizing.base.units import TWO_SIDED_80

MODELS: Mapping[str, Model] = {"fourier_regression": fourier_regression, "seasonal_naive": seasonal_naive}
"""The models by their name in an answer; of two that are equally good the first."""
SHARE = 0.8
"""The share of what comes that an interval is to hold."""
SLOW_SHARE = 0.87
"""The same of what is expected, counted over levels of neighbouring days and origins, which go together: so few of them
are independent that 80 % of what was seen held 70 % of what came (python -m bench forecast)."""
ORIGINS = 12
"""Earlier moments, at most. Chosen: a backtest of a year then takes a second or two."""
FIRST_SHARE = 0.55
"""Share of the history that the first of them knows."""
LAST_DAYS = 2
"""Days that the last of them has to foresee."""
LEAST_KNOWN = 6
"""Known steps of a day, of 24, from which its error counts."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Scored:
    """The backtest of one model.

    ``error`` is the mean absolute error over the mean load; ``factor`` widens the spread of single steps to 80 %,
    ``slow_factor`` that of what is expected; ``coverage`` is the share that intervals held which knew nothing of the
    origin they were tried on.
    """

    error: float
    factor: float
    slow_factor: float
    coverage: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Backtest:
    """Every model by its name, over ``origins`` earlier moments up to ``days_ahead`` days ahead."""

    scores: Mapping[str, Scored]
    origins: int
    days_ahead: float

    @property
    def better(self) -> str:
        """The model with the smaller error."""
        return min(self.scores, key=lambda name: self.scores[name].error)


def backtest(rps: Floats, season: Season, models: Mapping[str, Model] = MODELS) -> Backtest:
    """All models from the same earlier moments. Raises ValueError where the history is too short for any."""
    places = origins_of(len(rps), season)
    if not len(places):
        raise ValueError("the history is too short to try a forecast on")
    return Backtest(
        scores={name: _scored(rps, season, model, places) for name, model in models.items()},
        origins=len(places),
        days_ahead=(len(rps) - places[0]) / season.day,
    )


def origins_of(count: int, season: Season) -> list[int]:
    """The steps at which forecasts are made, whole days apart, the earliest first."""
    days = count // season.day
    seasonal = season.period > season.day
    least = 2 * DAYS_PER_WEEK if seasonal and days >= FOR_A_WEEK_DAYS else DAYS_PER_WEEK + 1
    first, last = max(least, math.ceil(FIRST_SHARE * days)), days - LAST_DAYS
    if last < first:
        return []
    spaced = np.unique(np.linspace(first, last, min(ORIGINS, last - first + 1)).astype(int))
    return [int(day) * season.day + count % season.day for day in spaced]


def _scored(rps: Floats, season: Season, model: Model, places: Sequence[int]) -> Scored:
    single, slow, missed, loads = [], [], [], []
    for place in places:
        projection, came = model(rps[:place], len(rps) - place, season), rps[place:]
        errors = np.log(came + projection.shift) - projection.centre
        single.append(np.abs(errors) / projection.spread)
        slow.append(_slow_scores(errors, projection, season))
        missed.append(np.abs(projection.rps(projection.centre) - came))
        loads.append(came)
    held = [_held(single, left_out) for left_out in range(len(single))]
    return Scored(
        error=float(np.nanmean(np.concatenate(missed)) / max(np.nanmean(np.concatenate(loads)), 1e-12)),
        factor=share_below(single),
        slow_factor=max(share_below(slow, SLOW_SHARE), TWO_SIDED_80),
        coverage=float(np.nanmean(held)) if len(held) > 1 else math.nan,
    )


def _slow_scores(errors: Floats, projection: Projection, season: Season) -> Floats:
    """Errors of the level, the median of the last seven days, over their spread; that holds the noise of these days."""
    days = len(errors) // season.day
    by_day = errors[: days * season.day].reshape(days, season.day)
    known = np.isfinite(by_day).sum(axis=1) * 24 >= LEAST_KNOWN * season.day
    level = np.full(days, np.nan)
    level[known] = np.nanmedian(by_day[known], axis=1)
    scores = np.full(days, np.nan)
    for day in range(days):
        last = level[max(0, day - DAYS_PER_WEEK + 1) : day + 1]
        last = last[np.isfinite(last)]
        if len(last):
            noise = projection.day_noise / math.sqrt(len(last))
            at_end = projection.slow[(day + 1) * season.day - 1]
            scores[day] = abs(float(np.median(last))) / math.hypot(float(at_end), noise)
    return scores


def share_below(scores: Sequence[Floats], share: float = SHARE) -> float:
    """The score that ``share`` of all do not exceed; each origin counts as much as its known steps' square root, as
    those of one origin go together. NaN where there is none."""
    known = [one[np.isfinite(one)] for one in scores]
    known = [one for one in known if len(one)]
    if not known:
        return math.nan
    values = np.concatenate(known)
    weights = np.concatenate([np.full(len(one), 1.0 / math.sqrt(len(one))) for one in known])
    order = np.argsort(values)
    total = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(total, share * total[-1])])


def _held(scores: Sequence[Floats], left_out: int) -> float:
    """The share of one origin's steps within an interval that the others gave."""
    factor = share_below([one for i, one in enumerate(scores) if i != left_out])
    own = scores[left_out][np.isfinite(scores[left_out])]
    return float(np.mean(own <= factor)) if len(own) else math.nan
