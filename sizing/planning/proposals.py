"""Three answers to decide between: the lowest cost, the plan itself, and the plan that survives the loss of a system.

*Balanced* is the plan: it suffices as surely as the scenario asks (90 % unless it says otherwise), so that a customer
does not stand at the edge of what is expected. *Lowest cost* is what is as likely as not enough: the cheapest with
steps as long as expected, looked for among the configurations that cost least with the caution of the plan. *Resilient*
keeps the limits as surely as was asked when its fullest system is lost: N+1 systems, each with its part of the
instances.

Both are decided as the plan was, by simulation where that was. What the plan has simulated is not simulated again, so
that they take less than half of its time.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from sizing.base.arrays import Rows
from sizing.base.choices import Objective, ProposalName, Serving
from sizing.base.deployed import Deployed
from sizing.base.result import Plan, Proposal
from sizing.base.units import HOURS_PER_MONTH
from sizing.planning.compose import as_stated
from sizing.planning.deployment import PlannedDeployment
from sizing.question.understand import EXPECTED, Question
from sizing.search.aggregated import aggregated, smallest_aggregated
from sizing.search.decide import Decided, decide, estimate
from sizing.search.deployments import Deployments
from sizing.search.disaggregated import PoolPairs, disaggregated
from sizing.search.pools import Pools, expected_pools, fewest_of_a_kind
from sizing.search.pools_refine import NEVER_MORE
from sizing.search.refine import Search
from sizing.search.screen import expected, instances_needed
from sizing.search.serving import Screened

WORTH_TAKING = 0.95
"""Share of the plan's cost that the lowest cost may have. Chosen: for less than a twentieth nobody gives up being sure,
and list prices tell no finer differences."""

LOOKED_AT: Mapping[Serving, int] = MappingProxyType({"aggregated": 200, "disaggregated": 40})
"""Configurations of each kind of serving among which another proposal is looked for, the cheapest first. Chosen: those
that cost up to twice what the plan does, in questions over the whole catalogue."""


def with_proposals(seen: Screened, decided: Decided, planned: Plan, seed: int = 0) -> Plan:
    """A plan with its proposals; none where it keeps no limits.

    ``seen`` and ``decided`` are what the plan was composed of.
    """
    if planned.deployment is None or not planned.feasible:
        return planned
    balanced = _balanced(planned)
    three = (
        _cheaper(_lowest_cost(seen, decided, balanced, seed), balanced),
        balanced,
        _resilient(seen, decided, balanced, seed) or balanced.model_copy(update={"name": "resilient"}),
    )
    return planned.model_copy(update={"proposals": three})


def of_record(planned: Plan, resilient: Plan) -> Plan:
    """The same of a measured record: nothing is known of how sure it is, so that the cheapest is the plan itself.

    ``resilient``: the plan of the record with a system to lose.
    """
    if planned.deployment is None or not planned.feasible:
        return planned
    three = (_balanced(planned, "lowest_cost"), _balanced(planned), _balanced(resilient, "resilient"))
    return planned.model_copy(update={"proposals": three})


def _balanced(planned: Plan, name: ProposalName = "balanced") -> Proposal:
    """The plan as a proposal."""
    assert planned.deployment is not None
    return Proposal(
        name=name,
        deployment=planned.deployment,
        systems=planned.deployment.systems,
        hardware_usd_per_month=None if planned.cost is None else planned.cost.hardware_usd_per_month,
        probability_within_limits=planned.probability_within_limits,
        headroom=planned.headroom,
    )


def _cheaper(cheapest: Proposal | None, balanced: Proposal) -> Proposal:
    """The ``cheapest``, where it costs clearly less than the plan; else the plan, which is then the cheapest, too."""
    if cheapest is not None:
        now, then = balanced.hardware_usd_per_month, cheapest.hardware_usd_per_month
        if now is None or then is None:
            saves = cheapest.deployment.gpus_bought < balanced.deployment.gpus_bought
        else:
            saves = then < now * WORTH_TAKING
        if saves:
            return cheapest
    return balanced.model_copy(update={"name": "lowest_cost"})


def _lowest_cost(seen: Screened, decided: Decided, balanced: Proposal, seed: int) -> Proposal | None:
    """The cheapest deployment with steps as long as expected; None where the plan counts on that already."""
    if seen.question.confidence == EXPECTED:
        return None
    question = _by_cost(seen.question.as_expected())
    together, pools = seen.together, seen.pools
    index = np.unique(together.index[_first_few(together, "cost")])
    evaluated = expected(question, together.evaluated.take(index))
    likely = Screened(
        question=question,
        base=evaluated,
        together=smallest_aggregated(question, evaluated),
        pools=tuple(_as_likely(question, kind.pools.take(_first_few(kind, "cost"))) for kind in pools),
    )
    now = balanced.hardware_usd_per_month
    below = math.inf if now is None else now / HOURS_PER_MONTH * WORTH_TAKING
    cheaper = _could_cost_less(likely, below)
    if cheaper is None:
        return None
    one = _first(cheaper, decided, seed, below=below)
    if one is None:
        return None
    sure = float(one.rooms(np.array([seen.question.confidence]))[0])
    return _proposal("lowest_cost", one, headroom=sure)


def _as_likely(question: Question, pools: Pools) -> PoolPairs:
    """The pairs in as few instances as carry the peak with steps as long as expected."""
    there, peak, fewest = expected_pools(question, pools), question.demand.sustained_rps, fewest_of_a_kind(question)
    counts = [
        np.minimum(np.maximum(instances_needed(peak, rps), fewest), most)
        for rps, most in ((there.prefill_rps, pools.prefill_instances), (there.decode_rps, pools.decode_instances))
    ]
    return disaggregated(question, replace(there, prefill_instances=counts[0], decode_instances=counts[1]))


def _resilient(seen: Screened, decided: Decided, balanced: Proposal, seed: int) -> Proposal | None:
    """The best deployment that may lose a system; None where the scenario asks for that already, or none is found."""
    deployment = seen.question.scenario.deployment
    if deployment.redundancy != "none":
        return None
    question = with_deployment(seen.question, redundancy="system")
    together = smallest_aggregated(question, seen.together.evaluated)
    pools = (disaggregated(question, kind.pools) for kind in seen.pools)
    survives = Screened(
        question=question,
        base=seen.base,
        together=together.take(np.sort(_first_few(together))),
        pools=tuple(kind.take(np.sort(_first_few(kind))) for kind in pools),
    )
    one = _first(survives, decided, seed, None if decided.refined is None else decided.refined.search)
    if one is None:
        return None
    if _alike(one.deployed(), balanced.deployment):
        return _proposal("resilient", one, balanced.headroom, balanced.probability_within_limits)
    return _proposal("resilient", one, one.headroom)


def _alike(one: Deployed, other: Deployed) -> bool:
    """Whether as many instances of the same kinds carry the load: they do so as surely, and with as much room."""

    def working(deployed: Deployed) -> object:
        kinds = [(k.tp, k.pp, k.ep, k.dp, k.instances - k.spare_instances) for k in deployed.kinds]
        names = (deployed.gpu, deployed.engine, deployed.weight_precision, deployed.kv_precision)
        return names, kinds, deployed.batch_limit, deployed.speculation

    return working(one) == working(other)


def _could_cost_less(likely: Screened, below: float) -> Screened | None:
    """What of it would cost less than ``below``, USD/h, with as few instances as no simulation ever needed fewer of;
    None where nothing would. What has no price stays."""
    question, together = likely.question, likely.together
    working = instances_needed(
        question.demand.sustained_rps, NEVER_MORE * together.evaluated.capacity.stable_rps[together.index]
    )
    least = aggregated(question, together.evaluated, together.index, working).usd_per_hour
    kept = together.take(np.flatnonzero(~(least >= below)))
    pools = [kind.take(np.flatnonzero(~(kind.usd_per_hour >= below))) for kind in likely.pools]
    if not len(kept) and not any(len(kind) for kind in pools):
        return None
    return replace(likely, together=kept, pools=tuple(kind for kind in pools if len(kind)))


def _first(
    seen: Screened, decided: Decided, seed: int, known: Search | None = None, below: float = math.inf
) -> PlannedDeployment[Any] | None:
    """The deployment that comes first, decided as the plan was; None where nothing keeps the limits ``below`` a cost in
    USD/h."""
    why = decided.not_simulated
    decision = decide(seen, seed, known=known, below=below, counted=False) if why is None else estimate(seen, why)
    places = decision.shortlist(0)
    if not places or decision.not_simulated != why:
        return None
    return as_stated([decision.every[places[0]]])[0]


def _proposal(
    name: ProposalName, one: PlannedDeployment[Any], headroom: float | None, probability: float | None = None
) -> Proposal:
    """A deployment as a proposal; its ``probability`` where that is known already."""
    deployed = one.deployed()
    return Proposal(
        name=name,
        deployment=deployed,
        systems=deployed.systems,
        hardware_usd_per_month=one.cost().hardware_usd_per_month,
        probability_within_limits=one.probability_within_limits() if probability is None else probability,
        headroom=headroom,
    )


def _first_few(kind: Deployments, objective: Objective | None = None) -> Rows:
    """Positions of those that come first by an ``objective``, or by that of their question, best first."""
    return kind.keys().first_few(objective or kind.objective, LOOKED_AT[kind.serving])


def _by_cost(question: Question) -> Question:
    """The question ranked by cost, whatever it asks for."""
    return with_deployment(question, objective="cost")


def with_deployment(question: Question, **changed: Any) -> Question:
    """The question with other choices of its deployment."""
    scenario = question.scenario
    deployment = scenario.deployment.model_copy(update=changed)
    return replace(question, scenario=scenario.model_copy(update={"deployment": deployment}))
