"""Intervals from held-out errors: how hard a prediction is, quantiles by stratum, and whether they hold.

An interval is checked on a group with quantiles that the group had no part in: neither its points nor what they show of
themselves under another scheme. A sweep of n rows weighs the square root of n in the quantiles, as in the fit: its
errors are mostly one error many times.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import lsq_linear

from bench.crossvalidate import SCHEMES, group_of
from bench.fit_efficiency import sweep_of
from sizing.base.arrays import Floats
from sizing.evidence.uncertainty import DIFFICULTIES, stratum_keys

INTERVAL_METRICS = ("ttft", "itl", "e2e", "throughput")
MIN_ROWS = 20
"""Measurements below which a stratum falls back to its parent; 80 % of 20 errors is known to about 9 % of coverage."""

MIN_ARCHITECTURES = 2
"""Errors of one model are one error many times: a stratum of a single architecture falls back to its parent."""

FLOOR = 0.03
"""Added to absolute log errors before their logarithm is explained: a chance hit is not a sign of an easy case."""

RIDGE = 30.0
"""Prior of difficulties: so many rows that say a difficulty does not matter."""

PRIORS = {"beyond": 0.15}
"""What a difficulty adds where the evidence cannot tell: few held-out rows lie outside the range of the others. An
assumption: 15 % wider per doubling."""

KEYS = ("key0", "key1", "key2")
LEVELS = (10, 20, 30, 40, 50, 60, 70, 80, 90, 95)
"""Coverage in per cent at which the reliability is judged."""
SHIPPED_LEVELS = (80, 95)
"""Coverage in per cent of the intervals that ship."""
TARGET = 0.80
"""Coverage that the final factor of every metric and protocol aims at."""
WIDENINGS = tuple(round(0.8 + 0.01 * i, 2) for i in range(121))
"""Factors tried, from narrower to twice as wide in steps of 1 %."""


def scored(errors: pd.DataFrame) -> pd.DataFrame:
    """One row per held-out error and source: the answer with tables where there are any, the roofline alone for all."""
    held = errors[(errors["scheme"] != "fit") & errors["metric"].isin(INTERVAL_METRICS)]
    tables = held[held["weight"] > 0].assign(basis="tables")
    alone = held.assign(error=held["alone"], apart=0.0, basis="roofline")
    return pd.concat([tables, alone], ignore_index=True)


def difficulties(rows: pd.DataFrame) -> dict[str, dict[str, float]]:
    """By metric, how much each difficulty adds to the log scale of an error: least squares, none below its
    prior: rows that were easy although they lie outside do not make the next one safe."""
    prior = np.array([PRIORS.get(name, 0.0) for name in DIFFICULTIES])
    size = len(prior)
    out = {}
    for metric, part in rows.groupby("metric"):
        strata = pd.get_dummies(part["mode"] + part["basis"]).to_numpy(dtype=np.float64)
        features = part[list(DIFFICULTIES)].to_numpy(dtype=np.float64)
        observed = np.hstack([strata, features])
        assumed = np.hstack([np.zeros((size, strata.shape[1])), np.sqrt(RIDGE) * np.eye(size)])
        target = np.concatenate([np.log(np.abs(part["error"]) + FLOOR), np.sqrt(RIDGE) * prior])
        lower = np.concatenate([np.full(strata.shape[1], -np.inf), prior])
        weights = lsq_linear(np.vstack([observed, assumed]), target, bounds=(lower, np.inf)).x[strata.shape[1] :]
        out[str(metric)] = {name: round(float(v), 3) for name, v in zip(DIFFICULTIES, weights, strict=True)}
    return out


def with_scores(rows: pd.DataFrame, hard: Mapping[str, Mapping[str, float]]) -> pd.DataFrame:
    """With ``score`` = log(measured / predicted) / scale, ``scale``, ``weigh``, ``key0`` (narrowest) to ``key2``."""
    terms = [rows[name] * rows["metric"].map({m: c[name] for m, c in hard.items()}) for name in DIFFICULTIES]
    scale = np.exp(np.sum(terms, axis=0))
    names = rows[["metric", "mode", "basis"]]
    keys = {n: tuple(map(", ".join, stratum_keys(*n))) for n in dict.fromkeys(names.itertuples(index=False, name=None))}
    columns = zip(*(keys[n] for n in names.itertuples(index=False, name=None)), strict=True)
    sweep = sweep_of(rows) + rows["scheme"] + rows["mode"] + rows["metric"] + rows["basis"]
    weigh = 1.0 / np.sqrt(sweep.map(sweep.value_counts()).to_numpy(dtype=np.float64))
    names_of_keys = dict(zip(KEYS, map(list, columns), strict=True))
    return rows.assign(scale=scale, score=-rows["error"] / scale, weigh=weigh, **names_of_keys)


def stratum_quantiles(rows: pd.DataFrame, shares: Sequence[float]) -> dict[str, tuple[int, Floats]]:
    """Measurements and quantiles of the scores of every stratum with enough of them; the widest always."""
    out: dict[str, tuple[int, Floats]] = {}
    for column in KEYS:
        for key, part in rows.groupby(column):
            count = part["id"].nunique()
            enough = count >= MIN_ROWS and part["architecture"].nunique() >= MIN_ARCHITECTURES
            if enough or column == KEYS[-1]:
                score, weigh = (part[name].to_numpy() for name in ("score", "weigh"))
                out[str(key)] = count, np.quantile(score, shares, weights=weigh, method="inverted_cdf")
    return out


def answered(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows as the product answers them: with tables where there are any."""
    return rows[(rows["basis"] == "tables") | (rows["weight"] == 0)]


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """What ships: difficulties by metric, and (measurements, widened quantiles at the ends of levels) by stratum."""

    hard: Mapping[str, Mapping[str, float]]
    strata: Mapping[str, tuple[int, Floats]]


def tails(levels: Sequence[int]) -> list[float]:
    """Shares of the ends of central intervals: the lower ones, then the upper ones in the same order."""
    return [(1.0 - v / 100.0) / 2.0 for v in levels] + [(1.0 + v / 100.0) / 2.0 for v in levels]


def checked(errors: pd.DataFrame, levels: Sequence[int] = LEVELS) -> pd.DataFrame:
    """Every published held-out answer with the ends (log measured / predicted) of its intervals before widening, from
    quantiles of the groups that are not its own: columns ``low_80``, ``high_80``, ..."""
    rows = scored(errors)
    rows = with_scores(rows, difficulties(rows))
    parts = []
    for scheme in SCHEMES[1:]:
        groups = group_of(rows, scheme)
        mine = answered(rows[(rows["scheme"] == scheme) & ~rows["derived"]])
        for name, part in mine.groupby(groups[mine.index]):
            parts.append(_ends(part, stratum_quantiles(rows[groups != name], tails(levels)), levels))
    return pd.concat(parts)


def _ends(part: pd.DataFrame, strata: Mapping[str, tuple[int, Floats]], levels: Sequence[int]) -> pd.DataFrame:
    keys = part[list(KEYS)].itertuples(index=False, name=None)
    quantiles = np.array([strata[next(k for k in row if k in strata)][1] for row in keys])
    scaled = quantiles * part["scale"].to_numpy()[:, None]
    low, high = np.minimum(scaled[:, : len(levels)], 0.0), np.maximum(scaled[:, len(levels) :], 0.0)
    ends = {f"{name}_{v}": end[:, i] for name, end in (("low", low), ("high", high)) for i, v in enumerate(levels)}
    return part.assign(**ends)


def _factors(rows: pd.DataFrame, widening: Mapping[tuple[str, str], float]) -> Floats:
    return np.array([widening[key] for key in zip(rows["metric"], rows["mode"], strict=True)])


def inside(rows: pd.DataFrame, level: int, widening: Mapping[tuple[str, str], float]) -> pd.Series:
    """Whether each measurement lies in its interval."""
    wide = _factors(rows, widening)
    off = -rows["error"]
    return pd.Series((off >= rows[f"low_{level}"] * wide) & (off <= rows[f"high_{level}"] * wide))


def width(rows: pd.DataFrame, level: int, widening: Mapping[tuple[str, str], float]) -> pd.Series:
    """Full width of each interval relative to the prediction."""
    wide = _factors(rows, widening)
    return pd.Series(np.exp(rows[f"high_{level}"] * wide) - np.exp(rows[f"low_{level}"] * wide))


def widenings(rows: pd.DataFrame) -> dict[tuple[str, str], float]:
    """By metric and mode the smallest factor on log intervals with which, in the median of the schemes, 80 % of the
    held-out answers lie inside; at least 0.8. The median, because a source may be the only one of its mode."""
    out = {}
    for (metric, mode), part in rows.groupby(["metric", "mode"]):
        key = (str(metric), str(mode))
        holds = [f for f in WIDENINGS if inside(part, 80, {key: f}).groupby(part["scheme"]).mean().median() >= TARGET]
        out[key] = holds[0] if holds and part["id"].nunique() >= MIN_ROWS else WIDENINGS[-1] if not holds else 1.0
    return out


def calibration(errors: pd.DataFrame, widening: Mapping[tuple[str, str], float]) -> Calibration:
    """From all held-out errors of all schemes."""
    rows = scored(errors)
    hard = difficulties(rows)
    strata = stratum_quantiles(with_scores(rows, hard), tails(SHIPPED_LEVELS))
    widest = {m: max(f for (metric, _), f in widening.items() if metric == m) for m, _ in widening}

    def factor(key: str) -> float:
        metric, *rest = key.split(", ")
        return widening[metric, rest[0]] if rest else widest[metric]

    return Calibration(hard=hard, strata={key: (n, q * factor(key)) for key, (n, q) in strata.items()})
