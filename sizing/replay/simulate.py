"""Simulates the planned deployment of an answer."""

import math

from sizing.base.errors import InvalidScenario
from sizing.planning.answered import Answer, as_answer, question_of
from sizing.planning.compose import as_planned
from sizing.planning.sentences import beyond_context
from sizing.question.limits import LatencyLimits
from sizing.question.understand import Question, understand
from sizing.replay import simulation_report as report
from sizing.replay.offered_load import OfferedLoad, at_asked_peak, load_of, load_of_trace
from sizing.replay.simulation_result import SimulationResult
from sizing.replay.what_if import AS_PLANNED, WhatIf, deployment_of, window_of
from sizing.scenario.schema import Scenario
from sizing.scenario.trace import Trace
from sizing.search.all_deployments import Place
from sizing.search.considered import as_considered
from sizing.search.replicas import PlannedReplicas
from sizing.simulator.drive import Progress, drive
from sizing.simulator.fleet import SimulatedDeployment
from sizing.simulator.outcome import SimulationCounts
from sizing.simulator.pool import MeasuredSpan
from sizing.simulator.stability import largest_stable_rps

WARM_UP_SHARE = 0.05
"""Share of the requests that fill the empty system and are not measured; none for a trace or a profile."""

MOST_BINS = 3_600
"""Bins of the series at most: the seconds of an hour."""


MOST_EVENTS = 400_000_000
"""Work of a simulation at most. Chosen: less than a minute of one core; an hour of the presets takes a hundredth."""

BACKLOG_SHARE = 0.05
"""Requests left waiting when the arrivals end, as a share of all, from which the queue counts as growing. Chosen:
because the queue of a stable load holds far fewer of an hour's requests."""

BACKLOG_PER_REPLICA = 10
"""Waiting requests per instance that never count as growing: a random peak."""


def simulate(
    scenario_or_answer: Scenario | Answer,
    *,
    traffic: Scenario | None = None,
    trace: Trace | None = None,
    hours: float | None = None,
    seed: int = 0,
    what_if: WhatIf = AS_PLANNED,
    progress: Progress | None = None,
) -> SimulationResult:
    """The planned deployment under the traffic of its scenario, under a trace, or under other ``traffic``.

    ``scenario_or_answer``: an answer that is known already, or a scenario, which is answered first.
    ``hours`` of simulated time (default: an hour or 20,000 requests, whichever is longer; a day for a daily profile).
    The same ``seed`` gives the same requests at any rate. ``progress`` is called with the share done, and stops the run
    by returning False. Lengths beyond the model's context window are refused in the words of the plan. Raises
    InvalidScenario for a scenario that cannot be simulated as it stands.
    """
    own = question_of(scenario_or_answer)
    if own.reused is not None:  # what is cached is known with the plan
        scenario_or_answer = as_answer(scenario_or_answer)
        own = scenario_or_answer.question
    scenario, question = own.scenario, own if traffic is None else understand(traffic)
    if scenario.measured is not None:
        raise InvalidScenario(
            ["measured: a measured operating point says nothing about single steps; leave it out to simulate."]
        )
    load = load_of(question, hours, seed) if trace is None else load_of_trace(at_asked_peak(trace, question), hours)
    if trace is None and (beyond := beyond_context(question)):
        return report.infeasible(beyond, load, seed)
    answer = as_answer(scenario_or_answer)
    chosen = planned(answer, question)
    if chosen is None:
        return report.infeasible(report.NOTHING_MEETS_THE_LIMITS, load, seed)
    deployment = deployment_of(question, chosen, load.duration_s, what_if, answer.plan.deployment)
    name = f"{chosen.name}{what_if.named}"
    return simulate_deployment(deployment, load, question.limits, name=name, seed=seed, progress=progress)


def simulate_deployment(
    deployment: SimulatedDeployment,
    load: OfferedLoad,
    limits: LatencyLimits,
    *,
    name: str,
    seed: int = 0,
    progress: Progress | None = None,
    most_events: int = MOST_EVENTS,
) -> SimulationResult:
    """Any deployment under a load: percentiles if the load can be carried for ever, else the load that can.

    ``most_events``: work after which the simulation stops and says so.
    """
    stable = largest_stable_rps(deployment, load.lengths)
    if load.rps >= stable:
        return report.unstable(name, deployment, load, stable, seed)
    bins = min(max(math.ceil(load.duration_s), 1), MOST_BINS)
    outcome = drive(
        deployment,
        load.stream,
        MeasuredSpan(
            expected=load.expected,
            horizon_s=load.duration_s,
            bins=bins,
            ttft_limit_s=limits.ttft_s,
            warm_up=int(WARM_UP_SHARE * load.expected) if load.stationary else 0,
            itl_limit_s=limits.itl_s,
            e2e_limit_s=limits.e2e_s,
            window=window_of(deployment),
            most_events=most_events,
        ),
        progress=progress,
    )
    if outcome.overwhelmed or (load.stationary and outcome.stopped_at is None and _growing(outcome)):
        return report.unstable(name, deployment, load, min(stable, load.rps), seed)
    return report.measured(name, deployment, load, limits, stable, outcome, seed)


def _growing(outcome: SimulationCounts) -> bool:
    """Whether so many requests wait at the end of stationary arrivals that the queue must be growing."""
    return outcome.waiting > max(BACKLOG_SHARE * outcome.arrived, outcome.replicas * BACKLOG_PER_REPLICA)


def planned(answer: Answer, under: Question | None = None) -> PlannedReplicas | None:
    """What the plan deploys, spares not counted, with steps as long as expected; None where it deploys nothing that was
    considered. ``under``: a question with other traffic, if not its own."""
    return as_sized(answer, (under or answer.question).as_expected())


def as_sized(answer: Answer, under: Question | None = None) -> PlannedReplicas | None:
    """The same with steps as long as they were taken to be when its instances were counted: how many of something else
    would do is only comparable with that."""
    deployed = answer.plan.deployment
    deployments = as_considered(under or answer.question, deployed, answer.chosen) if deployed else None
    return None if deployments is None else as_planned(Place(deployments, 0)).to_simulate()
