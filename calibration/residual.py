"""A learned residual on top of tables and roofline, judged like everything else: does it help groups it has not seen?

``python -m calibration.residual`` prints held-out errors without and with ridge regression and gradient boosting on
the log error. Nothing of it ships: see "What was tried" in ``docs/ACCURACY.md``. Needs scikit-learn
(requirements-test.txt).
"""

import sys
from collections.abc import Callable

import numpy as np
import pandas as pd

from calibration.crossvalidate import SCHEMES, group_of, refits
from calibration.fit_efficiency import CAUTION_WEIGHT, fit_all, sweep_of
from calibration.fit_mixture import kernel_times
from calibration.fit_targets import FitTargets, targets
from calibration.held_out import held_out_errors
from sizing.base.arrays import Floats
from sizing.steps.efficiency import efficiencies

JUDGED = (
    ("fixed_concurrency", "itl"),
    ("fixed_concurrency", "e2e"),
    ("offline_max_throughput", "throughput"),
    ("static_batch", "ttft"),
    ("static_batch", "e2e"),
)
BOUND = 0.15
"""Largest correction, a log factor."""

REACH = 1.0
"""Distance from the nearest row of the evidence, in standard deviations over all features, at which it has halved."""


def features(tables: tuple[FitTargets, ...]) -> pd.DataFrame:
    """What a row's configuration, model and load are, by row id: logarithms of sizes, and flags."""
    parts = []
    for table in tables:
        points = table.points.points
        rows = pd.DataFrame(
            {
                "layers": [np.log(p.model.layers) for p in points],
                "hidden": [np.log(p.model.hidden_size) for p in points],
                "total": [np.log(p.model.params_total) for p in points],
                "active": [np.log(p.model.params_active) for p in points],
                "latent": [float(p.model.attention == "mla") for p in points],
                "bytes": [p.configuration.precision.bytes for p in points],
                "bandwidth": [np.log(p.configuration.gpu.memory_bandwidth) for p in points],
                "gpus": [np.log(p.configuration.gpus) for p in points],
                "tp": [np.log(p.configuration.tp) for p in points],
                "year": [p.software_year for p in points],
                "input": [np.log(p.input_tokens) for p in points],
                "output": [np.log(p.output_tokens) for p in points],
                "load": [np.log(np.nan_to_num(p.concurrency, nan=1e3) + 1.0) for p in points],
                "moe": [float(p.model.is_moe) for p in points],
            }
        )
        engine = pd.get_dummies(table.labels["engine"], dtype=np.float64)
        rows = pd.concat([rows, engine], axis=1)
        rows.index = pd.Index(table.mode + " " + table.labels["row"].astype(str))
        parts.append(rows)
    return pd.concat(parts).fillna(0.0)


def ridge(known: Floats, error: Floats, weight: Floats, unseen: Floats) -> Floats:
    """Ridge regression on standardised features."""
    from sklearn.linear_model import Ridge  # here and below: other benchmarks run without scikit-learn

    return np.asarray(Ridge(alpha=30.0).fit(known, error, sample_weight=weight).predict(unseen))


def boosting(known: Floats, error: Floats, weight: Floats, unseen: Floats) -> Floats:
    """Small trees, absolute loss: the median of an error, not its mean."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    model = HistGradientBoostingRegressor(
        loss="absolute_error",
        max_iter=150,
        learning_rate=0.05,
        max_leaf_nodes=8,
        min_samples_leaf=40,
        l2_regularization=10.0,
        random_state=0,
    )
    return np.asarray(model.fit(known, error, sample_weight=weight).predict(unseen))


Learner = Callable[[Floats, Floats, Floats, Floats], Floats]


def corrected(rows: pd.DataFrame, facts: pd.DataFrame, scheme: str, learn: Learner) -> pd.Series:
    """Held-out errors of a scheme less what was learned from the other groups' errors with their model left out."""
    from sklearn.neighbors import NearestNeighbors
    from sklearn.preprocessing import StandardScaler

    source, mine = rows[rows["scheme"] == "model"], rows[rows["scheme"] == scheme]
    names, groups = group_of(source, scheme), group_of(mine, scheme)
    scaler = StandardScaler().fit(facts.loc[source["id"]])
    out: list[pd.Series] = []
    for name, part in mine.groupby(groups):
        kept = source[names != name]
        known, unseen = scaler.transform(facts.loc[kept["id"]]), scaler.transform(facts.loc[part["id"]])
        sweep = sweep_of(kept)
        size = sweep.map(sweep.value_counts()).to_numpy(dtype=np.float64)
        weight = np.where(kept["quality"] == "good", 1.0, CAUTION_WEIGHT) / np.sqrt(size)
        correction = learn(known, kept["error"].to_numpy(), weight, unseen)
        far = NearestNeighbors(n_neighbors=1).fit(known).kneighbors(unseen)[0][:, 0]
        out.append(part["error"] - np.clip(correction, -BOUND, BOUND) / (1.0 + (far / REACH) ** 2))
    return pd.Series(pd.concat(out))


def report(errors: pd.DataFrame, facts: pd.DataFrame) -> None:
    """Median and 90th percentile of the absolute error in per cent by quantity and scheme: none, ridge, boosting."""
    for mode, metric in JUDGED:
        good = mode != "static_batch"
        for name, learn in (("none", None), ("ridge", ridge), ("boosting", boosting)):
            cells = []
            for scheme in SCHEMES[1:]:
                rows = errors[(errors["mode"] == mode) & (errors["metric"] == metric) & ~errors["derived"]]
                left = rows.loc[rows["scheme"] == scheme, "error"]
                left = left if learn is None else corrected(rows, facts, scheme, learn)
                left = left[rows.loc[left.index, "quality"] == "good"] if good else left
                size = np.abs(np.expm1(left))
                cells.append(f"{np.median(size) * 100:.1f} / {np.quantile(size, 0.9) * 100:.1f}")
            print(f"{mode} {metric} {name}: {', '.join(cells)}")


def main() -> int:
    """Fit, hold out, learn the rest, print. Exit code 0."""
    tables = targets(efficiencies())
    fit = fit_all(tables)
    without = refits(tables, fit, print)
    errors = held_out_errors(tables, kernel_times(tables, fit.efficiencies), fit, without).errors
    report(errors, features(tables))
    return 0


if __name__ == "__main__":
    sys.exit(main())
