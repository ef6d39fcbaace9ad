"""How many times as long steps take as planned: decode and prefill factors that explain measured latencies, and beside
them what a request takes before the engine has it, which is not the steps'.

Minimised is the sum of (log(measured / predicted) / noise)^2 over mean gaps and mean first tokens of the windows, large
misfits counting linearly (Huber), and the departure from the prior: no factor at all, and one factor for both. The
prediction is the simulation of each window. Gauss-Newton; the curvature at the solution is the posterior.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq

from reality.diagnosis.worlds import Circumstances, Ran
from sizing.base.arrays import Floats

GAP_NOISE, TTFT_NOISE, SERVED_NOISE = 0.03, 0.15, 0.01
"""Spread of log(measured / predicted) of a mean gap, a mean TTFT, and what is served of an overload, that no step time
explains: scheduling, host, other rounding. Chosen: as far as two simulators of one deployment differ."""
TOGETHER, ALONE = 0.15, 0.7
"""Prior spread of the difference of both log factors, and of their mean where nothing is known."""
HUBER = 2.0
"""Misfits in standard deviations from which they count linearly."""
FARTHEST_MISFIT = 6.0
"""Misfit of a TTFT at most, in standard deviations: near saturation a queue multiplies whatever steps are off."""
LEAST_MISFIT = 1e-9
"""Misfit at least, so that nothing is divided by 0."""
STEP, ROUNDS, ENOUGH = 0.05, 3, 0.004
"""Step of the numeric derivative, rounds at most, and the change of a log factor at which they stop."""
LONGEST_STEP = np.array([0.3, 0.3, 1.0])
"""Change of (log decode, log prefill, front) in a round at most."""
FARTHEST = 1.2
"""Log factor at most: three times as long, or as short; beyond, something else is measured."""
FRONT = 0.7
"""Prior spread of the time before the engine, of the plan's."""
LOWEST, HIGHEST = np.array([-FARTHEST, -FARTHEST, 0.0]), np.array([FARTHEST, FARTHEST, 2.0])
"""Bounds of (log decode, log prefill, front)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class MeasuredSteps:
    """What a window measured: mean gap and TTFT in ms (None: not, or a queue is in it), relative error of the gap.

    ``served``: share of the arrivals that got a first token, where a queue grows; it tells the step times best there.
    """

    circumstances: Circumstances
    gap_ms: float
    ttft_ms: float | None
    error: float = 0.0
    served: float | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Fitted:
    """Factors with the covariance of (log decode, log prefill, front). ``misfits`` of all windows in turn, ``sizes``
    how many each has, and ``jacobian`` of them, weighted, the three rows of the prior last (:func:`prior_of`).
    """

    decode: float
    prefill: float
    front: float
    covariance: Floats
    jacobian: Floats
    misfits: Floats
    sizes: tuple[int, ...]

    @property
    def common(self) -> float:
        """Logarithm of what both factors have in common."""
        return math.log(self.decode * self.prefill) / 2.0

    @property
    def common_error(self) -> float:
        """Standard error of :attr:`common`."""
        return math.sqrt(float(self.covariance[:2, :2].sum())) / 2.0

    @property
    def solution(self) -> Floats:
        """(log decode, log prefill, front)."""
        return np.array([math.log(self.decode), math.log(self.prefill), self.front])

    def error(self, part: int) -> float:
        """Standard error of log decode (0) or log prefill (1)."""
        return math.sqrt(float(self.covariance[part, part]))


Running = Callable[[Circumstances], Ran]


def prior_of(together: float = TOGETHER, alone: float = ALONE) -> Floats:
    """The prior of a plan, (3, 3): departures in standard deviations of the difference of both log factors, of their
    mean, and of what comes before the engine."""
    return np.array([[1.0 / together, -1.0 / together, 0.0], [0.5 / alone, 0.5 / alone, 0.0], [0.0, 0.0, 1.0 / FRONT]])


def prior_with(covariance: Floats) -> Floats:
    """The prior of factors that were learned before with a covariance, (3, 3): departures in standard deviations."""
    return np.asarray(np.linalg.inv(np.linalg.cholesky(covariance)))


def fit(
    targets: Sequence[MeasuredSteps], run: Running, *, prior: Floats | None = None, start: float | None = None
) -> Fitted:
    """The factors that explain the targets. ``prior``: see :func:`prior_of`; ``start``: a logarithm of both factors to
    begin with."""
    prior = prior_of() if prior is None else prior
    expected = np.array([0.0, 0.0, 1.0])
    common = _common(targets, run) if start is None else start
    solution = np.array([common, common, 1.0])
    for _ in range(ROUNDS):
        misfits, sizes = _misfits(targets, run, solution)
        ahead = [_misfits(targets, run, solution + STEP * unit)[0] for unit in np.eye(3)]
        slope = np.stack([(one - misfits) / STEP for one in ahead], axis=1)
        weights = np.ones(len(misfits))
        if len(targets) > 1:  # one window has no others that would contradict it
            weights = np.sqrt(np.minimum(1.0, HUBER / np.maximum(np.abs(misfits), LEAST_MISFIT)))
        jacobian = np.vstack([slope * weights[:, None], prior])
        residuals = np.concatenate([misfits * weights, prior @ (solution - expected)])
        change = np.linalg.lstsq(jacobian, -residuals, rcond=None)[0]
        if float(np.abs(change).max()) < ENOUGH:
            break
        solution = np.clip(solution + np.clip(change, -LONGEST_STEP, LONGEST_STEP), LOWEST, HIGHEST)
    return Fitted(
        decode=float(np.exp(solution[0])),
        prefill=float(np.exp(solution[1])),
        front=float(solution[2]),
        covariance=np.asarray(np.linalg.inv(jacobian.T @ jacobian)),
        jacobian=jacobian,
        misfits=misfits * weights,
        sizes=sizes,
    )


def _common(targets: Sequence[MeasuredSteps], run: Running) -> float:
    """The logarithm of one factor for decode and prefill at which half of the mean gaps are longer than predicted: a
    start from which the rest is nearly linear, however steeply a queue answers."""

    def missing(log_factor: float) -> float:
        factor = math.exp(log_factor)
        return float(np.median([_off(one, run(stepped(one.circumstances, factor, factor))) for one in targets]))

    now = missing(0.0)
    if abs(now) < SERVED_NOISE:
        return 0.0
    end = math.copysign(FARTHEST, now)
    if missing(end) * now > 0.0:
        return end
    return float(brentq(missing, min(end, 0.0), max(end, 0.0), xtol=ENOUGH))


def _off(target: MeasuredSteps, ran: Ran) -> float:
    """How much slower steps are than those of a run, in logs, by what tells it best: falls as they get slower."""
    if target.served is not None:
        return math.log(ran.served / target.served)
    return math.log(target.gap_ms / ran.mean_ms("tpot_ms"))


def _misfits(targets: Sequence[MeasuredSteps], run: Running, solution: Floats) -> tuple[Floats, tuple[int, ...]]:
    """log(measured / predicted) in units of its spread, of every window in turn, and how many each has."""
    out: list[float] = []
    sizes = []
    for target in targets:
        ran = run(at_solution(target.circumstances, solution))
        before = len(out)
        out.append(math.log(target.gap_ms / ran.mean_ms("tpot_ms")) / math.hypot(GAP_NOISE, target.error))
        if target.served is not None:
            out.append(math.log(ran.served / target.served) / SERVED_NOISE)
        if target.ttft_ms is not None:
            misfit = math.log(target.ttft_ms / ran.mean_ms("ttft_ms")) / TTFT_NOISE
            out.append(max(min(misfit, FARTHEST_MISFIT), -FARTHEST_MISFIT))
        sizes.append(len(out) - before)
    return np.array(out), tuple(sizes)


def at_solution(one: Circumstances, solution: Floats) -> Circumstances:
    """The circumstances with the factors of a solution."""
    return stepped(one, math.exp(solution[0]), math.exp(solution[1]), float(solution[2]))


def stepped(one: Circumstances, decode: float, prefill: float, front: float | None = None) -> Circumstances:
    """The circumstances with every step taking as many times as long, and as much more time before the engine."""
    return replace(
        one,
        decode=one.decode * float(decode),
        prefill=one.prefill * float(prefill),
        front=one.front if front is None else float(front),
    )
