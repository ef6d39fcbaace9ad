"""A pair of pools as the simulation sees it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from sizing.deployments.kv_transfer import SETUP_S
from sizing.question.limits import LatencyLimits
from sizing.question.understand import Question
from sizing.search.disaggregated import Disaggregated
from sizing.search.pools_search import fewest_of_a_kind
from sizing.search.replicas import Planned, PlannedPools, arrivals_of, lengths_of, replica_at
from sizing.simulator.arrivals import Arrivals
from sizing.simulator.fleet import Replica
from sizing.simulator.request_lengths import RequestLengths
from sizing.simulator.run_length import HEAVIEST, IN_FLIGHT_ROUNDS
from sizing.simulator.work import Work

REQUESTS, MOST_REQUESTS = 12_000, 48_000
"""Requests simulated at each count, and at most where many are in flight at once."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PoolsCase:
    """A pair of pools under the whole load: what is simulated and what it must meet; ``requests`` in each run."""

    prefill: Replica
    decode: Replica
    arrivals: Arrivals
    lengths: RequestLengths
    limits: LatencyLimits
    max_utilization: float
    transfer_latency_s: float
    transfer_s_per_token: float
    requests: int
    fewest: int = 1
    """Instances of each kind at least."""
    seed: int = 0
    work: Work = field(default_factory=Work)
    """What may still be simulated."""

    def heaviest(self, stable_rps: float) -> float:
        """The heaviest load of an instance that counts as carried, requests/s."""
        return stable_rps * min(self.max_utilization, HEAVIEST)


def case_of(question: Question, deployments: Disaggregated, k: int, seed: int, work: Work | None = None) -> PoolsCase:
    """Pair ``k`` as the simulation sees it; ``work`` is what may still be simulated."""
    evaluated, pools = deployments.evaluated, deployments.pools
    prefill, decode = int(pools.prefill[k]), int(pools.decode[k])
    moved, tokens = float(deployments.transfer_s[k]), question.traffic.input_tokens
    stay = question.demand.sustained_rps / int(pools.decode_instances[k]) * float(deployments.e2e_s[k])
    return PoolsCase(
        prefill=replica_at(question, evaluated, prefill),
        decode=_limited(question, replica_at(question, evaluated, decode)),
        arrivals=arrivals_of(question),
        lengths=lengths_of(question),
        limits=question.limits,
        max_utilization=question.scenario.deployment.max_utilization,
        transfer_latency_s=SETUP_S,
        transfer_s_per_token=max(moved - SETUP_S, 0.0) / tokens,
        requests=int(np.clip(np.nan_to_num(IN_FLIGHT_ROUNDS * stay), REQUESTS, MOST_REQUESTS)),
        fewest=fewest_of_a_kind(question),
        seed=seed,
        work=work or Work(),
    )


def _limited(question: Question, decode: Replica) -> Replica:
    """A decode instance with no more sequences in flight than the largest batch limit that the scenario names."""
    named = question.scenario.deployment.batch_limits
    return replace(decode, max_sequences=min(decode.max_sequences, max(named))) if named else decode


def planned_pools(deployments: Disaggregated, k: int) -> PlannedPools:
    """Pair ``k`` as it is simulated whole, spares not counted."""
    case, (prefill, decode) = case_of(deployments.question, deployments, k, seed=0), deployments.configurations(k)
    working = deployments.working(k)
    return PlannedPools(
        row=decode,
        working=working[1],
        replica=case.decode,
        prefill=Planned(row=prefill, working=working[0], replica=case.prefill),
        transfer_latency_s=case.transfer_latency_s,
        transfer_s_per_token=case.transfer_s_per_token,
    )
