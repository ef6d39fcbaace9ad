"""Step times learned from live windows at different loads, checked on windows that were left out, or not at all.

Where a person accepted some before, they are what is departed from: windows since then make them surer, or show that
they hold no longer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from collectors.questions.past_windows import PastWindow
from reality.diagnosis.drift import change_of
from reality.diagnosis.fitting import (
    GAP_NOISE,
    HIGHEST,
    LOWEST,
    Fitted,
    MeasuredSteps,
    at_solution,
    fit,
    prior_of,
    prior_with,
)
from reality.diagnosis.limits import utc
from reality.diagnosis.result import Recalibration
from reality.diagnosis.worlds import Circumstances, Worlds
from reality.step_times import LEAST_FRONT, interval_of, relative_covariance
from sharing.bonds.records import LearnedCalibration
from sizing.base.arrays import Floats
from sizing.base.format import percent
from sizing.base.units import TWO_SIDED_80
from sizing.evidence.error_factors import ErrorFactors

FEWEST_WINDOWS = 3
"""Windows from which something is learned: two to fit, and one that was left out."""
FEWEST_REQUESTS = 200.0
"""Requests of a window whose means are taken."""
LEAST_SPREAD = 1.2
"""Highest load of the windows over the lowest, from which they tell a step's parts apart."""
MOST_ERROR = (0.10, 0.40)
"""Standard errors of the log factors of decode and prefill, from the windows alone, up to which they count as known.
Chosen: prompts are the smaller part of most steps, and what they add is checked on windows that were left out."""
LEAST_WIDTH, LEAST_APART = 0.3, 0.05
"""Prior spreads at least, of what both log factors have in common and of their difference: a plan may be surer of
itself than a deployment bears out."""
FORGOTTEN = (0.02, 0.02, 0.10)
"""Spreads added to what was accepted, of the log factors and of the front: windows of another day differ by so much."""
AS_GOOD = 0.005
"""How much larger the error after may be where windows make accepted step times surer."""
SINGULAR = 1e8
"""Condition number from which a matrix counts as singular."""
REQUESTS = 6_000
"""Requests of one simulated run."""
MOST_WAITING = 0.5
"""Requests waiting for each replica beyond which a window is saturated: its latencies are of the queue."""
FEWEST_GAIN = 0.9
"""Share of the error before that the error after may be at most: what hardly helps is not offered."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Learned:
    """What the windows say (None: there are too few), and those that calibrate; none where nothing is learned."""

    recalibration: Recalibration | None = None
    targets: tuple[MeasuredSteps, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Known:
    """What is known before any window: the intervals of the plan's step times, and those that were accepted, which
    simulations have already. ``basis``: what all factors are factors of."""

    decode: ErrorFactors
    prefill: ErrorFactors
    accepted: LearnedCalibration | None
    basis: str

    @property
    def factors(self) -> Floats:
        """What simulations have already: (decode, prefill, front)."""
        one = self.accepted
        return np.ones(3) if one is None else np.array([one.decode, one.prefill, one.front])

    def prior(self, *, drifted: bool) -> Floats:
        """How far from that the windows may lie: as surely as was learned, or as planned where it holds no longer."""
        if self.accepted is not None and not drifted:
            return prior_with(relative_covariance(self.accepted) + np.diag(np.square(FORGOTTEN)))
        widths = [
            math.log(one.high_factor / one.low_factor) / (2.0 * TWO_SIDED_80) for one in (self.decode, self.prefill)
        ]
        return prior_of(together=max(*widths, LEAST_APART), alone=max(2.0 * widths[0], LEAST_WIDTH))


@dataclass(frozen=True, kw_only=True, eq=False)
class Windows:
    """The windows that can be judged, oldest first, with their ends; those before a change of step times left out."""

    targets: tuple[MeasuredSteps, ...]
    spans_s: tuple[tuple[float, float], ...]
    drift: str | None = None

    @property
    def loads(self) -> list[float]:
        """Requests/s of a replica in each."""
        return [one.circumstances.rps / one.circumstances.replicas for one in self.targets]

    def since(self, at: int, drift: str) -> Windows:
        """The windows from number ``at`` on, with the drift that left the earlier ones out."""
        return Windows(targets=self.targets[at:], spans_s=self.spans_s[at:], drift=drift)


def windows_of(past: Sequence[PastWindow], now: Circumstances, after_s: float = 0.0) -> Windows:
    """The past windows that can be judged: enough requests, no replica came or went, no queue, not accepted before."""
    targets, spans = [], []
    for one in past:
        if not one.steady or not one.rps or not one.gap_ms or not one.replicas or one.start_s < after_s:
            continue
        if one.rps * (one.end_s - one.start_s) < FEWEST_REQUESTS:
            continue
        if (one.waiting or 0.0) > MOST_WAITING * one.replicas:
            continue
        targets.append(MeasuredSteps(circumstances=_as_then(one, now), gap_ms=one.gap_ms, ttft_ms=one.ttft_ms))
        spans.append((one.start_s, one.end_s))
    return Windows(targets=tuple(targets), spans_s=tuple(spans))


def _as_then(one: PastWindow, now: Circumstances) -> Circumstances:
    """The circumstances of a past window: its load, mean lengths and hit rate, the shapes of now."""
    assert one.rps is not None
    assert one.replicas is not None
    prompt = one.prompt_tokens_per_s / one.rps if one.prompt_tokens_per_s else float(now.prompt.mean())
    output = one.generation_tokens_per_s / one.rps if one.generation_tokens_per_s else float(now.output.mean())
    return replace(
        now,
        rps=one.rps,
        prompt=_with_mean(now.prompt, prompt),
        output=_with_mean(now.output, output),
        hits=now.hits if one.prefix_hit_ratio is None else one.prefix_hit_ratio,
        replicas=round(one.replicas),
        profile=(),
        decode=1.0,
        prefill=1.0,
    )


def _with_mean(lengths: Floats, mean: float) -> Floats:
    return np.maximum(lengths * (mean / float(lengths.mean())), 1.0)


def learn(past: Sequence[PastWindow], now: Circumstances, worlds: Worlds, known: Known, *, start: float) -> Learned:
    """What the windows say. ``worlds`` simulate with the accepted step times; ``start``: the logarithm of a factor to
    begin with."""
    windows = windows_of(past, now, 0.0 if known.accepted is None else known.accepted.until.timestamp())
    if known.accepted is not None:
        misfits = _misfits_at(windows.targets, worlds, np.array([0.0, 0.0, 1.0]))
        windows = _without_older(windows, misfits, known.accepted)
    if len(windows.targets) < FEWEST_WINDOWS:
        return _too_few(windows, known)
    fitted = _fit(windows, worlds, known, start)
    if known.accepted is None:
        later = _without_older(windows, _misfits_at(windows.targets, worlds, fitted.solution), None)
        if later.drift is not None:
            windows = later
            if len(windows.targets) < FEWEST_WINDOWS:
                return _too_few(windows, known)
            fitted = _fit(windows, worlds, known, start)
    return _judged(windows, worlds, known, fitted)


def _fit(windows: Windows, worlds: Worlds, known: Known, start: float) -> Fitted:
    return fit(
        windows.targets,
        lambda one: worlds.run(one, lasting=True, requests=REQUESTS),
        prior=known.prior(drifted=windows.drift is not None),
        start=start,
    )


def _misfits_at(targets: Sequence[MeasuredSteps], worlds: Worlds, solution: Floats) -> list[float]:
    """log(measured / predicted) of the mean gap of each window, with the factors of a solution."""
    ran = [
        worlds.run(at_solution(one.circumstances, solution), lasting=True, requests=REQUESTS).mean_ms("tpot_ms")
        for one in targets
    ]
    return [math.log(one.gap_ms / gap) for one, gap in zip(targets, ran, strict=True)]


def _without_older(windows: Windows, misfits: Sequence[float], accepted: LearnedCalibration | None) -> Windows:
    """The windows since the last change of step times, with a sentence about it; all where there was none."""
    before = 0 if accepted is None else accepted.windows
    change = change_of(misfits, GAP_NOISE, loads=windows.loads, before=before)
    if change is None:
        return windows
    times = math.exp(change.log_times)
    what = "those learned before" if accepted is not None else "in the windows before"
    since = utc(windows.spans_s[change.at][0])
    return windows.since(change.at, f"Since {since} steps take {times:.2f} times as long as {what}.")


def _too_few(windows: Windows, known: Known) -> Learned:
    """Fewer windows than teach something: what was accepted counts on, or nothing is said."""
    if known.accepted is None and windows.drift is None:
        return Learned()
    number, one = len(windows.targets), known.accepted
    more = f"{number} window{'' if number == 1 else 's'} can be judged since then, {FEWEST_WINDOWS} are needed"
    why = f"{windows.drift} {more} to learn anew." if windows.drift else f"The accepted step times count; {more} more."
    return Learned(recalibration=_unchanged(known, why, drift=windows.drift, identifiable=one is not None))


def _unchanged(known: Known, why: str, *, drift: str | None, identifiable: bool) -> Recalibration:
    """What was accepted, or the plan's: nothing new is learned."""
    one = known.accepted
    factors = known.factors
    decode = known.decode if one is None else interval_of(one, "decode")
    prefill = known.prefill if one is None else interval_of(one, "prefill")
    return Recalibration(
        factor_decode=factors[0],
        factor_prefill=factors[1],
        factor_fixed=factors[2],
        decode_low=factors[0] * decode.low_factor,
        decode_high=factors[0] * decode.high_factor,
        prefill_low=factors[1] * prefill.low_factor,
        prefill_high=factors[1] * prefill.high_factor,
        windows=0 if one is None else one.windows,
        since=None if one is None else utc(one.since.timestamp()),
        until=None if one is None else utc(one.until.timestamp()),
        covariance=() if one is None else one.covariance,
        basis=known.basis,
        offered=False,
        drift=drift,
        identifiable=identifiable,
        error_before=None,
        error_after=None,
        why=why,
    )


def _judged(windows: Windows, worlds: Worlds, known: Known, fitted: Fitted) -> Learned:
    """Whether the fit may be used: the windows tell decode and prefill apart, and it predicts those left out."""
    targets, one = windows.targets, known.accepted
    refining = one is not None and windows.drift is None
    spread = max(windows.loads) / min(windows.loads)
    errors = _errors_alone(fitted, with_prior=refining)
    identifiable = (refining or spread >= LEAST_SPREAD) and errors[0] <= MOST_ERROR[0] and errors[1] <= MOST_ERROR[1]
    before, after = _left_out(targets, fitted, worlds)
    helps = after <= (before + AS_GOOD if refining else FEWEST_GAIN * before)
    why = _why(spread=spread, identifiable=identifiable, helps=helps, before=before, after=after, refining=refining)
    why = " ".join(filter(None, (windows.drift, why)))
    if not identifiable or not helps:
        kept = _unchanged(known, why, drift=windows.drift, identifiable=identifiable)
        counted = kept.windows if one is not None else len(targets)
        kept = kept.model_copy(update={"windows": counted, "error_before": before, "error_after": before})
        return Learned(recalibration=kept)
    total = known.factors * np.array([fitted.decode, fitted.prefill, fitted.front])
    total[2] = max(total[2], LEAST_FRONT)
    scale = np.array([1.0, 1.0, known.factors[2]])
    half = [math.exp(TWO_SIDED_80 * fitted.error(part)) for part in (0, 1)]
    recalibration = Recalibration(
        factor_decode=total[0],
        factor_prefill=total[1],
        factor_fixed=total[2],
        decode_low=total[0] / half[0],
        decode_high=total[0] * half[0],
        prefill_low=total[1] / half[1],
        prefill_high=total[1] * half[1],
        windows=len(targets) + (one.windows if one is not None and refining else 0),
        since=utc(one.since.timestamp() if one is not None and refining else windows.spans_s[0][0]),
        until=utc(windows.spans_s[-1][1]),
        covariance=tuple(map(tuple, (fitted.covariance * np.outer(scale, scale)).tolist())),
        basis=known.basis,
        offered=True,
        drift=windows.drift,
        identifiable=True,
        error_before=before,
        error_after=after,
        why=why,
    )
    return Learned(recalibration=recalibration, targets=targets)


def _errors_alone(fitted: Fitted, *, with_prior: bool) -> tuple[float, float]:
    """Standard errors of both log factors from the windows, infinite where they say nothing: without a prior on the
    level of the step times, with that on how far decode and prefill differ and on what comes before the engine.

    ``with_prior``: with all that earlier windows taught.
    """
    own = fitted.jacobian if with_prior else np.delete(fitted.jacobian, len(fitted.jacobian) - 2, axis=0)
    information = own.T @ own
    if np.linalg.cond(information) > SINGULAR:
        return math.inf, math.inf
    errors = np.sqrt(np.diag(np.linalg.inv(information)))
    return float(errors[0]), float(errors[1])


def _left_out(targets: Sequence[MeasuredSteps], fitted: Fitted, worlds: Worlds) -> tuple[float, float]:
    """Median relative error of gap and TTFT on windows that were left out of the fit: as simulated so far, and with the
    factors of the others, each from the normal equations around the whole fit without the rows of its window."""
    before: list[float] = []
    after: list[float] = []
    ends, jacobian = np.cumsum(fitted.sizes), fitted.jacobian
    residuals = np.concatenate([fitted.misfits, jacobian[-3:] @ (fitted.solution - np.array([0.0, 0.0, 1.0]))])
    for target, end, size in zip(targets, ends, fitted.sizes, strict=True):
        kept = np.ones(len(jacobian), dtype=bool)
        kept[end - size : end] = False
        change = np.linalg.lstsq(jacobian[kept], -residuals[kept], rcond=None)[0]
        others = np.clip(fitted.solution + change, LOWEST, HIGHEST)
        each = (target.circumstances, at_solution(target.circumstances, others))
        for one, errors in zip(each, (before, after), strict=True):
            ran = worlds.run(one, lasting=True, requests=REQUESTS)
            errors.append(abs(ran.mean_ms("tpot_ms") / target.gap_ms - 1.0))
            if target.ttft_ms is not None:
                errors.append(abs(ran.mean_ms("ttft_ms") / target.ttft_ms - 1.0))
    return float(np.median(before)), float(np.median(after))


def _why(*, spread: float, identifiable: bool, helps: bool, before: float, after: float, refining: bool) -> str:
    if not identifiable and spread < LEAST_SPREAD:
        return (
            f"The loads of the windows differ by a factor of {spread:.2f}, at least {LEAST_SPREAD:g} is needed to tell "
            "decode and prefill apart: nothing is learned."
        )
    if not identifiable:
        return "The windows cannot tell decode and prefill apart: nothing is learned."
    if not helps and refining:
        return "The accepted step times explain the windows since then better than new ones would: they stay."
    if not helps:
        return "The step times of the plan explain these windows as well as fitted ones: nothing is to be learned."
    if refining:
        return (
            f"The windows since then bear the accepted step times out and make them surer: median error "
            f"{percent(before)} with them, {percent(after)} with the new ones (mean TTFT and mean gap)."
        )
    return (
        f"On windows that were left out the median error falls from {percent(before)} to {percent(after)} "
        "(mean TTFT and mean gap)."
    )
