"""Intervals of open loops: their latencies with the step times at both ends of theirs, and whether they hold.

The ends of step times are those of closed loops and static batches, from quantiles that neither the group nor any of
its configurations had a part in, as in :mod:`calibration.conformal`; what they do to an open loop is simulated with
the fit that had not seen the group, as the product does (:mod:`sizing.evidence.ends`).
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from calibration.conformal import (
    KNOWN_IN_STEPS,
    SHIPPED_LEVELS,
    ByMetric,
    ByName,
    Strata,
    apart_from,
    ends_of,
    labelled,
    stratum_quantiles,
    tails,
    with_scores,
)
from calibration.crossvalidate import EXTRAPOLATED, Refit
from calibration.extrapolations import learnt, wider, wider_without
from calibration.fit_targets import FitTargets
from calibration.held_intervals import known_from, learns
from sizing.base.arrays import Floats
from sizing.evidence.ends import FRONT_END, STEP_TIMES
from sizing.evidence.open_loop import fixed_rate, stretched_rate
from sizing.evidence.points import OPEN_LOOP
from sizing.evidence.protocols import Expected
from sizing.steps.mixture import Mixture

ENDS = tuple(f"{end}_{level}" for end in ("low", "high") for level in SHIPPED_LEVELS)
"""Names of the columns that hold the ends of the intervals."""


def open_loops_checked(
    errors: pd.DataFrame, tables: Sequence[FitTargets], refits: Sequence[Refit], sources: Sequence[Mixture]
) -> pd.DataFrame:
    """Every published held-out latency of an open loop with the ends of its intervals at :data:`SHIPPED_LEVELS`, as
    :func:`calibration.conformal.checked`; ``sources``: the step times without the group of each refit."""
    known = known_from(errors)
    every = wider(learnt(known.left_out))
    table = next(t for t in tables if t.mode == OPEN_LOOP)
    latencies = errors[(errors["mode"] == OPEN_LOOP) & errors["metric"].isin(KNOWN_IN_STEPS) & ~errors["derived"]]
    latencies = labelled(latencies)
    parts = []
    for refit, source in zip(refits, sources, strict=True):
        if refit.scheme in EXTRAPOLATED:  # which widths of step times are learnt from, not of open loops
            continue
        group = table.labels["row"].to_numpy()[refit.group[OPEN_LOOP]]
        mine = latencies[(latencies["scheme"] == refit.scheme) & latencies["row"].isin(group)]
        if len(mine):
            strata = stratum_quantiles(apart_from(known.rows, mine, refit.scheme), tails(SHIPPED_LEVELS))
            factors = wider_without(known.left_out, mine, refit.scheme) if learns(refit.scheme) else every
            parts.append(_with_ends(mine, table, source, Widths(known.hard, factors, strata)))
    return pd.concat(parts, ignore_index=True)


class Widths(NamedTuple):
    """How wide intervals are: difficulties, extrapolations, and quantiles by stratum."""

    hard: ByMetric
    wider: ByName
    strata: Strata


def _with_ends(mine: pd.DataFrame, table: FitTargets, source: Mixture, widths: Widths) -> pd.DataFrame:
    """The rows of one group with log(end / predicted) at every level."""
    first = mine.drop_duplicates("row")
    place = {row: k for k, row in enumerate(table.labels["row"])}
    points = table.points.take(np.array([place[row] for row in first["row"]]))
    decode, prefill = (_step_factors(first, metric, mode, widths) for metric, mode in STEP_TIMES)
    middle, order = fixed_rate(points, source), mine["row"].map({row: k for k, row in enumerate(first["row"])})
    ends: dict[str, Floats] = {}
    for name in ENDS:
        front = FRONT_END if name.startswith("high") else 1.0 / FRONT_END
        far = _far(stretched_rate(points, source, decode[name], prefill[name], front), middle)
        log_ratio = np.array([far[metric][k] for metric, k in zip(mine["metric"], order, strict=True)])
        ends[name] = (np.minimum if name.startswith("low") else np.maximum)(log_ratio, 0.0)
    return mine.assign(**ends)


def _step_factors(rows: pd.DataFrame, metric: str, mode: str, widths: Widths) -> Mapping[str, Floats]:
    """Factors of the step times of every row (C,) at the ends of every level."""
    as_if = with_scores(rows.assign(metric=metric, mode=mode), widths.hard, widths.wider)
    with_ends = ends_of(as_if, widths.strata, SHIPPED_LEVELS)
    return {name: np.exp(with_ends[name].to_numpy(dtype=np.float64)) for name in ENDS}


def _far(end: Expected, middle: Expected) -> dict[str, Floats]:
    """log(end / middle) of every point by metric."""
    return {m: np.log(getattr(end, f"{m}_s") / getattr(middle, f"{m}_s"))[:, 0] for m in KNOWN_IN_STEPS}
