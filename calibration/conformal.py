"""Scores of held-out errors, how hard a prediction is, and quantiles by stratum.

The unit is the configuration of one source: its errors are mostly one error many times. Calibrated on predictions
that had seen neither the source nor any of its configurations, and on rows of a source left out whose configuration
others had published, which say how much nearer one comes with evidence of the very configuration; both only where the
GPU, the engine and the kind of layout were known from others (:mod:`calibration.extrapolations` has the rest).
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.optimize import lsq_linear

from calibration.crossvalidate import UNSEEN, configuration_of, group_of
from calibration.fit_efficiency import sweep_of
from calibration.interval_forms import FORMS, shipped
from sizing.base.arrays import Floats
from sizing.evidence.extrapolation import EXTRAPOLATIONS
from sizing.evidence.points import OPEN_LOOP
from sizing.evidence.uncertainty import DIFFICULTIES, stratum_keys

INTERVAL_METRICS = ("ttft", "itl", "e2e", "throughput")
KNOWN_IN_STEPS = ("ttft", "itl", "e2e")
"""Metrics of an open loop whose errors say little of the next one: they grow without end near the capacity. Their
intervals are those of the step times (:mod:`calibration.open_loop_intervals`)."""
MIN_CONFIGURATIONS = 20
"""Configurations below which a stratum falls back to its parent; 80 % of 20 is known to about 9 % of coverage."""

MIN_ARCHITECTURES = 2
"""Errors of one model are one error many times: a stratum of a single architecture falls back to its parent."""

FLOOR = 0.03
"""Added to absolute log errors before their logarithm is explained: a chance hit is not a sign of an easy case."""

RIDGE = 10.0
"""Prior of difficulties: so many configurations that say a difficulty does not matter."""

PRIORS = {"beyond": 0.15}
"""What a difficulty adds where the evidence cannot tell: few held-out rows lie outside the range of the others. An
assumption: 15 % wider per doubling."""

KEYS = ("key0", "key1")
LEVELS = (10, 20, 30, 40, 50, 60, 70, 80, 90, 95)
"""Coverage in per cent at which the reliability is judged."""
SHIPPED_LEVELS = (80, 95)
"""Coverage in per cent of the intervals that ship."""

ByMetric = Mapping[str, Mapping[str, float]]
"""For each metric, what each difficulty adds to the log scale of an error."""
ByName = Mapping[str, Mapping[str, float]]
"""For each extrapolation, how many times as far the ends lie in each metric."""
Strata = Mapping[str, tuple[int, int, Floats]]
"""For each stratum, its measurements, configurations and the ends of its scores."""

PART = ["metric", "mode", "unit"]
"""Rows of one configuration of one source in one metric and mode."""


def answers(errors: pd.DataFrame) -> pd.DataFrame:
    """One row per held-out error of the answer, without those that no interval comes from."""
    simulated = (errors["mode"] == OPEN_LOOP) & errors["metric"].isin(KNOWN_IN_STEPS)
    held = errors[(errors["scheme"] != "fit") & errors["metric"].isin(INTERVAL_METRICS) & ~simulated]
    return labelled(held.reset_index(drop=True))


def labelled(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with their configuration, and the unit whose errors are mostly one: a sweep under a scheme."""
    return rows.assign(configuration=configuration_of(rows), unit=sweep_of(rows) + rows["scheme"])


def like_measured(rows: pd.DataFrame) -> pd.DataFrame:
    """The errors of rows whose GPU, engine and kind of layout were known from others."""
    return rows[rows[list(EXTRAPOLATIONS)].sum(axis=1) == 0]


def calibrating(rows: pd.DataFrame) -> pd.DataFrame:
    """What intervals are calibrated on: configuration and source both unseen, or the source alone where others had
    published the configuration."""
    elsewhere = (rows["scheme"] == "source") & (rows["new_format"] == 0)
    return rows[(rows["scheme"] == UNSEEN) | elsewhere]


def difficulties(rows: pd.DataFrame) -> ByMetric:
    """By metric, how much each difficulty adds to the log scale of an error: least squares in which configurations
    weigh alike, none below its prior: rows that were easy although they lie outside do not make the next one safe."""
    prior = np.array([PRIORS.get(name, 0.0) for name in DIFFICULTIES])
    size = len(prior)
    out: dict[str, Mapping[str, float]] = {}
    for metric, part in rows.groupby("metric"):
        strata = pd.get_dummies(part["mode"]).to_numpy(dtype=np.float64)
        features = part[list(DIFFICULTIES)].to_numpy(dtype=np.float64)
        root = 1.0 / np.sqrt(part.groupby(PART)["error"].transform("size").to_numpy(dtype=np.float64))
        observed = np.hstack([strata, features]) * root[:, None]
        assumed = np.hstack([np.zeros((size, strata.shape[1])), np.sqrt(RIDGE) * np.eye(size)])
        target = np.concatenate([np.log(np.abs(part["error"]) + FLOOR) * root, np.sqrt(RIDGE) * prior])
        lower = np.concatenate([np.full(strata.shape[1], -np.inf), prior])
        weights = lsq_linear(np.vstack([observed, assumed]), target, bounds=(lower, np.inf)).x[strata.shape[1] :]
        out[str(metric)] = {name: round(float(v), 3) for name, v in zip(DIFFICULTIES, weights, strict=True)}
    return out


def with_scores(rows: pd.DataFrame, hard: ByMetric, wider: ByName | None = None) -> pd.DataFrame:
    """With ``score`` = log(measured / predicted) / scale, ``scale``, ``key0`` (narrower) and ``key1``; ``wider``: by
    extrapolation and metric, how many times as far the ends lie (none: as if everything had been measured)."""
    terms = [rows[name] * rows["metric"].map({m: c[name] for m, c in hard.items()}) for name in DIFFICULTIES]
    squares = [
        rows[name] * (rows["metric"].map(factors).astype(float) ** 2 - 1.0) for name, factors in (wider or {}).items()
    ]
    scale = np.exp(np.sum(terms, axis=0)) * np.sqrt(1.0 + np.sum(squares, axis=0))
    names = rows[["metric", "mode"]]
    keys = {n: tuple(map(", ".join, stratum_keys(*n))) for n in dict.fromkeys(names.itertuples(index=False, name=None))}
    columns = zip(*(keys[n] for n in names.itertuples(index=False, name=None)), strict=True)
    return rows.assign(scale=scale, score=-rows["error"] / scale, **dict(zip(KEYS, map(list, columns), strict=True)))


def stratum_quantiles(rows: pd.DataFrame, shares: Sequence[float], form: str | None = None) -> Strata:
    """Measurements, configurations and ends of the scores of every stratum with enough of them; the widest always."""
    out: dict[str, tuple[int, int, Floats]] = {}
    for column in KEYS:
        for key, part in rows.groupby(column):
            number = part["configuration"].nunique()
            enough = number >= MIN_CONFIGURATIONS and part["architecture"].nunique() >= MIN_ARCHITECTURES
            if enough or column == KEYS[-1]:
                unit = part["source"] + "|" + part["mode"] + part["unit"]
                out[str(key)] = (
                    part["id"].nunique(),
                    number,
                    FORMS[form or shipped(str(key))](part["score"], unit, shares),
                )
    return out


def tails(levels: Sequence[int]) -> list[float]:
    """Shares of the ends of central intervals: the lower ones, then the upper ones in the same order."""
    return [(1.0 - v / 100.0) / 2.0 for v in levels] + [(1.0 + v / 100.0) / 2.0 for v in levels]


def apart_from(known: pd.DataFrame, part: pd.DataFrame, scheme: str) -> pd.DataFrame:
    """What of the known errors belongs to none of the groups of a scheme in ``part``, nor, where these are held out
    with all of their configurations, to one of those."""
    same = group_of(known, scheme).isin(group_of(part, scheme))
    return known[~(same | (known["configuration"].isin(part["configuration"]) & (scheme == UNSEEN)))]


def ends_of(part: pd.DataFrame, strata: Strata, levels: Sequence[int]) -> pd.DataFrame:
    """The rows with their ends from the narrowest stratum that is known, columns ``low_80``, ``high_80``, ..."""
    keys = part[list(KEYS)].itertuples(index=False, name=None)
    quantiles = np.array([strata[next(k for k in row if k in strata)][2] for row in keys])
    scaled = quantiles * part["scale"].to_numpy()[:, None]
    low, high = np.minimum(scaled[:, : len(levels)], 0.0), np.maximum(scaled[:, len(levels) :], 0.0)
    ends = {f"{name}_{v}": end[:, i] for name, end in (("low", low), ("high", high)) for i, v in enumerate(levels)}
    return part.assign(**ends)
