"""A measured record of one system replaces the model's prediction: systems = ceil(peak / measured requests/s)."""

from __future__ import annotations

import numpy as np

from sizing.base.constants import constant
from sizing.base.errors import InvalidScenario, UnknownName
from sizing.base.format import count, ms, requests_per_s, significant, usd
from sizing.base.provenance import Provenance, StepSource
from sizing.base.result import Deployed, Excluded, Explained, Latencies, Latency, PerInstance, Plan, PlanWarning
from sizing.base.units import GB, MS_PER_S
from sizing.calibration.benchmark import calibration_note
from sizing.catalog import gpus, resolve_gpu, systems
from sizing.catalog.engines import engines
from sizing.catalog.gpu import Gpu
from sizing.catalog.precisions import precisions
from sizing.deployments.candidates import enumerate_for, table
from sizing.deployments.memory import memory_fit
from sizing.planning import assumptions, rules
from sizing.planning.aggregated import deployed_as
from sizing.planning.compose import business_of, of_every_plan
from sizing.planning.exclusion import article
from sizing.planning.explain import explain_money
from sizing.planning.sentences import beyond_context, source_of
from sizing.prices.cost import cost_of
from sizing.prices.hardware import HardwareOption, options
from sizing.question.configuration import Configuration
from sizing.question.understand import Question
from sizing.scenario.schema import Measured
from sizing.search.screen import instances_needed

REPEATABILITY = constant("measurement_repeatability")


def measured_plan(question: Question) -> Plan:
    """The answer from a measured operating point: "2.4 requests/s per DGX H100" gives 13 systems for 31 requests/s.

    systems = ceil(peak / (requests/s per system x utilisation cap)) + spares; latencies are those measured, which hold
    at the measured rate or below. Source: NVIDIA sizing deck, worked example 1. Raises InvalidScenario for an unknown
    system.
    """
    record = question.scenario.measured
    assert record is not None
    option, gpu = _system(question, record)
    needed, low, high = (_systems(question, record, factor) for factor in (1.0, 1 + REPEATABILITY, 1 - REPEATABILITY))
    row, instances, split = _configuration(question, gpu, option, needed)
    spares = question.scenario.deployment.spare_instances * (instances // needed)
    deployed = deployed_as(row, option, instances, min(spares, instances), needed)
    latency = _latency(question, record)
    cost = cost_of(option, needed, question.demand.peak_rps * question.traffic.output_tokens)
    business = business_of(question)
    missed = _missed(question, latency)
    step_source = StepSource(kind="measured", name=f"measured: {record.source or 'record entered in the scenario'}")
    provenance = Provenance(step_times=step_source, load_model="measured")
    source = source_of(provenance)
    one = _per_instance(question, record, row, deployed, needed)
    said = _sentence(question, option, needed, latency, usd(cost.usd_per_month), missed, low, high)
    beyond = beyond_context(question)
    return Plan(
        answer=f"{beyond} By the measured record alone: {said}" if beyond else said,
        feasible=not missed and not beyond,
        deployment=deployed,
        per_instance=one,
        latency=latency,
        gpus_low=low * option.gpus,
        gpus_high=high * option.gpus,
        cost=cost,
        limited_by="the measured rate per system",
        warnings=_warnings(question, missed, deployed, option),
        assumptions=(
            *question.assumptions,
            *calibration_note(question),
            split,
            *assumptions.measured(question),
            "Measured latencies hold at the measured rate or below; the record "
            "gives one value, shown for every percentile.",
        ),
        source=source,
        decided_by=provenance.load_model,
        provenance=provenance,
        confidence=f"Repeating a benchmark gives rates within {significant(REPEATABILITY * 100, 2)} % (median "
        f"of repeated "
        "public runs).",
        alternatives=(),
        trade_off=(),
        excluded=_excluded(gpu, missed),
        load_curve=(),
        explained=(
            *_explained(question, record, needed, option, source, latency),
            *explain_money(question, deployed, cost, business),
        ),
        **of_every_plan(question, business),
    )


def _systems(question: Question, record: Measured, factor: float) -> int:
    """Systems for the peak, spares included, if the measured rate were ``factor`` times as high."""
    deployment_ = question.scenario.deployment
    rate = record.rps_per_system * deployment_.max_utilization * factor
    return int(instances_needed(question.demand.peak_rps, np.array([rate]))[0]) + deployment_.spare_instances


def _system(question: Question, record: Measured) -> tuple[HardwareOption, Gpu]:
    """The measured system as something to buy, and its GPU."""
    known = systems()
    found = known.get(record.system) or next(
        (s for s in known.values() if s.name.lower() == record.system.strip().lower()), None
    )
    if found is None:
        error = UnknownName("system", record.system, [*known, *(s.name for s in known.values())])
        raise InvalidScenario([f"measured.system: {error}"])
    gpu = next((g for g in question.gpus if g.id == found.gpu_id), None) or gpus().get(found.gpu_id)
    gpu = gpu or resolve_gpu(found.gpu_id)
    offers = options(
        gpu, question.scenario.deployment.location, question.scenario.prices, question.gpu_prices.get(gpu.id)
    )
    option = next((o for o in offers if o.id == found.id), None)
    if option is None:  # rented: the instance type with as many GPUs stands for the measured system
        option = next((o for o in offers if o.gpus == found.gpus), offers[0])
    return option, gpu


def _configuration(question: Question, gpu: Gpu, option: HardwareOption, needed: int) -> tuple[Configuration, int, str]:
    """The configuration behind the record as far as the scenario says; an instance per system otherwise."""
    asked = question.scenario.deployment
    tp = asked.tp[0] if asked.tp and option.gpus % asked.tp[0] == 0 else option.gpus
    possible = enumerate_for(question.model, gpu, question.allowed)
    first = next((r for r in possible if r.tp == tp and r.gpus == tp), None)
    row = first or Configuration(
        gpu=gpu,
        engine=engines()["trtllm"],
        precision=precisions()["bf16" if gpu.supports_bf16 else "fp16"],
        kv_precision="fp16",
        tp=tp,
    )
    split = (
        f"Each system runs {option.gpus // tp} instances of TP{tp}."
        if asked.tp and tp == asked.tp[0]
        else "The record does not say how a system is split into instances: shown as one instance per system."
    )
    return row, needed * (option.gpus // tp), f"{split} Engine and number format shown are not part of the record."


def _latency(question: Question, record: Measured) -> Latencies:
    """The measured values; E2E = TTFT + (OSL - 1) x ITL where both are given."""
    gaps = max(question.traffic.output_tokens - 1.0, 0.0)
    both = record.ttft_ms is not None and record.itl_ms is not None
    e2e = (record.ttft_ms or 0.0) + gaps * (record.itl_ms or 0.0) if both else None
    return Latencies(ttft_ms=_one(record.ttft_ms), itl_ms=_one(record.itl_ms), e2e_ms=_one(e2e))


def _one(value: float | None) -> Latency:
    """One measured value for every percentile; NaN-free: a value that was not measured is 0 with an open end."""
    if value is None:
        return Latency(p50=None, p95=None, p99=None, low=None, high=None, at_percentile=None)
    return Latency(
        p50=value,
        p95=value,
        p99=value,
        at_percentile=value,
        low=value * (1 - REPEATABILITY),
        high=value * (1 + REPEATABILITY),
    )


def _missed(question: Question, latency: Latencies) -> list[tuple[str, float, float]]:
    """(name, measured ms, limit ms) of every limit the record does not meet."""
    limits = question.limits
    pairs = (
        ("TTFT", latency.ttft_ms.at_percentile, limits.ttft_s),
        ("ITL", latency.itl_ms.at_percentile, limits.itl_s),
        ("E2E", latency.e2e_ms.at_percentile, limits.e2e_s),
    )
    return [(n, v, limit * MS_PER_S) for n, v, limit in pairs if v is not None and v > limit * MS_PER_S]


def _sentence(
    question: Question,
    option: HardwareOption,
    needed: int,
    latency: Latencies,
    monthly: str,
    missed: list[tuple[str, float, float]],
    low: int,
    high: int,
) -> str:
    name = f"{count(needed)} x {option.name}"
    if missed:
        n, value, limit = missed[0]
        return (
            f"The measured record does not meet the {n} limit ({ms(value)}, limit {ms(limit)}): at its rate, "
            f"{name} would carry {requests_per_s(question.demand.peak_rps)}. Relax the limit or measure at a "
            f"lower rate."
        )
    ttft = f" with TTFT {ms(latency.ttft_ms.at_percentile)}" if latency.ttft_ms.at_percentile is not None else ""
    e2e = f", E2E {ms(latency.e2e_ms.at_percentile)}" if latency.e2e_ms.at_percentile is not None else ""
    price = f", for {monthly} a month" if monthly != "unknown" else ", list price unknown"
    sure = f"{low} to {high} systems" if low != high else f"{high} systems"
    return (
        f"{name} ({count(needed * option.gpus)} GPUs) serve {requests_per_s(question.demand.peak_rps)}{ttft}{e2e}, as "
        f"measured{price}; {sure} if the measurement repeats within {significant(REPEATABILITY * 100, 2)} %."
    )


def _per_instance(
    question: Question, record: Measured, row: Configuration, deployed: Deployed, needed: int
) -> PerInstance:
    """Rates from the record, memory from the architecture at the number format shown."""
    tokens = question.traffic.resident_kv_tokens
    fit = memory_fit(question.model, table([row]), tokens)
    each = needed / deployed.instances
    rps = question.demand.peak_rps / max(deployed.instances - deployed.spare_instances, 1)
    whole = row.gpus / GB
    e2e = _latency(question, record).e2e_ms.at_percentile
    concurrency = rps * e2e / MS_PER_S if e2e is not None else 0.0
    per_sequence = float(fit.kv_per_sequence[0]) * row.tp * row.pp / GB
    kv = float(fit.kv_available[0]) * whole
    out = rps * question.traffic.output_tokens
    return PerInstance(
        max_rps=record.rps_per_system * each * question.scenario.deployment.max_utilization,
        stable_rps=record.rps_per_system * each,
        rps=rps,
        concurrency=concurrency,
        max_concurrency=int(fit.max_concurrency[0]),
        memory_per_gpu_gb=row.gpu.memory_bytes / GB,
        weights_gb=float(fit.weights[0]) * whole,
        kv_gb=kv,
        kv_per_sequence_gb=per_sequence,
        activations_gb=float(fit.activations[0]) * whole,
        overhead_gb=float(fit.overhead[0]) * whole,
        kv_used_gb=min(concurrency * per_sequence, kv),
        free_gb=max(kv - concurrency * per_sequence, 0.0),
        output_tokens_per_s=out,
        output_tokens_per_s_per_gpu=out / row.gpus,
        prefill_share=None,
        decode_step_ms=record.itl_ms,
        prefill_ms=None,
    )


def _warnings(
    question: Question, missed: list[tuple[str, float, float]], deployed: Deployed, option: HardwareOption
) -> tuple[PlanWarning, ...]:
    out = [
        PlanWarning(
            code="measured_misses_limit",
            severity="error",
            source="measured record",
            message=f"Measured {n} {ms(v)} is above the limit of {ms(limit)}.",
        )
        for n, v, limit in missed
    ]
    purchase = (w for w in rules.about_purchase(question, deployed, option) if w.code != "idle_gpus")
    return (*out, *rules.about_model(question), *purchase)


def _excluded(gpu: Gpu, missed: list[tuple[str, float, float]]) -> tuple[Excluded, ...]:
    return tuple(
        Excluded(
            gpu=gpu.id,
            closest="measured record",
            reason=f"Measured {n} {ms(v)} (limit {ms(limit)}).",
            relaxation=f"{article(n)} {n} limit of {ms(v)}.",
        )
        for n, v, limit in missed
    )


def _explained(
    question: Question, record: Measured, needed: int, option: HardwareOption, source: str, latency: Latencies
) -> tuple[Explained, ...]:
    peak, gaps = question.demand.peak_rps, max(question.traffic.output_tokens - 1, 0)
    spares, cap = question.scenario.deployment.spare_instances, question.scenario.deployment.max_utilization
    lines = [
        (
            "peak_rps",
            requests_per_s(peak),
            "as asked; see demand",
            question.demand.how,
            "module sizing.scenario.demand",
        ),
        (
            "systems",
            count(needed),
            "ceil(peak / (measured requests/s per system x utilisation cap)) + spares",
            f"ceil({significant(peak)} / ({significant(record.rps_per_system)} x {cap:g})) + {spares} = {needed}",
            source,
        ),
        (
            "gpus",
            count(needed * option.gpus),
            "systems x GPUs per system",
            f"{needed} x {option.gpus} = {needed * option.gpus}",
            "catalogue: systems.csv",
        ),
        ("max_rps", requests_per_s(record.rps_per_system), "measured, per system", "", source),
        ("ttft_ms", ms(latency.ttft_ms.at_percentile), "measured", "", source),
        ("itl_ms", ms(latency.itl_ms.at_percentile), "measured", "", source),
        (
            "e2e_ms",
            ms(latency.e2e_ms.at_percentile),
            "TTFT + (OSL - 1) x ITL",
            f"{ms(record.ttft_ms)} + {count(gaps)} x {ms(record.itl_ms)}",
            "definition; inputs measured",
        ),
    ]
    return tuple(Explained(name=n, value=v, formula=f, numbers=s, source=o) for n, v, f, s, o in lines)
