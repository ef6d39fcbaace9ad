"""Error on unseen models against the number of models in the fit: whether more measurements would still help."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from calibration.accuracy_figures import SHOWN
from calibration.crossvalidate import PROCESSES, forgotten
from calibration.fit_efficiency import WARM_EVALUATIONS, Fit, solve
from calibration.fit_mixture import Steps, fit_trust, predicted, steps_of
from calibration.fit_targets import FitTargets
from sizing.base.arrays import Floats
from sizing.steps.mixture import NONE

SIZES = (3, 8, 14, 19)
"""Numbers of models whose measurements are in a fit."""

DRAWS = 3
"""Random choices of models per size; each model that is left out is predicted by every draw that lacks it."""

_SHARED: dict[str, tuple[Sequence[FitTargets], Mapping[str, Floats], Mapping[str, Steps], Fit]] = {}


def learning_curve(
    tables: Sequence[FitTargets], kernel: Mapping[str, Floats], unseen: Mapping[str, Steps], fit: Fit
) -> list[dict[str, object]]:
    """Median absolute percentage error on models outside the fit, with and without kernel tables, by their number."""
    names = sorted({a for t in tables for a in t.labels["architecture"]})
    random = np.random.default_rng(0)
    draws = [(size, tuple(random.permutation(names)[:size])) for size in SIZES for _ in range(DRAWS)]
    with ProcessPoolExecutor(PROCESSES, initializer=_start, initargs=(tables, kernel, unseen, fit)) as pool:
        errors = list(pool.map(_errors, [models for _, models in draws]))
    out: list[dict[str, object]] = []
    for mode, metric in SHOWN:
        for size in SIZES:
            both, alone = (
                np.concatenate([f[mode, metric][i] for f, (s, _) in zip(errors, draws, strict=True) if s == size])
                for i in (0, 1)
            )
            first, second = (round(float(np.median(np.abs(np.expm1(v)))) * 100, 1) for v in (both, alone))
            out.append(
                {"mode": mode, "metric": metric, "models": size, "median_pct": first, "roofline_alone_pct": second}
            )
    return out


def _start(tables: Sequence[FitTargets], kernel: Mapping[str, Floats], unseen: Mapping[str, Steps], fit: Fit) -> None:
    _SHARED["now"] = (tables, kernel, unseen, fit)


def _errors(models: tuple[str, ...]) -> dict[tuple[str, str], tuple[np.ndarray, np.ndarray]]:
    """Errors (with tables, roofline alone) on good or static rows of models outside ``models`` by a fit to these."""
    tables, kernel, unseen, fit = _SHARED["now"]
    keep = {t.mode: t.labels["architecture"].isin(models).to_numpy() for t in tables}
    start = forgotten(tables, fit, keep)
    names = fit.parameters
    blank = Fit(names, np.zeros_like(start.vector))
    less = solve(tables, blank, keep=keep, evaluations=WARM_EVALUATIONS)
    steps = steps_of(tables, kernel, less.efficiencies)
    trust = fit_trust(tables, unseen, keep)
    tables = [t for t in tables if t.mode in dict(SHOWN)]
    both, alone = predicted(tables, steps, trust), predicted(tables, steps, NONE)
    out = {}
    for table in tables:
        good = (table.labels["quality"] == "good").to_numpy() | (table.mode == "static_batch")
        for mode, metric in SHOWN:
            if mode == table.mode:
                rows = ~keep[mode] & good & np.isfinite(both[mode, metric])
                out[mode, metric] = (both[mode, metric][rows], alone[mode, metric][rows])
    return out
