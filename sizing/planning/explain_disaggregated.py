"""Each figure of a disaggregated answer followed from the inputs to the formula to the source."""

from collections.abc import Iterator

from sizing.base.constants import constant
from sizing.base.deployed import Deployed, Pool
from sizing.base.format import count, counted, ms, requests_per_s, significant
from sizing.base.result import Explained
from sizing.base.units import MS_PER_S
from sizing.planning.arithmetic import entry, instances_steps, latency_step, number, step
from sizing.planning.explain import (
    LOAD_SOURCE,
    Stated,
    explain_decode_step,
    explain_demand,
    explain_latency,
    explain_prefill,
)
from sizing.planning.explain_cost import explain_money
from sizing.planning.explain_memory import explain_memory

POOL_SOURCE = "module sizing.queueing.pools; Zhong et al., DistServe (OSDI 2024)"


def explain_pools(stated: Stated, transfer_s: float, link: str) -> Iterator[Explained]:
    """Every public figure; the KV cache takes ``transfer_s`` seconds over ``link``."""
    yield explain_demand(stated.question)
    yield from _counts(stated)
    yield _transfer(stated, transfer_s, link)
    yield from explain_memory(stated.row, stated.one, stated.question.model, stated.question.traffic)
    yield from _speed(stated)
    yield from explain_latency(
        stated,
        ttft="front end + prompt queue + prefill + transfer of the KV cache",
        itl="decode step + (rest of the running step + wait for a slot) / (OSL - 1)",
    )
    yield from explain_money(stated.question, stated.deployed, stated.cost, stated.business)


def _counts(stated: Stated) -> Iterator[Explained]:
    deployed, one, peak = stated.deployed, stated.one, stated.question.demand.sustained_rps
    pools = _pools(deployed)
    yield entry(
        "instances",
        count(deployed.instances),
        "ceil(peak / requests/s of a prefill instance) + ceil(peak / requests/s of a decode instance), each + spares",
        *(each for name, pool in pools for each in _of_pool(name, pool, peak)),
        step("prefill + decode", " + ".join(str(p.instances) for _, p in pools), count(deployed.instances)),
        source="module sizing.search.pools",
    )
    yield entry(
        "gpus",
        count(deployed.gpus),
        "instances x TP x PP x DP, prefill + decode",
        step("", " + ".join(f"{p.instances} x {p.tp} x {p.pp} x {p.dp}" for _, p in pools), count(deployed.gpus)),
        source="definition",
    )
    size = deployed.gpus_bought // deployed.systems
    fewest = -(-deployed.gpus // size)
    yield entry(
        "systems",
        count(deployed.systems),
        f"whole systems, the smaller instances beside the larger: {_each(pools)} on {deployed.system}",
        step("GPUs over those of a system", f"ceil({deployed.gpus} / {size})", count(fewest)),
        step("more, as no instance straddles two", f"{fewest} + {deployed.systems - fewest}", count(deployed.systems)),
        source="module sizing.prices.packing",
    )
    shares = "; ".join(f"{name}: {significant(p.max_rps)} an instance, load {significant(p.rps)}" for name, p in pools)
    yield entry(
        "max_rps",
        requests_per_s(one.max_rps),
        f"largest rate at which TTFT holds (prefill) or ITL holds (decode). {shares}",
        step(
            "load of a decode instance x how far it could grow",
            f"{number(one.rps)} x {number(one.max_rps / one.rps)}",
            requests_per_s(one.max_rps),
        ),
        source=stated.load_source(POOL_SOURCE),
    )


def _of_pool(name: str, pool: Pool, peak: float) -> tuple[str, ...]:
    return instances_steps(f"{name} ", peak, pool.max_rps, pool.spare_instances, pool.instances)


def _pools(deployed: Deployed) -> list[tuple[str, Pool]]:
    """The prefill and the decode pool, each with its name; empty for aggregated serving."""
    return list(zip(("prefill", "decode"), deployed.pools or (), strict=False))


def _each(pools: list[tuple[str, Pool]]) -> str:
    """3 prefill instances of 2 GPUs and 10 decode instances of 1"."""
    return " and ".join(
        f"{counted(p.instances, f'{name} instance')} of {counted(p.tp * p.pp * p.dp, 'GPU')}" for name, p in pools
    )


def _transfer(stated: Stated, transfer_s: float, link: str) -> Explained:
    """The KV cache of a mean prompt on its way."""
    prefill, row = stated.configurations
    setup_ms, total_ms = constant("kv_transfer_setup_s") * MS_PER_S, transfer_s * MS_PER_S
    what = (
        f"set-up, then {count(stated.question.traffic.input_tokens)} tokens at {row.kv_precision} from TP{prefill.tp} "
        f"PP{prefill.pp} to TP{row.tp} PP{row.pp} over {link}"
    )
    return entry(
        "KV transfer",
        ms(total_ms),
        "set-up + KV bytes of the prompt x share of the busiest GPU / link",
        latency_step(what, number(setup_ms), setup_ms, total_ms),
        source="module sizing.deployments.kv_transfer; Patel et al., Splitwise (ISCA 2024)",
    )


def _speed(stated: Stated) -> Iterator[Explained]:
    (prefill, _), (first, one), traffic = stated.configurations, stated.instances, stated.question.traffic
    if one.decode_step_ms is not None:
        yield explain_decode_step(stated, one.decode_step_ms)
    if first.prefill_ms is not None:
        yield explain_prefill(stated, prefill, first.prefill_ms)
    pools = _pools(stated.deployed)
    gpus = " + ".join(f"{(p.instances - p.spare_instances) * p.tp * p.pp * p.dp}" for _, p in pools)
    per_gpu = f"{significant(one.output_tokens_per_s_per_gpu)} tokens/s"
    rate = stated.question.demand.sustained_rps
    yield entry(
        "output_tokens_per_s_per_gpu",
        per_gpu,
        "requests/s x OSL / GPUs of both kinds",
        step(
            "requests/s x output tokens / GPUs of both kinds",
            f"{number(rate)} x {number(traffic.output_tokens)} / ({gpus})",
            per_gpu,
        ),
        source=LOAD_SOURCE,
    )
