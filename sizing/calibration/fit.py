"""Calibration of one configuration by measured points of it: anchors of a benchmark curve on the roofline.

Three factors are fitted, each shrunk towards the roofline: a decode step of t seconds becomes d x t + s, prompt times
are multiplied by p. Minimised is the sum of (log(measured / predicted) / noise)^2 over the anchors plus (log d / w)^2 +
(log p / v)^2 + (s / (w x decode of one sequence))^2, which is the mode of a normal posterior; w and v are the
cross-validated spreads of ``sizing.evidence.uncertainty``, the noise is how far two runs of one benchmark differ. The
curvature there gives the posterior spread, hence an interval narrower than before. Accuracy: ``docs/CALIBRATION.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from scipy.optimize import least_squares

from sizing.base.arrays import Floats
from sizing.base.constants import constant
from sizing.base.units import TWO_SIDED_80
from sizing.calibration.calibrated import HIGHEST, LOWEST, CalibratedConfiguration, calibrated
from sizing.calibration.protocol_points import CalibrationPoint, Prepared, prepare
from sizing.catalog.model import Model
from sizing.evidence.protocols import Expected
from sizing.evidence.uncertainty import interval
from sizing.question.configuration import Configuration
from sizing.steps.roofline import Roofline, roofline
from sizing.steps.times import StepTimes

NOISE = constant("measurement_repeatability")

FACTORS = ("decode time", "prompt time", "fixed time per step")
"""What is fitted, in the order of every vector and covariance here."""

FIRST_TOKEN_NOISE = 0.30
"""Spread of log(measured / predicted) TTFT that is not the step times': queueing, host and client. Misfits beyond it
count linearly, because a closed loop's TTFT is mostly the effect of its starting burst."""

TOLERANCE = 1e-4  # relative; a hundredth of what repeating a benchmark changes

WARM_STEPS = 3  # Gauss-Newton steps from a fit to nearly the same points


def fit_calibration(
    calibration_points: Sequence[CalibrationPoint],
    *,
    name: str = "",
    any_kv: bool = True,
    source: Roofline | None = None,
    near: CalibratedConfiguration | None = None,
) -> CalibratedConfiguration:
    """The factors that explain ``calibration_points``, one or more points of one configuration.

    ``near`` is where to start from.

    Raises ValueError when there is none, or when they are of several configurations (a bug of the caller).
    """
    points = [a.point for a in calibration_points]
    if len({(p.model.id, p.configuration) for p in points}) != 1:
        raise ValueError("anchors must be points of one configuration")
    first, roof = points[0], source or roofline()
    prepared = prepare(points, roof)
    alone = replace(first, mode="fixed_concurrency", concurrency=first.instances)
    one_sequence = float(prepare([alone], roof)[0].times.decode_s[0, 0])
    widths = _prior_widths(first.configuration, first.model)

    def misfit(theta: Floats) -> Floats:
        return np.concatenate([*_misfits(prepared, calibration_points, theta, one_sequence), theta / widths])

    start = np.zeros(3) if near is None else near.factors
    found = least_squares(
        misfit,
        start,
        bounds=(LOWEST, HIGHEST),
        x_scale=widths,
        ftol=TOLERANCE,
        xtol=TOLERANCE,
        gtol=TOLERANCE,
        max_nfev=None if near is None else WARM_STEPS,
    )
    jacobian = np.asarray(found.jac, dtype=np.float64)
    before, after = (_deviations(prepared, calibration_points, theta, one_sequence) for theta in (np.zeros(3), found.x))
    loads = np.concatenate([p.in_flight() for p in prepared])
    return CalibratedConfiguration(
        model=first.model,
        configuration=first.configuration,
        any_kv=any_kv,
        calibration_points=len(calibration_points),
        decode=float(np.exp(found.x[0])),
        prefill=float(np.exp(found.x[1])),
        step_s=float(found.x[2] * one_sequence),
        one_sequence_s=one_sequence,
        covariance=tuple(tuple(map(float, row)) for row in np.linalg.inv(jacobian.T @ jacobian)),
        misfit=float(np.mean((after / NOISE) ** 2)),
        lowest=float(loads.min()),
        highest=float(loads.max()),
        before=_median_error(before),
        after=_median_error(after),
        ratio=float(np.exp(np.median(before))),
        surprise=float(max(np.max(np.abs(found.x / widths)), abs(np.median(before)) / widths[0])),
        name=name,
    )


FOLDS = 5
"""Left-out errors come from this many fits: each of few anchors alone, of many every fifth."""


def left_out_errors(
    calibration_points: Sequence[CalibrationPoint],
    source: Roofline | None = None,
    whole: CalibratedConfiguration | None = None,
) -> list[float]:
    """Relative error of each anchor's ITL (throughput where none was measured) when predicted from the others.

    ``whole`` is the fit to all of them, if known. NaN for an anchor with first tokens only. Raises ValueError for
    fewer than two anchors.
    """
    roof = source or roofline()
    folds = min(FOLDS, len(calibration_points))
    start = whole or fit_calibration(calibration_points, source=roof)
    out = [math.nan] * len(calibration_points)
    for fold in range(folds):
        held = range(fold, len(calibration_points), folds)
        fitted = fit_calibration(
            [a for i, a in enumerate(calibration_points) if i % folds != fold], source=roof, near=start
        )
        for i in held:
            (part,) = prepare([calibration_points[i].point], roof)
            off = deviations(part, [calibration_points[i]], part.expected(fitted.scaled(part.times)))
            out[i] = float(np.expm1(-off[0])) if len(off) else math.nan
    return out


def _prior_widths(row: Configuration, model: Model) -> Floats:
    """Prior standard deviations of (log d, log p, s / decode(1)), from the 80 % intervals before calibration."""
    found = [interval(metric, row, model) for metric in ("decode", "prefill", "decode")]
    return np.array([math.log(f.high_factor / f.low_factor) / (2.0 * TWO_SIDED_80) for f in found])


def _misfits(
    prepared: Iterable[Prepared], calibration_points: Sequence[CalibrationPoint], theta: Floats, one_sequence: float
) -> Iterator[Floats]:
    """log(measured / predicted) in units of its spread: ITL or throughput, then TTFT."""
    for part in prepared:
        found = part.expected(_with(part.times, theta, one_sequence))
        yield deviations(part, calibration_points, found) / NOISE
        seen = [i for i, a in enumerate(part.of(calibration_points)) if a.ttft_s is not None]
        late = _logs(part.of(calibration_points), "ttft_s", seen) - np.log(found.ttft_s[seen, 0])
        relative = late / FIRST_TOKEN_NOISE
        yield np.sign(relative) * np.sqrt(2.0 * (np.sqrt(1.0 + relative**2) - 1.0))


def deviations(part: Prepared, calibration_points: Sequence[CalibrationPoint], found: Expected) -> Floats:
    """log(measured / predicted) of each anchor's ITL; of its throughput, inverted, where no ITL was measured."""
    own = part.of(calibration_points)
    itl = [i for i, a in enumerate(own) if a.itl_s is not None]
    rate = [i for i, a in enumerate(own) if a.itl_s is None and a.rps is not None]
    served = found.rps[rate, 0] * part.points.instances[rate, 0]
    slower = np.log(served) - _logs(own, "rps", rate)
    return np.concatenate([_logs(own, "itl_s", itl) - np.log(found.itl_s[itl, 0]), slower])


def _logs(calibration_points: Sequence[CalibrationPoint], name: str, index: Sequence[int]) -> Floats:
    return np.log(np.array([getattr(calibration_points[i], name) for i in index], dtype=np.float64))


def _deviations(
    prepared: Iterable[Prepared], calibration_points: Sequence[CalibrationPoint], theta: Floats, one_sequence: float
) -> Floats:
    """log(measured / predicted) of all anchors; one zero when only first tokens were measured."""
    found = [deviations(p, calibration_points, p.expected(_with(p.times, theta, one_sequence))) for p in prepared]
    together = np.concatenate(found)
    return together if len(together) else np.zeros(1)


def _median_error(off: Floats) -> float:
    """Median of |predicted / measured - 1|."""
    return float(np.median(np.abs(np.expm1(-off))))


def _with(times: StepTimes, theta: Floats, one_sequence: float) -> StepTimes:
    return calibrated(
        times, decode=math.exp(theta[0]), prefill=math.exp(theta[1]), step_s=float(theta[2]) * one_sequence, source=""
    )
