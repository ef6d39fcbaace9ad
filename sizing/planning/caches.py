"""The prefix caches of a deployment: what its own KV cache and a second tier hold, and how long loading takes."""

from typing import Any

import numpy as np

from sizing.base.units import GB, GIB, MS_PER_S
from sizing.catalog.kv_tiers import kv_tiers
from sizing.deployments.candidates import table
from sizing.planning.deployment import PlannedDeployment
from sizing.question.configuration import Configuration
from sizing.question.reused import CacheState
from sizing.question.traffic import Traffic
from sizing.question.understand import Question
from sizing.reuse.sessions import SecondTier
from sizing.scenario.schema import KvOffload
from sizing.simulator.configured import kv_tokens
from sizing.steps.roofline import roofline

MEDIAN = 50.0
"""Percentile of the time of a request that stands for its mean."""


def caches_of(one: PlannedDeployment[Any]) -> CacheState:
    """The caches of the instances that take prompts: where prefill runs apart, of those alone."""
    kind, k, question = one.kind, one.k, one.question
    row, working = kind.configurations(k)[0], kind.working(k)[0]
    service_s = one.percentile_s("e2e_s", MEDIAN)
    offload = question.scenario.deployment.kv_offload
    return CacheState(
        capacity_tokens=kv_tokens(question.model, row, question.traffic).capacity * working,
        replicas=working,
        service_s=service_s if np.isfinite(service_s) else float(kind.e2e_s[k]),
        second=None if offload is None else second_tier(question, row, working, offload),
    )


def second_tier(question: Question, row: Configuration, instances: int, offload: KvOffload) -> SecondTier:
    """A second tier beside so many instances of a configuration.

    Tokens = GiB of a GPU x attention-DP ranks / bytes that a token has on it, each GPU loads its own part of a history,
    and computing one takes as long as a whole prompt by the roofline, divided by its tokens.
    """
    known, traffic = kv_tiers()[offload.tier], question.traffic
    token_bytes = kv_tokens(question.model, row, traffic).token_bytes
    gbs = offload.gbs_per_gpu or known.gbs_per_gpu
    assert gbs is not None, "the scenario says it where nobody published one"
    latency_ms = known.latency_ms if offload.latency_ms is None else offload.latency_ms
    whole = Traffic(input_tokens=traffic.input_tokens, output_tokens=traffic.output_tokens)
    times = roofline().times(question.model, table([row]), whole, np.ones((1, 1)))
    return SecondTier(
        capacity=offload.gib_per_gpu * GIB * row.dp / token_bytes * instances,
        of_all=offload.tier == "shared_store",
        start_s=latency_ms / MS_PER_S,
        token_s=token_bytes / (gbs * GB),
        computed_token_s=float(times.prefill_s[0]) / traffic.input_tokens,
    )
