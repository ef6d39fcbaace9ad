"""Departures from the plan that a simulation can try: static batching, an instance that fails and returns."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sizing.base.arrays import Floats
from sizing.base.deployed import Deployed
from sizing.base.errors import InvalidScenario
from sizing.base.format import count, ms, percent, requests_per_s
from sizing.base.latency_and_cost import Latency
from sizing.base.units import MS_PER_S, S_PER_HOUR, S_PER_MINUTE
from sizing.planning.answered import Answer
from sizing.question.limits import LatencyLimits
from sizing.question.understand import Question
from sizing.replay.simulation_result import Distribution, Failure, SimulationResult
from sizing.scenario.schema import Scenario
from sizing.scenario.traffic import LengthSpread, LengthTrace, Profile
from sizing.search.replicas import PlannedReplicas
from sizing.simulator.fleet import Fleet, Outage, SimulatedDeployment
from sizing.simulator.layout import E2E, ITL, TTFT
from sizing.simulator.outcome import SimulationCounts
from sizing.simulator.quantiles import quantile
from sizing.simulator.window import SimulatedWindow, Tally

FAILS_AFTER = 1.0 / 3.0
"""Share of the simulated time after which the instance fails. Chosen: because what is normal has been seen by then."""

LONGEST_FAILURE = 0.5
"""Share of the simulated time that a failure may last at most. Chosen: because its end, and a sixth of the time after
it, is then still to be seen."""


Fails = Literal["instance", "system"]
"""What fails: an instance, or a whole system."""

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


@dataclass(frozen=True, kw_only=True)
class WhatIf:
    """What is tried. ``fail_minutes``: one of what ``fails`` is down for so long; 0: none is."""

    static_batching: bool = False
    fail_minutes: float = 0.0
    fails: Fails = "instance"

    @property
    def named(self) -> str:
        """What it adds to the name of the deployment."""
        return ", static batching" if self.static_batching else ""


AS_PLANNED = WhatIf()


def failure_text(failure: Failure) -> str:
    """The failure in three sentences."""
    lasts = (failure.end_s - failure.start_s) / S_PER_MINUTE
    left = f"the other {failure.instances_left} carry" if failure.instances_left > 1 else "the other one carries"
    others = (
        f"{left} at most {requests_per_s(failure.stable_rps_left)}" if failure.instances_left else "there is no other"
    )
    usual = (
        "never before the end"
        if failure.recovered_after_s is None
        else (f"after {failure.recovered_after_s:,.0f} s" if failure.recovered_after_s >= 1.0 else "at once")
    )
    meanwhile = "no first token" if failure.ttft_meanwhile_ms is None else f"mean TTFT {ms(failure.ttft_meanwhile_ms)}"
    lost = failure.instances_lost
    what = "One instance fails" if lost == 1 else f"A system with {lost:,} instances fails"
    return (
        f"{what} after {failure.start_s / S_PER_MINUTE:,.3g} minutes, for {lasts:,.3g} minutes; "
        f"{others}, and {failure.started_again:,} requests start again. Meanwhile {meanwhile} instead of "
        f"{ms(failure.ttft_before_ms)}, up to {failure.longest_queue:,.0f} requests wait; once it is "
        f"back, the queue is as before {usual}. {_judged(failure)}"
    )


def _judged(failure: Failure) -> str:
    """The requests of the failure alone, held against the limits."""
    latencies = (("TTFT", failure.ttft_ms), ("ITL", failure.itl_ms), ("E2E", failure.e2e_ms))
    values = ", ".join(f"{name} {ms(value)}" for name, value in latencies if value is not None)
    verdict = "every limit is met" if failure.meets_limits else "a limit is broken"
    return (
        f"The {failure.requests:,} requests in the system while it is down have p{failure.percentile:g} {values}: "
        f"{verdict}."
    )


def deployment_of(
    question: Question, chosen: PlannedReplicas, duration_s: float, what_if: WhatIf, deployed: Deployed | None = None
) -> SimulatedDeployment:
    """The planned instances behind the routing asked for. Spares serve as well where an instance fails.

    ``deployed``: what the plan deploys, which says how many stand by and how many instances a system holds.
    Raises InvalidScenario for a failure that is too long to see its end, and for what is not tried on pools.
    """
    routing = question.scenario.deployment.routing
    if not chosen.does_both and (what_if.static_batching or what_if.fail_minutes):
        raise InvalidScenario(
            [
                "Static batching and the failure of an instance are simulated for aggregated instances, not for "
                "prefill and decode pools: ask for deployment.serving: [aggregated]."
            ]
        )
    if what_if.static_batching:
        chosen = replace(chosen, replica=replace(chosen.replica, static_batching=True))
    if not what_if.fail_minutes:
        return chosen.deployment(routing)
    count = chosen.working + (0 if deployed is None else deployed.spare_instances)
    start, lasts = FAILS_AFTER * duration_s, what_if.fail_minutes * S_PER_MINUTE
    if not 0.0 < lasts <= LONGEST_FAILURE * duration_s:
        raise InvalidScenario(
            [
                f"An instance can fail for up to {LONGEST_FAILURE * duration_s / S_PER_MINUTE:,.3g} of the "
                f"{duration_s / S_PER_MINUTE:,.3g} minutes simulated, not for {what_if.fail_minutes:g}: its return is "
                "to be seen."
            ]
        )
    down = 1 if what_if.fails == "instance" or deployed is None else deployed.in_fullest_system
    outages = tuple(Outage(replica=n, start_s=start, end_s=start + lasts) for n in range(down))
    return Fleet(replicas=(chosen.replica,) * count, routing=routing, outages=outages)


def window_of(deployment: SimulatedDeployment) -> SimulatedWindow | None:
    """The time that the only failure lasts, of one instance or of several at once; None without one, or with others."""
    times = {(outage.start_s, outage.end_s) for outage in deployment.stages[0].fleet.outages}
    if len(times) != 1:
        return None
    ((start_s, end_s),) = times
    return SimulatedWindow(start_s=start_s, end_s=end_s)


def failure_in(outcome: SimulationCounts, fleet: Fleet, stable_rps: float, limits: LatencyLimits) -> Failure | None:
    """What the only failure did; None without one, or with several."""
    tally = outcome.in_window
    if tally is None:
        return None
    outage, left = fleet.outages[0], len(fleet.replicas) - len(fleet.outages)
    edges = (np.arange(len(outcome.series)) + 1) * outcome.bin_s
    waiting: Floats = outcome.column("waiting_s") / outcome.bin_s
    before, after = edges <= outage.start_s, edges - outcome.bin_s >= outage.end_s
    usual = float(waiting[before].max()) if before.any() else 0.0
    calm = np.flatnonzero(after & (waiting <= usual))
    end = int(calm[0]) if len(calm) else len(edges)
    meanwhile = (np.arange(len(edges)) < end) & ~before
    ttft_s, itl_s, e2e_s = (_at_percentile_s(tally, metric, limits.percentile) for metric in (TTFT, ITL, E2E))
    held_against = (ttft_s, limits.ttft_s), (itl_s, limits.itl_s), (e2e_s, limits.e2e_s)
    return Failure(
        start_s=outage.start_s,
        end_s=outage.end_s,
        instances_lost=len(fleet.outages),
        instances_left=left,
        stable_rps_left=stable_rps * left / len(fleet.replicas),
        started_again=outcome.failed_over,
        ttft_before_ms=_mean_ttft_ms(outcome, before),
        ttft_meanwhile_ms=_mean_ttft_ms(outcome, meanwhile),
        requests=tally.requests,
        percentile=limits.percentile,
        ttft_ms=_in_ms(ttft_s),
        itl_ms=_in_ms(itl_s),
        e2e_ms=_in_ms(e2e_s),
        meets_limits=all(seconds is None or seconds <= limit for seconds, limit in held_against),
        longest_queue=float(waiting[~before].max(initial=0.0)),
        recovered_after_s=max(float(edges[end]) - outcome.bin_s - outage.end_s, 0.0) if len(calm) else None,
    )


def _at_percentile_s(tally: Tally, metric: int, percentile: float) -> float | None:
    """A percentile of one latency in the window, in seconds; None where no request had it."""
    counts = tally.histogram[metric]
    return quantile(counts, percentile / 100.0) if counts.any() else None


def _in_ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * MS_PER_S


def _mean_ttft_ms(outcome: SimulationCounts, bins: NDArray[np.bool_]) -> float | None:
    first = float(outcome.column("first_tokens")[bins].sum())
    return float(outcome.column("ttft_sum")[bins].sum()) / first * MS_PER_S if first else None


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
