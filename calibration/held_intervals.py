"""The intervals that ship, from all held-out errors, and whether they hold: every group is judged by quantiles, and by
widths of what is unlike anything measured, that it had no part in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from calibration.conformal import (
    LEVELS,
    SHIPPED_LEVELS,
    ByMetric,
    Strata,
    answers,
    apart_from,
    calibrating,
    difficulties,
    ends_of,
    like_measured,
    stratum_quantiles,
    tails,
    with_scores,
)
from calibration.crossvalidate import EXTRAPOLATED, LATER, SCHEMES, group_of
from calibration.extrapolations import LEFT_OUT, learnt, scored, wider, wider_without
from sizing.evidence.extrapolation import Extrapolation


@dataclass(frozen=True, kw_only=True)
class IntervalCalibration:
    """What ships: difficulties by metric; measurements, configurations and the ends of levels by stratum; how much
    wider it is where something is unlike what was measured."""

    hard: ByMetric
    strata: Strata
    extrapolations: Mapping[str, Extrapolation]


@dataclass(frozen=True, kw_only=True)
class KnownErrors:
    """What intervals are calibrated on: ``rows`` like what was measured, with their scores; ``left_out``: how far
    everything lies that was left out."""

    hard: ByMetric
    rows: pd.DataFrame
    left_out: pd.DataFrame


def known_from(errors: pd.DataFrame) -> KnownErrors:
    """All held-out errors that intervals are calibrated on."""
    rows = like_measured(calibrating(answers(errors)))
    hard = difficulties(rows)
    rows = with_scores(rows, hard)
    return KnownErrors(
        hard=hard, rows=rows, left_out=scored(errors, hard, stratum_quantiles(rows, tails(SHIPPED_LEVELS)))
    )


def calibration(errors: pd.DataFrame) -> IntervalCalibration:
    """Calibrate the intervals on all held-out errors."""
    known = known_from(errors)
    strata = stratum_quantiles(known.rows, tails(SHIPPED_LEVELS))
    return IntervalCalibration(hard=known.hard, strata=strata, extrapolations=learnt(known.left_out))


def checked(
    errors: pd.DataFrame,
    levels: Sequence[int] = LEVELS,
    form: str | None = None,
    schemes: Sequence[str] = (*SCHEMES[1:], LATER, *EXTRAPOLATED),
) -> pd.DataFrame:
    """Every published held-out answer with the ends (log measured / predicted) of its intervals, from quantiles that
    neither its group nor any of its configurations had a part in: columns ``low_80``, ``high_80``, ..."""
    known, rows = known_from(errors), answers(errors)
    every = wider(learnt(known.left_out))
    parts = []
    for scheme in schemes:
        mine = rows[(rows["scheme"] == scheme) & ~rows["derived"]]
        for _, part in mine.groupby(group_of(mine, scheme)):
            factors = wider_without(known.left_out, part, scheme) if learns(scheme) else every
            strata = stratum_quantiles(apart_from(known.rows, part, scheme), tails(levels), form)
            parts.append(ends_of(with_scores(part, known.hard, factors), strata, levels))
    return pd.concat(parts)


def learns(scheme: str) -> bool:
    """Whether a scheme's own errors say how wide what is left out is to be."""
    return scheme in {of_scheme for of_scheme, _ in LEFT_OUT.values()}


def inside(rows: pd.DataFrame, level: int) -> pd.Series:
    """Whether each measurement lies in its interval."""
    off = -rows["error"]
    return pd.Series((off >= rows[f"low_{level}"]) & (off <= rows[f"high_{level}"]))


def width(rows: pd.DataFrame, level: int) -> pd.Series:
    """Full width of each interval relative to the prediction."""
    return pd.Series(np.exp(rows[f"high_{level}"]) - np.exp(rows[f"low_{level}"]))
