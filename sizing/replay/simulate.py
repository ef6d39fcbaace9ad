"""From a scenario to a simulation of its planned deployment."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from sizing.base.errors import InvalidScenario
from sizing.base.result import Plan
from sizing.base.units import HOURS_PER_DAY, S_PER_HOUR
from sizing.deployments.candidates import Floats
from sizing.planning.plan import plan as plan_of
from sizing.planning.rules import about_model
from sizing.planning.sentences import beyond_context
from sizing.question.understand import Question, understand
from sizing.queueing.capacity import AskedLimits
from sizing.replay import report
from sizing.replay.planned import planned
from sizing.replay.planned_fleet import deployment_of
from sizing.replay.result import SimulationResult
from sizing.replay.what_if import AS_PLANNED, WhatIf
from sizing.scenario.schema import Scenario
from sizing.scenario.trace import Trace
from sizing.scenario.traces import SHORTEST_S
from sizing.scenario.traffic import TraceArrivals
from sizing.search.replicas import arrivals_of, lengths_of
from sizing.simulator.drive import Outcome, Progress, drive
from sizing.simulator.fleet import Deployment
from sizing.simulator.request_lengths import ObservedLengths, RequestLengths
from sizing.simulator.stability import largest_stable_rps
from sizing.simulator.world import Measurement

FEWEST_REQUESTS = 20_000
"""Requests simulated at least, unless a duration is asked: about 20 beyond p99.9."""

MOST_REQUESTS = 50_000_000
"""Requests simulated at most: some minutes."""

WARM_UP_SHARE = 0.05
"""Share of the requests that fill the empty system and are not measured; none for a trace or a profile."""

MOST_BINS = 3_600
BACKLOG_SHARE = 0.05
"""Requests left waiting when the arrivals end, as a share of all, from which the queue counts as growing."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Load:
    """What arrives: the stream itself, how many requests to expect over what time, and their lengths."""

    stream: Iterable[Floats]
    expected: int
    duration_s: float
    lengths: RequestLengths
    stationary: bool
    notes: tuple[str, ...]

    @property
    def rps(self) -> float:
        """Mean offered rate."""
        return self.expected / self.duration_s


def simulate(
    scenario: Scenario,
    *,
    trace: Trace | None = None,
    hours: float | None = None,
    seed: int = 0,
    what_if: WhatIf = AS_PLANNED,
    progress: Progress | None = None,
    plan: Plan | None = None,
) -> SimulationResult:
    """The planned deployment of a scenario under its own traffic, or under a trace.

    ``plan``: an answer that is known already, whose deployment is taken; else the scenario is answered first.

    ``hours`` of simulated time (default: an hour or 20,000 requests, whichever is longer; a day for a daily profile).
    The same ``seed`` gives the same requests at any rate. ``progress`` hears the share done and stops the run by
    returning False. What the model's context window does not hold is refused in the words of the plan. Raises
    InvalidScenario for a scenario that cannot be simulated as it stands.
    """
    question = understand(scenario)
    if scenario.measured is not None:
        raise InvalidScenario(
            ["measured: a measured operating point says nothing about single steps; leave it out to simulate."]
        )
    load = load_of(question, hours, seed) if trace is None else load_of_trace(as_asked(trace, question), hours)
    if trace is None and (beyond := beyond_context(question)):
        return report.infeasible(beyond, load, seed)
    chosen = planned(question, plan or plan_of(scenario))
    if chosen is None:
        return report.infeasible(report.NOTHING_MEETS_THE_LIMITS, load, seed)
    deployment = deployment_of(question, chosen, load.duration_s, what_if)
    name = f"{chosen.name}{what_if.named}"
    return simulate_deployment(deployment, load, question.limits, name=name, seed=seed, progress=progress)


def simulate_deployment(
    deployment: Deployment,
    load: Load,
    limits: AskedLimits,
    *,
    name: str,
    seed: int = 0,
    progress: Progress | None = None,
) -> SimulationResult:
    """Any deployment under a load: percentiles if the load can be carried for ever, else the load that can."""
    stable = largest_stable_rps(deployment, load.lengths)
    if load.rps >= stable:
        return report.unstable(name, deployment, load, limits, stable, seed)
    bins = min(max(math.ceil(load.duration_s), 1), MOST_BINS)
    outcome = drive(
        deployment,
        load.stream,
        Measurement(
            expected=load.expected,
            horizon_s=load.duration_s,
            bins=bins,
            ttft_limit_s=limits.ttft_s,
            warm_up=int(WARM_UP_SHARE * load.expected) if load.stationary else 0,
            itl_limit_s=limits.itl_s,
            e2e_limit_s=limits.e2e_s,
        ),
        progress=progress,
    )
    if outcome.overwhelmed or (load.stationary and outcome.stopped_at is None and _growing(outcome)):
        return report.unstable(name, deployment, load, limits, min(stable, load.rps), seed)
    return report.measured(name, deployment, load, limits, stable, outcome, seed)


def _growing(outcome: Outcome) -> bool:
    """Whether so many requests wait at the end of stationary arrivals that the queue must be growing."""
    return outcome.waiting > max(BACKLOG_SHARE * outcome.arrived, outcome.replicas * 10)


def load_of(question: Question, hours: float | None, seed: int) -> Load:
    """The traffic a scenario describes."""
    arrivals, lengths = arrivals_of(question), lengths_of(question)
    if hours is not None:
        duration = hours * S_PER_HOUR
    elif arrivals.profile:
        duration = HOURS_PER_DAY * S_PER_HOUR
    else:
        duration = max(S_PER_HOUR, FEWEST_REQUESTS / arrivals.rate_rps)
    expected = arrivals.expected(duration)
    if expected > MOST_REQUESTS:
        raise InvalidScenario(
            [f"{expected:,.0f} requests are more than the {MOST_REQUESTS:,} simulated at once: ask for fewer hours."]
        )
    return Load(
        stream=arrivals.stream(lengths, duration, seed),
        expected=max(round(expected), 1),
        duration_s=duration,
        lengths=lengths,
        stationary=not arrivals.profile,
        notes=tuple(w.message for w in about_model(question) if w.severity == "error"),
    )


def as_asked(trace: Trace, question: Question) -> Trace:
    """The trace that a scenario carries, faster or slower if another peak is asked; any other one as it is."""
    arrivals = question.scenario.workload.arrivals
    if not isinstance(arrivals, TraceArrivals) or arrivals.trace != trace.name:
        return trace
    return trace.at_speed(question.demand.peak_rps / max(arrivals.rps))


def load_of_trace(trace: Trace, hours: float | None) -> Load:
    """The traffic of a trace, or of its first hours. Raises InvalidScenario for one too short for a rate."""
    if trace.duration_s < SHORTEST_S:
        raise InvalidScenario([f"{trace.name} covers less than a second: too short for a rate."])
    kept = trace.until(hours * S_PER_HOUR) if hours is not None else trace
    return Load(
        stream=kept.stream(),
        expected=len(kept),
        duration_s=max(kept.duration_s, 1e-9),
        lengths=ObservedLengths(kept.tokens.astype(float)),
        stationary=False,
        notes=(f"{len(kept):,} requests of {kept.name} in {kept.duration_s:,.0f} s.", *kept.notes),
    )
