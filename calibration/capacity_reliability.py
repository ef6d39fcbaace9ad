"""Whether capacity holds as often as it is said to: what was called 90 % on runs at their limits, and how many held.

The capacity of a run at a confidence is what a plan would count on: that of its step times at the confidence, moved by
the exponent of :mod:`calibration.capacity_intervals`. Step times are of a fit that saw neither the source of the run
nor its configuration, and the exponent comes from runs of other configurations alone; judged once more with exponents
of other sources only, of which there are but two large ones.
"""

import math
from typing import Any

import numpy as np
import pandas as pd

from calibration.capacity_intervals import Exponents, configurations, exponents, unseen_runs
from sizing.base.arrays import Floats
from sizing.base.units import TWO_SIDED_95

CALLED: dict[int, tuple[str, str] | None] = {
    50: None,
    80: ("slow_80_rps", "at_80"),
    90: ("slow_rps", "high_factor"),
    95: ("slow_95_rps", "at_95"),
}
"""Confidence in per cent, the rate with step times at it, and the exponent that moves it; 50 % is the plan itself."""

Records = list[dict[str, Any]]


def reliability_at_limits(runs: pd.DataFrame) -> Records:
    """By confidence: runs, how many held, the share with its 95 % interval (Wilson 1927, runs as if independent), the
    share with configurations weighing alike, and that with exponents of other sources, too, alone."""
    known = unseen_runs(runs)
    known = known[known["planned_rps"] > 0.0]
    names = configurations(known)
    counted_on, strictly = (
        {called: pd.Series(0.0, index=known.index) for called in CALLED} for _ in ("configurations", "sources")
    )
    for (name, source), part in known.groupby([names, known["source"]]):
        others = known[names != name]
        by_others, by_sources = exponents(others), exponents(others[others["source"] != source])
        for called in CALLED:
            counted_on[called].loc[part.index] = capacity_at(part, called, by_others)
            strictly[called].loc[part.index] = capacity_at(part, called, by_sources)
    measured = known["measured_rps"]
    return [_record(c, measured >= counted_on[c], measured >= strictly[c], names) for c in CALLED]


def capacity_at(runs: pd.DataFrame, called: int, by_end: Exponents) -> Floats:
    """What a plan counts on at a confidence, in requests/s."""
    planned, how = runs["planned_rps"].to_numpy(), CALLED[called]
    if how is None:
        return np.asarray(planned)
    rate, exponent = how
    return np.asarray(planned * (runs[rate].to_numpy() / planned) ** by_end[exponent])


def _record(called: int, held: pd.Series, strictly: pd.Series, names: pd.Series) -> dict[str, Any]:
    low, high = wilson(int(held.sum()), len(held))
    return {
        "called_pct": called,
        "rows": len(held),
        "held": int(held.sum()),
        "held_pct": round(100.0 * float(held.mean()), 1),
        "held_low_pct": round(100.0 * low, 1),
        "held_high_pct": round(100.0 * high, 1),
        "held_by_configuration_pct": round(100.0 * float(held.groupby(names).mean().mean()), 1),
        "held_other_sources_pct": round(100.0 * float(strictly.mean()), 1),
    }


def wilson(hits: int, number: int) -> tuple[float, float]:
    """The 95 % interval of a share: (p + z^2 / 2n -+ z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n)."""
    share, square = hits / number, TWO_SIDED_95**2
    middle = share + square / (2 * number)
    half = TWO_SIDED_95 * math.sqrt(share * (1 - share) / number + square / (4 * number**2))
    return (middle - half) / (1 + square / number), (middle + half) / (1 + square / number)
