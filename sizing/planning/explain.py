"""Each figure of the answer followed from the inputs to the formula to the source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from sizing.base.deployed import Business, Cost, Deployed, Latencies, PerInstance
from sizing.base.format import count, memory, ms, percent, requests_per_s, significant
from sizing.base.result import Explained
from sizing.base.units import BILLION
from sizing.planning.explain_cost import entry, explain_money
from sizing.question.configuration import Configuration
from sizing.question.understand import Question

LOAD_SOURCE = (
    "Little (1961); Pollaczek-Khinchine; Kelly (1979); Halfin and Whitt (1981): module sizing.queueing.steady_state"
)
MEMORY_SOURCE = "module sizing.deployments.memory; Kwon et al., PagedAttention (SOSP 2023)"


@dataclass(frozen=True, kw_only=True)
class Stated:
    """What a plan states of its deployment, to be explained.

    ``configurations`` and ``instances`` are those of instances that do both, or of prefill and of decode.
    ``step_times`` names the source of the step times; ``simulated`` requests of one instance are behind the latencies,
    0 where these are analytic.
    """

    question: Question
    configurations: tuple[Configuration, ...]
    deployed: Deployed
    instances: tuple[PerInstance, ...]
    latency: Latencies
    cost: Cost
    business: Business
    step_times: str
    simulated: int = 0

    @property
    def row(self) -> Configuration:
        """The configuration of the instances that generate answers."""
        return self.configurations[-1]

    @property
    def one(self) -> PerInstance:
        """An instance that generates answers."""
        return self.instances[-1]

    def load_source(self, source: str = LOAD_SOURCE) -> str:
        """Source of a figure of the load model; where it was counted, the formula is how the model puts it together."""
        if not self.simulated:
            return source
        counted = f"{self.simulated:,} requests simulated (module sizing.simulator)"
        return f"{counted}; the formula is that of the screen: {source}"


def explain(stated: Stated) -> Iterator[Explained]:
    """Every public figure of instances that do both."""
    yield explain_demand(stated.question)
    yield from _counts(stated)
    yield from explain_memory(stated)
    yield from _speed(stated)
    yield from explain_latency(stated)
    yield from explain_money(stated.question, stated.deployed, stated.cost, stated.business)


def explain_demand(question: Question) -> Explained:
    """The peak that is sized for."""
    peak = requests_per_s(question.demand.sustained_rps)
    return entry("peak_rps", peak, "as asked; see demand", question.demand.how, "module sizing.scenario.demand")


def _counts(stated: Stated) -> Iterator[Explained]:
    row, deployed, one, peak = stated.row, stated.deployed, stated.one, stated.question.demand.sustained_rps
    working = deployed.instances - deployed.spare_instances
    yield entry(
        "instances",
        count(deployed.instances),
        "ceil(peak / requests/s per instance) + spares",
        f"ceil({significant(peak)} / {significant(one.max_rps)}) + {deployed.spare_instances} = {deployed.instances}",
        "module sizing.search.screen",
    )
    yield entry(
        "gpus",
        count(deployed.gpus),
        "instances x TP x PP x DP",
        f"{deployed.instances} x {row.tp} x {row.pp} x {row.dp} = {deployed.gpus}",
        "definition",
    )
    yield entry(
        "systems",
        count(deployed.systems),
        "ceil(instances / instances per system), whole systems",
        f"{deployed.instances} instances of {row.gpus} GPUs on {deployed.system}: {deployed.systems} systems, "
        f"{deployed.gpus_bought} GPUs",
        "module sizing.prices.packing; instances x TP = 8 on an 8-GPU server",
    )
    yield entry(
        "max_rps",
        requests_per_s(one.max_rps),
        "largest rate at which every limit holds, x utilisation cap",
        f"{significant(working * one.max_rps)} requests/s over {working} instances; load per instance "
        f"{significant(one.rps)}; stability limit {significant(one.stable_rps)}",
        stated.load_source(),
    )
    if deployed.batch_limit is not None:
        yield _batch_limit(row, deployed.batch_limit, one)


def _batch_limit(row: Configuration, limit: int, one: PerInstance) -> Explained:
    """The cap on requests in flight: what it is, where it is set and what it does."""
    documented = row.engine.batch_source or "no such setting is documented for this engine"
    ranks = f" ({limit // row.dp} for each attention-DP rank)" if row.dp > 1 else ""
    return entry(
        "batch_limit",
        count(limit),
        "concurrency at which the gap between tokens reaches its limit; the best of a few around it",
        f"{row.engine.batch_option or 'Requests in flight'} {limit}{ranks}: {significant(one.concurrency)} are in "
        "flight on average, a burst waits for a slot instead of slowing down every answer",
        f"module sizing.search.batch_limits; {documented}",
    )


def explain_memory(stated: Stated) -> Iterator[Explained]:
    """Weights, KV cache and the sequences it holds."""
    row, one = stated.row, stated.one
    model, traffic = stated.question.model, stated.question.traffic
    tokens, sized = traffic.resident_kv_tokens, partial(memory, gpu_gb=one.memory_per_gpu_gb)
    yield entry(
        "weights_gb",
        sized(one.weights_gb),
        "parameters x bytes per parameter; embeddings and head at 16 bit",
        f"{model.params_total / BILLION:.4g} billion x {row.precision.bytes:g} byte = {sized(one.weights_gb)} over "
        f"{row.gpus} GPU{'s' if row.gpus > 1 else ''}",
        f"{model.source}; {MEMORY_SOURCE}",
    )
    yield entry(
        "kv_per_sequence_gb",
        sized(one.kv_per_sequence_gb),
        "KV values per token x bytes x tokens, rounded up to blocks",
        f"{count(model.kv_elements_full)} values x {count(tokens)} tokens at {row.kv_precision}"
        + (
            f" + {count(model.kv_elements_sliding)} values x window {model.sliding_window}"
            if model.sliding_layers
            else ""
        ),
        f"{model.source}; {MEMORY_SOURCE}",
    )
    yield from _kv_cache(row, one)


def _kv_cache(row: Configuration, one: PerInstance) -> Iterator[Explained]:
    """The memory that is left for the KV cache, and how many sequences it holds."""
    sized = partial(memory, gpu_gb=one.memory_per_gpu_gb)
    yield entry(
        "max_concurrency",
        count(one.max_concurrency),
        "floor(KV memory / KV per sequence), at most the engine's limit",
        f"{sized(one.kv_gb)} / {sized(one.kv_per_sequence_gb)}; "
        + (
            f"batch limit {row.batch_limit}"
            if row.batch_limit
            else f"engine limit {row.engine.sequences(row.gpu) * row.dp}"
        ),
        f"{MEMORY_SOURCE}; {row.engine.source}",
    )
    yield entry(
        "kv_gb",
        sized(one.kv_gb),
        "usable memory - weights - activations - overhead",
        f"{row.gpus} x {sized(one.memory_per_gpu_gb)} x {row.engine.memory_fraction:g} - "
        f"{sized(one.weights_gb)} - "
        f"{sized(one.activations_gb)} - {sized(one.overhead_gb)}",
        f"{row.gpu.source}; {row.engine.source}",
    )


def _speed(stated: Stated) -> Iterator[Explained]:
    row, one, traffic = stated.row, stated.one, stated.question.traffic
    yield entry(
        "decode_step_ms",
        ms(one.decode_step_ms),
        "sum over operators of max(FLOP / rate, bytes / bandwidth) + collectives + fixed times"
        + (
            ", x (1 + draft tokens x their cost) + rows of the drafts"
            if stated.question.speculation.draft_tokens
            else ""
        ),
        f"{significant(one.concurrency)} sequences at {count(traffic.decode_context)} tokens of context on {row.label}",
        stated.step_times,
    )
    yield entry(
        "prefill_ms",
        ms(one.prefill_ms),
        "2 x active parameters x prompt tokens / matrix rate + attention + collectives",
        f"{count(traffic.new_tokens)} prompt tokens ({count(traffic.cached_tokens)} more from the prefix cache)",
        stated.step_times,
    )
    yield entry(
        "output_tokens_per_s_per_gpu",
        f"{significant(one.output_tokens_per_s_per_gpu)} tokens/s",
        "requests/s per instance x OSL / GPUs per instance",
        f"{significant(one.rps)} x {count(traffic.output_tokens)} / {row.gpus}",
        "definition",
    )


def explain_latency(
    stated: Stated,
    *,
    ttft: str = "rest of the running step + prompt queue + slot queue + prefill shared with decoding",
    ttft_numbers: str = "",
    itl: str = "",
    itl_numbers: str = "",
) -> Iterator[Explained]:
    """The three latencies; formulas and numbers of TTFT and ITL may be those of disaggregated pools."""
    question, one, latency, source = stated.question, stated.one, stated.latency, stated.load_source()
    p = f"p{question.limits.percentile:g}"
    yield entry(
        "ttft_ms",
        f"{p} {ms(latency.ttft_ms.at_percentile)}",
        ttft,
        ttft_numbers
        or f"prefill {ms(one.prefill_ms)}, decode step {ms(one.decode_step_ms)}, engine busy with prompts "
        f"{percent(one.prefill_share)} of the time; p50 {ms(latency.ttft_ms.p50)}",
        source,
    )
    gaps, each = max(question.traffic.output_tokens - 1, 0), question.speculation.tokens_per_step
    yield entry(
        "itl_ms",
        f"{p} {ms(latency.itl_ms.at_percentile)}",
        itl or f"decode step{' / tokens a step' if each > 1 else ''} + concurrency x prefill work / (OSL - 1)",
        itl_numbers
        or f"{ms(one.decode_step_ms)}{f' / {significant(each)}' if each > 1 else ''} + "
        f"{significant(one.concurrency)} x prefill work / {count(gaps)}; p50 {ms(latency.itl_ms.p50)}",
        source,
    )
    yield entry(
        "e2e_ms",
        f"{p} {ms(latency.e2e_ms.at_percentile)}",
        "TTFT + (OSL - 1) x ITL",
        f"p50: {ms(latency.ttft_ms.p50)} + {count(gaps)} x {ms(latency.itl_ms.p50)}",
        source,
    )
