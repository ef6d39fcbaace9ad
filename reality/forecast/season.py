"""What repeats in a load: how many steps a day and a week have, and which waves describe them."""

from dataclasses import dataclass

import numpy as np

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
