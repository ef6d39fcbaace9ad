"""Warnings a careful architect would give about the chosen deployment; each names its source and, if any, a fix."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

import numpy as np

from sizing.base.constants import DECK, constant
from sizing.base.format import count, ms, percent, significant
from sizing.base.result import Deployed, Fix, PlanWarning
from sizing.base.units import BILLION, MS_PER_S
from sizing.calibration.benchmark import calibrated_configuration
from sizing.catalog import quantization
from sizing.catalog.measured import measured
from sizing.catalog.precisions import precisions
from sizing.prices.hardware import HardwareOption
from sizing.prices.packing import systems_for_both
from sizing.question.configuration import Configuration
from sizing.question.understand import Question
from sizing.queueing.capacity import Bound, Percentiles, capacity
from sizing.search.aggregated import Aggregated
from sizing.search.screen import Evaluated, instances_needed

FAST_READING_MS = constant("fast_reading_ms_per_token")
AVERAGE_READING_MS = constant("average_reading_ms_per_token")
NVLINK_TP = constant("nvlink_preferred_tp")
PIPELINE_EFFICIENCY = constant("pipeline_efficiency")
SLACK = 1.25  # how much looser a limit is tried, to see whether it is a costly one
WORTH_TELLING = 0.7  # share of the instances that a looser limit must leave for the customer to be told
LIMITS = {Bound.TTFT: ("ttft_s", "TTFT"), Bound.ITL: ("itl_s", "ITL"), Bound.E2E: ("e2e_s", "E2E")}
SERVER_GPUS = 8  # the most GPUs one server holds; a larger scale-up domain is a rack
NVLINK_PARAMS = constant("nvlink_preferred_params_b") * BILLION


MEASURED_DIFFERS = 0.15  # below this a benchmark confirms the prediction: either is within its error


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
        varies = question.variability.prompt > 0 or question.variability.output > 0
        yield PlanWarning(
            code="context_exceeded",
            severity="error",
            source=model.source,
            message=f"Prompt and output need {count(tokens)} tokens{' at their p95' if varies else ''}, the "
            f"context window "
            f"of {model.id} holds {count(model.max_context)}: the model cannot serve "
            f"{'the longest requests' if varies else 'this'}.",
            fix=None if varies else _shorter_prompt(question, model.max_context),
        )


def _shorter_prompt(question: Question, window: int) -> Fix | None:
    """The longest prompt that leaves room for the output, if any."""
    room = int(window - question.traffic.output_tokens)
    if room <= question.traffic.cached_tokens:
        return None
    return Fix(key="workload.input_tokens", value=room, label=f"Shorten the prompt to {count(room)} tokens")


def about_hardware(question: Question, row: Configuration, option: HardwareOption) -> Iterator[PlanWarning]:
    """Rules on parallelism and links."""
    gpu, model = row.gpu, question.model
    if row.tp > NVLINK_TP and not gpu.has_fast_link:
        yield PlanWarning(
            code="tp_without_nvlink",
            severity="warning",
            source=DECK,
            message=f"TP{row.tp} over PCIe: with more than TP2, GPUs with NVLink (HGX, DGX) are strongly preferred.",
            fix=Fix(key="deployment.tp", value=[1, 2], label="Consider only TP1 and TP2"),
        )
    elif row.tp > max(gpu.domain_gpus, NVLINK_TP):
        yield PlanWarning(
            code="tp_beyond_bridge",
            severity="warning",
            source=DECK,
            message=f"TP{row.tp} leaves the NVLink bridge of {gpu.domain_gpus} GPUs: collectives cross PCIe.",
            fix=Fix(key="deployment.tp", value=[1, gpu.domain_gpus], label=f"Stay within {gpu.domain_gpus} GPUs"),
        )
    if model.params_total > NVLINK_PARAMS and not gpu.has_fast_link:
        yield PlanWarning(
            code="large_model_on_pcie",
            severity="warning",
            source=DECK,
            message=f"{model.id} has {model.params_total / BILLION:.3g} billion parameters: above 13 billion, GPUs "
            f"with NVLink "
            "are preferred to PCIe cards.",
        )
    if model.attention != "mla" and model.kv_heads % row.tp:
        yield PlanWarning(
            code="tp_not_dividing_kv_heads",
            severity="warning",
            source="vLLM and TensorRT-LLM replicate KV heads when TP exceeds them",
            message=f"TP{row.tp} does not divide the {model.kv_heads} KV heads: heads are copied and KV memory "
            f"is wasted.",
            fix=_dividing_tp(question),
        )
    in_one_rack = row.gpus <= gpu.domain_gpus and gpu.domain_gpus > SERVER_GPUS
    if row.gpus > option.gpus and not in_one_rack:
        yield PlanWarning(
            code="instance_spans_servers",
            severity="warning",
            source=DECK,
            message=f"One instance needs {row.gpus} GPUs and spans several servers: it depends on the network "
            f"between them.",
        )


def in_order(found: Iterable[PlanWarning], evaluated: Evaluated) -> tuple[PlanWarning, ...]:
    """The warnings, errors first; a fix after which nothing would serve is not offered."""
    kept = [w if possible(w.fix, evaluated) else w.model_copy(update={"fix": None}) for w in found]
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


def _dividing_tp(question: Question) -> Fix | None:
    """Restrict TP to the sizes that divide the KV heads."""
    sizes = [t for t in (1, 2, 4, 8, 16) if question.model.kv_heads % t == 0]
    return Fix(key="deployment.tp", value=list(sizes), label=f"Consider only TP {', '.join(map(str, sizes))}")


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
    seen = f" Published: {facts[0].model} {facts[0].metric} {facts[0].loss} ({facts[0].source})." if facts else ""
    accurate = [p.id for p in precisions().values() if p.keeps_accuracy]
    yield PlanWarning(
        code="quantized_weights",
        severity="info",
        source="catalogue: quantization.csv",
        message=f"{precision.label} weights change the answers a little: test them on your task.{seen}",
        fix=Fix(key="deployment.precisions", value=accurate, label="Consider only 16 bit and FP8"),
    )


def about_purchase(question: Question, deployed: Deployed, option: HardwareOption) -> Iterator[PlanWarning]:
    """Price, spares and idle GPUs."""
    if question.scenario.deployment.location == "hybrid":
        yield PlanWarning(
            code="hybrid_as_on_prem",
            severity="warning",
            source="cost model",
            message="Hybrid is priced as on premises for the whole peak: bursts in the cloud are not priced yet.",
        )
    if option.price_covers == "unknown":
        yield PlanWarning(
            code="price_unknown",
            severity="warning",
            source=option.source,
            message=f"No list price is known for {option.name}: enter one to see cost and to rank it by cost.",
        )
    elif option.price_covers == "gpus_only":
        yield PlanWarning(
            code="price_gpus_only",
            severity="info",
            source=option.source,
            message=f"The price of {option.name} covers the GPUs only: chassis, CPUs and network come on top.",
        )
    if option.assumed:
        yield PlanWarning(
            code="system_assumed",
            severity="info",
            source=DECK,
            message=f"No server with {deployed.gpu} is in the catalogue: results are for an assumed 8-GPU server.",
        )
    idle = _room_for_more(deployed, option)
    if idle >= 1:
        yield PlanWarning(
            code="idle_gpus",
            severity="info",
            source="arithmetic",
            message=f"The systems hold {deployed.gpus_bought} GPUs, {deployed.gpus} "
            f"{'are' if deployed.gpus > 1 else 'is'} used: {idle} more "
            f"instance{'s' if idle > 1 else ''}{' of either kind' if deployed.prefill else ''} would cost nothing "
            "extra.",
            fix=Fix(
                key="deployment.spare_instances",
                value=question.scenario.deployment.spare_instances + idle,
                label=f"Use {'them' if idle > 1 else 'it'} as spare",
            ),
        )
    elif deployed.spare_instances == 0:
        yield PlanWarning(
            code="no_spare",
            severity="info",
            source="arithmetic",
            message="No spare instance: while one is down, the peak no longer fits within the limits.",
            fix=Fix(key="deployment.spare_instances", value=1, label="Add one spare instance"),
        )


def _room_for_more(deployed: Deployed, option: HardwareOption) -> int:
    """Instances, or pairs of a prefill and a decode instance, that the systems hold beyond those planned."""
    if deployed.prefill is None or deployed.decode is None:
        each = deployed.tp * deployed.pp * deployed.dp
        return deployed.systems * (option.gpus // each) - deployed.instances
    (n_p, g_p), (n_d, g_d) = ((p.instances, p.tp * p.pp * p.dp) for p in (deployed.prefill, deployed.decode))
    more = 0
    while systems_for_both((n_p + more + 1, g_p), (n_d + more + 1, g_d), option.gpus) <= deployed.systems:
        more += 1
    return more


def about_pools(engine: str, link: str, instead: int | None) -> Iterator[PlanWarning]:
    """What disaggregated serving needs; ``instead``: GPUs that aggregated serving would need, if known."""
    saved = "" if instead is None else f" Aggregated serving would need {count(instead)} GPUs."
    yield PlanWarning(
        code="disaggregated_serving",
        severity="info",
        source=f"engine documentation: {engine}",
        message="Prefill and decode run apart: this takes a router that knows both pools and moves every prompt's KV "
        f"cache over the {link}; one pool cannot help the other when the mix of prompts and answers changes. Few "
        f"such deployments are in the evidence library: benchmark it before buying.{saved}",
        fix=Fix(key="deployment.serving", value=["aggregated"], label="Consider aggregated serving only"),
    )


def about_ranking(
    question: Question, offers: Iterable[HardwareOption], option: HardwareOption
) -> Iterator[PlanWarning]:
    """Cost ranks complete systems beside bare GPUs: say so when both are in the running."""
    if question.scenario.deployment.objective != "cost" or question.scenario.deployment.location == "cloud":
        return
    if len({o.price_covers for o in offers} - {"unknown"}) > 1:
        yield PlanWarning(
            code="price_bases_differ",
            severity="warning",
            source=option.source,
            message="The ranking compares list prices of complete systems with prices of GPUs alone: enter the "
            "prices you "
            "are quoted before deciding between GPU types by cost.",
        )


def about_evidence(row: Configuration) -> Iterator[PlanWarning]:
    """Deployments unlike anything that was measured."""
    if row.gpu.family not in measured("families"):
        yield PlanWarning(
            code="no_evidence",
            severity="warning",
            source="evidence library",
            message=f"No benchmark of {row.gpu.name} or its family is in the evidence library: the interval is "
            f"widened. "
            "Benchmark before buying.",
        )
    if row.pp > 1:
        yield PlanWarning(
            code="pipeline_unmeasured",
            severity="info",
            source="evidence library",
            message="No benchmark with pipeline stages is in the evidence library: an assumed loss of "
            f"{percent(1 - PIPELINE_EFFICIENCY)} stands for uneven stages.",
        )


def about_interval(overloads: bool, gpus_high: int | None) -> Iterator[PlanWarning]:
    """The load fits at the centre of the interval, but not at its slow end."""
    if not overloads:
        return
    enough = "No number of GPUs meets the limits there."
    if gpus_high is not None:
        enough = f"{count(gpus_high)} GPUs hold there, too."
    yield PlanWarning(
        code="interval_open",
        severity="info",
        source="conformal interval",
        message="Sized at the centre: at the slow end of the 80 % interval of the step times this deployment would be "
        f"overloaded. {enough}",
    )


def about_limits(deployments: Aggregated, k: int) -> Iterator[PlanWarning]:
    """A limit so close to what an idle instance reaches that a little slack would save many GPUs."""
    question, evaluated, index = deployments.question, deployments.evaluated, int(deployments.index[k])
    bound = Bound(int(evaluated.capacity.bound[index]))
    if bound not in LIMITS:
        return
    attribute, name = LIMITS[bound]
    limit = float(getattr(question.limits, attribute))
    slack = dataclasses.replace(question.limits, **{attribute: limit * SLACK})
    only = np.array([index])
    state, latencies = evaluated.state.take(only), evaluated.latencies
    at = Percentiles(ttft_s=latencies.ttft_s[only], itl_s=latencies.itl_s[only], e2e_s=latencies.e2e_s[only])
    eased = capacity(state, at, slack, question.scenario.deployment.max_utilization)
    spares = question.scenario.deployment.spare_instances
    now = int(deployments.instances[k])
    then = int(instances_needed(question.demand.peak_rps, eased.rps)[0]) + spares
    if then <= WORTH_TELLING * now:
        relaxed = limit * SLACK * MS_PER_S
        gpus = evaluated.candidates.rows[index].gpus
        yield PlanWarning(
            code="tight_limit",
            severity="warning",
            source="load model",
            message=f"The {name} limit is close to what an idle instance reaches: with {ms(relaxed)} instead of "
            f"{ms(limit * MS_PER_S)}, {count(then * gpus)} GPUs would do instead of {count(now * gpus)}.",
        )


def about_benchmark(question: Question, row: Configuration) -> Iterator[PlanWarning]:
    """An answer that is not the deployment the imported benchmark measured."""
    calibrated = calibrated_configuration(question)
    if calibrated is None or calibrated.covers(row):
        return
    yield PlanWarning(
        code="not_measured",
        severity="warning" if abs(calibrated.ratio - 1.0) > MEASURED_DIFFERS else "info",
        source="imported benchmark",
        message=f"The imported benchmark measured {calibrated.configuration.label}, not this deployment, which "
        f"keeps the prediction. What was measured took {significant(calibrated.ratio, 2)} times as long as predicted: "
        "if the reason holds here too, this answer is off by as much.",
    )
