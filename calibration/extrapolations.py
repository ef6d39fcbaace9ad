"""How much wider intervals are for a GPU, a generation, an engine or a kind of layout that nobody measured.

Each was left out of the fit, with everything that departs from the default for its sake, and its measurements were
predicted. How far these lie on the way to the ends of an interval for something measured, and beyond them, is a score.
The factor on the ends holds four of five measurements of four of five groups, and one more group beyond them (Dunn,
Wasserman, Ramdas 2022; Lee, Barber, Willett 2023, as in :mod:`calibration.interval_forms`): one GPU is one error many
times, and the next one is what the factor is for. Groups left out of it in turn it holds in 81 to 95 % of cases, where
the quantile of all measurements, groups alike, held down to 70 %. Where groups are too few for that, something harder
that was left out stands for them (:data:`STANDS_IN`).
"""

import math
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import pandas as pd

from calibration.conformal import (
    INTERVAL_METRICS,
    SHIPPED_LEVELS,
    ByMetric,
    ByName,
    Strata,
    ends_of,
    labelled,
    with_scores,
)
from sizing.base.arrays import Floats
from sizing.catalog import gpus
from sizing.catalog.measured import FEWEST
from sizing.evidence.extrapolation import EXTRAPOLATIONS, Extrapolation
from sizing.evidence.points import OPEN_LOOP

LAYOUT = "layout"
"""The scheme that leaves out kinds of layouts, of which a configuration is one group."""

LEFT_OUT: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "new_gpu": ("gpu", "gpu"),
        "new_generation": ("generation", "generation"),
        "new_engine": ("engine", "engine"),
        **dict.fromkeys(("pipeline", "tensor_apart", "expert_apart", "attention_dp"), (LAYOUT, "configuration")),
    }
)
"""By extrapolation, the scheme whose errors it is learnt from, and what of its rows is one group."""

STANDS_IN = "new_gpu", "new_generation"
"""What stands for an extrapolation that was learnt of other metrics alone, and for one that was not learnt at all: a
GPU, and a whole generation, that nobody measured."""

HELD = 0.8
"""Share of groups, and of the measurements of each, that the ends are to hold."""

GROUPS_AT_LEAST = 4
"""Groups below which a factor cannot be learnt: four of five is more than all of three and one more."""


def learnt(rows: pd.DataFrame) -> dict[str, Extrapolation]:
    """Every extrapolation from the held-out errors of :func:`scored`."""
    parts = {name: of_extrapolation(rows, name) for name in EXTRAPOLATIONS}
    from_groups = {name: _of_groups(part) for name, part in parts.items()}
    partly, wholly = (from_groups[name] for name in STANDS_IN)
    out = {}
    for name, factors in from_groups.items():
        instead = partly if factors else wholly
        out[name] = Extrapolation(
            rows=parts[name]["id"].nunique(),
            groups=parts[name]["group"].nunique(),
            by_rule=tuple(m for m in INTERVAL_METRICS if m not in factors),
            factors={m: round(factors.get(m, instead.get(m, 1.0)), 2) for m in INTERVAL_METRICS},
        )
    return out


def wider(extrapolations: Mapping[str, Extrapolation]) -> ByName:
    """The factors by which intervals are wider, without what they rest on."""
    return {name: one.factors for name, one in extrapolations.items()}


def wider_without(rows: pd.DataFrame, part: pd.DataFrame, scheme: str) -> ByName:
    """The factors of :func:`learnt` from other groups than those of ``part``, which a scheme left out. A kind of layout
    is left out as one, and its configurations judge themselves: there is but one kind of a kind."""
    if scheme == LAYOUT:
        return wider(learnt(rows))
    mine = (rows["scheme"] == scheme) & rows[scheme].isin(part[scheme])
    return wider(learnt(rows[~mine]))


def scored(errors: pd.DataFrame, hard: ByMetric, strata: Strata) -> pd.DataFrame:
    """Held-out errors of protocols that step times are fitted to, with ``far``: 1 at the end of their 80 % interval as
    if nothing about them were unlike what was measured."""
    wanted = errors["metric"].isin(INTERVAL_METRICS) & (errors["mode"] != OPEN_LOOP) & (errors["scheme"] != "fit")
    rows = with_scores(labelled(errors[wanted].reset_index(drop=True)), hard)
    ends = ends_of(rows, strata, SHIPPED_LEVELS)
    off = -rows["error"].to_numpy()
    end = np.where(off > 0.0, ends["high_80"], -ends["low_80"])
    with np.errstate(divide="ignore"):
        return rows.assign(far=np.abs(off) / end)


def of_extrapolation(rows: pd.DataFrame, name: str) -> pd.DataFrame:
    """The rows that show an extrapolation, with their ``group``. A GPU, a generation or an engine counts from
    :data:`sizing.catalog.measured.FEWEST` measurements; of layouts, GPUs of which no datasheet says how far their link
    reaches (GH200) say nothing of PCIe or a network."""
    scheme, group = LEFT_OUT[name]
    some = rows[(rows["scheme"] == scheme) & (rows[name] > 0)]
    some = some.assign(group=some[group])
    if scheme == LAYOUT:
        unknown = {gpu.id for gpu in gpus().values() if gpu.link_bytes_per_s and gpu.domain_gpus == 1}
        return some[~some["gpu"].isin(unknown)]
    return some[some.groupby("group")["id"].transform("nunique") >= FEWEST]


def _of_groups(part: pd.DataFrame) -> dict[str, float]:
    """The factor by metric; none where there are too few groups. A GPU, a generation or an engine of fewer than
    :data:`FEWEST` measurements of a metric says nothing of it."""
    if not part["scheme"].eq(LAYOUT).any():
        part = part[part.groupby(["group", "metric"])["id"].transform("nunique") >= FEWEST]
    factors = {str(metric): factor(of_metric) for metric, of_metric in part.groupby("metric")}
    return {metric: value for metric, value in factors.items() if math.isfinite(value)}


def factor(part: pd.DataFrame) -> float:
    """How many times as far the ends lie for one metric, at least 1; infinite with fewer than :data:`GROUPS_AT_LEAST`.
    Within a group sweeps weigh by the root of their rows."""
    weight = part.groupby(["unit", "mode"])["far"].transform("size") ** -0.5
    each = sorted(
        quantile(of_group["far"].to_numpy(), weight.loc[of_group.index].to_numpy(), HELD)
        for _, of_group in part.groupby("group")
    )
    if len(each) < GROUPS_AT_LEAST:
        return math.inf
    return max(1.0, each[min(math.ceil(HELD * (len(each) + 1) - 1e-9), len(each)) - 1])


def quantile(values: Floats, weights: Floats, share: float) -> float:
    """The smallest value that holds a share of the weight."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    return float(values[order][min(int(np.searchsorted(below, share * below[-1] - 1e-9)), len(values) - 1)])
