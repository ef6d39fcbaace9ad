"""How many times as long steps take as planned: decode and prefill factors that explain measured latencies, beside
them what a request takes before the engine has it, which is not the steps', and where several windows are fitted what
each running sequence adds to a step (the host's time to sample, detokenise, schedule and send).

Minimised is the sum of (log(measured / predicted) / noise)^2 over mean gaps and mean first tokens of the windows, large
misfits counting linearly (Huber), and the departure from the prior: no factor at all, and one factor for both. The
prediction is the simulation of each window. Gauss-Newton; the curvature at the solution is the posterior.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq

from reality.diagnosis.worlds import Circumstances, Ran
from sizing.base.arrays import Flags, Floats

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
LONGEST_STEP = np.array([0.3, 0.3, 1.0, 0.3])
"""Change of (log decode, log prefill, front, share of sequences) in a round at most."""
FARTHEST = 1.2
"""Log factor at most: three times as long, or as short; beyond, something else is measured."""
FRONT = 0.7
"""Prior spread of the time before the engine, of the plan's."""
SHARE = 3
"""Place of the share of sequences in a solution that has one."""
LOWEST, HIGHEST = np.array([-FARTHEST, -FARTHEST, 0.0, 0.0]), np.array([FARTHEST, FARTHEST, 2.0, 1.0])
"""Bounds of (log decode, log prefill, front, share of sequences): a sequence takes no time away, and no more than all
of the measured step."""


@dataclass(frozen=True, kw_only=True, eq=False)
class MeasuredSteps:
    """What a window measured: mean gap and TTFT in ms (None: not, or a queue is in it), relative error of the gap.

    ``served``: share of the arrivals that got a first token, where a queue grows; it tells the step times best there.
    ``quantity``: whether the gap is the mean of a request (``tpot_ms``) or of all single ones (``itl_ms``).
    """

    circumstances: Circumstances
    gap_ms: float
    ttft_ms: float | None
    error: float = 0.0
    served: float | None = None
    quantity: str = "tpot_ms"


@dataclass(frozen=True, kw_only=True, eq=False)
class StepPrior:
    """What is known before: ``rows`` (m, m), departures from ``expected`` (m,) in standard deviations, of (log decode,
    log prefill, front) or also of the share of sequences: what they add to a step, in units of ``unit_s`` seconds each.
    """

    rows: Floats
    expected: Floats
    unit_s: float = 0.0

    def starting(self, common: float) -> Floats:
        """What is expected, with one logarithm of both factors to begin with."""
        return np.array([common, common, *self.expected[2:]])


@dataclass(frozen=True, kw_only=True, eq=False)
class Fitted:
    """The ``solution``: (log decode, log prefill, front), and the share of sequences where the prior has one.
    ``misfits`` of all windows in turn, ``sizes`` how many each has, and ``jacobian`` of them, weighted, the rows of the
    prior last. ``free``: which were fitted; the others are held where they were expected.
    """

    solution: Floats
    jacobian: Floats
    misfits: Floats
    sizes: tuple[int, ...]
    prior: StepPrior
    free: Flags

    @property
    def decode(self) -> float:
        """How many times as long decode steps take."""
        return math.exp(self.solution[0])

    @property
    def prefill(self) -> float:
        """How many times as long prompts take."""
        return math.exp(self.solution[1])

    @property
    def front(self) -> float:
        """How many times as long a request takes before the engine has it."""
        return float(self.solution[2])

    @property
    def residuals(self) -> Floats:
        """What least squares minimises: misfits, then the departure from the prior."""
        return np.concatenate([self.misfits, self.prior.rows @ (self.solution - self.prior.expected)])

    @property
    def covariance(self) -> Floats:
        """Of everything in the solution, also of what was held, which is then as unknown as the prior says."""
        return np.asarray(np.linalg.inv(self.jacobian.T @ self.jacobian))

    @property
    def _of_fitted(self) -> Floats:
        own = self.jacobian[:, self.free]
        return np.asarray(np.linalg.inv(own.T @ own))

    @property
    def common(self) -> float:
        """Logarithm of what both factors have in common."""
        return math.log(self.decode * self.prefill) / 2.0

    @property
    def common_error(self) -> float:
        """Standard error of :attr:`common`."""
        return math.sqrt(float(self._of_fitted[:2, :2].sum())) / 2.0

    def error(self, part: int) -> float:
        """Standard error of log decode (0) or log prefill (1), with what was held as it is."""
        return math.sqrt(float(self._of_fitted[part, part]))


Running = Callable[[Circumstances], Ran]


def prior_of(together: float = TOGETHER, alone: float = ALONE) -> Floats:
    """The prior of a plan, (3, 3): departures in standard deviations of the difference of both log factors, of their
    mean, and of what comes before the engine."""
    return np.array([[1.0 / together, -1.0 / together, 0.0], [0.5 / alone, 0.5 / alone, 0.0], [0.0, 0.0, 1.0 / FRONT]])


def prior_with(covariance: Floats) -> Floats:
    """The prior of what was learned before with a covariance, (m, m): departures in standard deviations."""
    return np.asarray(np.linalg.inv(np.linalg.cholesky(covariance)))


def fit(
    targets: Sequence[MeasuredSteps],
    run: Running,
    *,
    prior: StepPrior | None = None,
    start: Floats | None = None,
    free: Flags | None = None,
    rounds: int = ROUNDS,
) -> Fitted:
    """What explains the targets. ``prior``: that of a plan for one window if none; ``start``: a solution to begin with;
    ``free``: what of it may change (None: everything)."""
    prior = StepPrior(rows=prior_of(), expected=np.array([0.0, 0.0, 1.0])) if prior is None else prior
    number = len(prior.expected)
    free = np.ones(number, dtype=bool) if free is None else free
    solution = prior.starting(_common(targets, run)) if start is None else start
    for _ in range(rounds):
        at = solution
        misfits, sizes = _misfits(targets, run, at, prior.unit_s)
        ahead = [_misfits(targets, run, at + STEP * unit, prior.unit_s)[0] for unit in np.eye(number)]
        slope = np.stack([(one - misfits) / STEP for one in ahead], axis=1)
        weights = np.ones(len(misfits))
        if len(targets) > 1:  # one window has no others that would contradict it
            weights = np.sqrt(np.minimum(1.0, HUBER / np.maximum(np.abs(misfits), LEAST_MISFIT)))
        jacobian = np.vstack([slope * weights[:, None], prior.rows])
        residuals = np.concatenate([misfits * weights, prior.rows @ (at - prior.expected)])
        change = np.zeros(number)
        change[free] = np.linalg.lstsq(jacobian[:, free], -residuals, rcond=None)[0]
        if float(np.abs(change).max()) < ENOUGH:
            break
        longest = LONGEST_STEP[:number]
        solution = np.clip(at + np.clip(change, -longest, longest), LOWEST[:number], HIGHEST[:number])
    return Fitted(solution=solution, jacobian=jacobian, misfits=misfits * weights, sizes=sizes, prior=prior, free=free)


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
    return math.log(target.gap_ms / ran.mean_ms(target.quantity))


def _misfits(
    targets: Sequence[MeasuredSteps], run: Running, solution: Floats, unit_s: float
) -> tuple[Floats, tuple[int, ...]]:
    """log(measured / predicted) in units of its spread, of every window in turn, and how many each has."""
    out: list[float] = []
    sizes = []
    for target in targets:
        ran = run(at_solution(target.circumstances, solution, unit_s))
        before = len(out)
        out.append(math.log(target.gap_ms / ran.mean_ms(target.quantity)) / math.hypot(GAP_NOISE, target.error))
        if target.served is not None:
            out.append(math.log(ran.served / target.served) / SERVED_NOISE)
        if target.ttft_ms is not None:
            misfit = math.log(target.ttft_ms / ran.mean_ms("ttft_ms")) / TTFT_NOISE
            out.append(max(min(misfit, FARTHEST_MISFIT), -FARTHEST_MISFIT))
        sizes.append(len(out) - before)
    return np.array(out), tuple(sizes)


def at_solution(one: Circumstances, solution: Floats, unit_s: float) -> Circumstances:
    """The circumstances with the factors of a solution, and what sequences add where it says so, in units of
    ``unit_s``."""
    then = stepped(one, math.exp(solution[0]), math.exp(solution[1]), float(solution[2]))
    return then if len(solution) == SHARE else replace(then, sequence_s=float(solution[SHARE]) * unit_s)


def stepped(one: Circumstances, decode: float, prefill: float, front: float | None = None) -> Circumstances:
    """The circumstances with every step taking as many times as long, and as much more time before the engine."""
    return replace(
        one,
        decode=one.decode * float(decode),
        prefill=one.prefill * float(prefill),
        front=one.front if front is None else float(front),
    )
