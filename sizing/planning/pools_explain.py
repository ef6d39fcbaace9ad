"""Each figure of a disaggregated answer followed from the inputs to the formula to the source."""

from __future__ import annotations

from collections.abc import Iterator

from sizing.base.format import count, ms, requests_per_s, significant
from sizing.base.result import Business, Cost, Deployed, Explained, Latencies, PerInstance, Pool
from sizing.base.units import MS_PER_S
from sizing.deployments.kv_transfer import link_name
from sizing.planning.explain import LOAD_SOURCE, entry, explain_demand, explain_latency, explain_memory, explain_money
from sizing.question.configuration import Configuration
from sizing.question.understand import Question

POOL_SOURCE = "module sizing.queueing.pools; Zhong et al., DistServe (OSDI 2024)"


def explain_pools(
    question: Question,
    rows: tuple[Configuration, Configuration],
    deployed: Deployed,
    instances: tuple[PerInstance, PerInstance],
    latency: Latencies,
    cost: Cost,
    business: Business,
    times_from: str,
    transfer_s: float,
    inside: bool,
) -> tuple[Explained, ...]:
    """Every public figure; ``rows`` and ``instances`` are those of prefill and decode."""
    (prefill, row), (first, one) = rows, instances
    return (
        explain_demand(question),
        *_counts(question, deployed, one),
        *_transfer(question, prefill, row, transfer_s, inside),
        *explain_memory(question, row, one),
        *_speed(question, deployed, rows, instances, times_from),
        *explain_latency(
            question,
            one,
            latency,
            ttft="prompt queue + prefill + transfer of the KV cache",
            ttft_numbers=f"prefill {ms(first.prefill_ms)}, transfer {ms(transfer_s * MS_PER_S)}, prefill instances "
            f"busy {significant((first.prefill_share or 0.0) * 100, 2)} % of the time; p50 {ms(latency.ttft_ms.p50)}",
            itl="decode step + (rest of the running step + wait for a slot) / (OSL - 1)",
            itl_numbers=f"{ms(one.decode_step_ms)} at {significant(one.concurrency)} sequences, no prompt interrupts; "
            f"p50 {ms(latency.itl_ms.p50)}",
        ),
        *explain_money(question, deployed, cost, business),
    )


def _counts(question: Question, deployed: Deployed, one: PerInstance) -> Iterator[Explained]:
    pools = [(name, p) for name, p in (("prefill", deployed.prefill), ("decode", deployed.decode)) if p is not None]
    peak = question.demand.peak_rps
    yield entry(
        "instances",
        count(deployed.instances),
        "ceil(peak / requests/s of a prefill instance) + ceil(peak / requests/s of a decode instance), each + spares",
        "; ".join(
            f"{name}: ceil({significant(peak)} / {significant(p.max_rps)}) + {p.spare_instances} = {p.instances}"
            for name, p in pools
        ),
        "module sizing.search.pools_search",
    )
    yield entry(
        "gpus",
        count(deployed.gpus),
        "instances x TP x PP x DP, prefill + decode",
        " + ".join(f"{p.instances} x {p.tp} x {p.pp} x {p.dp}" for _, p in pools) + f" = {deployed.gpus}",
        "definition",
    )
    yield entry(
        "systems",
        count(deployed.systems),
        "whole systems, the smaller instances beside the larger",
        f"{_each(pools)} on {deployed.system}: {deployed.systems} systems, {deployed.gpus_bought} GPUs",
        "module sizing.prices.packing",
    )
    yield entry(
        "max_rps",
        requests_per_s(one.max_rps),
        "largest rate at which TTFT holds (prefill) or ITL holds (decode)",
        "; ".join(
            f"{name}: {significant(p.max_rps)} requests/s an instance, load {significant(p.rps)}" for name, p in pools
        ),
        POOL_SOURCE,
    )


def _each(pools: list[tuple[str, Pool]]) -> str:
    """3 prefill instances of 2 GPUs and 10 decode instances of 1"."""
    return " and ".join(f"{p.instances} {name} instances of {p.tp * p.pp * p.dp} GPUs" for name, p in pools)


def _transfer(
    question: Question, prefill: Configuration, row: Configuration, transfer_s: float, inside: bool
) -> Iterator[Explained]:
    yield entry(
        "KV transfer",
        ms(transfer_s * MS_PER_S),
        "set-up + KV bytes of the prompt x share of the busiest GPU / link",
        f"{count(question.traffic.input_tokens)} tokens at {row.kv_precision} from TP{prefill.tp} PP{prefill.pp} to "
        f"TP{row.tp} PP{row.pp} over {link_name(row.gpu, inside)}",
        "module sizing.deployments.kv_transfer; Patel et al., Splitwise (ISCA 2024)",
    )


def _speed(
    question: Question,
    deployed: Deployed,
    rows: tuple[Configuration, Configuration],
    instances: tuple[PerInstance, PerInstance],
    times_from: str,
) -> Iterator[Explained]:
    (prefill, row), (first, one), traffic = rows, instances, question.traffic
    yield entry(
        "decode_step_ms",
        ms(one.decode_step_ms),
        "sum over operators of max(FLOP / rate, bytes / bandwidth) + collectives + fixed times",
        f"{significant(one.concurrency)} sequences at {count(traffic.decode_context)} tokens of context on {row.label}",
        times_from,
    )
    yield entry(
        "prefill_ms",
        ms(first.prefill_ms),
        "2 x active parameters x prompt tokens / matrix rate + attention + collectives",
        f"{count(traffic.new_tokens)} prompt tokens on {prefill.label}",
        times_from,
    )
    working = [p for p in (deployed.prefill, deployed.decode) if p is not None]
    gpus = " + ".join(f"{(p.instances - p.spare_instances) * p.tp * p.pp * p.dp}" for p in working)
    yield entry(
        "output_tokens_per_s_per_gpu",
        f"{significant(one.output_tokens_per_s_per_gpu)} tokens/s",
        "requests/s x OSL / GPUs of both kinds",
        f"{significant(question.demand.peak_rps)} x {count(traffic.output_tokens)} / ({gpus})",
        LOAD_SOURCE,
    )
