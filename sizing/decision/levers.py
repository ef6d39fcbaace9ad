"""Levers of an optimisation, each moved alone: what it would save, on which assumption, and what is not modelled.

Static instead of in-flight batching is simulated: how many of the plan's instances would hold the limits with it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal, get_args

from sizing.base.deployed import Deployed
from sizing.base.quantity import Result, quantity
from sizing.base.result import Plan
from sizing.base.units import S_PER_HOUR
from sizing.decision.formats import difference, refuse_measured
from sizing.decision.keys import with_values
from sizing.decision.lever_changes import LeverName, LeverSettings, Obstacle, ScenarioChange, change, lever_facts
from sizing.decision.outcome import NOTHING, Answers, Outcome, Progress, priced
from sizing.economics.fleet import fleet_of
from sizing.planning.answered import Answer
from sizing.question.understand import Question
from sizing.replay.offered_load import load_of
from sizing.replay.planned_deployment import as_sized, planned
from sizing.replay.simulate import simulate_deployment
from sizing.replay.simulation_result import SimulationResult
from sizing.scenario.schema import Scenario
from sizing.scenario.traffic import Burst, Profile
from sizing.search.replicas import PlannedReplicas
from sizing.simulator.fleet import Fleet

Standing = Literal["planned", "undone", "simulated", "not_modelled", "not_applicable"]
"""planned: with the lever; undone: without it, because the scenario or its plan uses it; simulated: the plan's
instances run otherwise; not_modelled: the engine cannot say; not_applicable: see the obstacle."""

NOT_PLANNED: tuple[LeverName, ...] = ("sparsity_2_4", "static_batching")
"""Levers that no key of a scenario moves."""

REQUESTS = 4_000
"""Requests simulated of each number of instances. Chosen: because 40 of them then lie beyond p99."""

MOST_TIMES = 16
"""Times the planned instances that are tried. Chosen: because nobody buys sixteen times as much for a setting."""


class LeverChange(Result):
    """One scenario key that a lever sets."""

    key: Annotated[str, quantity("Input", help="Scenario key.")]
    value: Annotated[Any, quantity("Value", help="As the lever sets it; None where it takes it away.")]


class LeverRow(Result):
    """One lever moved alone, everything else as it is."""

    name: Annotated[LeverName, quantity("Lever", help="What is tried.")]
    standing: Annotated[
        Standing,
        quantity(
            "Standing", help="planned, undone (without what is in use), simulated, not_modelled or not_applicable."
        ),
    ]
    obstacle: Annotated[Obstacle | None, quantity("Obstacle", help="Why it cannot be moved; None where it can.")]
    changes: Annotated[tuple[LeverChange, ...], quantity("Changes", help="What it sets in the scenario.")]
    outcome: Annotated[Outcome | None, quantity("Answer then", help="None where the engine computes none.")]
    gpus_saved: Annotated[int | None, quantity("GPUs saved", "GPUs", "now - then", "None where one of both has none.")]
    usd_saved: Annotated[
        float | None, quantity("Saved per month", "USD/month", "now - then", "None where a cost is not known.")
    ]
    basis: Annotated[str, quantity("Assumption", help="What is assumed, and where its number comes from.")]
    published: Annotated[str, quantity("Published", help="What others measured; empty where nothing is quoted.")]
    source: Annotated[str, quantity("Source", help="Where method and figures stand.")]
    date: Annotated[str, quantity("Date", help="Of the source.")]


def levers(
    scenario: Scenario, settings: LeverSettings, answers: Answers, progress: Progress | None = None
) -> tuple[LeverRow, ...]:
    """Every lever moved alone. Raises InvalidScenario for unknown names and for a measured record."""
    refuse_measured(scenario)
    names = get_args(LeverName)
    base, answer = answers.outcome(scenario), answers.answer(scenario)
    rows = []
    for done, name in enumerate(names):
        if progress is not None:
            progress(done, len(names))
        rows.append(_row(name, answer, base, settings, answers))
    return tuple(rows)


def _row(name: LeverName, answer: Answer, base: Outcome, settings: LeverSettings, answers: Answers) -> LeverRow:
    moved = None if name in NOT_PLANNED else change(name, answer, settings)
    if isinstance(moved, ScenarioChange):
        changed = with_values(answer.scenario, moved.values)
        outcome = NOTHING if changed is None else answers.outcome(changed)
        return _stated(name, "undone" if moved.undone else "planned", base, outcome, moved)
    if moved is not None:
        return _stated(name, "not_applicable", base, obstacle=moved)
    if name == "static_batching":
        outcome_then = with_static_batching(answer) if base.feasible else None
        if outcome_then is None:
            return _stated(name, "not_applicable", base, obstacle="not_simulated")
        return _stated(name, "simulated", base, outcome_then)
    return _stated(name, "not_modelled", base)


def _stated(
    name: LeverName,
    standing: Standing,
    base: Outcome,
    outcome: Outcome | None = None,
    moved: ScenarioChange | None = None,
    *,
    obstacle: Obstacle | None = None,
) -> LeverRow:
    facts = lever_facts()[name]
    gpus = None if outcome is None else outcome.gpus
    return LeverRow(
        name=name,
        standing=standing,
        obstacle=obstacle,
        changes=tuple(LeverChange(key=k, value=v) for k, v in (moved.values if moved else {}).items()),
        outcome=outcome,
        gpus_saved=None if base.gpus is None or gpus is None else base.gpus - gpus,
        usd_saved=None if outcome is None else difference(base.usd_per_month, outcome.usd_per_month),
        basis=facts.get("basis") or facts["not_modelled"],
        published=facts.get("published", ""),
        source=facts["source"],
        date=str(facts["date"]),
    )


def with_static_batching(answer: Answer) -> Outcome | None:
    """What the plan's deployment leads to with static batching: the fewest instances that hold every limit, as surely
    as those of the plan do, with the latencies to expect of them.

    None where it cannot be simulated so: prefill and decode apart, or arrivals that differ from hour to hour. Nothing
    serves where sixteen times the planned instances break a limit: waiting for the longest answer of a batch takes
    longer, however many there are. Raises InvalidScenario as :func:`sizing.replay.simulate.simulate`.
    """
    question, deployed = answer.question, answer.plan.deployment
    chosen, expected = as_sized(answer), planned(answer)
    steady = not isinstance(answer.scenario.workload.arrivals, Profile | Burst)
    if chosen is None or expected is None or not chosen.does_both or deployed is None or not steady:
        return None
    static, likely = (replace(one, replica=replace(one.replica, static_batching=True)) for one in (chosen, expected))
    few, most = static.working - 1, static.working * MOST_TIMES
    number = static.working
    while not _run(question, static, number).meets_limits:
        if number >= most:
            return NOTHING
        few, number = number, min(number * 2, most)
    while number - few > 1:
        middle = (few + number) // 2
        few, number = (few, middle) if _run(question, static, middle).meets_limits else (middle, number)
    return _outcome(answer, deployed, _run(question, likely, number), number)


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
