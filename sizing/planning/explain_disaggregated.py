"""Each figure of a disaggregated answer followed from the inputs to the formula to the source."""

from __future__ import annotations

from collections.abc import Iterator

from sizing.base.deployed import Deployed, Pool
from sizing.base.format import count, ms, requests_per_s, significant
from sizing.base.result import Explained
from sizing.base.units import MS_PER_S
from sizing.planning.explain import LOAD_SOURCE, Stated, explain_demand, explain_latency, explain_memory
from sizing.planning.explain_cost import entry, explain_money

POOL_SOURCE = "module sizing.queueing.pools; Zhong et al., DistServe (OSDI 2024)"


def explain_pools(stated: Stated, transfer_s: float, link: str) -> Iterator[Explained]:
    """Every public figure; the KV cache takes ``transfer_s`` seconds over ``link``."""
    first, one, latency = *stated.instances, stated.latency
    yield explain_demand(stated.question)
    yield from _counts(stated)
    yield _transfer(stated, transfer_s, link)
    yield from explain_memory(stated)
    yield from _speed(stated)
    yield from explain_latency(
        stated,
        ttft="prompt queue + prefill + transfer of the KV cache",
        ttft_numbers=f"prefill {ms(first.prefill_ms)}, transfer {ms(transfer_s * MS_PER_S)}, prefill instances "
        f"busy {significant((first.prefill_share or 0.0) * 100, 2)} % of the time; p50 {ms(latency.ttft_ms.p50)}",
        itl="decode step + (rest of the running step + wait for a slot) / (OSL - 1)",
        itl_numbers=f"{ms(one.decode_step_ms)} at {significant(one.concurrency)} sequences, no prompt interrupts; "
        f"p50 {ms(latency.itl_ms.p50)}",
    )
    yield from explain_money(stated.question, stated.deployed, stated.cost, stated.business)


def _counts(stated: Stated) -> Iterator[Explained]:
    deployed, one, peak = stated.deployed, stated.one, stated.question.demand.sustained_rps
    pools = _pools(deployed)
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
        stated.load_source(POOL_SOURCE),
    )


def _pools(deployed: Deployed) -> list[tuple[str, Pool]]:
    """Both pools by name."""
    return list(zip(("prefill", "decode"), deployed.pools or (), strict=False))


def _each(pools: list[tuple[str, Pool]]) -> str:
    """3 prefill instances of 2 GPUs and 10 decode instances of 1"."""
    return " and ".join(f"{p.instances} {name} instances of {p.tp * p.pp * p.dp} GPUs" for name, p in pools)


def _transfer(stated: Stated, transfer_s: float, link: str) -> Explained:
    prefill, row = stated.configurations
    return entry(
        "KV transfer",
        ms(transfer_s * MS_PER_S),
        "set-up + KV bytes of the prompt x share of the busiest GPU / link",
        f"{count(stated.question.traffic.input_tokens)} tokens at {row.kv_precision} from TP{prefill.tp} "
        f"PP{prefill.pp} to TP{row.tp} PP{row.pp} over {link}",
        "module sizing.deployments.kv_transfer; Patel et al., Splitwise (ISCA 2024)",
    )


def _speed(stated: Stated) -> Iterator[Explained]:
    (prefill, row), (first, one), traffic = stated.configurations, stated.instances, stated.question.traffic
    yield entry(
        "decode_step_ms",
        ms(one.decode_step_ms),
        "sum over operators of max(FLOP / rate, bytes / bandwidth) + collectives + fixed times",
        f"{significant(one.concurrency)} sequences at {count(traffic.decode_context)} tokens of context on {row.label}",
        stated.step_times,
    )
    yield entry(
        "prefill_ms",
        ms(first.prefill_ms),
        "2 x active parameters x prompt tokens / matrix rate + attention + collectives",
        f"{count(traffic.new_tokens)} prompt tokens on {prefill.label}",
        stated.step_times,
    )
    gpus = " + ".join(f"{(p.instances - p.spare_instances) * p.tp * p.pp * p.dp}" for _, p in _pools(stated.deployed))
    yield entry(
        "output_tokens_per_s_per_gpu",
        f"{significant(one.output_tokens_per_s_per_gpu)} tokens/s",
        "requests/s x OSL / GPUs of both kinds",
        f"{significant(stated.question.demand.sustained_rps)} x {count(traffic.output_tokens)} / ({gpus})",
        LOAD_SOURCE,
    )
