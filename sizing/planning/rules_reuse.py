"""What is to be minded of a cached part that was typed: whether the plan's own caches can hold it at the load."""

from collections.abc import Iterator
from typing import Any

from sizing.base.format import count, large, ms, percent, requests_per_s
from sizing.base.result import Fix, PlanWarning
from sizing.base.units import MS_PER_S
from sizing.planning.deployment import PlannedDeployment
from sizing.question.reused import CacheState, cache_routing

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
