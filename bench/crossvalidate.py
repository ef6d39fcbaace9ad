"""Errors of predictions for what the fit had not seen: one model, one GPU, one configuration, one source left out."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pandas as pd

from bench.fit_efficiency import WARM_EVALUATIONS, Fit, Progress, residuals, solve
from bench.fit_targets import METRICS, Targets

PROCESSES = 2
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


Errors = dict[tuple[str, str], np.ndarray]


def crossvalidate(tables: Sequence[Targets], fit: Fit, say: Progress) -> pd.DataFrame:
    """Long table: scheme, labels of the point, metric, error = log(predicted / measured)."""
    seen = residuals(tables, fit.efficiencies)
    parts = [_long(tables, seen, "fit")]
    with ProcessPoolExecutor(PROCESSES, initializer=_start, initargs=(tables, fit)) as pool:
        for scheme in SCHEMES[1:]:
            groups = {t.mode: group_of(t, scheme).to_numpy() for t in tables}
            names = sorted({str(g) for values in groups.values() for g in values})
            errors = {key: np.full_like(value, np.nan) for key, value in seen.items()}
            keeps = [{mode: values != name for mode, values in groups.items()} for name in names]
            for keep, found in zip(keeps, pool.map(_fold_errors, keeps), strict=True):
                for key, value in found.items():
                    errors[key][~keep[key[0]]] = value[~keep[key[0]]]
            parts.append(_long(tables, errors, scheme))
            say(f"cross-validated: leave one {scheme} out, {len(names)} folds")
    return pd.concat(parts, ignore_index=True)


_SHARED: dict[str, tuple[Sequence[Targets], Fit]] = {}
"""What a worker process keeps between folds."""


def _start(tables: Sequence[Targets], fit: Fit) -> None:
    _SHARED["now"] = (tables, fit)


def _fold_errors(keep: dict[str, np.ndarray]) -> Errors:
    """Errors of all points under a fit to the points in ``keep``."""
    tables, fit = _SHARED["now"]
    without = solve(tables, forgotten(tables, fit, keep), keep=keep, evaluations=WARM_EVALUATIONS)
    return residuals(tables, without.efficiencies)


def forgotten(tables: Sequence[Targets], fit: Fit, keep: dict[str, np.ndarray]) -> Fit:
    """The fit with every departure of a family, engine or pair at 0 that has no points left: nothing of it is known."""
    labels = pd.concat([t.labels[keep[t.mode]] for t in tables])
    left = {*labels["family"], *labels["engine"], *(labels["engine"] + " on " + labels["family"]), "default"}
    vector = [v if s.member in left else 0.0 for s, v in zip(fit.parameters.slots, fit.vector, strict=True)]
    return Fit(fit.parameters, np.array(vector))


def _long(tables: Sequence[Targets], errors: Errors, scheme: str) -> pd.DataFrame:
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
        "rows": len(ape),
        "median_pct": round(float(np.median(ape)) * 100, 1),
        "p90_pct": round(float(np.quantile(ape, 0.9)) * 100, 1),
        "bias_pct": round(float(np.expm1(np.median(errors["error"]))) * 100, 1),
    }
