"""Analytic and simulated percentiles side by side: where they differ, and what the analytic model left out."""

from __future__ import annotations

from collections.abc import Iterator

from sizing.format import count, ms, percent
from sizing.result import Latency, Plan
from sizing.scenario.schema import Scenario
from sizing.scenario.traffic import LengthSpread, LengthTrace, Profile
from sizing.simulation.result import Distribution, SimulationResult
from sizing.simulation.what_if import WhatIf

CLOSE = 0.10
"""Difference up to which the two count as the same."""

HEAVY = 0.85
"""Share of the largest stable load from which waits depend on much more than means and variances."""


def differences(
    found: SimulationResult, plan: Plan, scenario: Scenario, what_if: WhatIf, *, replayed: bool
) -> tuple[str, ...]:
    """Which percentiles differ from the plan's and why, a sentence each; one that they agree where none does.

    A latency differs when the analytic value lies more than 10 % outside the Monte-Carlo interval.
    """
    if plan.latency is None or found.ttft_ms is None:
        return ()
    asked = (("TTFT", found.ttft_ms, plan.latency.ttft_ms), ("ITL", found.itl_ms, plan.latency.itl_ms),
             ("E2E", found.e2e_ms, plan.latency.e2e_ms))
    apart = [said for name, one, other in asked if one is not None and (said := _apart(name, one, other))]
    if not apart:
        return (f"Analytic and simulated percentiles agree: within {percent(CLOSE)} of the Monte-Carlo interval.",)
    reasons = list(_reasons(found, scenario, what_if, replayed)) or [
        "The analytic model knows means and variances, the simulation every request: prompts that meet in one step "
        "and the batch they meet."
    ]
    return (f"p{scenario.limits.percentile:g} differs: {'; '.join(apart)}.", *reasons)


def _apart(name: str, one: Distribution, other: Latency) -> str:
    """The two values where they differ, else ""."""
    if other.asked is None:
        return ""
    high = one.asked.high
    if one.asked.low * (1 - CLOSE) <= other.asked and (high is None or other.asked <= high * (1 + CLOSE)):
        return ""
    return f"{name} {ms(one.asked.value)} simulated, {ms(other.asked)} analytic"


def _reasons(found: SimulationResult, scenario: Scenario, what_if: WhatIf, replayed: bool) -> Iterator[str]:
    """What the simulation had that the analytic model has not."""
    work = scenario.workload
    if replayed:
        yield "The trace brings its own arrivals and lengths, which go together; the analytic model takes its peak."
    elif isinstance(work.arrivals, Profile) and found.simulated_s > 2 * 3600.0:
        yield "The simulation covers the whole day, the analytic model the busiest time of it."
    if what_if.fail_minutes:
        yield "An instance fails in the simulation."
    if what_if.static_batching:
        yield "The analytic model takes in-flight batching."
    if found.routing not in ("random", "") and found.instances > 1:
        yield "The analytic model takes random routing; the routing asked for spreads requests more evenly."
    if found.preempted:
        yield f"The KV cache was full {count(found.preempted)} times; the analytic model knows no evictions."
    if found.largest_stable_rps and found.offered_rps > HEAVY * found.largest_stable_rps:
        share = found.offered_rps / found.largest_stable_rps
        yield (f"The load is {percent(share)} of what can be carried for ever: so near to it, waits depend on every "
               "detail and take long to settle.")
    if any(isinstance(length, LengthSpread | LengthTrace) for length in (work.input_tokens, work.output_tokens)):
        yield "Lengths vary: the analytic model knows their mean and variance, not the long requests themselves."
