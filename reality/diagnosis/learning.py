"""Step times learned from live windows at different loads: robust, checked on windows that were left out, or nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from collectors.questions.details import PastWindow
from reality.diagnosis.fitting import Fitted, Target, fit
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
MOST_ERROR = 0.10
"""Standard error of a log factor, from the windows alone, up to which it counts as known."""
REQUESTS = 6_000
"""Requests of one run."""
MOST_WAITING = 0.5
"""Requests waiting for each replica beyond which a window is saturated: its latencies are of the queue."""
FEWEST_GAIN = 0.9
"""Share of the error before that the error after may be at most: what hardly helps is not offered."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Learned:
    """The windows that were used and what they say; ``why`` nothing was learned ("" where it was)."""

    targets: tuple[Target, ...]
    fitted: Fitted | None
    why: str


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
    past: Sequence[PastWindow], now: Circumstances, worlds: Worlds, decode: ErrorFactors, prefill: ErrorFactors
) -> Recalibration | None:
    """What the windows say; None where there are too few. ``decode`` and ``prefill`` are the intervals of the plan."""
    targets = targets_of(past, now)
    if len(targets) < FEWEST_WINDOWS:
        return None
    width = math.log(decode.high_factor / decode.low_factor) / (2.0 * TWO_SIDED_80)
    apart = max(width, math.log(prefill.high_factor / prefill.low_factor) / (2.0 * TWO_SIDED_80))
    fitted = fit(
        targets,
        lambda one: worlds.run(one, lasting=True, requests=REQUESTS),
        together=max(apart, 1e-2),
        alone=max(2.0 * width, 0.3),
    )
    loads = [target.circumstances.rps / target.circumstances.replicas for target in targets]
    spread = max(loads) / min(loads)
    known = _errors_alone(fitted)
    identifiable = spread >= LEAST_SPREAD and max(known) <= MOST_ERROR
    before, after = _left_out(targets, fitted, worlds)
    helps = after is not None and before is not None and after <= FEWEST_GAIN * before
    used = identifiable and helps
    half = TWO_SIDED_80 * fitted.decode_error
    return Recalibration(
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


def _errors_alone(fitted: Fitted) -> tuple[float, float]:
    """Standard errors of both log factors from the windows without the prior, infinite where they say nothing."""
    own = fitted.jacobian[:-2]
    information = own.T @ own
    if np.linalg.cond(information) > 1e6:
        return math.inf, math.inf
    errors = np.sqrt(np.diag(np.linalg.inv(information)))
    return float(errors[0]), float(errors[1])


def _left_out(targets: Sequence[Target], fitted: Fitted, worlds: Worlds) -> tuple[float | None, float | None]:
    """Median relative error of gap and TTFT on windows that were left out of the fit: as planned, and with the factors
    of the others, each from the normal equations around the whole fit without the rows of its window."""
    before, after = [], []
    solution = np.log([fitted.decode, fitted.prefill])
    ends = np.cumsum(fitted.sizes)
    jacobian = fitted.jacobian
    for target, end, size in zip(targets, ends, fitted.sizes, strict=True):
        kept = np.ones(len(jacobian), dtype=bool)
        kept[end - size : end] = False
        residuals = np.concatenate([fitted.misfits, jacobian[-2:] @ solution])[kept]
        change = np.linalg.lstsq(jacobian[kept], -residuals, rcond=None)[0]
        for factors, errors in ((np.ones(2), before), (np.exp(solution + change), after)):
            one = replace(target.circumstances, decode=float(factors[0]), prefill=float(factors[1]))
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
