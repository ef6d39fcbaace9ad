"""Warnings a careful architect would give about the chosen deployment; each names its source and, if any, a fix."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, get_args

import numpy as np

from sizing.base.choices import Confidence
from sizing.base.constants import DECK, constant
from sizing.base.format import count, counted, large, ms, percent, requests_per_s, significant
from sizing.base.result import Fix, PlanWarning
from sizing.base.units import MS_PER_S, PERCENT
from sizing.calibration.benchmark import calibrated_configuration
from sizing.calibration.carried import kinship
from sizing.catalog import quantization
from sizing.catalog.context import Extension, extension_of
from sizing.catalog.precisions import precisions
from sizing.deployments.layouts import TP_SIZES
from sizing.planning.deployment import PlannedDeployment
from sizing.question.configuration import Configuration, instance_text
from sizing.question.reused import CacheState, cache_routing
from sizing.question.understand import EXPECTED, Question
from sizing.queueing.capacity import Bound, Percentiles, capacity
from sizing.search.aggregated import Aggregated, aggregated
from sizing.search.preferences import LITTLE_ROOM, room
from sizing.search.screen import Evaluated, evaluate_all, instances_needed

FAST_READING_MS = constant("fast_reading_ms_per_token")

AVERAGE_READING_MS = constant("average_reading_ms_per_token")

SLACK = 1.25
"""How much looser a limit is tried, to see whether it is a costly one. Chosen: what a customer may well agree to."""

WORTH_TELLING = 0.7
"""Share of the instances that a looser limit must leave for the customer to be told. Chosen: a saving of 30 %."""

LIMITS = {Bound.TTFT: ("ttft_s", "TTFT"), Bound.ITL: ("itl_s", "ITL"), Bound.E2E: ("e2e_s", "E2E")}
"""The limits that may bind, by what they are called in the question and by people."""

DOUBT_DECIDES = 3.0
"""How many times the GPUs that are expected to be enough a plan must have to be told that doubt decides it. Chosen:
what was not measured takes 1.5 to 2 times as many where no limit is near the fastest possible token."""

MEASURED_DIFFERS = 0.15
"""Relative difference below which a benchmark confirms the prediction: either is within its error."""

MOSTLY_CACHED = 0.5
"""Share of a prompt from which on what is cached is a session's history rather than a system prompt of all. Chosen."""

SOON_S = 60.0
"""Next turns come later than this often enough to matter. Chosen: a person reads and writes as long; of a published
corpus of coding agents 10 % of the gaps are longer than 24 s and 1 % than 11 minutes (llm-d, 2026-07-22)."""

REACHED_GBS = 4.0
"""What came to one A100 of a pool over links of 50 GB/s, and of drives of 27 GB/s in all: the slope of TTFT over the
turns that Mooncake published (docs, SSD offload, 2026-08), with which they are met within 14 %, at the nominal rates
within 61."""

SOURCE = "LRU eviction: kept for KV cache of waiting sessions / (requests/s x tokens that each leaves)"


def about_model(question: Question) -> Iterator[PlanWarning]:
    """Rules that hold whatever is deployed: the context window."""
    model, tokens = question.model, question.longest_tokens
    if model.max_context is None:
        yield PlanWarning(
            code="context_unknown",
            severity="info",
            source="catalogue",
            message=f"The context window of {model.id} is not known: check that it holds {count(tokens)} tokens.",
        )
    elif tokens > model.max_context:
        more = extension_of(model)
        longer = more is not None and tokens <= more.extended
        varies = question.variability.prompt > 0 or question.variability.output > 0
        yield PlanWarning(
            code="context_exceeded",
            severity="error",
            source=model.source,
            message=f"Prompt and output need {count(tokens)} tokens{' at their p95' if varies else ''}, the "
            f"context window "
            f"of {model.id} holds {count(model.max_context)}: the model cannot serve "
            f"{'the longest requests' if varies else 'this'}."
            f"{_extended(more) if more is not None and longer else ''}",
            fix=_fewer_turns(question, model.max_context)
            or (None if varies else _shorter_prompt(question, model.max_context)),
        )


def _extended(more: Extension) -> str:
    """What the authors of a model publish for longer prompts."""
    return (
        f" Its authors extend it to {count(more.extended)} tokens by {more.method} ({more.source}): give its "
        "config.json with the longer window, and test answers on long and short prompts."
    )


def _fewer_turns(question: Question, window: int) -> Fix | None:
    """As many turns of a session as the window holds, if any."""
    sessions = question.scenario.workload.sessions
    turns = 0 if sessions is None else sessions.turns_within(window)
    return Fix(key="workload.sessions.turns", value=turns, label=f"Plan {count(turns)} turns") if turns else None


def _shorter_prompt(question: Question, window: int) -> Fix | None:
    """The longest prompt that leaves room for the output, if any."""
    room = int(window - question.traffic.output_tokens - question.traffic.media.tokens)
    if room <= question.traffic.cached_tokens:
        return None
    return Fix(key="workload.input_tokens", value=room, label=f"Shorten the prompt to {count(room)} tokens")


def about_latency(question: Question, itl_ms: float | None) -> Iterator[PlanWarning]:
    """Streaming output slower than people read."""
    if question.scenario.workload.mode != "streaming" or question.traffic.output_tokens < 2 or itl_ms is None:
        return
    p = f"p{question.limits.percentile:g}"
    if itl_ms > AVERAGE_READING_MS:
        yield PlanWarning(
            code="slower_than_reading",
            severity="warning",
            source=DECK,
            message=f"{p} ITL {ms(itl_ms)} is slower than an average reader ({ms(AVERAGE_READING_MS)} per token).",
            fix=Fix(key="limits.itl_ms", value=AVERAGE_READING_MS, label=f"Limit ITL to {ms(AVERAGE_READING_MS)}"),
        )
    elif itl_ms > FAST_READING_MS:
        yield PlanWarning(
            code="slower_than_fast_reading",
            severity="info",
            source=DECK,
            message=f"{p} ITL {ms(itl_ms)} is slower than a fast reader ({ms(FAST_READING_MS)} per token).",
            fix=Fix(key="limits.itl_ms", value=FAST_READING_MS, label=f"Limit ITL to {ms(FAST_READING_MS)}"),
        )


def about_accuracy(question: Question, row: Configuration) -> Iterator[PlanWarning]:
    """What quantised weights cost in answer quality, from the catalogue."""
    precision = row.precision
    if precision.keeps_accuracy or precision.id == question.model.native_precision:
        return
    published = (q for q in quantization() if q.record_type == "accuracy" and q.loss)
    facts = [q for q in published if q.method == precision.published_as]
    worst = max(facts, key=lambda q: q.loss_points or 0.0, default=None)
    seen = f" Worst published: {worst.model} {worst.metric} {worst.loss} ({worst.source})." if worst else ""
    accurate = [p.id for p in precisions().values() if p.keeps_accuracy and not p.named_only]
    yield PlanWarning(
        code="quantized_weights",
        severity="info",
        source="catalogue: quantization.csv",
        message=f"{precision.label} weights change the answers ({precision.accuracy}): test them on your task.{seen}",
        fix=Fix(key="deployment.precisions", value=accurate, label="Consider only 16 bit and FP8"),
    )


def about_pools(engine: str, link: str, instead: int | None) -> Iterator[PlanWarning]:
    """What disaggregated serving needs; ``instead``: GPUs that aggregated serving would need, if known."""
    saved = "" if instead is None else f" Aggregated serving would need {counted(instead, 'GPU')}."
    yield PlanWarning(
        code="disaggregated_serving",
        severity="info",
        source=f"engine documentation: {engine}",
        message="Some instances compute prompts (prefill), others write the answers (decode): this takes a router that "
        f"knows both pools and moves every prompt's KV cache over the {link}; one pool cannot help the other when "
        "the mix of prompts and answers changes. Few benchmarks of this have been published: benchmark it before "
        f"buying.{saved}",
        fix=Fix(key="deployment.serving", value=["aggregated"], label="Consider aggregated serving only"),
    )


def about_interval(overloads: bool, gpus_high: int | None, gpus: int) -> Iterator[PlanWarning]:
    """The load fits if the engine is as fast as expected, but not at the slow end of what was measured elsewhere; where
    the plan's ``gpus`` are enough there, too, by the rounding of one of both, nothing is to be said."""
    if not overloads or (gpus_high is not None and gpus_high <= gpus):
        return
    enough = "no number of GPUs holds the limits"
    if gpus_high is not None:
        enough = f"you need {counted(gpus_high, 'GPU')}"
    yield PlanWarning(
        code="interval_open",
        severity="info",
        source="conformal interval",
        message=f"If the engine is as slow as in the worst tenth of benchmarks, {enough}.",
    )


def about_limits(deployments: Aggregated, k: int) -> Iterator[PlanWarning]:
    """A limit of which a little slack would save many GPUs, some of them bought: idle ones of a server cost as much."""
    question, evaluated, index = deployments.question, deployments.evaluated, int(deployments.index[k])
    bound = Bound(int(evaluated.capacity.bound[index]))
    if bound not in LIMITS:
        return
    attribute, name = LIMITS[bound]
    limit = float(getattr(question.limits, attribute))
    slack = replace(question.limits, **{attribute: limit * SLACK})
    only = np.array([index])
    state, latencies = evaluated.state.take(only), evaluated.latencies
    at = Percentiles(ttft_s=latencies.ttft_s[only], itl_s=latencies.itl_s[only], e2e_s=latencies.e2e_s[only])
    eased = capacity(state, at, slack, question.scenario.deployment.max_utilization)
    then = aggregated(question, evaluated, only, instances_needed(question.demand.sustained_rps, eased.rps))
    now, bought = int(deployments.instances[k]), int(deployments.gpus_bought[k])
    if then.instances[0] <= WORTH_TELLING * now and then.gpus_bought[0] < bought:
        relaxed = limit * SLACK * MS_PER_S
        gpus = evaluated.candidates.rows[index].gpus
        yield PlanWarning(
            code="tight_limit",
            severity="warning",
            source="load model",
            message=f"The {name} limit costs GPUs: by estimate, with {ms(relaxed)} instead of {ms(limit * MS_PER_S)}, "
            f"{count(then.gpus[0])} would do instead of {count(now * gpus)}.",
            fix=Fix(
                key=f"limits.{attribute.replace('_s', '_ms')}", value=relaxed, label=f"Limit {name} to {ms(relaxed)}"
            ),
        )


def about_room(evaluated: Evaluated, index: int) -> Iterator[PlanWarning]:
    """An instance of which the weights leave so little memory to the KV cache that it may turn out to be none."""
    left = float(room(evaluated, np.array([index]))[0])
    if left >= LITTLE_ROOM:
        return
    row, memory = evaluated.candidates.rows[index], evaluated.memory
    share = float(memory.kv_available[index] / memory.capacity[index])
    sequences = int(memory.kv_available[index] / max(memory.kv_per_sequence[index], 1.0)) * row.dp
    more = [tp for tp in TP_SIZES if tp > row.tp]
    yield PlanWarning(
        code="little_kv_room",
        severity="warning",
        source="memory model",
        message=f"The weights leave {percent(share)} of GPU memory for the KV cache, {count(sequences)} sequence"
        f"{'s' if sequences != 1 else ''} of this length: what the engine itself takes is not known that exactly, so "
        "that it may not start, or hold fewer. Take more GPUs for an instance, or a format of fewer bytes.",
        fix=Fix(key="deployment.tp", value=more, label=f"Split over more than {row.tp} GPUs") if more else None,
    )


def about_benchmark(question: Question, row: Configuration) -> Iterator[PlanWarning]:
    """An answer that is not the deployment the imported benchmark measured."""
    calibrated = calibrated_configuration(question)
    if calibrated is None or calibrated.covers(row):
        return
    kin = kinship(calibrated, row)
    if kin is None:
        then = (
            "which keeps the prediction. What was measured took "
            f"{significant(calibrated.ratio, 2)} times as long as predicted: if the reason holds here too, this answer "
            "is off by as much."
        )
    else:
        times = significant(math.exp(kin.carried(calibrated.decode_surprise)), 2)
        then = (
            f"which differs in {kin.differs}. What was measured took {significant(calibrated.ratio, 2)} times as long "
            f"as predicted; carried over to this deployment are {times} times, in a wider interval. Measure it, too."
        )
    yield PlanWarning(
        code="not_measured",
        severity="warning" if abs(calibrated.ratio - 1.0) > MEASURED_DIFFERS else "info",
        source="imported benchmark",
        message=f"The imported benchmark measured {calibrated.configuration.label}, not this deployment, {then}",
    )


def about_doubt(row: Configuration, gpus: int, expected: int) -> Iterator[PlanWarning]:
    """Where being sure, not the load, decides what is bought: to measure one instance first is cheaper."""
    if gpus < DOUBT_DECIDES * expected:
        return
    yield PlanWarning(
        code="doubt_decides",
        severity="warning",
        source="conformal interval",
        message=f"Doubt, not the load, buys {count(gpus - expected)} of the {count(gpus)} GPUs: with steps as slow as "
        "being so sure asks for, an instance hardly keeps the limits. Before buying, measure one, "
        f"{instance_text(row.gpus, row)}, and size with its benchmark; or choose hardware further from its limits.",
        fix=Fix(
            key="deployment.confidence",
            value=int(EXPECTED * PERCENT),
            label=f"Be content with a chance of {percent(EXPECTED)}",
        ),
    )


def about_confidence(question: Question) -> Iterator[PlanWarning]:
    """Where nothing suffices as surely as asked: what would, with a smaller chance, if anything."""
    for lower in sorted(get_args(Confidence), reverse=True):
        if lower / PERCENT >= question.confidence:
            continue
        able = evaluate_all(replace(question, confidence=lower / PERCENT))
        if not (able.capacity.rps > 0).any():
            continue
        yield PlanWarning(
            code="confidence_out_of_reach",
            severity="warning",
            source="conformal interval",
            message=f"Nothing holds the limits with a chance of {percent(question.confidence)}; by estimate, there is "
            f"hardware that does with a chance of {lower} %.",
            fix=Fix(key="deployment.confidence", value=lower, label=f"Be content with a chance of {lower} %"),
        )
        return


def in_order(warnings: Iterable[PlanWarning], evaluated: Evaluated) -> tuple[PlanWarning, ...]:
    """The warnings, errors first; a fix after which nothing would serve is not offered."""
    kept = [w if possible(w.fix, evaluated) else w.model_copy(update={"fix": None}) for w in warnings]
    severities = ("error", "warning", "info")
    return tuple(sorted(kept, key=lambda w: severities.index(w.severity)))


def possible(fix: Fix | None, evaluated: Evaluated) -> bool:
    """Whether some evaluated candidate still serves once ``fix`` narrows the choice; other fixes always can be made."""
    able = np.flatnonzero(evaluated.capacity.rps > 0)
    rows = (evaluated.candidates.rows[i] for i in able)
    match fix:
        case Fix(key="deployment.tp", value=[_, *_] as sizes):
            return any(row.tp in sizes for row in rows)
        case Fix(key="deployment.precisions", value=[_, *_] as names):
            return any(row.precision.id in names for row in rows)
        case Fix(key="deployment.serving"):
            return bool(len(able))
        case Fix(key="limits.itl_ms", value=float() as limit):
            return bool((evaluated.latencies.itl_s[able, 0] * MS_PER_S <= limit).any())
        case _:
            return True


def about_typed_prefix(one: PlannedDeployment[Any], state: CacheState) -> Iterator[PlanWarning]:
    """A large cached part that cannot be held until the next turn, or that a routing without prefixes does not meet; a
    second tier where nothing is known to come again."""
    question, traffic = one.question, one.question.traffic
    if question.reused is None and question.scenario.deployment.kv_offload is not None:
        yield PlanWarning(
            code="offload_unused",
            severity="warning",
            source="sizing/planning/caches.py",
            message="The second tier changes nothing here: what it holds is computed of workload.sessions and of "
            "traces with block hashes, and this load is stated by requests.",
        )
    yield from _about_rate(one)
    share = traffic.cached_tokens / traffic.input_tokens
    if question.reused is not None or share < MOSTLY_CACHED:
        return
    rate, left = question.demand.sustained_rps, traffic.input_tokens + traffic.output_tokens
    running = rate * state.service_s * (traffic.input_tokens + traffic.output_tokens / 2.0)
    kept_s = max(state.capacity_tokens - running, 0.0) / (rate * left)
    counted = f"{percent(share)} of each prompt count as cached. Unless that is the same text for all"
    if kept_s < SOON_S:
        yield PlanWarning(
            code="prefix_not_held",
            severity="warning",
            source=SOURCE,
            message=f"{counted}, it cannot hold at this load: of {large(state.capacity_tokens)} tokens of KV cache "
            f"running requests take {large(running)}, and at {requests_per_s(rate)} the rest keeps a history for "
            f"{ms(kept_s * MS_PER_S)}. State workload.sessions to have it computed.",
        )
    elif cache_routing(question.scenario.deployment.routing) == "random" and state.replicas > 1:
        yield PlanWarning(
            code="prefix_not_met",
            severity="warning",
            source=SOURCE,
            message=f"{counted}, a turn meets its history only in one of {count(state.replicas)} instances, and the "
            "routing does not look for it: route by prefix, or state workload.sessions to have it computed.",
            fix=Fix(key="deployment.routing", value="prefix_aware", label="Route by prefix"),
        )


def _about_rate(one: PlannedDeployment[Any]) -> Iterator[PlanWarning]:
    """That a rate stated of drives or of a shared store is more than the TTFT of any published run amounts to."""
    offload = one.question.scenario.deployment.kv_offload
    if offload is None or offload.tier == "host_memory" or (offload.gbs_per_gpu or 0.0) <= REACHED_GBS:
        return
    yield PlanWarning(
        code="offload_rate",
        severity="info",
        source="Mooncake docs, SSD offload benchmark, 2026-08; llm-d blog, filesystem KV offload, 2026-02-09",
        message=f"{offload.gbs_per_gpu:g} GB/s for each GPU is more than what the TTFT of published runs amounts to: "
        f"about {REACHED_GBS:g} GB/s of a pool over links of 50 GB/s and of drives of 27 GB/s (Mooncake, one A100), "
        "10 GB/s for a node of eight (llm-d). State what was measured: at nominal rates later turns took 2 to 2.5 "
        "times as long as predicted.",
    )
