"""A simulation beside the plan: where their percentiles differ, and why."""

from collections.abc import Iterator

from sizing.base.format import count, ms, percent
from sizing.base.latency_and_cost import Latency
from sizing.base.units import S_PER_HOUR
from sizing.planning.answered import Answer
from sizing.replay.simulation_result import Distribution, SimulationResult
from sizing.replay.what_if import WhatIf
from sizing.scenario.schema import Scenario
from sizing.scenario.traffic import LengthSpread, LengthTrace, Profile

CLOSE = 0.10
"""Difference up to which the two count as the same. Chosen: because a user does not feel less."""

_SAME_ENGINE = (
    "The plan simulates one instance, or a few, under their share of the load; this run has all of them and other "
    "requests, and only so many: simulate more hours to see which it is."
)
_MEANS = (
    "The analytic model knows means and variances, the simulation every request: prompts that meet in one step and the "
    "batch they meet."
)

HEAVY = 0.85
"""Share of the largest stable load from which waits depend on much more than means and variances. Chosen: because
beyond it ``docs/LOAD_MODEL.md`` shows the analytic model and the simulation well apart."""


def differences(simulated: SimulationResult, answer: Answer, what_if: WhatIf, *, replayed: bool) -> tuple[str, ...]:
    """Which percentiles differ from the plan's and why, a sentence each; one that they agree where none does.

    A latency differs when the plan's value lies more than 10 % outside the Monte-Carlo interval.
    """
    plan, scenario = answer.plan, answer.scenario
    if plan.latency is None or simulated.ttft_ms is None:
        return ()
    pairs = (
        ("TTFT", simulated.ttft_ms, plan.latency.ttft_ms),
        ("ITL", simulated.itl_ms, plan.latency.itl_ms),
        ("E2E", simulated.e2e_ms, plan.latency.e2e_ms),
    )
    apart = [_both(name, run, planned) for name, run, planned in pairs if run is not None and _differ(run, planned)]
    if not apart:
        return (f"Agrees with the plan: its percentiles differ by no more than chance and {percent(CLOSE)}.",)
    reasons = [*_tried(simulated, scenario, what_if, replayed), *_heavy(simulated)]
    if plan.decided_by == "simulation":
        reasons = reasons or [_SAME_ENGINE]
    else:
        reasons = [*reasons, *_not_in_the_model(simulated, scenario)] or [_MEANS]
    return (f"p{scenario.limits.percentile:g} differs: {'; '.join(apart)}.", *reasons)


def _differ(run: Distribution, planned: Latency) -> bool:
    """Whether the plan's value lies clearly outside the Monte-Carlo interval; not where it states none."""
    value, low, high = planned.at_percentile, run.at_percentile.low, run.at_percentile.high
    if value is None:
        return False
    return value < low * (1 - CLOSE) or (high is not None and value > high * (1 + CLOSE))


def _both(name: str, run: Distribution, planned: Latency) -> str:
    return f"{name} {ms(run.at_percentile.value)} simulated, {ms(planned.at_percentile)} in the plan"


def _tried(simulated: SimulationResult, scenario: Scenario, what_if: WhatIf, replayed: bool) -> Iterator[str]:
    """What was simulated and not planned for."""
    if replayed:
        yield "The trace brings its own arrivals and lengths, which go together; the plan takes its peak."
    elif isinstance(scenario.workload.arrivals, Profile) and simulated.simulated_s > 2 * S_PER_HOUR:
        yield "The simulation covers the whole day, the plan the busiest time of it."
    if what_if.fail_minutes:
        yield f"{'An instance' if what_if.fails == 'instance' else 'A system'} fails in the simulation."
    if what_if.static_batching:
        yield "The plan takes in-flight batching."


def _not_in_the_model(simulated: SimulationResult, scenario: Scenario) -> Iterator[str]:
    """What the simulation had that the analytic load model has not."""
    work = scenario.workload
    if simulated.routing not in ("random", "") and simulated.instances > 1:
        yield "The analytic model takes random routing; the routing asked for spreads requests more evenly."
    if simulated.preempted:
        yield f"The KV cache was full {count(simulated.preempted)} times; the analytic model knows the mean of that."
    if any(isinstance(length, LengthSpread | LengthTrace) for length in (work.input_tokens, work.output_tokens)):
        yield "Lengths vary: the analytic model knows their mean and variance, not the long requests themselves."


def _heavy(simulated: SimulationResult) -> Iterator[str]:
    """A load so near to the largest that little decides."""
    if simulated.largest_stable_rps and simulated.offered_rps > HEAVY * simulated.largest_stable_rps:
        share = simulated.offered_rps / simulated.largest_stable_rps
        yield (
            f"The load is {percent(share)} of what can be carried for ever: so near to it, waits depend on every "
            "detail and take long to settle."
        )
