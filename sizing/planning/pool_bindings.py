"""What sets the size of pools of prefill and decode instances."""

from __future__ import annotations

import numpy as np

from sizing.planning.binding import Binding, Binds, smaller_units, smallest
from sizing.search.disaggregated import Disaggregated
from sizing.search.pools import decoding_of, prefill_stable, times_of

NEARLY_EQUAL = 1.001
"""Two rates that differ by no more than this factor count as the same."""

BELOW_STABLE = 0.999
"""Share of the stability limit from which on it, and not a latency, counts as what limits a pool."""


def pool_bindings(kind: Disaggregated, k: int) -> tuple[Binding, ...]:
    """What keeps the prefill and the decode pool of ``k`` from being smaller: what an instance reaches first, or that a
    single one is the smallest."""
    rows, reached = (kind.pools.prefill, kind.pools.decode), (prefill_binds(kind, k), decode_binds(kind, k))
    return tuple(
        Binding(smallest(kind.question))
        if working == 1 and not len(smaller_units(kind.evaluated, int(row[k])))
        else first
        for working, row, first in zip(kind.working(k), rows, reached, strict=True)
    )


def prefill_binds(kind: Disaggregated, k: int) -> Binding:
    """What sets the capacity of a prefill instance."""
    question, pools = kind.question, kind.pools
    prefill = pools.prefill[[k]]
    times = times_of(question, kind.evaluated, prefill)
    stable = prefill_stable(question, kind.evaluated, prefill, times)[0]
    share = question.scenario.deployment.max_utilization
    if pools.prefill_rps[k] < BELOW_STABLE * share * stable:
        return Binding(Binds.TTFT if np.isfinite(question.limits.ttft_s) else Binds.E2E)
    if share < 1:
        return Binding(Binds.UTILIZATION)
    matrices = 1.0 / times.full_s[0] <= stable * NEARLY_EQUAL
    return Binding(Binds.PREFILL_RATE if matrices else Binds.NETWORK)


def decode_binds(kind: Disaggregated, k: int) -> Binding:
    """What sets the capacity of a decode instance."""
    question, pools, evaluated = kind.question, kind.pools, kind.evaluated
    decode, deployment = pools.decode[[k]], question.scenario.deployment
    share, named = deployment.max_utilization, deployment.batch_limits
    stable = decoding_of(question, evaluated, decode).rps[0, -1]
    if pools.decode_rps[k] < BELOW_STABLE * share * stable:
        return Binding(Binds.ITL if np.isfinite(question.limits.itl_s) else Binds.E2E)
    if share < 1:
        return Binding(Binds.UTILIZATION)
    if named and evaluated.memory.max_concurrency[decode][0] >= max(named):
        return Binding(Binds.BATCH_LIMIT, max(named))
    return Binding(Binds.KV_MEMORY)
