"""A plan with the cheapest mixed fleet beside it: looked for by the load model, each part planned by itself.

The parts are plans as any other, simulated at their own load and lengths: each holds the limits at the asked percentile
for its own requests, so that together they hold them for all. Where that is not cheaper than the plan, the answer says
that one fleet is.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from sizing.base.errors import InvalidScenario
from sizing.base.format import count, percent
from sizing.base.mixed import FleetPart, MixedFleet, MixOutcome, PromptRange
from sizing.base.result import AnswerSentence, Plan
from sizing.mixed.choose import RangeSplit, Share, cheapest_split, unserved
from sizing.mixed.ranges import LengthRange, part_of, ranges_of, together
from sizing.mixed.text import sentence
from sizing.mixed.units import units_of
from sizing.planning.compose import compose
from sizing.planning.pools_of_types import pools_of_types, without_pools
from sizing.planning.settled import settle
from sizing.prices.cost import TIE
from sizing.question.length_distributions import distribution_of
from sizing.question.understand import Question, understand


def reject_unmixable(question: Question) -> None:
    """Raises InvalidScenario where a mix is asked for that makes no sense: before anything is simulated."""
    workload = question.scenario.workload
    if question.scenario.deployment.mixed == 1 or question.reused is not None:
        return
    shortest = ranges_of(distribution_of(workload.input_tokens))[0]
    mean = math.fsum(shortest.groups) / len(shortest.groups)
    if workload.prefix_cached_tokens >= mean:
        raise InvalidScenario.at(
            "deployment.mixed",
            f"the cached {count(workload.prefix_cached_tokens)} tokens are more than the shortest "
            f"{percent(shortest.share)} of prompts have ({count(mean)} on average), so that these cannot be served "
            "apart: state fewer prefix_cached_tokens, or lengths that vary less.",
        )


def with_mix(question: Question, plan: Plan, seed: int) -> Plan:
    """The plan with the cheapest mixed fleet, the same plan where none is asked or nothing serves."""
    if question.scenario.deployment.mixed == 1 or not plan.feasible or question.reused is not None:
        return plan
    mixed, parts = mix_of(question, plan, seed)
    apart = pools_of_types(question, plan, mixed, seed)
    mixed = mixed.model_copy(
        update={"apart": apart and apart.stated, "no_pools_of_types": without_pools(question) if apart is None else ()}
    )
    mixed = mixed.model_copy(update={"assumptions": (*mixed.assumptions, *_priced(mixed))})
    of_mix = AnswerSentence(about="mixed", text=sentence(mixed, question.gpu_name))
    stated = plan.model_copy(
        update={"mixed": mixed, "answer": f"{plan.answer} {of_mix.text}", "sentences": (*plan.sentences, of_mix)}
    )
    if apart is not None and apart.stated.advised:
        return stated.marked(replace(plan.made_for, pools=apart.planned(stated)))
    return stated.marked(replace(plan.made_for, parts=parts if mixed.outcome == "cheaper" else ()))


_Part = tuple[Question, Plan]


def mix_of(question: Question, plan: Plan, seed: int = 0) -> tuple[MixedFleet, tuple[_Part, ...]]:
    """The cheapest split of the requests of a question over fleets, held against its ``plan``, which is one fleet; with
    the question and the plan of each of its parts."""
    single = None if plan.cost is None else plan.cost.hardware_usd_per_month
    ranges = ranges_of(distribution_of(question.scenario.workload.input_tokens))
    units = units_of(_questions(question, ranges))
    if single is None or not units:
        return _without_parts("no_price" if single is None else "not_held", single, together(ranges)), ()
    if lacking := unserved(units, len(ranges)):
        return _without_parts("not_held", single, together([ranges[k] for k in lacking])), ()
    numbers = range(2, question.scenario.deployment.mixed + 1)
    cheapest = (cheapest_split(units, most) for most in numbers)
    splits = dict.fromkeys(one for one in cheapest if one is not None and len(one.shares) > 1)
    planned = [each for one in splits if (each := _parts(question, one, ranges, seed))]
    if not planned:
        return _without_parts("one_fleet", single, ()), ()
    best = min(planned, key=lambda each: _usd([part for part, _ in each]))
    return _held_against(single, [part for part, _ in best], ranges), tuple(made for _, made in best)


def _questions(question: Question, ranges: Sequence[LengthRange]) -> list[Question]:
    """The question of each range alone; one and the same for ranges that are alike."""
    scenario, peak = question.scenario, question.demand.sustained_rps
    each = {
        one: replace(understand(part_of(scenario, peak, [one])), gpus=question.gpus) for one in dict.fromkeys(ranges)
    }
    return [each[one] for one in ranges]


def _parts(
    question: Question, split: RangeSplit, ranges: Sequence[LengthRange], seed: int
) -> list[tuple[FleetPart, _Part]] | None:
    """Each part of a split as a plan of its own; None where one of them does not hold the limits, or has no price."""
    parts = []
    for share in split.shares:
        part_question, plan = _planned(question, share, ranges, seed)
        if plan.deployment is None or not plan.feasible or plan.cost is None:
            return None
        if plan.cost.hardware_usd_per_month is None:
            return None
        mine = ranges[share.first : share.end]
        part = FleetPart(
            ranges=together(mine),
            share=min(math.fsum(one.share for one in mine), 1.0),
            rps=plan.sustained_rps,
            deployment=plan.deployment,
            latency=plan.latency,
            usd_per_month=plan.cost.hardware_usd_per_month,
            probability_within_limits=plan.probability_within_limits,
        )
        parts.append((part, (part_question, plan)))
    return parts


def _usd(parts: Sequence[FleetPart]) -> float:
    """USD per month of all parts, whose prices are known."""
    return math.fsum(one.usd_per_month or 0.0 for one in parts)


def _planned(question: Question, share: Share, ranges: Sequence[LengthRange], seed: int) -> _Part:
    """The question and the plan of one part on its own GPU type."""
    scenario = part_of(question.scenario, question.demand.sustained_rps, ranges[share.first : share.end])
    part = replace(understand(scenario), gpus=(share.unit.configuration.gpu,))
    settled = settle(part, seed, by_simulation=scenario.workload.mode != "offline")
    return part, compose(settled.seen, settled.decided, 0, brief=True)


def _held_against(single: float, parts: list[FleetPart], ranges: Sequence[LengthRange]) -> MixedFleet:
    """The split beside one fleet."""
    usd = _usd(parts)
    return MixedFleet(
        outcome="cheaper" if usd < single * (1.0 - TIE) else "not_cheaper",
        parts=tuple(parts),
        gpus=sum(one.deployment.gpus for one in parts),
        systems=sum(one.deployment.systems for one in parts),
        usd_per_month=usd,
        one_fleet_usd_per_month=single,
        saved_share=1.0 - usd / single if single else 0.0,
        unserved=(),
        assumptions=tuple(_assumed(parts, ranges)),
    )


def _without_parts(outcome: MixOutcome, single: float | None, unserved: tuple[PromptRange, ...]) -> MixedFleet:
    return MixedFleet(
        outcome=outcome,
        parts=(),
        gpus=None,
        systems=None,
        usd_per_month=None,
        one_fleet_usd_per_month=single,
        saved_share=None,
        unserved=unserved,
        assumptions=(),
    )


def _assumed(parts: Sequence[FleetPart], ranges: Sequence[LengthRange]) -> Iterator[str]:
    if any(one.ranges for one in parts):
        yield (
            f"Requests are told apart by their prompt in {len(ranges)} ranges of equally many; answers are as long in "
            "each, because a router does not know them when a request comes."
        )
    else:
        yield "Every request is alike: the router sends each fleet its share of them."
    yield "Each part is planned by itself: limits hold at their percentile for its own requests, so for all together."
    yield (
        "The split is looked for with the capacities of the load model; no published measurement of a mixed fleet is "
        "held against it."
    )


def _priced(mixed: MixedFleet) -> Iterator[str]:
    """What other doors say of: the mix or the plan."""
    of_mix = "comparisons, energy and manifests are of"
    on_plan = "what-ifs and what is set beside a running deployment are of the plan; a workbook has no formulas."
    if mixed.advises_pools:
        yield f"Costs over years, {of_mix} prefill and decode on two GPU types; {on_plan}"
    elif mixed.outcome == "cheaper":
        yield f"Costs over years, {of_mix} the mixed fleet; {on_plan}"
    elif mixed.parts:
        yield f"Costs over years, {of_mix} the plan, which is one fleet for all."
