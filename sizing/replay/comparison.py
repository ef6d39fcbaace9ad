"""A simulation beside the plan: where their percentiles differ, and why."""

from __future__ import annotations

from collections.abc import Iterator

from sizing.base.format import count, ms, percent
from sizing.base.result import Latency, Plan
from sizing.base.units import S_PER_HOUR
from sizing.replay.simulation_result import Distribution, SimulationResult
from sizing.replay.what_if import WhatIf
from sizing.scenario.schema import Scenario
from sizing.scenario.traffic import LengthSpread, LengthTrace, Profile

CLOSE = 0.10
"""Difference up to which the two count as the same."""

_SAME_ENGINE = (
    "The plan simulates one instance, or a few, under their share of the load; this run has all of them and other "
    "requests, and only so many: simulate more hours to see which it is."
)
_MEANS = (
    "The analytic model knows means and variances, the simulation every request: prompts that meet in one step and the "
    "batch they meet."
)

HEAVY = 0.85
"""Share of the largest stable load from which waits depend on much more than means and variances."""


def differences(
    found: SimulationResult, plan: Plan, scenario: Scenario, what_if: WhatIf, *, replayed: bool
) -> tuple[str, ...]:
    """Which percentiles differ from the plan's and why, a sentence each; one that they agree where none does.

    A latency differs when the plan's value lies more than 10 % outside the Monte-Carlo interval.
    """
    if plan.latency is None or found.ttft_ms is None:
        return ()
    asked = (
        ("TTFT", found.ttft_ms, plan.latency.ttft_ms),
        ("ITL", found.itl_ms, plan.latency.itl_ms),
        ("E2E", found.e2e_ms, plan.latency.e2e_ms),
    )
    apart = [said for name, one, other in asked if one is not None and (said := _apart(name, one, other))]
    if not apart:
        return (f"Agrees with the plan: its percentiles lie within {percent(CLOSE)} of the Monte-Carlo interval.",)
    reasons = [*_tried(found, scenario, what_if, replayed), *_heavy(found)]
    if plan.decided_by == "simulation":
        reasons = reasons or [_SAME_ENGINE]
    else:
        reasons = [*reasons, *_not_in_the_model(found, scenario)] or [_MEANS]
    return (f"p{scenario.limits.percentile:g} differs: {'; '.join(apart)}.", *reasons)


def _apart(name: str, one: Distribution, other: Latency) -> str:
    """The two values where they differ, else ""."""
    if other.at_percentile is None:
        return ""
    high = one.at_percentile.high
    if one.at_percentile.low * (1 - CLOSE) <= other.at_percentile and (
        high is None or other.at_percentile <= high * (1 + CLOSE)
    ):
        return ""
    return f"{name} {ms(one.at_percentile.value)} simulated, {ms(other.at_percentile)} in the plan"


def _tried(found: SimulationResult, scenario: Scenario, what_if: WhatIf, replayed: bool) -> Iterator[str]:
    """What was simulated and not planned for."""
    if replayed:
        yield "The trace brings its own arrivals and lengths, which go together; the plan takes its peak."
    elif isinstance(scenario.workload.arrivals, Profile) and found.simulated_s > 2 * S_PER_HOUR:
        yield "The simulation covers the whole day, the plan the busiest time of it."
    if what_if.fail_minutes:
        yield "An instance fails in the simulation."
    if what_if.static_batching:
        yield "The plan takes in-flight batching."


def _not_in_the_model(found: SimulationResult, scenario: Scenario) -> Iterator[str]:
    """What the simulation had that the analytic load model has not."""
    work = scenario.workload
    if found.routing not in ("random", "") and found.instances > 1:
        yield "The analytic model takes random routing; the routing asked for spreads requests more evenly."
    if found.preempted:
        yield f"The KV cache was full {count(found.preempted)} times; the analytic model knows no evictions."
    if any(isinstance(length, LengthSpread | LengthTrace) for length in (work.input_tokens, work.output_tokens)):
        yield "Lengths vary: the analytic model knows their mean and variance, not the long requests themselves."


def _heavy(found: SimulationResult) -> Iterator[str]:
    """A load so near to the largest that little decides."""
    if found.largest_stable_rps and found.offered_rps > HEAVY * found.largest_stable_rps:
        share = found.offered_rps / found.largest_stable_rps
        yield (
            f"The load is {percent(share)} of what can be carried for ever: so near to it, waits depend on every "
            "detail and take long to settle."
        )
