"""The one place where a plan is put together: deployment, figures, warnings, alternatives."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypedDict, TypeVar

import numpy as np

from sizing.base.choices import DecidedBy
from sizing.base.deployed import Deployed, PerInstance
from sizing.base.latency_and_cost import Business, Cost, Latencies
from sizing.base.provenance import Provenance
from sizing.base.result import AnswerSentence, Candidate, CrossCheck, Excluded, MadeFor, Plan, PlanWarning, PromptMedia
from sizing.base.units import PERCENT
from sizing.base.version import ENGINE_VERSION
from sizing.calibration.benchmark import calibration_note
from sizing.catalog import data_version
from sizing.planning import answer, rules, rules_evidence, rules_hardware, rules_support, sentences
from sizing.planning.aggregated import PlannedAggregated
from sizing.planning.answer import Sureness
from sizing.planning.business import business_of
from sizing.planning.caches import caches_of
from sizing.planning.deployment import PlannedDeployment
from sizing.planning.disaggregated import PlannedDisaggregated
from sizing.planning.exclusion import excluded
from sizing.planning.explain import Stated, explain_chance
from sizing.planning.figures import AnalyticFigures, figures_of
from sizing.planning.left_out import about_cheaper, about_left_out, left_out
from sizing.planning.limit_prices import about_costly_limits
from sizing.planning.long_context import about_long_context
from sizing.planning.media import about_media, prompt_media
from sizing.planning.rules_support import about_drafts
from sizing.planning.second_opinion import no_opinion
from sizing.planning.spread import Spread
from sizing.question.understand import Question
from sizing.search.aggregated import Aggregated
from sizing.search.all_deployments import AllDeployments, Place
from sizing.search.decide import Decided
from sizing.search.deployments import Deployments
from sizing.search.disaggregated import PoolPairs
from sizing.search.serving import Screened

PLANNED: dict[type[Deployments], type[PlannedDeployment[Any]]] = {
    Aggregated: PlannedAggregated,
    PoolPairs: PlannedDisaggregated,
}
"""How a plan states deployments of each kind: the only place that lists the kinds."""


def as_planned(one: Place) -> PlannedDeployment[Any]:
    """A deployment of a ranking, as a plan states it, where it is one of a question as expected."""
    return PLANNED[type(one.kind)](one.kind, one.k, one.kind, one.k)


def as_stated(places: Sequence[Place]) -> list[PlannedDeployment[Any]]:
    """Deployments as a plan states them: with steps as long as expected, whatever caution they were sized with."""
    planned: dict[int, PlannedDeployment[Any]] = {}
    for kind, positions in _by_kind(places):
        sized = [places[position].k for position in positions]
        there = kind.as_expected(np.array(sized, dtype=np.intp))
        for k, (position, sized_k) in enumerate(zip(positions, sized, strict=True)):
            planned[position] = PLANNED[type(kind)](there, k, kind, sized_k)
    return [planned[position] for position in range(len(places))]


class _AnswerFields(TypedDict):
    """The answer in sentences and in figures, as fields of a plan."""

    answer: str
    sentences: tuple[AnswerSentence, ...]
    media: tuple[PromptMedia, ...]
    feasible: bool
    deployment: Deployed
    per_instance: PerInstance
    per_prefill_instance: PerInstance | None
    latency: Latencies
    probability_within_limits: float
    gpus_expected: int
    gpus_low: int
    gpus_high: int | None
    cost: Cost
    limited_by: str
    headroom: float


class _OriginFields(TypedDict):
    """Where the figures come from and how sure they are, as fields of a plan."""

    assumptions: tuple[str, ...]
    source: str
    decided_by: DecidedBy
    provenance: Provenance
    confidence: float
    how_sure: str


class EveryPlanFields(TypedDict):
    """What a plan holds whatever is deployed."""

    peak_rps: float
    sustained_rps: float
    business: Business
    cross_check: CrossCheck | None
    engine_version: str
    data_version: str


Of = TypeVar("Of", bound=Place | PlannedDeployment[Any])


def _by_kind(each: Sequence[Of]) -> list[tuple[Any, list[int]]]:
    """The tables that these are of, each with their positions."""
    kinds = {id(one.kind): one.kind for one in each}
    return [(kind, [i for i, one in enumerate(each) if one.kind is kind]) for kind in kinds.values()]


def spreads(deployments: Sequence[PlannedDeployment[Any]]) -> list[Spread]:
    """80 % interval of each, those of one table together."""
    by_position: dict[int, Spread] = {}
    for kind, positions in _by_kind(deployments):
        together = deployments[positions[0]].spreads(kind, [deployments[p].k for p in positions])
        by_position.update(zip(positions, together, strict=True))
    return [by_position[position] for position in range(len(deployments))]


def compose(
    screened: Screened, decided: Decided, alternatives: int, *, second_opinion: bool = False, brief: bool = False
) -> Plan:
    """The plan of what was decided, with so many alternatives at most; infeasible where nothing serves.

    ``second_opinion``: the chosen deployment by another source of step times, too; ``brief``: without trade-off, load
    curve, explanations and, where something serves, what was left out.
    """
    question, places = screened.question, decided.shortlist(alternatives)
    by_pools = frozenset[str]().union(*(pools.gpu_types() for pools in screened.pools))
    out = () if brief and places else excluded(question, screened.base, by_pools)
    if not places:
        return infeasible(question, out, second_opinion=second_opinion)
    figures = figures_of(question, decided)
    planned = as_stated([decided.every[place] for place in places])
    around = spreads(planned)
    others = zip(planned[1:], around[1:], places[1:], strict=True)
    shown = tuple(other.candidate(spread, figures.at_percentile_ms(place)) for other, spread, place in others)
    one, latency = planned[0], figures.latencies(planned[0], around[0])
    stated = _stated(one, latency, figures.requests)
    chance = one.probability_within_limits()
    now = stated.cost.hardware_usd_per_month
    cheaper = () if brief else left_out(screened, now)
    warnings = _warnings(stated, one, around[0], decided.every.fewest_of_other_kinds(places[0]))
    warnings += [*about_left_out(cheaper, now), *about_cheaper(question, stated.deployed, now, shown)]
    priced = list(_priced(screened, decided, one, brief=brief))
    composed = Plan(
        **_answer(stated, one, around[0], chance, kept=figures.not_simulated != "not_confirmed"),
        **_origin(one, around[0], figures),
        warnings=rules.in_order(
            [*figures.warnings, *_without_priced_limits(warnings, priced), *priced], decided.every.kinds[0].evaluated
        ),
        left_out=cheaper,
        alternatives=shown,
        trade_off=() if brief else _trade_off(one),
        excluded=out,
        load_curve=() if brief else one.load_curve(),
        explained=() if brief else (*one.explained(stated), explain_chance(stated, answer.chance_in_words(chance))),
        **of_every_plan(question, stated.business, one.second_opinion(stated) if second_opinion else None),
    )
    return composed.marked(MadeFor(question.scenario, one.configurations))


def _answer(
    stated: Stated, one: PlannedDeployment[Any], around: Spread, probability: float, *, kept: bool
) -> _AnswerFields:
    """The answer in sentences and in figures. ``probability`` that the limits hold; ``kept``: no simulation says that
    it breaks a limit."""
    bound, (low, high) = one.limited_by(), one.gpu_range(around)
    how_sure = Sureness(confidence=one.question.confidence, probability=probability, expected=one.expected_gpus)
    room = answer.room(bound, one.reached_first(), one.headroom, simulated=one.headroom_is_simulated)
    every_sentence = tuple(answer.sentences_of(stated, bound, room, how_sure))
    beyond, prefill = sentences.beyond_context(stated.question), stated.instances[:-1]
    if not kept:
        every_sentence = (answer.not_kept(), *every_sentence)
    if beyond:
        every_sentence = (answer.outside_context(beyond), *every_sentence)
    return {
        "answer": answer.joined(every_sentence),
        "sentences": every_sentence,
        "media": prompt_media(stated.question, stated.configurations[0]),
        "feasible": kept and not beyond,
        "deployment": stated.deployed,
        "per_instance": stated.one,
        "per_prefill_instance": prefill[0] if prefill else None,
        "latency": stated.latency,
        "probability_within_limits": probability,
        "gpus_expected": how_sure.expected,
        "gpus_low": low,
        "gpus_high": high,
        "cost": stated.cost,
        "limited_by": bound,
        "headroom": one.headroom,
    }


def _origin(one: PlannedDeployment[Any], around: Spread, figures: AnalyticFigures) -> _OriginFields:
    """Where the figures come from, what they rest on and how sure they are."""
    question, provenance = one.question, one.provenance(figures.load_model, figures.requests, figures.not_simulated)
    assumed = one.assumed(figures.load_model)
    of_simulation = one.assumed_by_simulation() if figures.load_model == "simulation" else ()
    how_sure = sentences.how_sure(around.decode, around.prefill)
    return {
        "assumptions": (*question.assumptions, *calibration_note(question), *assumed, *of_simulation),
        "source": sentences.source_of(provenance),
        "decided_by": provenance.load_model,
        "provenance": provenance,
        "confidence": PERCENT * question.confidence,
        "how_sure": f"{how_sure} {figures.how_sure}" if figures.how_sure else how_sure,
    }


def of_every_plan(question: Question, business: Business, cross_check: CrossCheck | None) -> EveryPlanFields:
    """What a plan holds whatever is deployed."""
    return {
        "peak_rps": question.demand.peak_rps,
        "sustained_rps": question.demand.sustained_rps,
        "business": business,
        "cross_check": cross_check,
        "engine_version": ENGINE_VERSION,
        "data_version": data_version(),
    }


def _stated(one: PlannedDeployment[Any], latency: Latencies, simulated: int) -> Stated:
    """The figures of the chosen deployment."""
    prefill, decode = one.per_prefill_instance(), one.per_instance()
    return Stated(
        question=one.question,
        configurations=one.configurations,
        deployed=one.deployed(),
        instances=(decode,) if prefill is None else (prefill, decode),
        latency=latency,
        cost=one.cost(),
        business=business_of(one.question),
        step_times=one.provenance().step_times.name,
        simulated=simulated,
    )


def _trade_off(one: PlannedDeployment[Any]) -> tuple[Candidate, ...]:
    """Alternatives from the fewest GPUs to the shortest latency, by the analytic load model."""
    planned = as_stated(list(AllDeployments((one.sized.trade_off(one.sized_k),))))
    return tuple(other.candidate(spread) for other, spread in zip(planned, spreads(planned), strict=True))


def _priced(screened: Screened, decided: Decided, one: PlannedDeployment[Any], *, brief: bool) -> Iterator[PlanWarning]:
    """What drafts save, and what each costly limit costs: other deployments of the same question are looked at."""
    kind, k = one.sized, one.sized_k
    yield from about_drafts(one.row.speculation, int(kind.gpus[k]), decided.every)
    if not brief:
        yield from about_costly_limits(screened.question, screened.base, float(kind.usd_per_hour[k]))


def _without_priced_limits(warnings: Iterable[PlanWarning], priced: Iterable[PlanWarning]) -> Iterator[PlanWarning]:
    """The warnings without the one of a tight limit whose price is said: both would loosen the same limit."""
    loosened = {one.fix.key for one in priced if one.fix is not None}
    for one in warnings:
        if not (one.code == "tight_limit" and one.fix is not None and one.fix.key in loosened):
            yield one


def _warnings(stated: Stated, one: PlannedDeployment[Any], around: Spread, instead: int | None) -> list[PlanWarning]:
    """All rules; of those that speak of several kinds of instances the first."""
    question, rows, option = one.question, one.configurations[::-1], one.option
    warnings = [
        *rules.about_model(question),
        *one.about_serving(instead),
        *(w for row in rows for w in rules_hardware.about_hardware(question, row, option)),
        *(w for row in rows for w in rules_support.about_support(question, row)),
        *about_long_context(question, one.row),
        *about_media(question, one.configurations[0], stated.instances[0].prefill_ms),
        *rules_support.about_adapters(question, one.row, stated.one.concurrency),
        *rules.about_latency(question, stated.latency.itl_ms.at_percentile),
        *(w for row in rows if not one.benchmarked for w in rules_evidence.about_evidence(question.model, row)),
        *rules.about_benchmark(question, one.row),
        *rules.about_room(one.kind.evaluated, int(one.kind.rows[one.k])),
        *one.about_limits(),
        *rules.about_interval(around.overloads, around.gpu_range[1], stated.deployed.gpus),
        *([] if one.benchmarked else rules.about_doubt(one.row, stated.deployed.gpus, one.expected_gpus)),
        *rules.about_accuracy(question, one.row),
        *rules_hardware.about_purchase(question, stated.deployed, option),
        *rules.about_typed_prefix(one, caches_of(one)),
    ]
    return list({w.code: w for w in reversed(warnings)}.values())[::-1]


def infeasible(question: Question, out: tuple[Excluded, ...], *, second_opinion: bool) -> Plan:
    """Nothing meets the limits: the reasons and the nearest way out."""
    why = answer.nothing(sentences.infeasible(question, out))
    nothing = Plan(
        answer=why.text,
        sentences=(why,),
        feasible=False,
        deployment=None,
        per_instance=None,
        latency=None,
        gpus_low=None,
        gpus_high=None,
        cost=None,
        limited_by="",
        warnings=(*rules.about_model(question), *rules.about_confidence(question)),
        assumptions=(*question.assumptions, *calibration_note(question)),
        source="",
        confidence=PERCENT * question.confidence,
        probability_within_limits=None,
        gpus_expected=None,
        how_sure="",
        alternatives=(),
        trade_off=(),
        excluded=out,
        load_curve=(),
        explained=(),
        **of_every_plan(question, business_of(question), no_opinion() if second_opinion else None),
    )
    return nothing.marked(MadeFor(question.scenario))
