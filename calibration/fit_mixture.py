"""How far kernel tables are trusted beside the roofline: fitted to predictions of models the roofline had not seen.

Weights that go into a prediction of something held out come from the other points only, and rest on what the roofline
said about each of them without having seen its model. Nothing of the tables themselves is fitted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from calibration.crossvalidate import Masks, Refit
from calibration.fit_efficiency import FITTED_ON, robust, row_weights
from calibration.fit_targets import FitTargets
from sizing.base.arrays import Floats
from sizing.evidence.expected import steady
from sizing.evidence.point_table import PointTable, asked_at, measured_decode_s, roofline_times, todays_times
from sizing.steps.efficiency import Efficiencies
from sizing.steps.mixture import Mixed, Trust, mixed
from sizing.steps.roofline import Roofline
from sizing.steps.times import StepTimes

METRICS_BY_MODE: Mapping[str, tuple[str, ...]] = {
    "fixed_concurrency": ("itl",),
    "static_batch": ("itl", "e2e"),
    "offline_max_throughput": ("throughput",),
}
"""Metrics whose errors choose the weights: those that step times decide."""

SCATTER = 0.12
"""Scale of an error in the objective: errors far beyond re-run noise count linearly, as in a median."""

CENTRE = np.array([0.0, np.log(0.5)])
"""Prior centre of (logit of share, log of reach)."""
SPREAD = np.array([1.0, 0.5])
"""Prior of (logit of share, log of reach): equal trust, halved at a ratio of 1.6."""


@dataclass(frozen=True, kw_only=True)
class Steps:
    """Step times of every point of one mode: of the roofline at its software's year and today, and of the tables; at
    the ``leading`` concurrencies of its protocol, then at those that say how far they are apart."""

    leading: int
    base: StepTimes
    today: StepTimes
    kernel_s: Floats
    fit: Efficiencies

    def take(self, rows: NDArray[np.intp]) -> "Steps":
        """The same of some of the points alone."""
        base, today = (each.take(rows) for each in (self.base, self.today))
        return replace(self, base=base, today=today, kernel_s=self.kernel_s[rows])

    def mixed(self, trust: Trust) -> Mixed:
        """Steps of the roofline and of the kernel tables together, weighted by trust."""
        kernel_s = self.kernel_s * (self.base.decode_s / self.today.decode_s)
        return mixed(self.base, kernel_s, trust, self.leading)


@dataclass(frozen=True)
class PrecomputedSteps:
    """Step times that were worked out before, as a source for :func:`sizing.evidence.expected.expected`."""

    known: StepTimes
    fit: Efficiencies

    def point_times(self, points: PointTable, concurrency: Floats) -> StepTimes:
        """The known times, which must be those of the same points; leading concurrencies, where not all are asked for.

        Offline runs read all concurrencies only where one of them is a burst, and in any case the first.
        """
        rows, columns = concurrency.shape
        if len(self.known.decode_s) != rows or self.known.decode_s.shape[1] < columns:
            raise ValueError("step times of other concurrencies than asked")
        return self.known.on_grid(lambda values: values[:, :columns])


class _Recorder:
    """A source that remembers at which concurrencies it was asked."""

    def __init__(self, fit: Efficiencies) -> None:
        self.fit = fit
        self.concurrency: Floats = np.empty(0)

    def point_times(self, points: PointTable, concurrency: Floats) -> StepTimes:
        self.concurrency = concurrency
        return roofline_times(points, concurrency, Roofline(self.fit))


def concurrencies(table: FitTargets, fit: Efficiencies) -> Floats:
    """The concurrencies (C, K) at which the protocol of a table asks for step times."""
    if table.mode == "fixed_rate":  # without simulating it
        return asked_at(table.points)
    recorder = _Recorder(fit)
    steady(table.points, recorder)
    return recorder.concurrency


def kernel_times(tables: Sequence[FitTargets], fit: Efficiencies) -> dict[str, Floats]:
    """Decode steps of every point by the kernel tables, NaN where they have none."""
    return {t.mode: measured_decode_s(t.points, over_load(t, fit)) for t in tables}


def over_load(table: FitTargets, fit: Efficiencies) -> Floats:
    """The concurrencies of a protocol, then those from one request to all that fit."""
    return np.concatenate([concurrencies(table, fit), asked_at(table.points)], axis=1)


def steps_of(tables: Sequence[FitTargets], kernel: Mapping[str, Floats], fit: Efficiencies) -> dict[str, Steps]:
    """Step times of all points under a fit of the roofline."""
    out = {}
    for table in tables:
        leading, concurrency = concurrencies(table, fit).shape[1], over_load(table, fit)
        base, today = (times(table.points, concurrency, Roofline(fit)) for times in (roofline_times, todays_times))
        out[table.mode] = Steps(leading=leading, base=base, today=today, kernel_s=kernel[table.mode], fit=fit)
    return out


def unseen_steps(
    tables: Sequence[FitTargets], kernel: Mapping[str, Floats], fit: Efficiencies, refits: Sequence[Refit]
) -> dict[str, Steps]:
    """Step times of every point by the roofline that had not seen its model."""
    out = steps_of(tables, kernel, fit)
    for refit in refits:
        if refit.scheme != "model":
            continue
        without = steps_of(tables, kernel, refit.fit.efficiencies)
        for mode, held in refit.held.items():
            rows = np.flatnonzero(held)
            for name in ("base", "today"):
                merged = getattr(out[mode], name).replaced(rows, getattr(without[mode], name).take(rows))
                out[mode] = replace(out[mode], **{name: merged})
    return out


def predicted(tables: Sequence[FitTargets], steps: Mapping[str, Steps], trust: Trust) -> dict[tuple[str, str], Floats]:
    """log(predicted / measured) by (mode, metric), NaN where nothing was measured nor follows from what was."""
    out: dict[tuple[str, str], Floats] = {}
    for table in tables:
        now = steps[table.mode]
        out |= compared(table, table.predicted_by(PrecomputedSteps(now.mixed(trust).times, now.fit)))
    return out


def compared(table: FitTargets, logs: Mapping[str, Floats]) -> dict[tuple[str, str], Floats]:
    """log(predicted / measured) by (mode, metric) of one table, NaN where nothing was measured nor follows from it."""
    out = {}
    for metric, seen in table.observed.items():
        known = np.where(np.isfinite(seen), seen, table.derived.get(metric, np.nan))
        out[table.mode, metric] = logs[metric] - known
    return out


def trust_of(vector: Floats) -> Trust:
    """Trust of a vector (logit of share, log of reach)."""
    share, reach = vector
    return Trust(share=float(1.0 / (1.0 + np.exp(-share))), reach=float(np.exp(reach)))


def fit_trust(tables: Sequence[FitTargets], steps: Mapping[str, Steps], keep: Masks | None = None) -> Trust:
    """The weight that makes errors smallest on the points in ``keep`` for which there are tables."""
    kept = keep or {t.mode: np.ones(len(t.points), dtype=bool) for t in tables}
    used = [t for t in tables if t.mode in METRICS_BY_MODE]
    covered = {t.mode: (steps[t.mode].mixed(trust_of(CENTRE)).weight > 0) & kept[t.mode] for t in used}
    weights = [(t.mode, m, row_weights(t, m)) for t in used for m in METRICS_BY_MODE[t.mode]]

    def objective(part: Floats) -> Floats:
        errors = predicted(used, steps, trust_of(CENTRE + SPREAD * part))
        weighted = []
        for mode, metric, weight in weights:
            error = errors[mode, metric]
            rows = np.isfinite(error) & covered[mode]
            weighted.append(error[rows] * weight[rows] / SCATTER)
        return np.concatenate([robust(np.concatenate(weighted)), part])

    solved = least_squares(objective, np.zeros(2), max_nfev=12, xtol=1e-3, ftol=1e-3)
    return trust_of(CENTRE + SPREAD * solved.x)


def mixture_yaml(trust: Trust, rows: int) -> str:
    """The text of ``sizing/data/mixture.yaml``."""
    lines = [
        "# Trust in kernel tables beside the roofline; what the names mean: sizing/steps/mixture.py.",
        "# Written by `make calibrate` (calibration/fit_mixture.py).",
        f"fitted: {{date: {FITTED_ON}, rows: {rows}}}",
        f"trust: {{share: {trust.share:.2f}, reach: {trust.reach:.2f}}}",
    ]
    return "\n".join(lines) + "\n"
