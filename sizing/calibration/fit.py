"""Calibration of one configuration: the factors on its predicted step times that measured points of it ask for.

Three factors are fitted, each shrunk towards the prediction: a decode step of t seconds becomes d x t + s, prompt times
are multiplied by p. Minimised is the sum of (log(measured / predicted) / noise)^2 over the points plus (log d / w)^2 +
(log p / v)^2 + (s / (w x decode of one sequence))^2, which is the mode of a normal posterior; w and v are the
cross-validated spreads of ``sizing.evidence.uncertainty``, the noise is how far two runs of one benchmark differ. The
curvature there gives the posterior spread, hence an interval narrower than before. Accuracy: ``docs/CALIBRATION.md``.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sizing.base.arrays import Floats
from sizing.base.constants import constant
from sizing.base.units import TWO_SIDED_80
from sizing.calibration.calibrated import HIGHEST, LOWEST, CalibratedConfiguration, calibrated
from sizing.calibration.protocol_points import CalibrationPoint, Prepared, prepare
from sizing.catalog.model import Model
from sizing.evidence.protocols import Expected
from sizing.evidence.uncertainty import intervals
from sizing.question.configuration import Configuration
from sizing.steps.mixture import Mixture, mixture
from sizing.steps.roofline import Roofline

NOISE = constant("measurement_repeatability")

FACTORS = ("decode time", "prompt time", "fixed time per step")
"""What is fitted, in the order of every vector and covariance here."""

FIRST_TOKEN_NOISE = 0.30
"""Spread of log(measured / predicted) TTFT that is not the step times': queueing, host and client. Misfits beyond it
count linearly, because a closed loop's TTFT is mostly the effect of its starting burst. Chosen: because that is the
median error of closed-loop TTFT (``docs/ACCURACY.md``)."""

TOLERANCE = 1e-4
"""Relative change at which the fit stops. Chosen: because repeating a benchmark changes it hundreds of times as
much."""

WARM_STEPS = 3
"""Gauss-Newton steps from a fit to nearly the same points. Chosen: because the third changes nothing any more."""

FOLDS = 5
"""Fits that left-out errors come from, at most. Chosen: because more say hardly more and take longer."""


@dataclass(frozen=True, kw_only=True)
class _Problem:
    """What is fitted: the points with their step times by mode, the predicted decode step of one sequence in seconds,
    and the standard deviations of the prior. A solution is the vector (log d, log p, s / decode of one sequence);
    ``sequence_s``, what each running sequence adds to a step, is known."""

    points: Sequence[CalibrationPoint]
    prepared: tuple[Prepared, ...]
    one_sequence_s: float
    widths: Floats
    sequence_s: float = 0.0

    def residuals(self, solution: Floats) -> Floats:
        """What least squares minimises: misfits in units of their spread, then the departure from the prior."""
        return np.concatenate([*self._misfits(solution), solution / self.widths])

    def deviations(self, solution: Floats) -> Floats:
        """log(measured / predicted) of all points; one zero when only first tokens were measured."""
        each = [deviations(part, self.points, self._expected(part, solution)) for part in self.prepared]
        together = np.concatenate(each)
        return together if len(together) else np.zeros(1)

    def _misfits(self, solution: Floats) -> Iterator[Floats]:
        """log(measured / predicted) in units of its spread: ITL or throughput, then TTFT."""
        for part in self.prepared:
            expected, own = self._expected(part, solution), part.of(self.points)
            yield deviations(part, self.points, expected) / NOISE
            timed = [i for i, point in enumerate(own) if point.ttft_s is not None]
            relative = (_logs(own, "ttft_s", timed) - np.log(expected.ttft_s[timed, 0])) / FIRST_TOKEN_NOISE
            yield np.sign(relative) * np.sqrt(2.0 * (np.sqrt(1.0 + relative**2) - 1.0))

    def _expected(self, part: Prepared, solution: Floats) -> Expected:
        step_s = float(solution[2]) * self.one_sequence_s + self.sequence_s * part.grid
        decode, prefill = math.exp(solution[0]), math.exp(solution[1])
        return part.expected(calibrated(part.times, decode=decode, prefill=prefill, step_s=step_s, source=""))


def fit_calibration(
    calibration_points: Sequence[CalibrationPoint],
    *,
    name: str = "",
    any_kv: bool = True,
    source: Mixture | Roofline | None = None,
    near: CalibratedConfiguration | None = None,
    sequence_s: float = 0.0,
) -> CalibratedConfiguration:
    """The factors that explain ``calibration_points``, one or more points of one configuration.

    ``near`` is where to start from, ``sequence_s`` what each running sequence is known to add to a step. Raises
    ValueError when there is no point, or when they are of several configurations (a bug of the caller).
    """
    problem = replace(_problem(calibration_points, source or mixture()), sequence_s=sequence_s)
    from scipy.optimize import least_squares  # takes a quarter of a second, and few questions have a benchmark

    solved = least_squares(
        problem.residuals,
        np.zeros(3) if near is None else near.factors,
        bounds=(LOWEST, HIGHEST),
        x_scale=problem.widths,
        ftol=TOLERANCE,
        xtol=TOLERANCE,
        gtol=TOLERANCE,
        max_nfev=None if near is None else WARM_STEPS,
    )
    jacobian = np.asarray(solved.jac, dtype=np.float64)
    return _solution(problem, solved.x, np.asarray(np.linalg.inv(jacobian.T @ jacobian)), name=name, any_kv=any_kv)


def _problem(calibration_points: Sequence[CalibrationPoint], uncalibrated: Mixture | Roofline) -> _Problem:
    points = [c.point for c in calibration_points]
    if len({(p.model.id, p.configuration) for p in points}) != 1:
        raise ValueError("calibration points must be of one configuration")
    first = points[0]
    alone = replace(first, mode="fixed_concurrency", concurrency=first.instances)
    times = prepare([alone], uncalibrated)[0].times
    return _Problem(
        points=calibration_points,
        prepared=prepare(points, uncalibrated),
        one_sequence_s=float(times.decode_s[0, 0]),
        widths=_prior_widths(first.configuration, first.model, float(times.apart_of(np.zeros(1, dtype=np.intp))[0])),
    )


def _solution(
    problem: _Problem, solution: Floats, covariance: Floats, *, name: str, any_kv: bool
) -> CalibratedConfiguration:
    """The solution with what the points say of it, before and after."""
    first, widths = problem.points[0].point, problem.widths
    before, after = problem.deviations(np.zeros(3)), problem.deviations(solution)
    loads = np.concatenate([part.in_flight() for part in problem.prepared])
    return CalibratedConfiguration(
        model=first.model,
        configuration=first.configuration,
        any_kv=any_kv,
        calibration_points=len(problem.points),
        decode=float(np.exp(solution[0])),
        prefill=float(np.exp(solution[1])),
        step_s=float(solution[2] * problem.one_sequence_s),
        one_sequence_s=problem.one_sequence_s,
        covariance=tuple(tuple(map(float, row)) for row in covariance),
        misfit=float(np.mean((after / NOISE) ** 2)),
        lowest=float(loads.min()),
        highest=float(loads.max()),
        before=_median_error(before),
        after=_median_error(after),
        ratio=float(np.exp(np.median(before))),
        surprise=float(max(np.max(np.abs(solution / widths)), abs(np.median(before)) / widths[0])),
        name=name,
        sequence_s=problem.sequence_s,
    )


def left_out_errors(
    calibration_points: Sequence[CalibrationPoint],
    source: Mixture | Roofline | None = None,
    whole: CalibratedConfiguration | None = None,
) -> list[float]:
    """Relative error of each point's ITL (throughput where none was measured) when predicted from the others.

    ``whole`` is the fit to all of them, if known. NaN for a point with first tokens only. Few points are left out one
    by one, of many every fifth together. Raises ValueError for fewer than two points.
    """
    uncalibrated = source or mixture()
    folds = min(FOLDS, len(calibration_points))
    start = whole or fit_calibration(calibration_points, source=uncalibrated)
    out = [math.nan] * len(calibration_points)
    for fold in range(folds):
        held = range(fold, len(calibration_points), folds)
        fitted = fit_calibration(
            [point for i, point in enumerate(calibration_points) if i % folds != fold],
            source=uncalibrated,
            near=start,
            sequence_s=start.sequence_s,
        )
        for i in held:
            (part,) = prepare([calibration_points[i].point], uncalibrated)
            off = deviations(part, [calibration_points[i]], part.expected(fitted.scaled(part.times, part.grid)))
            out[i] = float(np.expm1(-off[0])) if len(off) else math.nan
    return out


def _prior_widths(row: Configuration, model: Model, apart: float) -> Floats:
    """Prior standard deviations of (log d, log p, s / decode(1)), from the 80 % intervals before calibration."""
    ratio = np.array([apart])
    each = [one for metric in ("decode", "prefill", "decode") for one in intervals(metric, model, [row], apart=ratio)]
    return np.array([math.log(one.high_factor / one.low_factor) / (2.0 * TWO_SIDED_80) for one in each])


def deviations(part: Prepared, calibration_points: Sequence[CalibrationPoint], expected: Expected) -> Floats:
    """log(measured / predicted) of each point's ITL; of its throughput, inverted, where no ITL was measured."""
    own = part.of(calibration_points)
    itl = [i for i, point in enumerate(own) if point.itl_s is not None]
    rate = [i for i, point in enumerate(own) if point.itl_s is None and point.rps is not None]
    served = expected.rps[rate, 0] * part.points.instances[rate, 0]
    slower = np.log(served) - _logs(own, "rps", rate)
    return np.concatenate([_logs(own, "itl_s", itl) - np.log(expected.itl_s[itl, 0]), slower])


def _logs(calibration_points: Sequence[CalibrationPoint], name: str, index: Sequence[int]) -> Floats:
    return np.log(np.array([getattr(calibration_points[i], name) for i in index], dtype=np.float64))


def _median_error(off: Floats) -> float:
    """Median of |predicted / measured - 1|."""
    return float(np.median(np.abs(np.expm1(-off))))
