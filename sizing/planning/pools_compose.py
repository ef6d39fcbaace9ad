"""From pairs of pools to the public result types; units become those of the contract (ms, GB)."""

from __future__ import annotations

import numpy as np

from sizing.base.arrays import Floats
from sizing.base.format import count
from sizing.base.result import Candidate, Cost, Deployed, Latencies, Latency, LoadPoint, PerInstance, Pool
from sizing.base.units import GB, MS_PER_S
from sizing.deployments.kv_transfer import prompt_kv_bytes
from sizing.deployments.memory import kv_share
from sizing.planning.spread import Spread
from sizing.prices.cost import cost_of
from sizing.question.configuration import Configuration
from sizing.question.understand import Question
from sizing.queueing.steady_state import SteadyState
from sizing.search.pools import SizedPools, at_loads, at_peak, decoding_of, prefill_stable, times_of

LOADS = np.concatenate([np.geomspace(0.01, 0.6, 16), [0.68, 0.75, 0.81, 0.86, 0.9, 0.93, 0.95, 0.97, 0.985]])
"""Shares of what the pools carry for ever at which the load curve is drawn."""

BELOW_STABLE = 0.999


def rows_of(sized: SizedPools, k: int) -> tuple[Configuration, Configuration]:
    """Prefill and decode configuration of pair ``k``."""
    rows, pools = sized.pools.evaluated.candidates.rows, sized.pools
    return rows[pools.prefill[k]], rows[pools.decode[k]]


def pool(row: Configuration, working: int, spares: int, max_rps: float, peak_rps: float) -> Pool:
    """One pool; ``working`` instances without spares."""
    return Pool(
        tp=row.tp,
        pp=row.pp,
        ep=row.ep,
        dp=row.dp,
        instances=working + spares,
        spare_instances=spares,
        gpus=(working + spares) * row.gpus,
        max_rps=max_rps,
        rps=peak_rps / working,
    )


def deployed_as(question: Question, sized: SizedPools, k: int) -> Deployed:
    """What to deploy for pair ``k``: parallelism at the top is of a decode instance, instances count both kinds."""
    (prefill, row), pools, option = rows_of(sized, k), sized.pools, sized.options[k]
    peak = question.demand.peak_rps
    each = [
        pool(config, int(n[k]), sized.spares, float(rps[k]), peak)
        for config, n, rps in (
            (prefill, pools.prefill_instances, pools.prefill_rps),
            (row, pools.decode_instances, pools.decode_rps),
        )
    ]
    limits = question.scenario.deployment.batch_limits
    return Deployed(
        gpu=row.gpu.id,
        engine=row.engine.id,
        weight_precision=row.precision.id,
        kv_precision=row.kv_precision,
        tp=row.tp,
        pp=row.pp,
        ep=row.ep,
        dp=row.dp,
        instances=sum(p.instances for p in each),
        spare_instances=2 * sized.spares,
        gpus=int(sized.gpus[k]),
        system=option.name,
        systems=int(sized.systems[k]),
        gpus_bought=int(sized.gpus_bought[k]),
        serving="disaggregated",
        batch_limit=max(limits) if limits else None,
        prefill=each[0],
        decode=each[1],
    )


def cost_in(question: Question, sized: SizedPools, k: int) -> Cost:
    """List cost of pair ``k``."""
    return cost_of(sized.options[k], int(sized.systems[k]), question.demand.peak_rps * question.traffic.output_tokens)


def limited_by(question: Question, sized: SizedPools, k: int) -> str:
    """What sets the size of either pool, in words."""
    one, pools, limits = sized.pools.take(np.array([k])), sized.pools, question.limits
    evaluated = one.evaluated
    times = times_of(question, evaluated, one.prefill)
    stable = prefill_stable(question, evaluated, one.prefill, times)[0]
    share = question.scenario.deployment.max_utilization
    first = "the TTFT limit" if np.isfinite(limits.ttft_s) else "the E2E limit"
    if pools.prefill_rps[k] >= BELOW_STABLE * share * stable:
        matrices = 1.0 / times.full_s[0] <= stable * 1.001
        first = "the utilisation cap" if share < 1 else "matrix rate" if matrices else "the network"
    then = "the ITL limit" if np.isfinite(limits.itl_s) else "the E2E limit"
    most = decoding_of(question, evaluated, one.decode).rps[0, -1]
    if pools.decode_rps[k] >= BELOW_STABLE * share * most:
        slots, named = evaluated.memory.max_concurrency[one.decode][0], question.scenario.deployment.batch_limits
        capped = bool(named) and slots >= max(named)
        then = f"the batch limit of {count(max(named))}" if capped else "memory for the KV cache"
        then = "the utilisation cap" if share < 1 else then
    return f"{first} (prefill) and {then} (decode)"


def candidate_of(question: Question, sized: SizedPools, k: int, gpus_low: int, gpus_high: int | None) -> Candidate:
    """One ranked pair; requests/s and output tokens are those of the whole deployment per instance and GPU."""
    pools, cost = sized.pools, cost_in(question, sized, k)
    working = int(sized.gpus[k]) - sized.spares * sum(row.gpus for row in rows_of(sized, k))
    return Candidate(
        deployment=deployed_as(question, sized, k),
        max_rps=float(pools.decode_rps[k]),
        ttft_ms=float(sized.ttft_s[k]) * MS_PER_S,
        itl_ms=float(sized.itl_s[k]) * MS_PER_S,
        e2e_ms=float(sized.e2e_s[k]) * MS_PER_S,
        output_tokens_per_s_per_gpu=question.demand.peak_rps * question.traffic.output_tokens / working,
        gpus_low=gpus_low,
        gpus_high=gpus_high,
        usd_per_month=cost.usd_per_month,
        power_kw=cost.power_kw,
        limited_by=limited_by(question, sized, k),
        source=pools.evaluated.sources[pools.decode[k]],
    )


def state_of(question: Question, sized: SizedPools, k: int) -> SteadyState:
    """Pair ``k`` at the peak, (1, 1)."""
    one = np.array([k])
    return at_peak(question, sized.pools.take(one), sized.transfer_s[one])


def decode_instance(question: Question, sized: SizedPools, k: int) -> PerInstance:
    """A decode instance at the planned load; output tokens per GPU count the GPUs of both pools."""
    pools, (prefill, row) = sized.pools, rows_of(sized, k)
    i, n_p, n_d = int(pools.decode[k]), int(pools.prefill_instances[k]), int(pools.decode_instances[k])
    concurrency = float(state_of(question, sized, k).concurrency[0, 0])
    tokens = question.demand.peak_rps / n_d * question.traffic.output_tokens
    times, known = pools.evaluated.times, pools.evaluated.state.concurrency[i]
    memory = pools.evaluated.memory
    per_sequence = float(memory.kv_per_sequence[i]) * row.tp * row.pp / GB
    return _memory_of(sized, i, row, concurrency, per_sequence).model_copy(
        update={
            "max_rps": float(pools.decode_rps[k]),
            "stable_rps": float(decoding_of(question, pools.evaluated, pools.decode[[k]]).rps[0, -1]),
            "rps": question.demand.peak_rps / n_d,
            "max_concurrency": int(memory.max_concurrency[i]),
            "output_tokens_per_s": tokens,
            "output_tokens_per_s_per_gpu": tokens * n_d / (n_p * prefill.gpus + n_d * row.gpus),
            "decode_step_ms": float(np.interp(concurrency, known, times.decode_s[i])) * MS_PER_S,
            "prefill_ms": float(times.prefill_s[pools.prefill[k]]) * MS_PER_S,
        }
    )


def prefill_instance(question: Question, sized: SizedPools, k: int) -> PerInstance:
    """A prefill instance at the planned load; it generates the first token of every answer."""
    pools, (row, _) = sized.pools, rows_of(sized, k)
    i, n = int(pools.prefill[k]), int(pools.prefill_instances[k])
    state, rps = state_of(question, sized, k), question.demand.peak_rps / n
    candidates, memory = pools.evaluated.candidates, pools.evaluated.memory
    copies = float(kv_share(question.model, candidates.tp)[i]) * row.tp  # heads beyond the KV heads are copied
    prompt = float(prompt_kv_bytes(question.model, candidates, question.traffic.input_tokens)[i]) * copies / GB
    fits = int(float(memory.kv_available[i]) * row.gpus / GB / max(prompt, 1e-9))
    times = times_of(question, pools.evaluated, pools.prefill[[k]])
    in_flight = min(rps * float(state.ttft_mean_s[0, 0]), float(fits))
    return _memory_of(sized, i, row, in_flight, prompt).model_copy(
        update={
            "max_rps": float(pools.prefill_rps[k]),
            "stable_rps": float(prefill_stable(question, pools.evaluated, pools.prefill[[k]], times)[0]),
            "rps": rps,
            "max_concurrency": fits,
            "output_tokens_per_s": rps,
            "output_tokens_per_s_per_gpu": rps / row.gpus,
            "prefill_share": float(state.prefill_load[0, 0]),
            "decode_step_ms": None,
            "prefill_ms": float(times.alone_s[0]) * MS_PER_S,
        }
    )


def _memory_of(
    sized: SizedPools, i: int, row: Configuration, concurrency: float, per_sequence_gb: float
) -> PerInstance:
    """Memory of an instance of row ``i``; the other fields are left for the caller."""
    memory, whole = sized.pools.evaluated.memory, row.gpus / GB
    kv = float(memory.kv_available[i]) * whole
    return PerInstance(
        max_rps=0.0,
        stable_rps=0.0,
        rps=0.0,
        concurrency=concurrency,
        max_concurrency=0,
        memory_per_gpu_gb=row.gpu.memory_bytes / GB,
        weights_gb=float(memory.weights[i]) * whole,
        kv_gb=kv,
        kv_per_sequence_gb=per_sequence_gb,
        activations_gb=float(memory.activations[i]) * whole,
        overhead_gb=float(memory.overhead[i]) * whole,
        kv_used_gb=min(concurrency * per_sequence_gb, kv),
        free_gb=max(kv - concurrency * per_sequence_gb, 0.0),
        output_tokens_per_s=0.0,
        output_tokens_per_s_per_gpu=0.0,
        prefill_share=None,
        decode_step_ms=None,
        prefill_ms=None,
    )


def latencies_of(question: Question, sized: SizedPools, k: int, around: Spread) -> Latencies:
    """Percentiles at the peak; the interval is that of the asked percentile. ``around`` starts with pair ``k``."""
    state, asked = state_of(question, sized, k), question.limits.percentile

    def latency(name: str, ends: Floats) -> Latency:
        p50, p95, p99, value = (float(getattr(state, name)(p)[0, 0]) * MS_PER_S for p in (50, 95, 99, asked))
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


def load_curve_of(question: Question, sized: SizedPools, k: int) -> tuple[LoadPoint, ...]:
    """Latency of the planned pools from idle to their stability limit, per decode instance."""
    one = sized.pools.take(np.array([k]))
    evaluated = one.evaluated
    stable = min(
        float(prefill_stable(question, evaluated, one.prefill, times_of(question, evaluated, one.prefill))[0])
        * int(one.prefill_instances[0]),
        float(decoding_of(question, evaluated, one.decode).rps[0, -1]) * int(one.decode_instances[0]),
    )
    rates = stable * LOADS[None, :]
    state, percentile = at_loads(question, one, sized.transfer_s[[k]], rates), question.limits.percentile
    values = [np.maximum.accumulate(of(percentile)[0]) * MS_PER_S for of in (state.ttft_s, state.itl_s, state.e2e_s)]
    (prefill, row), n_d = rows_of(sized, k), int(one.decode_instances[0])
    gpus = int(one.prefill_instances[0]) * prefill.gpus + n_d * row.gpus
    return tuple(
        LoadPoint(
            rps=float(rate) / n_d,
            concurrency=float(state.concurrency[0, j]),
            ttft_ms=float(values[0][j]),
            itl_ms=float(values[1][j]),
            e2e_ms=float(values[2][j]),
            output_tokens_per_s_per_gpu=float(rate) * question.traffic.output_tokens / gpus,
        )
        for j, rate in enumerate(rates[0])
    )
