"""The stages of a scenario beside its language model: GPUs, rate, latency and cost of each and of the whole."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from sizing.base.arrays import ROUNDING
from sizing.base.deployed import Deployed
from sizing.base.errors import InvalidScenario
from sizing.base.format import count, ms, percent
from sizing.base.latency_and_cost import Latencies, Latency
from sizing.base.pipeline import Pipeline, StagePlan, StageSystems
from sizing.base.quantity import Estimate
from sizing.base.result import AnswerSentence, Plan
from sizing.base.units import HOURS_PER_MONTH, MS_PER_S
from sizing.catalog.engines import Engine, engines
from sizing.catalog.gpu import Gpu
from sizing.pipelines.batch_times import SPOKEN_TOKENS, USABLE, VERDICT_TOKENS
from sizing.pipelines.loads import SPREAD, Load, StageDemand, asked_of, load_on
from sizing.pipelines.queue import Batches, StageService, mixed_wait_s, servers_wait_s, smallest_batches
from sizing.pipelines.text import sentence
from sizing.prices.hardware import HardwareOption, offers_of
from sizing.question.understand import Question
from sizing.search.screen import offered

ENGINE = "vllm"
"""Whose prefill stages are computed with where no language model is deployed."""

RUN_ENCODERS = ("NVIDIA", "AMD")
"""Vendors whose GPUs are considered for a stage that names none: servers of embedders and rerankers (TEI, Infinity,
vLLM pooling models, Triton) are published for these. A GPU that is named is taken as it is."""

MEDIAN = 50.0

MOST_GPUS = 20_000
"""GPUs of one stage at most. Chosen: more is a typing error."""


@dataclass
class Card:
    """One GPU: which stages have a copy on it, by their place, each with its share of the GPU."""

    alone: bool = False
    shares: dict[int, float] = field(default_factory=dict)
    memory_bytes: float = 0.0

    @property
    def share(self) -> float:
        """Share of the GPU that is taken."""
        return sum(self.shares.values())


@dataclass(frozen=True, kw_only=True)
class Placement:
    """The GPUs of one type: ``idle`` of them stand idle anyway; the rest comes in ``systems`` of an ``option``."""

    gpu: Gpu
    cards: tuple[Card, ...]
    idle: int
    option: HardwareOption | None
    systems: int

    @property
    def usd_per_month(self) -> float | None:
        """What is bought or rented; None where no price is known."""
        if not self.systems:
            return 0.0
        if self.option is None or self.option.usd_per_hour is None:
            return None
        return self.systems * self.option.usd_per_hour * HOURS_PER_MONTH

    @property
    def power_kw(self) -> float | None:
        """Power budget of what is bought or rented; None where it is not known."""
        if not self.systems:
            return 0.0
        return None if self.option is None or self.option.power_kw is None else self.systems * self.option.power_kw


def first_fit(loads: Sequence[Load], places: Sequence[int]) -> tuple[Card, ...]:
    """Copies of the stages on as few GPUs as first fit finds, the largest share first.

    A stage of 2.3 GPUs is three copies of 0.77. One that is to be alone, and every measured record, whose memory nobody
    states, has GPUs of its own.
    """
    cards: list[Card] = []
    for load, place in sorted(zip(loads, places, strict=True), key=lambda one: -one[0].share / one[0].copies):
        alone = load.demand.stage.place == "own" or load.times is None
        each, room = load.share / load.copies, USABLE * load.gpu.program_bytes
        others = [] if alone else [card for card in cards if _takes(card, load, each, room)][: load.copies]
        own = [Card(alone=alone) for _ in range(load.copies - len(others))]
        for card in (*others, *own):
            card.shares[place] = each
            card.memory_bytes += load.memory_bytes
        cards += own
    return tuple(cards)


def _takes(card: Card, load: Load, share: float, room: float) -> bool:
    fits = card.memory_bytes + load.memory_bytes <= room and card.share + share <= 1.0 + ROUNDING
    return fits and not card.alone


def placed(question: Question, gpu: Gpu, cards: tuple[Card, ...], idle: int) -> Placement:
    """The GPUs of one type with the cheapest whole systems that hold those beside the ``idle`` ones."""
    used = min(idle, len(cards))
    bought = len(cards) - used
    if not bought:
        return Placement(gpu=gpu, cards=cards, idle=used, option=None, systems=0)
    offers = offers_of(question, gpu)
    systems = {offer.id: -(-bought // offer.gpus) for offer in offers}
    option = min(
        offers, key=lambda one: (one.usd_per_hour is None, systems[one.id] * (one.usd_per_hour or 0.0), systems[one.id])
    )
    return Placement(gpu=gpu, cards=cards, idle=used, option=option, systems=systems[option.id])


@dataclass(frozen=True)
class _Arrangement:
    """Every stage on a GPU type, and the GPUs of each type."""

    loads: tuple[Load, ...]
    placements: tuple[Placement, ...]

    @property
    def usd_per_month(self) -> float | None:
        """USD per month of all GPU types; None where a price is not known."""
        return _sum(one.usd_per_month for one in self.placements)

    @property
    def power_kw(self) -> float | None:
        """Power of all GPU types in kW; None where one is not known."""
        return _sum(one.power_kw for one in self.placements)

    @property
    def gpus(self) -> int:
        """GPUs of all types together."""
        return sum(len(one.cards) for one in self.placements)


def _sum(each: Iterable[float | None]) -> float | None:
    """The sum; None where a part is not known."""
    known = list(each)
    return None if None in known else sum(one for one in known if one is not None)


def with_pipeline(question: Question, plan: Plan) -> Plan:
    """The plan with its stages; the same plan where the scenario has none. Raises InvalidScenario for a stage that is
    not known or fits no GPU."""
    if not question.scenario.pipeline:
        return plan
    sized = pipeline_of(question, plan)
    of_stages = AnswerSentence(about="pipeline", text=sentence(sized, question.gpu_name))
    return plan.model_copy(
        update={
            "pipeline": sized,
            "answer": f"{plan.answer} {of_stages.text}",
            "sentences": (*plan.sentences, of_stages),
        }
    )


def pipeline_of(question: Question, plan: Plan) -> Pipeline:
    """The stages at the sustained rate of the scenario, beside what ``plan`` deploys of the language model.

    A stage that names no GPU takes the type that makes all such stages cheapest, idle GPUs of the language model's
    systems first; stages of a type share GPUs unless they are to be alone.
    """
    demands, deployed = asked_of(question), plan.deployment
    engine = engines()[deployed.engine] if deployed and deployed.engine in engines() else engines()[ENGINE]
    best = _cheapest(question, demands, engine, deployed)
    stages = tuple(_stage(place, load, best) for place, load in enumerate(best.loads))
    total = sum(one.latency_ms for one in stages)
    language = plan.cost
    latency = plan.latency
    return Pipeline(
        stages=stages,
        systems=tuple(_systems(one) for one in best.placements),
        gpus=best.gpus,
        latency_ms=total,
        ttft_ms=_added(total, latency.ttft_ms if latency else None),
        e2e_ms=_added(total, latency.e2e_ms if latency else None),
        power_kw=best.power_kw,
        power_kw_whole=_sum((best.power_kw, language.power_kw if language else None)),
        usd_per_month=best.usd_per_month,
        usd_per_month_whole=_sum((best.usd_per_month, language.hardware_usd_per_month if language else None)),
        notes=tuple(_notes(question, latency, total)),
        assumptions=tuple(_assumed(demands, engine, best)),
    )


def _cheapest(
    question: Question, demands: tuple[StageDemand, ...], engine: Engine, deployed: Deployed | None
) -> _Arrangement:
    """The arrangement that costs least, then with the fewest GPUs; one without a price comes last."""
    named = {one.id for one in question.gpus} if question.scenario.deployment.gpus else set()
    language = deployed.gpu if deployed else ""
    considered: list[Gpu | None] = [None]
    if any(one.gpu is None for one in demands):
        considered = [
            gpu
            for gpu in question.gpus
            if gpu.sizable
            and offered(question, gpu)
            and (gpu.vendor in RUN_ENCODERS or gpu.custom or gpu.id in named or gpu.id == language)
        ]
    arrangements = [one for gpu in considered if (one := _arranged(question, demands, gpu, engine, deployed))]
    if not arrangements:
        raise InvalidScenario([_no_arrangement(question, demands, engine)], ["pipeline"])
    return min(arrangements, key=lambda one: (one.usd_per_month is None, one.usd_per_month or 0.0, one.gpus))


def _no_arrangement(question: Question, demands: Sequence[StageDemand], engine: Engine) -> str:
    """Why no GPU type carries the stages: the first that fits none, else the one that needs too many."""
    for number, demand in enumerate(demands, 1):
        which = f"Stage {number} of the pipeline ({demand.stage.stage})"
        loads = [load_on(demand, gpu, engine, question) for gpu in ([demand.gpu] if demand.gpu else question.gpus)]
        if all(load is None for load in loads):
            return (
                f"{which}: no stage spans several GPUs, and {demand.label} with its batch does not fit one of those "
                "considered: name a GPU with more memory (gpu), or a smaller model."
            )
        if all(load is None or load.share > MOST_GPUS for load in loads):
            return (
                f"{which} would need more than {count(MOST_GPUS)} GPUs: check its per_request and tokens, and the load."
            )
    return "No GPU type that is considered carries all stages of the pipeline: name one for each (gpu)."


def _arranged(
    question: Question, demands: Sequence[StageDemand], free: Gpu | None, engine: Engine, deployed: Deployed | None
) -> _Arrangement | None:
    """The stages with ``free`` for those that name no GPU; None where a model does not fit."""
    loads: list[Load] = []
    for one in demands:
        gpu = one.gpu or free
        load = load_on(one, gpu, engine, question) if gpu else None
        if load is None or load.share > MOST_GPUS:
            return None
        loads.append(load)
    placements = []
    for gpu in dict.fromkeys(load.gpu for load in loads):
        places = [place for place, load in enumerate(loads) if load.gpu == gpu]
        idle = max(deployed.idle_gpus, 0) if deployed and deployed.gpu == gpu.id else 0
        cards = first_fit([loads[place] for place in places], places)
        placements.append(placed(question, gpu, cards, idle))
    return _Arrangement(tuple(loads), tuple(placements))


def _stage(place: int, load: Load, best: _Arrangement) -> StagePlan:
    """The figures of one stage, means over the GPUs that it runs on."""
    placement = next(one for one in best.placements if one.gpu == load.gpu)
    cards = [card for card in placement.cards if place in card.shares]
    alike = {tuple(card.shares): card for card in cards}
    known = {stages: _on_card(place, card, best.loads) for stages, card in alike.items()}
    waits, own, loaded = zip(*(known[tuple(card.shares)] for card in cards), strict=True)
    demand, n = load.demand, len(cards)
    wait, compute = MS_PER_S * sum(waits) / n, MS_PER_S * sum(one.seconds for one in own) / n
    measured = demand.stage.measured_items_per_s is not None
    cost = placement.usd_per_month
    if cost is not None:
        cost *= sum(card.shares[place] / card.share for card in cards) / len(placement.cards)
    spread = 1.0 if measured else SPREAD
    return StagePlan(
        stage=demand.stage.stage,
        model=demand.label,
        gpu=load.gpu.id,
        gpus=n,
        gpu_share=load.share,
        items_per_s=demand.items_per_s,
        rate=Estimate(value=load.rate, low=load.rate / spread, high=load.rate * spread),
        utilization=sum(loaded) / n,
        batch=sum(one.requests for one in own) / n * demand.job * demand.items,
        delay_ms=demand.stage.batch_delay_ms,
        wait_ms=wait,
        compute_ms=compute,
        latency_ms=demand.stage.batch_delay_ms + wait + compute,
        usd_per_month=cost,
        basis="measured" if measured else "estimate",
        validated=measured,
        how_sure=_how_sure(demand),
    )


def _on_card(place: int, card: Card, loads: Sequence[Load]) -> tuple[float, Batches, float]:
    """Mean wait in s of one stage on one GPU, its batches, and the load of the GPU."""
    if loads[place].times is None:
        load, servers = loads[place], loads[place].demand.stage.instances_per_gpu
        per_s = load.demand.jobs_per_s / load.copies
        own = Batches(requests=1, per_s=per_s, seconds=load.seconds(1))
        return servers_wait_s(own.load / servers, own.seconds, servers), own, own.load / servers
    served = [
        StageService(
            per_s=loads[other].demand.jobs_per_s / loads[other].copies,
            most=loads[other].most,
            seconds=loads[other].seconds,
        )
        for other in card.shares
    ]
    together = smallest_batches(served, loads[place].highest)
    own = together[list(card.shares).index(place)]
    return mixed_wait_s(together) + own.collecting_s, own, sum(one.load for one in together)


def _systems(one: Placement) -> StageSystems:
    return StageSystems(
        gpu=one.gpu.id,
        gpus=len(one.cards),
        idle_used=one.idle,
        system=one.option.name if one.option else "",
        systems=one.systems,
        power_kw=one.power_kw,
        usd_per_month=one.usd_per_month,
    )


def _added(stages_ms: float, language: Latency | None) -> float | None:
    """The stages before the median of the language model; None where that is not known."""
    median = language.at(MEDIAN) if language else None
    return None if median is None or not math.isfinite(median) else stages_ms + median


def _how_sure(demand: StageDemand) -> str:
    if demand.stage.measured_items_per_s is not None:
        return "Your own record; it is taken to hold at this load."
    factor = f"a factor of {SPREAD:g} either way is assumed"
    if demand.stage.stage == "speech":
        return (
            f"Not validated: only Whisper large-v3 is published on named GPUs, by engines tuned for it; {factor}. "
            "Plain transformers are three times slower and more."
        )
    return f"Not validated: too few measurements of embedders, rerankers and guards are published; {factor}."


def _notes(question: Question, latency: Latencies | None, stages_ms: float) -> Iterator[str]:
    """Limits that hold for the language model alone."""
    if latency is None:
        return
    limits = question.scenario.limits
    p = question.limits.percentile
    for name, one, limit in (("TTFT", latency.ttft_ms, limits.ttft_ms), ("E2E", latency.e2e_ms, limits.e2e_ms)):
        whole = None if one.at_percentile is None else one.at_percentile + stages_ms
        if limit is not None and whole is not None and whole > limit:
            yield (
                f"With the stages before it, p{p:g} {name} of the whole is about {ms(whole)}, above the limit of "
                f"{ms(limit)}, which the language model alone is held to: lower that limit by {ms(stages_ms)}."
            )


def _assumed(demands: Sequence[StageDemand], engine: Engine, best: _Arrangement) -> Iterator[str]:
    yield "Stages run one after another before the language model; their latencies are means, at the peak rate."
    if any(one.model for one in demands):
        yield (
            f"A batch of a stage takes what prefill of {engine.label} would take in 16 bit on that GPU: no KV cache, "
            "no decode steps."
        )
    yield f"At most {percent(best.loads[0].highest)} of a GPU's time is used by stages; no spares are planned for them."
    if any(len(card.shares) > 1 for one in best.placements for card in one.cards):
        yield "Stages that share a GPU take turns on it; each has its weights and a process of its own in memory."
    if any(one.gpu.slice_of for one in best.placements):
        yield "A slice has its part of a card's SMs and bandwidth: a prior that no measurement validates."
    if idle := sum(one.idle for one in best.placements):
        stand = "One GPU of the stages stands" if idle == 1 else f"{idle} GPUs of the stages stand"
        yield f"{stand} idle in the systems of the language model otherwise, and costs nothing more."
    if any(one.stage.stage == "speech" and one.model and not one.stage.tokens for one in demands):
        yield (
            f"A second of speech is {SPOKEN_TOKENS:g} tokens of transcript (150 words a minute); windows of 30 s are "
            "padded."
        )
    if any(one.stage.stage == "guard" and one.model and one.model.kind == "decoder" for one in demands):
        yield f"A language model as guard writes {VERDICT_TOKENS} tokens, its verdict."
    if any(one.stage.params_b for one in demands):
        yield "A stage of which only the size is known has the shape of BERT, with every parameter multiplied."
    yield "Operation and the costs over years are of the language model alone."
