"""The answer, sentence by sentence: what is bought, what it serves and how fast, what it costs, how sure."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import assert_never

from sizing.base.arrays import ROUNDING
from sizing.base.choices import SinglePoint
from sizing.base.deployed import Adapters, Deployed, Pool
from sizing.base.format import count, counted, large, ms, percent, requests_per_s, significant, usd, with_noun
from sizing.base.latency_and_cost import Cost, Latencies
from sizing.base.result import AnswerPart, AnswerSentence
from sizing.base.units import PERCENT
from sizing.catalog.drafts import Draft
from sizing.catalog.payment_terms import TERMS
from sizing.catalog.precisions import Precision
from sizing.planning import media
from sizing.planning.binding import Binding
from sizing.planning.business import load_in_words
from sizing.planning.deployment import LEAST_CHANCE
from sizing.planning.explain import Stated
from sizing.planning.sentences import binding_text, split_text, systems_named
from sizing.question.understand import Question

NO_ROOM = 1.005
"""Share of the planned load from which on there is room for more: below it reads "1"."""

ONLY: Mapping[tuple[SinglePoint, ...], str] = MappingProxyType(
    {
        ("instance",): "One instance answers everybody: it is a single point of failure",
        ("prefill",): "There is one prefill instance: it is a single point of failure",
        ("decode",): "There is one decode instance: it is a single point of failure",
        ("prefill", "decode"): "There is one prefill and one decode instance: each is a single point of failure",
        ("system",): "Everything runs in one system, which is a single point of failure",
    }
)
"""What there is only one of."""


@dataclass(frozen=True, kw_only=True)
class Sureness:
    """How surely a plan suffices: the chance asked for, ``confidence``, the ``probability`` that its limits hold, and
    the GPUs that are ``expected`` to be enough, as likely as not."""

    confidence: float
    probability: float
    expected: int


def sentences_of(stated: Stated, binds: str, room_left: str, how_sure: Sureness) -> Iterator[AnswerSentence]:
    """The whole answer. ``binds`` at the planned load; ``room_left``: :func:`room`."""
    yield _said("bought", bought(stated.deployed, stated.row.gpu.name))
    yield _said("serves", _serves(stated))
    if beside := media.prompt_media(stated.question, stated.configurations[0]):
        yield _said("inputs", media.in_words(stated.question, beside))
    if adapters := stated.deployed.adapters:
        yield _said("inputs", adapted(adapters))
    if drafts := stated.row.speculation.draft:
        yield _said("speculation", drafting(drafts))
    if deviation := other_format(stated.row.precision, stated.question.model.published_format):
        yield _said("format", deviation)
    yield from redundancy(stated.deployed)
    yield costs(stated.cost)
    yield _said("room", f"Limited by: {binds}. {room_left}")
    yield _said("sure", sure(how_sure, stated.deployed.gpus))


def adapted(one: Adapters) -> str:
    """ "50 adapters of rank 16, 32 of them in the memory of each instance (2.68 GB of each GPU): 86 % of requests find
    theirs, the others wait 10.5 ms for it; routed by adapter, all would find it."."""
    kept = "all of them" if one.resident == one.number else f"{count(one.resident)} of them"
    size = f"{significant(one.resident_gb_per_gpu)} GB of each GPU"
    each = f"{count(one.number)} adapters" if one.number > 1 else "One adapter"
    there = f"{each} of rank {one.rank}, {kept} in the memory of each instance ({size})"
    if one.resident == one.number:
        return f"{there}."
    would = "all" if one.hit_share_routed == 1.0 else percent(one.hit_share_routed)
    routed = f"; routed by adapter, {would} would find it"
    return (
        f"{there}: {percent(one.hit_share)} of requests find theirs, the others wait {ms(one.load_ms)} for "
        f"it{routed if one.hit_share_routed > one.hit_share + 0.005 else ''}."
    )


def drafting(draft: Draft) -> str:
    """ "Each step guesses 3 tokens ahead (speculative decoding, MTP heads), which yields 2.51 tokens a step."."""
    guessed = f"{draft.draft_tokens} token{'s' if draft.draft_tokens > 1 else ''}"
    return (
        f"Each step guesses {guessed} ahead (speculative decoding, {draft.label}), which is taken to yield "
        f"{significant(draft.tokens_per_step)} tokens a step."
    )


def _said(about: AnswerPart, text: str) -> AnswerSentence:
    return AnswerSentence(about=about, text=text)


def joined(sentences: Sequence[AnswerSentence]) -> str:
    """The answer as one text."""
    return " ".join(one.text for one in sentences)


def nothing(why: str) -> AnswerSentence:
    """The sentence that says why no deployment serves the workload."""
    return _said("infeasible", why)


def outside_context(beyond: str) -> AnswerSentence:
    """What stands before an answer that the model's context window rules out."""
    return nothing(f"{beyond} By memory and speed alone:")


def not_kept() -> AnswerSentence:
    """What stands before an answer of the load model that no simulation confirms: it is known to break a limit."""
    return nothing(
        "No deployment that was simulated keeps the limits, with any number of instances: relax a limit. The load "
        "model, which sees no single request, would take this:"
    )


def of_record(text: str) -> AnswerSentence:
    """What a measured record lets systems carry."""
    return _said("bought", text)


def redundancy(deployed: Deployed) -> Iterator[AnswerSentence]:
    """The single points of failure, if there is any."""
    if deployed.single_points:
        yield _said("redundancy", _alone(deployed))


def bought(deployed: Deployed, gpu: str) -> str:
    """ "One DGX H100 (8 x H100 SXM) is enough; 2 of its 8 GPUs carry the load, as one instance of 2 GPUs (TP2)."."""
    systems, every = deployed.systems, deployed.gpus_bought
    named = systems_named(systems, deployed.system)
    need = "is enough" if systems == 1 else "are needed"
    working = deployed.gpus - deployed.spare_gpus
    used = f"{count(working)} of {'its' if systems == 1 else 'the'} {count(every)} GPUs carry"
    if working == every:
        used = {1: "its GPU carries", 2: "both GPUs carry"}.get(every, f"all {count(every)} GPUs carry")
    elif working == 1:
        used = f"1 of {'its' if systems == 1 else 'the'} {count(every)} GPUs carries"
    spare = f", {count(deployed.spare_gpus)} more stand{'s' if deployed.spare_gpus == 1 else ''} by"
    named, stand_by = f"{named[0].upper()}{named[1:]}", spare if deployed.spare_gpus else ""
    if deployed.system == gpu:  # a server without GPUs, or with memory of one kind, is counted as one GPU
        one = deployed.instances - deployed.spare_instances == 1
        number = "one instance" if one else f"{count(deployed.instances - deployed.spare_instances)} instances"
        return f"{named} {need}, as {number}{stand_by}."
    return f"{named} ({count(every)} x {gpu}) {need}; {used} the load, {_instances(deployed)}{stand_by}."


def _instances(deployed: Deployed) -> str:
    """ "as 4 instances of 2 GPUs (TP2)"."""
    if deployed.pools:
        prefill, decode = deployed.pools
        return (
            f"{count(prefill.gpus)} prefill + {count(decode.gpus)} decode GPUs: "
            f"{_instances_of(prefill, 'prefill ')} and {_instances_of(decode, 'decode ')}"
        )
    return f"as {_instances_of(deployed)}"


def _instances_of(one: Deployed | Pool, kind: str = "") -> str:
    working = one.instances - one.spare_instances
    number = "one" if working == 1 else count(working)
    every = " each" if working > 1 else ""
    return f"{number} {kind}instance{'s' if working != 1 else ''} of {split_text(one)}{every}"


def _serves(stated: Stated) -> str:
    """Which model in which format on which engine, for whom, and how long they wait."""
    question, row = stated.question, stated.row
    model, load = question.model.id.rpartition("/")[2], load_in_words(question.demand)
    whom = load
    if users := question.scenario.workload.users:
        whom = f"{counted(users.daily_users, 'user')} a day ({load})"
    if batch := question.scenario.workload.batch:
        rate = requests_per_s(question.demand.sustained_rps)
        whom = f"{with_noun(large(batch.documents_per_month), 'document')} a month ({rate} in the working window)"
    return (
        f"{model} in {row.precision.plain_label} on {row.engine.label} serves {whom}: "
        f"{key_latency(question, stated.latency)}."
    )


def key_latency(question: Question, latency: Latencies) -> str:
    """What the customer watches: the first word when streaming, the whole answer when sequential, nothing offline."""
    limits, mode = question.scenario.limits, question.scenario.workload.mode
    match mode:
        case "offline":
            return "nobody waits for an answer, so no latency is limited"
        case "sequential":
            whole = True
        case "streaming":
            whole = limits.ttft_ms is None and limits.e2e_ms is not None
        case unknown:
            assert_never(unknown)
    thing, name = ("whole answer", "E2E") if whole else ("first token", "TTFT")
    value = (latency.e2e_ms if whole else latency.ttft_ms).at_percentile
    limit = limits.e2e_ms if whole else limits.ttft_ms
    within = f" (limit {ms(limit)})" if limit is not None else ""
    p = question.limits.percentile
    if not whole and limits.e2e_ms is not None:  # both are promised
        within += f" and their whole answer within {ms(latency.e2e_ms.at_percentile)} (limit {ms(limits.e2e_ms)})"
        name += " and E2E"
    return f"{p:g} % of requests get their {thing} within {ms(value)}{within}, which is p{p:g} {name}"


def other_format(chosen: Precision, published: Precision) -> str:
    """Where the weights deviate from the checkpoint, and what that costs; "" where they do not."""
    if chosen.id == published.id:
        return ""
    if chosen.bytes >= published.bytes:
        return f"{chosen.plain_label} is converted from {published.plain_label}, the format of the checkpoint."
    effect = "none expected" if chosen.accuracy == "reference" else chosen.accuracy
    return f"{chosen.plain_label} is quantised from {published.plain_label}; accuracy effect: {effect}."


def _alone(deployed: Deployed) -> str:
    """What there is only one of; GPUs that run nothing do not change that."""
    points, idle = deployed.single_points, deployed.idle_gpus
    if not idle or points == ("system",):
        return f"{ONLY[points]}."
    return f"{ONLY[points]}, and the {'idle GPU does' if idle == 1 else f'{count(idle)} idle GPUs do'} not take over."


def costs(cost: Cost) -> AnswerSentence:
    """What it costs, in a sentence of its own: not every reader may see it."""
    return _said("cost", price(cost))


def price(cost: Cost) -> str:
    """ "$6,670 a month for the hardware alone, before power and operation."."""
    if cost.hardware_usd_per_month is None:
        return "No list price is known."
    return hardware_price(cost, usd(cost.hardware_usd_per_month))


def hardware_price(cost: Cost, a_month: str) -> str:
    """What an amount ``a_month`` is for: all that is bought, written off, and nothing else; or what is rented."""
    paid = "" if cost.payment is None else f", {TERMS[cost.payment].words}"
    rented = f"the rented instances{paid}"
    of = rented if cost.system_usd is None else "the hardware alone, before power and operation"
    return f"{a_month} a month for {of}."


def room(binds: str, first: Binding, headroom: float, *, simulated: bool) -> str:
    """ "Room for about 1.2 times this load.", unless it is ``simulated`` by estimate; for the smallest unit what it
    reaches first, too."""
    reached = binding_text(first)
    fits = f"room for about {significant(headroom)} times this load"
    if headroom < NO_ROOM:
        fits = "hardly any room for a larger load"
    fits = f"{fits[0].upper()}{fits[1:]}" if simulated else f"By estimate, {fits}"
    then = "" if binds == reached or headroom < NO_ROOM else f"; then {reached} is reached first"
    return f"{fits}{then}."


def sure(how_sure: Sureness, planned: int) -> str:
    """ "2 GPUs are expected to be enough; with 3 the limits hold with a chance of 93 % (asked: 90 %)."."""
    chance = f"a chance of {chance_in_words(how_sure.probability)} (asked: {percent(how_sure.confidence)})"
    if how_sure.expected >= planned:
        return f"The limits hold with {chance}."
    enough = f"{counted(how_sure.expected, 'GPU')} {'is' if how_sure.expected == 1 else 'are'} expected to be enough"
    return f"{enough}; with {count(planned)} the limits hold with {chance}."


def chance_in_words(probability: float, *, more_than: str = "more than") -> str:
    """ "93 %", "more than 99 %": whole percents, rounded down, so that none is promised that is not there."""
    whole = math.floor(probability * PERCENT + ROUNDING)
    return f"{more_than} {whole} %" if probability >= 1.0 - LEAST_CHANCE else f"{whole} %"
