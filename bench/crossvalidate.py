"""Errors of predictions for what the fit had not seen: one model, one GPU, one configuration, one source left out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from bench.fit_efficiency import WARM_EVALUATIONS, Fit, Progress, residuals, solve
from bench.fit_targets import METRICS, Targets

SCHEMES = ("fit", "model", "gpu", "configuration", "source")
FOLDS = 10
"""The 90-odd configurations are held out in this many folds of whole configurations (an approximation that saves an
hour); models, GPUs and sources are held out one at a time."""


def group_of(table: Targets, scheme: str) -> pd.Series:
    """The group of every point under a scheme; all points of a group are held out together."""
    labels = table.labels
    match scheme:
        case "model":
            return labels["architecture"]
        case "configuration":
            names = labels["architecture"] + labels["gpu"] + labels["engine"] + labels["precision"]
            return names.map(_fold)
        case _:
            return labels[scheme]


def _fold(name: str) -> str:
    """A fold that depends on the name alone."""
    return str(sum(ord(c) * (i + 1) for i, c in enumerate(name)) % FOLDS)


def crossvalidate(tables: Sequence[Targets], fit: Fit, say: Progress) -> pd.DataFrame:
    """Long table: scheme, labels of the point, metric, error = log(predicted / measured)."""
    parts = [_long(tables, residuals(tables, fit.efficiencies), "fit")]
    for scheme in SCHEMES[1:]:
        groups = {t.mode: group_of(t, scheme).to_numpy() for t in tables}
        errors = {key: np.full_like(value, np.nan) for key, value in residuals(tables, fit.efficiencies).items()}
        for name in sorted({str(g) for values in groups.values() for g in values}):
            keep = {mode: values != name for mode, values in groups.items()}
            without = solve(tables, fit, keep=keep, evaluations=WARM_EVALUATIONS)
            for key, value in residuals(tables, without.efficiencies).items():
                held = ~keep[key[0]]
                errors[key][held] = value[held]
        parts.append(_long(tables, errors, scheme))
        say(f"cross-validated: leave one {scheme} out")
    return pd.concat(parts, ignore_index=True)


def _long(tables: Sequence[Targets], errors: dict[tuple[str, str], np.ndarray], scheme: str) -> pd.DataFrame:
    parts = []
    for table in tables:
        for metric in METRICS:
            error = errors[table.mode, metric]
            part = table.labels.assign(scheme=scheme, metric=metric, error=error)
            parts.append(part[np.isfinite(error)])
    return pd.concat(parts, ignore_index=True)


def summary(errors: pd.DataFrame) -> dict[str, float]:
    """Rows, median and 90th percentile of the absolute percentage error, and the median bias in per cent."""
    ape = np.abs(np.expm1(errors["error"].to_numpy()))
    return {
        "rows": len(ape), "median_pct": round(float(np.median(ape)) * 100, 1),
        "p90_pct": round(float(np.quantile(ape, 0.9)) * 100, 1),
        "bias_pct": round(float(np.expm1(np.median(errors["error"]))) * 100, 1),
    }
