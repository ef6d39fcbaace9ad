"""Two ways to go on from a history: a robust Fourier regression with growth, and the same hour a week ago.

Both work on log(load + shift), so that no load is negative and seasons and growth are factors. Each says by itself how
far it may be off (``noise`` of a single step, ``slow`` of a stretch of days); the backtest then says by how much to
widen that (:mod:`reality.forecast.backtest`).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sizing.base.arrays import Floats
from sizing.base.units import S_PER_DAY

DAYS_PER_WEEK = 7
DAY_WAVES = 4
"""Waves of a day: the shortest is six hours long. Chosen: a morning, a noon, an evening and a night."""
WEEK_WAVES = 4
"""Waves of a week beside those of a day: they tell a weekend from working days."""
SIDES = (-2, -1, 0, 1, 2)
"""Waves beside each of a day that let it differ between the days of a week. Chosen: with one on each side a weekend is
off by twice as much (loads of bench/load_seasons.py); three gain nothing."""
FOR_A_WEEK_DAYS = 21
"""Days of history from which a week is described by waves: three of each day of it, so that a backtest sees two."""
LEAST_BEHIND = 2
"""Steps of a wave at least (Nyquist): a shorter one cannot be seen."""

SHIFT = 0.05
"""Added to the load before the logarithm, as a share of its median: an hour without requests is then low, not -inf."""
HUBER = 1.345
"""Residuals beyond so many standard deviations count less (Huber 1964): 95 % as efficient as least squares."""
TO_SIGMA = 1.4826
"""Standard deviation of a normal distribution over its median absolute deviation."""
ROUNDS = 8
"""Rounds of reweighting. Chosen: the weights change by less than a percent after five."""
RIDGE = 0.3
"""Penalty on the waves, in observations: keeps a wave that a short history hardly shows from growing."""
RECENT_DAYS = 2
"""Days at the end whose residual says where the load stands now."""
RECENT_SHARE = 0.5
"""Share of that residual that is carried on, and fades as fast as it was gathered."""
SURE_STEP, LEAST_STEP = 25.0, 0.12
"""F statistic and size (log) from which a change of level is a step. Chosen: of a month of noise without a step, the
largest F of all days stays below 25 in 99 of 100, and an eighth is less than noise of a day moves."""
STEP_EDGE_DAYS = 3
"""Days on either side of a step: fewer are an outage or a peak."""
LEAST_DAYS = 10
"""Days from which a step is looked for."""
TRIM = 3.0
"""Standard deviations at which the residual of a day is cut when steps are looked for: outages are no steps."""
MOST_REPEATED = 0.9
"""Correlation of neighbouring days, at most: beyond, a history says nothing of its own length."""
TINY = 1e-6
"""Standard deviation at least (log): a load that repeats exactly has none."""
UNKNOWN_SPREAD = 0.3
"""Standard deviation (log) of a load of which no two alike hours are known. Chosen: wide."""

Days = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Season:
    """``day`` is the number of steps of a day, ``lag`` how many steps ago the load was alike; ``waves`` are whole
    numbers of waves in ``period`` steps, none where nothing repeats."""

    day: int
    lag: int
    period: int
    waves: tuple[int, ...]

    def design(self, steps: Floats) -> Floats:
        """Cosine and sine of each wave at ``steps`` (N,), as columns (N, 2 x waves)."""
        angles = 2.0 * np.pi * np.outer(steps, self.waves) / self.period
        return np.hstack([np.cos(angles), np.sin(angles)])


def season_of(step_s: float, days: float) -> Season:
    """The season that a history of so many days can show: day and week, or the day alone."""
    day = round(S_PER_DAY / step_s)
    week = DAYS_PER_WEEK * day
    if days < FOR_A_WEEK_DAYS:
        return Season(day=day, lag=week, period=day, waves=_seen(range(1, DAY_WAVES + 1), day))
    beside = (DAYS_PER_WEEK * k + side for k in range(1, DAY_WAVES + 1) for side in SIDES)
    return Season(day=day, lag=week, period=week, waves=_seen([*range(1, WEEK_WAVES + 1), *beside], week))


def _seen(waves: range | list[int], period: int) -> tuple[int, ...]:
    return tuple(wave for wave in waves if LEAST_BEHIND * wave < period)


@dataclass(frozen=True, kw_only=True, eq=False)
class Projection:
    """Log loads of the coming steps (H,), with the own estimate of their errors (standard deviations, log).

    ``noise`` is that of a step beside what is expected of it, ``slow`` (H,) that of what is expected, ``day_noise`` of
    the level of a day. ``growth`` is the growth of a week (log) with its standard deviation; ``stepped``: the history
    has a change of level that is not counted as growth.
    """

    centre: Floats
    noise: float
    slow: Floats
    day_noise: float
    shift: float
    growth: float = 0.0
    growth_spread: float = 0.0
    stepped: bool = False

    @property
    def spread(self) -> Floats:
        """Standard deviation of single steps (H,), log."""
        return np.hypot(self.noise, self.slow)

    def rps(self, logs: Floats) -> Floats:
        """Loads of logarithms; never negative."""
        return np.maximum(np.exp(logs) - self.shift, 0.0)


Model = Callable[[Floats, int, Season], Projection]
"""A model of the load: from loads (N,), NaN where unknown, the number of steps ahead and the season to a projection."""


def shift_of(rps: Floats) -> float:
    """What is added before the logarithm."""
    busy = rps[rps > 0]
    return SHIFT * float(np.median(busy)) if len(busy) else 1.0


def fourier_regression(rps: Floats, ahead: int, season: Season) -> Projection:
    """log(load + shift) = level + growth x t + waves of day and week + step, by Huber's regression.

    Growth is shrunk by t^2 / (1 + t^2) of its own t statistic, so that a slope that may be noise is hardly carried on.
    """
    known = np.isfinite(rps)
    shift, steps = shift_of(rps[known]), np.flatnonzero(known).astype(np.float64)
    logs, count = np.log(rps[known] + shift), len(rps)
    waves = season.design(steps)
    fit = _fit(logs, steps, count, waves, season, cut=None)
    days, level = _levels(logs - waves @ fit.waves, steps, season)
    cut = _step(days.astype(np.float64), level)
    if cut is not None:
        fit = _fit(logs, steps, count, waves, season, cut=cut)
    weeks = np.arange(ahead) / season.lag
    growth, growth_spread, level_spread, centre_weeks, day_noise = _growth(fit, steps, count, season)
    at_end = fit.level + (fit.growth - growth) * centre_weeks
    recent = fit.residuals[steps >= count - RECENT_DAYS * season.day]
    now = RECENT_SHARE * float(np.median(recent)) if len(recent) >= season.day / 2 else 0.0
    fading = np.exp(-np.arange(1, ahead + 1) / (RECENT_DAYS * season.day))
    future = season.design(count + np.arange(ahead, dtype=np.float64))
    return Projection(
        centre=at_end + growth * weeks + future @ fit.waves + now * fading,
        noise=fit.noise,
        slow=np.hypot(level_spread, growth_spread * (weeks - centre_weeks)),
        day_noise=day_noise,
        shift=shift,
        growth=growth,
        growth_spread=growth_spread,
        stepped=cut is not None,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Fit:
    """Coefficients at the end of the history (growth a week), residuals (N,), robust spread, the day of a step."""

    level: float
    growth: float
    waves: Floats
    residuals: Floats
    noise: float
    cut: float | None


def _fit(logs: Floats, steps: Floats, count: int, waves: Floats, season: Season, *, cut: float | None) -> _Fit:
    """Iteratively reweighted least squares; the waves alone are penalised."""
    before = [] if cut is None else [(steps < cut * season.day).astype(np.float64)]
    columns = np.column_stack([np.ones(len(steps)), (steps - count) / season.lag, *before, waves])
    plain = columns.shape[1] - waves.shape[1]
    penalty = np.diag(np.r_[np.full(plain, TINY), np.full(waves.shape[1], RIDGE)])
    weights = np.ones(len(steps))
    for _ in range(ROUNDS):
        weighted = columns * weights[:, None]
        solution = np.linalg.solve(weighted.T @ columns + penalty, weighted.T @ logs)
        residuals = logs - columns @ solution
        noise = max(TO_SIGMA * float(np.median(np.abs(residuals))), TINY)
        weights = np.minimum(1.0, HUBER * noise / np.maximum(np.abs(residuals), TINY))
    return _Fit(
        level=float(solution[0]),
        growth=float(solution[1]),
        waves=solution[plain:],
        residuals=residuals,
        noise=noise,
        cut=cut,
    )


def _levels(values: Floats, steps: Floats, season: Season) -> tuple[Days, Floats]:
    """Days with a quarter of their steps known at least, and the median of ``values`` on each."""
    day = (steps // season.day).astype(np.int64)
    days, counts = np.unique(day, return_counts=True)
    days = days[counts >= max(1, season.day // 4)]
    return days, np.array([np.median(values[day == one]) for one in days])


def _step(days: Floats, level: Floats) -> float | None:
    """The day from which the level is another, beside a steady growth; None where no change is sure."""
    if len(days) < LEAST_DAYS:
        return None

    def misfit(*columns: Floats) -> tuple[float, Floats]:
        design = np.column_stack([np.ones(len(days)), days, *columns])
        at: Floats = np.linalg.lstsq(design, level)[0].astype(np.float64)
        residuals = level - design @ at
        scale = max(TO_SIGMA * float(np.median(np.abs(residuals))), TINY)
        return float(np.sum(np.minimum(np.abs(residuals), TRIM * scale) ** 2)), at

    tried = [(*misfit((days < one).astype(np.float64)), one) for one in days[1:]]
    least, at, cut = min(tried, key=lambda one: one[0])
    if cut not in days[STEP_EDGE_DAYS:-STEP_EDGE_DAYS]:  # a holiday at the end is not the begin of another level
        return None
    without, _ = misfit()
    statistic = (without - least) / max(least / (len(days) - 3), TINY**2)
    return float(cut) if statistic > SURE_STEP and abs(at[2]) > LEAST_STEP else None


def _growth(fit: _Fit, steps: Floats, count: int, season: Season) -> tuple[float, float, float, float, float]:
    """Growth a week, shrunk, with its standard deviation; that of the level; its middle (weeks); noise of a day.

    Days are the independent units, as far as their correlation with the day before leaves them independent.
    """
    days, residual = _levels(fit.residuals, steps, season)
    spread = max(TO_SIGMA * float(np.median(np.abs(residual - np.median(residual)))), TINY)
    pairs = np.std(residual[:-1]) > 0 and np.std(residual[1:]) > 0 if len(residual) > DAYS_PER_WEEK else False
    repeated = float(np.corrcoef(residual[:-1], residual[1:])[0, 1]) if pairs else 0.0
    repeated += (1.0 + 4.0 * repeated) / max(len(residual), 1)  # what a short series hides (Kendall 1954)
    repeated = min(max(repeated, 0.0), MOST_REPEATED)
    correlated = (1.0 + repeated) / (1.0 - repeated)
    before = days < (fit.cut if fit.cut is not None else -1.0)
    centred = days.astype(np.float64)
    for part in (before, ~before):
        if part.any():
            centred[part] -= centred[part].mean()
    lever = max(float(np.sum(centred**2)), TINY)
    growth_spread = spread * np.sqrt(correlated / lever) * season.lag / season.day
    level_spread = spread * np.sqrt(correlated / max(int((~before).sum()), 1))
    middle = float(((days[~before].mean() + 0.5) * season.day - count) / season.lag) if (~before).any() else 0.0
    squared = (fit.growth / growth_spread) ** 2
    shrunk = fit.growth * squared / (1.0 + squared)
    return shrunk, float(growth_spread), float(level_spread), middle, float(spread * np.sqrt(correlated))


def seasonal_naive(rps: Floats, ahead: int, season: Season) -> Projection:
    """The load one ``lag`` ago, or the newest known one of that place in the season; its error grows as
    sqrt(seasons ahead) (Hyndman and Athanasopoulos, Forecasting: Principles and Practice, 5.5), and by the change from
    season to season that it leaves out."""
    known = np.isfinite(rps)
    shift = shift_of(rps[known])
    logs, count, lag = np.log(rps + shift), len(rps), season.lag
    newest = np.full(lag, np.nan)
    for start in range(count % lag, count + 1, lag):
        part = logs[max(start - lag, 0) : start]
        at = newest[lag - len(part) :]
        at[np.isfinite(part)] = part[np.isfinite(part)]
    newest = np.where(np.isfinite(newest), newest, np.nanmedian(logs))
    change = logs[lag:] - logs[:-lag]
    of_days = _daily(change, season)
    change = change[np.isfinite(change)]
    spread = TO_SIGMA * float(np.median(np.abs(change - np.median(change)))) if len(change) else UNKNOWN_SPREAD
    day_noise = float(np.sqrt(np.mean(of_days**2))) if len(of_days) else UNKNOWN_SPREAD
    seasons = np.arange(ahead) // lag + 1.0
    drift = abs(float(np.median(of_days))) if len(of_days) else 0.0
    return Projection(
        centre=np.resize(newest, ahead),
        noise=max(spread, TINY),
        slow=np.hypot(max(day_noise, TINY) * np.sqrt(seasons), drift * seasons),
        day_noise=0.0,
        shift=shift,
    )


def _daily(change: Floats, season: Season) -> Floats:
    """Median of each whole day of ``change`` of which half is known."""
    days = [change[start : start + season.day] for start in range(0, len(change) - season.day + 1, season.day)]
    return np.array([np.nanmedian(day) for day in days if np.isfinite(day).mean() >= 0.5])
