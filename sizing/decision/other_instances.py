"""A plan whose instances run otherwise: how many of them would hold its limits, simulated, and what that comes to."""

from dataclasses import replace

from sizing.base.deployed import Deployed
from sizing.base.result import Plan
from sizing.base.units import S_PER_HOUR
from sizing.decision.outcome import NOTHING, Outcome, priced
from sizing.economics.fleet import fleet_of
from sizing.planning.answered import Answer
from sizing.question.understand import Question
from sizing.replay.offered_load import load_of
from sizing.replay.simulate import as_sized, planned, simulate_deployment
from sizing.replay.simulation_result import SimulationResult
from sizing.scenario.traffic import Burst, Profile
from sizing.search.replicas import PlannedReplicas
from sizing.simulator.fleet import Fleet, Replica

REQUESTS = 4_000
"""Requests simulated of each number of instances. Chosen: because 40 of them then lie beyond p99."""

MOST_TIMES = 16
"""Times the planned instances that are tried. Chosen: because nobody buys sixteen times as much for a setting."""


def simulated_instances(answer: Answer) -> tuple[PlannedReplicas, PlannedReplicas] | None:
    """The plan's instances as they were sized and as they are expected to be; None where they cannot be simulated so:
    prefill and decode apart, or arrivals that differ from hour to hour."""
    chosen, expected = as_sized(answer), planned(answer)
    steady = not isinstance(answer.scenario.workload.arrivals, Profile | Burst)
    if chosen is None or expected is None or not chosen.does_both or not steady:
        return None
    return chosen, expected


def with_static_batching(answer: Answer) -> Outcome | None:
    """What the plan's deployment leads to with static batching: the fewest instances that hold every limit, as surely
    as those of the plan do, with the latencies to expect of them.

    None where it cannot be simulated so. Nothing serves where sixteen times the planned instances break a limit:
    waiting for the longest answer of a batch takes longer, however many there are. Raises InvalidScenario as
    :func:`sizing.replay.simulate.simulate`.
    """
    instances = simulated_instances(answer)
    if instances is None:
        return None
    static, likely = (replace(one, replica=replace(one.replica, static_batching=True)) for one in instances)
    return with_other_instances(answer, static, likely.replica, too_few=static.working - 1)


def with_other_instances(answer: Answer, sized: PlannedReplicas, expected: Replica, *, too_few: int) -> Outcome | None:
    """The fewest instances like ``sized``, more than ``too_few``, that hold every limit, with the latencies of as many
    that are as ``expected``; None where the plan deploys nothing."""
    deployed, question = answer.plan.deployment, answer.question
    if deployed is None:
        return None
    few, number, most = too_few, sized.working, sized.working * MOST_TIMES
    while not _run(question, sized, number).meets_limits:
        if number >= most:
            return NOTHING
        few, number = number, min(number * 2, most)
    while number - few > 1:
        middle = (few + number) // 2
        few, number = (few, middle) if _run(question, sized, middle).meets_limits else (middle, number)
    return _outcome(answer, deployed, _run(question, replace(sized, replica=expected), number), number)


def _run(question: Question, chosen: PlannedReplicas, instances: int) -> SimulationResult:
    """The simulated result of ``instances`` of the chosen kind under the planned load."""
    hours = REQUESTS / question.demand.sustained_rps / S_PER_HOUR
    fleet = Fleet(replicas=(chosen.replica,) * instances, routing=question.scenario.deployment.routing)
    return simulate_deployment(fleet, load_of(question, hours, 0), question.limits, name=chosen.name)


def _outcome(answer: Answer, deployed: Deployed, held: SimulationResult, working: int) -> Outcome:
    """The outcome of the plan with other numbers of instances, and the latencies that were simulated."""
    instances = working + deployed.spare_instances
    changed = with_instances(answer.plan, deployed, instances, working)
    outcome = priced(replace(answer, plan=changed))
    size = deployed.gpus_bought // deployed.systems
    systems = fleet_of(changed).systems(size)
    latencies = {
        name: None if run is None else run.at_percentile.value
        for name, run in (("ttft_ms", held.ttft_ms), ("itl_ms", held.itl_ms), ("e2e_ms", held.e2e_ms))
    }
    power = None if outcome.power_kw is None else outcome.power_kw * systems / deployed.systems
    return outcome.model_copy(
        update={**latencies, "systems": systems, "gpus_bought": systems * size, "power_kw": power}
    )


def with_instances(plan: Plan, deployed: Deployed, instances: int, working: int) -> Plan:
    """The plan as if it had so many instances, each carrying its part of the load; ranges are as wide in relation."""
    each, share = plan.per_instance, instances / deployed.instances
    gpus = instances * (deployed.gpus // deployed.instances)
    return plan.model_copy(
        update={
            "deployment": deployed.model_copy(update={"instances": instances, "gpus": gpus}),
            "gpus_low": None if plan.gpus_low is None else round(plan.gpus_low * share),
            "gpus_high": None if plan.gpus_high is None else round(plan.gpus_high * share),
            "per_instance": None if each is None else each.model_copy(update={"max_rps": plan.sustained_rps / working}),
        }
    )
