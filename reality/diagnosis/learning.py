"""Step times learned from live windows at different loads, checked on windows that were left out, or not at all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from collectors.questions.past_windows import PastWindow
from reality.diagnosis.fitting import HIGHEST, LOWEST, Fitted, Target, at_solution, fit
from reality.diagnosis.result import Recalibration
from reality.diagnosis.worlds import Circumstances, Worlds
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
SINGULAR = 1e8
"""Condition number from which a matrix counts as singular."""
REQUESTS = 6_000
"""Requests of one run."""
MOST_WAITING = 0.5
"""Requests waiting for each replica beyond which a window is saturated: its latencies are of the queue."""
FEWEST_GAIN = 0.9
"""Share of the error before that the error after may be at most: what hardly helps is not offered."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Learned:
    """What the windows say (None: there are too few), and those that calibrate; none where nothing is learned."""

    recalibration: Recalibration | None = None
    targets: tuple[Target, ...] = ()


def targets_of(past: Sequence[PastWindow], now: Circumstances) -> list[Target]:
    """The past windows that can be judged: enough requests, no replica came or went, no queue."""
    targets = []
    for one in past:
        if not one.steady or not one.rps or not one.gap_ms or not one.replicas:
            continue
        if one.rps * (one.end_s - one.start_s) < FEWEST_REQUESTS:
            continue
        if (one.waiting or 0.0) > MOST_WAITING * one.replicas:
            continue
        targets.append(Target(circumstances=_as_then(one, now), gap_ms=one.gap_ms, ttft_ms=one.ttft_ms))
    return targets


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


def learn(
    past: Sequence[PastWindow],
    now: Circumstances,
    worlds: Worlds,
    decode: ErrorFactors,
    prefill: ErrorFactors,
    *,
    start: float,
) -> Learned:
    """What the windows say. ``decode`` and ``prefill`` are the intervals of the plan, ``start`` the logarithm of a
    factor to begin with."""
    targets = targets_of(past, now)
    if len(targets) < FEWEST_WINDOWS:
        return Learned()
    width = math.log(decode.high_factor / decode.low_factor) / (2.0 * TWO_SIDED_80)
    apart = max(width, math.log(prefill.high_factor / prefill.low_factor) / (2.0 * TWO_SIDED_80))
    fitted = fit(
        targets,
        lambda one: worlds.run(one, lasting=True, requests=REQUESTS),
        together=max(apart, LEAST_APART),
        alone=max(2.0 * width, LEAST_WIDTH),
        start=start,
    )
    spread = _spread(targets)
    known = _errors_alone(fitted)
    identifiable = spread >= LEAST_SPREAD and known[0] <= MOST_ERROR[0] and known[1] <= MOST_ERROR[1]
    before, after = _left_out(targets, fitted, worlds)
    helps = after is not None and before is not None and after <= FEWEST_GAIN * before
    used = identifiable and helps
    half = TWO_SIDED_80 * fitted.decode_error
    recalibration = Recalibration(
        factor_decode=fitted.decode if used else 1.0,
        factor_prefill=fitted.prefill if used else 1.0,
        decode_low=fitted.decode * math.exp(-half) if used else decode.low_factor,
        decode_high=fitted.decode * math.exp(half) if used else decode.high_factor,
        windows=len(targets),
        identifiable=identifiable,
        error_before=before,
        error_after=after if used else before,
        why=_why(spread=spread, identifiable=identifiable, helps=helps, before=before, after=after),
    )
    return Learned(recalibration=recalibration, targets=tuple(targets) if used else ())


def _spread(targets: Sequence[Target]) -> float:
    """The highest load of a replica over the lowest."""
    loads = [target.circumstances.rps / target.circumstances.replicas for target in targets]
    return max(loads) / min(loads)


def _errors_alone(fitted: Fitted) -> tuple[float, float]:
    """Standard errors of both log factors from the windows, infinite where they say nothing: without a prior on the
    level of the step times, with that on how far decode and prefill differ and on what comes before the engine."""
    own = np.delete(fitted.jacobian, len(fitted.jacobian) - 2, axis=0)
    information = own.T @ own
    if np.linalg.cond(information) > SINGULAR:
        return math.inf, math.inf
    errors = np.sqrt(np.diag(np.linalg.inv(information)))
    return float(errors[0]), float(errors[1])


def _left_out(targets: Sequence[Target], fitted: Fitted, worlds: Worlds) -> tuple[float | None, float | None]:
    """Median relative error of gap and TTFT on windows that were left out of the fit: as planned, and with the factors
    of the others, each from the normal equations around the whole fit without the rows of its window."""
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


def _why(*, spread: float, identifiable: bool, helps: bool, before: float | None, after: float | None) -> str:
    if not identifiable and spread < LEAST_SPREAD:
        return (
            f"The loads of the windows differ by a factor of {spread:.2f}, at least {LEAST_SPREAD:g} is needed to tell "
            "decode and prefill apart: nothing is learned."
        )
    if not identifiable:
        return "The windows cannot tell decode and prefill apart: nothing is learned."
    if not helps:
        return "The step times of the plan explain these windows as well as fitted ones: nothing is to be learned."
    return (
        f"On windows that were left out the median error falls from {percent(before)} to {percent(after)} "
        "(mean TTFT and mean gap)."
    )
