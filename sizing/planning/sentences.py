"""The answer in sentences."""

from __future__ import annotations

from sizing.base.deployed import Deployed, Latencies, Pool
from sizing.base.format import count, ms, requests_per_s, significant, usd
from sizing.base.provenance import Provenance
from sizing.base.result import Excluded
from sizing.evidence.uncertainty import ErrorFactors
from sizing.planning.explain import Stated
from sizing.question.configuration import Configuration
from sizing.question.understand import Question
from sizing.queueing.capacity import Bound
from sizing.search.screen import Evaluated

STILL_GROWING = 1.10
"""Rate gained by the last doubling of concurrency, above which memory and not speed is the limit."""

PREFILL_BOUND = 0.5
"""Share of an instance's time spent on prompts, above which they and not decoding set its rate: the larger part."""


def source_of(provenance: Provenance) -> str:
    """Where the numbers of a deployment come from: the source of its step times, and what was simulated."""
    simulated = f"; simulated, {provenance.requests:,} requests" if provenance.requests else ""
    return f"{provenance.step_times.name}{simulated}"


def limited_by(question: Question, evaluated: Evaluated, index: int) -> str:
    """What sets the capacity of one instance, in words."""
    bound = Bound(int(evaluated.capacity.bound[index]))
    limit = evaluated.candidates.rows[index].batch_limit
    if limit is not None and limit <= evaluated.memory.max_concurrency[index]:
        named = question.scenario.deployment.batch_limits
        if (not named or limit < max(named)) and bound in (Bound.TTFT, Bound.ITL, Bound.SATURATION):
            return f"the ITL limit (decode latency), which a batch limit of {count(limit)} holds"
        if bound is Bound.SATURATION:
            return f"the batch limit of {count(limit)}"
    if bound is Bound.TTFT:
        return "the TTFT limit (prompt queue and prefill)"
    if bound is Bound.ITL:
        return "the ITL limit (decode latency)"
    if bound is Bound.E2E:
        return "the E2E limit"
    if bound is Bound.UTILIZATION:
        return "the utilisation cap"
    rates, grid = evaluated.state.rps[index], evaluated.state.concurrency[index]
    half = int((grid <= grid[-1] / 2).sum()) - 1
    if rates[-1] > STILL_GROWING * rates[half]:
        row = evaluated.candidates.rows[index]
        if evaluated.memory.max_concurrency[index] >= row.engine.sequences(row.gpu) * row.dp:
            return "the engine's default limit on sequences in flight"
        return "memory for the KV cache"
    return (
        "matrix rate (prefill)"
        if evaluated.state.prefill_load[index, -1] > PREFILL_BOUND
        else "memory bandwidth (decode)"
    )


def replicas(row: Configuration, deployed: Deployed) -> str:
    """ "4 replicas of TP2 on one DGX H100"; "6 prefill + 10 decode GPUs: 3 replicas of TP2 + 10 of one GPU on ..."."""
    on = f"on {systems_named(deployed.systems, deployed.system)}"
    if deployed.pools:
        prefill, decode = deployed.pools
        return (
            f"{count(prefill.gpus)} prefill + {count(decode.gpus)} decode GPUs: {_of(prefill.instances, prefill)} + "
            f"{count(decode.instances)} of {parallelism_text(decode)} {on}"
        )
    return f"{_of(deployed.instances, row)} {on}"


def _of(instances: int, one: Configuration | Pool) -> str:
    """ "4 replicas of TP2"."""
    return f"{count(instances)} {'replica' if instances == 1 else 'replicas'} of {parallelism_text(one)}"


def parallelism_text(one: Configuration | Pool | Deployed) -> str:
    """How an instance is spread over its GPUs: "TP4 PP2", "one GPU"."""
    parallelism = (("TP", one.tp), ("PP", one.pp), ("EP", one.ep), ("DP", one.dp))
    return " ".join(f"{name}{n}" for name, n in parallelism if n > 1) or "one GPU"


def systems_named(number: int, name: str) -> str:
    """ "one DGX H100", "13 x DGX H100", "3 systems of 4x L40S PCIe server"."""
    if number == 1:
        return f"one {name}"
    return f"{count(number)} systems of {name}" if name[0].isdigit() else f"{count(number)} x {name}"


def sentence(stated: Stated, bound: str, gpus_low: int, gpus_high: int | None) -> str:
    """The north-star sentence: GPUs, load, latency against its limit, cost, what limits, how sure."""
    question, row, deployed, cost = stated.question, stated.row, stated.deployed, stated.cost
    known = cost.usd_per_month is not None
    price = f", for {usd(cost.usd_per_month)} a month" if known else ", list price unknown"
    latency = key_latency(question, stated.latency)
    return (
        f"{count(deployed.gpus)} x {row.gpu.name} ({replicas(row, deployed)}) serve{'s' if deployed.gpus == 1 else ''} "
        f"{requests_per_s(question.demand.peak_rps)} with {latency}{price}; limited by {bound}; "
        f"{sure(gpus_low, gpus_high)}."
    )


def key_latency(question: Question, latency: Latencies) -> str:
    """The latency the customer watches: TTFT when streaming, E2E when sequential, throughput when offline."""
    p, mode = f"p{question.limits.percentile:g}", question.scenario.workload.mode
    limits = question.scenario.limits
    if mode == "offline":
        return "no latency limit (maximum throughput)"
    name, value, limit = ("TTFT", latency.ttft_ms.at_percentile, limits.ttft_ms)
    if mode == "sequential" or (limit is None and limits.e2e_ms is not None):
        name, value, limit = ("E2E", latency.e2e_ms.at_percentile, limits.e2e_ms)
    return f"{p} {name} {ms(value)}" + (f" (limit {ms(limit)})" if limit is not None else "")


def sure(low: int, high: int | None) -> str:
    """ "80 % sure that 7 to 9 GPUs suffice"."""
    if high is None:
        return f"at least {_gpus(low)}; if the engine is slower than estimated, a limit can no longer be met"
    if low == high:
        return f"80 % sure that {_gpus(high)} suffice{'s' if high == 1 else ''}"
    return f"80 % sure that {count(low)} to {_gpus(high)} suffice"


def _gpus(number: int) -> str:
    """ "1 GPU", "8 GPUs"."""
    return f"{count(number)} GPU{'s' if number != 1 else ''}"


LONGER_CONTEXT = "Shorten the prompt or take a model with a longer context window: nothing else helps."


def beyond_context(question: Question) -> str:
    """Why the model cannot serve requests of mean length; "" when its context window holds them or is unknown."""
    window = question.model.max_context
    tokens = question.traffic.input_tokens + question.traffic.output_tokens
    if window is None or tokens <= window:
        return ""
    return (
        f"{question.model.id} cannot serve this: prompt and output need {count(tokens)} tokens, its context "
        f"window holds {count(window)}."
    )


def infeasible(question: Question, excluded: tuple[Excluded, ...]) -> str:
    """Nothing fits: what no limit could change, else how many were considered and the nearest way out."""
    beyond = beyond_context(question)
    return f"{beyond} {LONGER_CONTEXT}" if beyond else _nothing_serves(question, excluded)


def _nothing_serves(question: Question, excluded: tuple[Excluded, ...]) -> str:
    considered = f"{len(question.gpus)} GPU type{'s' if len(question.gpus) != 1 else ''} considered"
    helpful = [e for e in excluded if e.fix is not None] or list(excluded)
    if not helpful:
        return f"Nothing serves this scenario ({considered})."
    nearest = min(helpful, key=lambda e: (e.fix is None or not e.fix.relaxes_a_limit, _relaxed(e)))
    return (
        f"Nothing serves {requests_per_s(question.demand.peak_rps)} within the limits ({considered}). Nearest: "
        f"{nearest.closest or nearest.gpu}. {nearest.reason} Smallest relaxation: {nearest.relaxation}"
    )


def _relaxed(entry: Excluded) -> float:
    """How far a relaxed limit would have to go; without a number, last."""
    value = entry.fix.value if entry.fix is not None else None
    return float(value) if isinstance(value, (int, float)) else float("inf")


def confidence(decode: ErrorFactors, prefill: ErrorFactors) -> str:
    """How sure, in two sentences: the 80 % intervals of the step times and whose errors they are."""
    return (
        f"80 % interval of the decode step {_around(decode)}, of the prefill {_around(prefill)}. Decode: "
        f"{decode.basis}; prefill: {prefill.basis}."
    )


def _around(factors: ErrorFactors) -> str:
    """ "-12 % to +20 %"."""
    low, high = (significant(abs(factor - 1) * 100, 2) for factor in (factors.low_factor, factors.high_factor))
    return f"-{low} % to +{high} %"
