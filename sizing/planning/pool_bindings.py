"""What sets the size of pools of prefill and decode instances."""

from __future__ import annotations

import numpy as np

from sizing.planning.binding import Binding, Binds, saturated, smaller_units, smallest
from sizing.question.understand import Question
from sizing.search.disaggregated import Disaggregated
from sizing.search.pools import decode_stable, decoding_of, prefill_stable, prefill_stable_of, times_of
from sizing.simulator.run_length import HEAVIEST

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
    question, pair = kind.question, kind.pools.take(np.array([k]))
    times = times_of(question, kind.evaluated, pair.prefill)
    highest = _highest(question, prefill_stable_of(question, pair), simulated=pair.prefill_stable_rps is not None)
    own = (Binds.TTFT, _room(question.limits.ttft_s, kind.ttft_s[k]))
    if limit := _limit(float(pair.prefill_rps[0]), highest, own, kind, k):
        return Binding(limit)
    if question.scenario.deployment.max_utilization < 1:
        return Binding(Binds.UTILIZATION)
    stable = prefill_stable(question, kind.evaluated, pair.prefill, times)[0]
    matrices = 1.0 / times.full_s[0] <= stable * NEARLY_EQUAL
    return Binding(Binds.PREFILL_RATE if matrices else Binds.NETWORK)


def decode_binds(kind: Disaggregated, k: int) -> Binding:
    """What sets the capacity of a decode instance."""
    question, evaluated, pair = kind.question, kind.evaluated, kind.pools.take(np.array([k]))
    deployment, index = question.scenario.deployment, int(pair.decode[0])
    highest = _highest(question, decode_stable(question, pair), simulated=pair.decode_stable_rps is not None)
    own = (Binds.ITL, _room(question.limits.itl_s, kind.itl_s[k]))
    if limit := _limit(float(pair.decode_rps[0]), highest, own, kind, k):
        return Binding(limit)
    if deployment.max_utilization < 1:
        return Binding(Binds.UTILIZATION)
    named = deployment.batch_limits
    if named and evaluated.memory.max_concurrency[index] >= max(named):
        return Binding(Binds.BATCH_LIMIT, max(named))
    rates = decoding_of(question, evaluated, pair.decode).rps[0]
    return Binding(saturated(evaluated, index, rates, of_prompts=False))


def _highest(question: Question, stable_rps: float, *, simulated: bool) -> float:
    """The heaviest load of an instance, requests/s, that no latency limit lowers."""
    share = question.scenario.deployment.max_utilization
    return stable_rps * (min(share, HEAVIEST) if simulated else share)


def _limit(rps: float, highest: float, own: tuple[Binds, float], kind: Disaggregated, k: int) -> Binds | None:
    """The limit that keeps a pool below the ``highest`` load, its ``own`` or that of E2E, whichever leaves less room at
    the planned load; None where none does. Each with how many times its latency it is."""
    limits = (own, (Binds.E2E, _room(kind.question.limits.e2e_s, kind.e2e_s[k])))
    limit, room = min(limits, key=lambda each: each[1])
    return limit if rps < BELOW_STABLE * highest and np.isfinite(room) else None


def _room(limit_s: float, latency_s: float) -> float:
    """How many times a latency its limit is; infinite without either."""
    return limit_s / latency_s if latency_s > 0.0 else np.inf
