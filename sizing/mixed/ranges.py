"""The requests of a scenario in ranges of prompt length, and the scenario of some of these ranges alone.

A router knows the prompt of a request when it comes, and not how long the answer will be: so requests are told apart by
the prompt. Answers are as long in every range as in all (a scenario states the two lengths apart).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from sizing.base.mixed import PromptRange
from sizing.question.length_distributions import FixedLength, GroupedLength, LengthDistribution, LognormalLength
from sizing.scenario.day_profile import at_peak
from sizing.scenario.schema import Scenario
from sizing.scenario.traffic import Arrivals, Gamma, GammaArrivals, LengthTrace, TraceArrivals

RANGES = 6
"""Ranges of equally many requests. Chosen: few rules for a router, and few questions to ask."""

GROUPS = 30
"""Lengths that stand for those of one range, each as likely. Chosen: together as many as describe a trace well."""


@dataclass(frozen=True, kw_only=True)
class LengthRange:
    """Requests whose prompts are at least ``low`` and below ``high`` tokens, a ``share`` of all; ``groups`` are their
    lengths, each equally likely. Without ends where every prompt is as long."""

    share: float
    low: float | None
    high: float | None
    groups: tuple[float, ...]


def ranges_of(prompt: LengthDistribution, number: int = RANGES) -> tuple[LengthRange, ...]:
    """The requests in so many ranges of (nearly) equally many, the shortest prompts first.

    The mean over all ranges is that of the distribution. Of prompts that are all alike, shares that differ in nothing.
    """
    if isinstance(prompt, FixedLength):
        alike = LengthRange(share=1.0 / number, low=None, high=None, groups=(prompt.tokens,))
        return (alike,) * number
    groups = np.array(prompt.groups if isinstance(prompt, GroupedLength) else _conditional_means(prompt, number))
    parts = [part for part in np.array_split(groups, min(number, len(groups))) if len(part)]
    edges: list[float | None] = [None, *(_between(prompt, parts, k) for k in range(1, len(parts))), None]
    return tuple(
        LengthRange(share=len(part) / len(groups), low=edges[k], high=edges[k + 1], groups=tuple(part.tolist()))
        for k, part in enumerate(parts)
    )


def _conditional_means(prompt: LognormalLength, number: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Mean length of each of equally likely parts of a lognormal distribution:
    ``E[L; a < F(L) < b] = mean x (Phi(z_b - sigma) - Phi(z_a - sigma))``."""
    parts = number * GROUPS
    z = ndtri(np.linspace(0.0, 1.0, parts + 1))
    below = ndtr(z - prompt.sigma)
    return np.asarray(np.maximum(prompt.mean * np.diff(below) * parts, 1.0))


def _between(prompt: LengthDistribution, parts: Sequence[Any], k: int) -> float:
    """The length from which on prompts are of part ``k``."""
    if isinstance(prompt, GroupedLength):
        return float(math.ceil((parts[k - 1][-1] + parts[k][0]) / 2.0))
    return float(math.ceil(prompt.at(np.array([k / len(parts)]))[0]))


def together(ranges: Sequence[LengthRange]) -> tuple[PromptRange, ...]:
    """Some ranges, shortest first, as a router tells them, neighbours as one; none where all prompts are alike."""
    joined: list[PromptRange] = []
    for one in ranges:
        if one.low is None and one.high is None:
            continue
        if joined and joined[-1].below_tokens == one.low:
            joined[-1] = PromptRange(from_tokens=joined[-1].from_tokens, below_tokens=one.high)
        else:
            joined.append(PromptRange(from_tokens=one.low, below_tokens=one.high))
    return tuple(joined)


def part_of(scenario: Scenario, peak_rps: float, ranges: Sequence[LengthRange]) -> Scenario:
    """The scenario of some ranges of its requests alone; ``peak_rps`` is that of all.

    Stages, which stand beside all parts, and the wish for a mix are left out of it.
    """
    share = min(sum(one.share for one in ranges), 1.0)
    moved = at_peak(scenario, peak_rps * share, thinned(scenario.workload.arrivals, share))
    groups = sorted(length for one in ranges for length in one.groups)
    workload: dict[str, Any] = {"input_tokens": groups[0]}
    if groups[0] != groups[-1]:
        workload = {"input_tokens": LengthTrace(trace="a range of prompt lengths", groups=groups)}
    return moved.model_copy(
        update={
            "workload": moved.workload.model_copy(update=workload),
            "deployment": moved.deployment.model_copy(update={"mixed": 1}),
            "pipeline": [],
        }
    )


def thinned(arrivals: Arrivals, share: float) -> Arrivals:
    """How a random ``share`` of requests arrives: of a renewal process with squared coefficient of variation c2 one
    with ``1 + share x (c2 - 1)``; what is stated by the hour, by bursts or at random stays as it is.

    Source: thinning of a renewal process, Cox, "Renewal Theory" (1962), section 8.3.
    """
    if isinstance(arrivals, Gamma):
        return Gamma(gamma=GammaArrivals(cv=_thinned_cv(arrivals.gamma.cv, share)))
    if isinstance(arrivals, TraceArrivals):
        return arrivals.model_copy(update={"cv": _thinned_cv(arrivals.cv, share)})
    return arrivals


def _thinned_cv(cv: float, share: float) -> float:
    return math.sqrt(max(1.0 + share * (cv**2 - 1.0), 0.0))
