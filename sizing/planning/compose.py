"""From rows of arrays to the public result types; units become those of the contract (ms, GB)."""

from __future__ import annotations

import numpy as np

from sizing.base.arrays import Floats
from sizing.base.result import Candidate, Cost, Deployed, Latencies, Latency, LoadPoint, PerInstance
from sizing.base.units import GB, MS_PER_S
from sizing.planning.sentences import limited_by
from sizing.planning.spread import Spread
from sizing.prices.cost import cost_of
from sizing.prices.hardware import HardwareOption
from sizing.question.configuration import Configuration
from sizing.question.understand import Question
from sizing.search.screen import Evaluated, Sized


def deployment(row: Configuration, option: HardwareOption, instances: int, spares: int, systems: int) -> Deployed:
    """What to deploy, from one configuration and what it runs in."""
    return Deployed(
        gpu=row.gpu.id,
        engine=row.engine.id,
        weight_precision=row.precision.id,
        kv_precision=row.kv_precision,
        tp=row.tp,
        pp=row.pp,
        ep=row.ep,
        dp=row.dp,
        instances=instances,
        spare_instances=spares,
        gpus=instances * row.gpus,
        system=option.name,
        systems=systems,
        gpus_bought=systems * option.gpus,
        batch_limit=row.batch_limit,
    )


def deployed_as(question: Question, evaluated: Evaluated, sized: Sized, k: int) -> Deployed:
    """What to deploy for row ``k`` of ``sized``."""
    return deployment(
        evaluated.candidates.rows[sized.index[k]],
        sized.options[k],
        int(sized.instances[k]),
        question.scenario.deployment.spare_instances,
        int(sized.systems[k]),
    )


def cost_in(sized: Sized, k: int, output_tokens_per_s: float) -> Cost:
    """List cost of row ``k``."""
    return cost_of(sized.options[k], int(sized.systems[k]), output_tokens_per_s)


def candidate_of(
    question: Question, evaluated: Evaluated, sized: Sized, k: int, gpus_low: int, gpus_high: int | None
) -> Candidate:
    """One ranked deployment."""
    index = int(sized.index[k])
    cost = cost_in(sized, k, question.demand.peak_rps * question.traffic.output_tokens)
    return Candidate(
        deployment=deployed_as(question, evaluated, sized, k),
        max_rps=float(evaluated.capacity.rps[index]),
        ttft_ms=float(sized.ttft_s[k]) * MS_PER_S,
        itl_ms=float(sized.itl_s[k]) * MS_PER_S,
        e2e_ms=float(sized.e2e_s[k]) * MS_PER_S,
        output_tokens_per_s_per_gpu=_tokens_per_gpu(question, evaluated, sized, k),
        gpus_low=gpus_low,
        gpus_high=gpus_high,
        usd_per_month=cost.usd_per_month,
        power_kw=cost.power_kw,
        limited_by=limited_by(question, evaluated, index),
        source=evaluated.sources[index],
    )


def _tokens_per_gpu(question: Question, evaluated: Evaluated, sized: Sized, k: int) -> float:
    gpus = float(evaluated.candidates.gpus[sized.index[k]])
    return float(sized.rps[k]) * question.traffic.output_tokens / gpus


def per_instance_of(question: Question, evaluated: Evaluated, sized: Sized, k: int) -> PerInstance:
    """What one copy of the model needs and does at the planned load."""
    i = int(sized.index[k])
    row, memory, state = evaluated.candidates.rows[i], evaluated.memory, evaluated.state
    at = sized.position.take(np.array([k]))
    concurrency = float(at.of(state.concurrency[[i]])[0])
    whole = row.gpus / GB
    per_sequence = float(memory.kv_per_sequence[i]) * row.tp * row.pp / GB
    kv = float(memory.kv_available[i]) * whole
    tokens_per_s = float(sized.rps[k]) * question.traffic.output_tokens
    return PerInstance(
        max_rps=float(evaluated.capacity.rps[i]),
        stable_rps=float(evaluated.capacity.stable_rps[i]),
        rps=float(sized.rps[k]),
        concurrency=concurrency,
        max_concurrency=int(memory.max_concurrency[i]),
        memory_per_gpu_gb=row.gpu.memory_bytes / GB,
        weights_gb=float(memory.weights[i]) * whole,
        kv_gb=kv,
        kv_per_sequence_gb=per_sequence,
        activations_gb=float(memory.activations[i]) * whole,
        overhead_gb=float(memory.overhead[i]) * whole,
        kv_used_gb=min(concurrency * per_sequence, kv),
        free_gb=max(kv - concurrency * per_sequence, 0.0),
        output_tokens_per_s=tokens_per_s,
        output_tokens_per_s_per_gpu=tokens_per_s / row.gpus,
        prefill_share=float(at.of(state.prefill_load[[i]])[0]),
        decode_step_ms=float(at.of(evaluated.times.decode_s[[i]])[0]) * MS_PER_S,
        prefill_ms=float(evaluated.times.prefill_s[i]) * MS_PER_S,
    )


def latencies_of(question: Question, evaluated: Evaluated, sized: Sized, k: int, around: Spread) -> Latencies:
    """Percentiles at the planned load; the interval is that of the asked percentile. ``around`` starts with row
    ``k``."""
    state = evaluated.state.take(np.array([sized.index[k]]))
    at = sized.position.take(np.array([k]))
    asked = question.limits.percentile

    def latency(name: str, ends: Floats) -> Latency:
        p50, p95, p99, value = (
            float(at.of(np.maximum.accumulate(getattr(state, name)(p), axis=1))[0]) * MS_PER_S
            for p in (50, 95, 99, asked)
        )
        low, high = float(ends[0, 0]) * MS_PER_S, float(ends[1, 0]) * MS_PER_S
        return Latency(
            p50=p50,
            p95=p95,
            p99=p99,
            low=min(low, value),
            at_percentile=value,
            high=max(high, value) if np.isfinite(high) else None,
        )

    return Latencies(
        ttft_ms=latency("ttft_s", around.ttft_s),
        itl_ms=latency("itl_s", around.itl_s),
        e2e_ms=latency("e2e_s", around.e2e_s),
    )


def load_curve_of(question: Question, evaluated: Evaluated, index: int) -> tuple[LoadPoint, ...]:
    """Latency of one instance from idle to its stability limit, at the asked percentile."""
    state, latencies = evaluated.state, evaluated.latencies
    gpus = float(evaluated.candidates.gpus[index])
    rates = np.maximum.accumulate(state.rps[index])
    return tuple(
        LoadPoint(
            rps=float(rates[k]),
            concurrency=float(state.concurrency[index, k]),
            ttft_ms=float(latencies.ttft_s[index, k]) * MS_PER_S,
            itl_ms=float(latencies.itl_s[index, k]) * MS_PER_S,
            e2e_ms=float(latencies.e2e_s[index, k]) * MS_PER_S,
            output_tokens_per_s_per_gpu=float(rates[k]) * question.traffic.output_tokens / gpus,
        )
        for k in range(state.rps.shape[1])
    )
