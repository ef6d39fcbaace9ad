"""Pools beside what the simulation decided about instances that do both: simulated where they could come first."""

from dataclasses import replace

import numpy as np

from sizing.base.arrays import Counts, Flags, Floats
from sizing.question.understand import Question
from sizing.search.deployments import Deployments, comes_before
from sizing.search.disaggregated import PoolPairs, disaggregated
from sizing.search.pools import Pools, decoding_of, prefill_stable, times_of
from sizing.search.pools_simulated import Wins, simulated
from sizing.search.refine import CLOSE
from sizing.search.screen import instances_needed
from sizing.simulator.outcome import SimulationCounts
from sizing.simulator.run_length import HEAVIEST
from sizing.simulator.work import OutOfWork, Work

MOST_PAIRS = 2
"""Pairs of different parallelism that are simulated. Chosen: few, because each is a search of its own."""

MORE_PAIRS, FAR_OFF = 6, 1.3
"""Pairs that are simulated at most while the best so far counts so much more than the estimate of one whose decode
instances are laid out as none that was tried. Chosen: a layout that hardly keeps a limit takes several times what the
estimate says, while the next better takes little more than that; 1.3 is beyond what estimates are off elsewhere."""

NEVER_MORE = 1.25
"""What an instance carries for ever by simulation, over the same by the analytic load model: at most so much. Largest
found: 1.22 (docs/LOAD_MODEL.md); a test looks at pools."""


def refine_pools(
    question: Question, pools: PoolPairs, best: Deployments | None, seed: int, work: Work
) -> tuple[PoolPairs, SimulationCounts] | None:
    """The pools that come before ``best``, the deployment confirmed so far, and what was counted; None if none do.

    Only pairs that could come first are simulated, in the order of the screen, as far as the ``work`` reaches.
    """
    known = np.inf if best is None else float(best.counted()[0])
    first: tuple[PoolPairs, SimulationCounts] | None = None
    counted, tried, layouts = pools.counted(), 0, set[object]()
    for k in pools.near(CLOSE * known).tolist():
        best_so_far = known if first is None else float(first[0].counted()[0])
        row = pools.configurations(k)[1]
        layout = (row.gpu.id, row.engine.id, row.precision.id, row.tp, row.pp, row.ep, row.dp)
        if tried >= MOST_PAIRS and (tried >= MORE_PAIRS or not best_so_far > FAR_OFF * counted[k]):
            break
        if tried >= MOST_PAIRS and layout in layouts:
            continue
        tried += 1
        layouts.add(layout)
        pair = pools.pools.take(np.array([k]))
        wins, fewest = _wins(question, pair, known, None if first is None else first[0]), with_fewest(question, pair)
        if not wins(fewest.prefill_instances, fewest.decode_instances)[0]:
            continue
        try:
            one = simulated(question, pools, k, seed, wins, work)
        except OutOfWork:
            break
        if one is not None and (first is None or comes_before(one[0], first[0])):
            first = one
    return None if first is None or (best is not None and not comes_before(first[0], best)) else first


def _wins(question: Question, pair: Pools, known: float, first: PoolPairs | None) -> Wins:
    """Whether a pair with given instances would come before a deployment that counts ``known`` (infinite: there is
    none, or its price is unknown) and before the pools that come ``first`` so far.

    Of what counts the same, the other deployment comes first: of pools at the same price and of as many GPUs as these,
    too, which the screen has put in order already, so that ties are not simulated. By latency more instances may always
    win.
    """
    objective = question.scenario.deployment.objective
    before = np.full(3, np.inf) if first is None else _ranked_by(first)[:, 0]

    def wins(prefill: Counts, decode: Counts) -> Flags:
        if objective == "latency" or (np.isinf(known) and np.isinf(before[0])):
            return np.full(len(prefill), True)
        many = replace(
            pair.take(np.zeros(len(prefill), dtype=np.intp)), prefill_instances=prefill, decode_instances=decode
        )
        ranked = _ranked_by(disaggregated(question, many))
        return np.asarray(((ranked[0] < known) | np.isinf(known)) & _less(ranked, before))

    return wins


def _ranked_by(pools: PoolPairs) -> Floats:
    """What the objective counts, then the price, then the GPUs, (3, N); infinite where not known."""
    return np.array([pools.counted(), np.nan_to_num(pools.usd_per_hour, nan=np.inf), pools.gpus])


def _less(ranked: Floats, other: Floats) -> Flags:
    """Which columns (3, N) are less than ``other`` (3,) in the first of the rows in which they differ."""
    less, same = ranked < other[:, None], ranked == other[:, None]
    return np.asarray(less[0] | (same[0] & (less[1] | (same[1] & less[2]))))


def with_fewest(question: Question, pools: Pools) -> Pools:
    """The pairs with the instances that carry the peak at :data:`NEVER_MORE` times the analytic stability limit."""
    evaluated, most = pools.evaluated, NEVER_MORE * min(question.scenario.deployment.max_utilization, HEAVIEST)
    prefill = prefill_stable(question, evaluated, pools.prefill, times_of(question, evaluated, pools.prefill))
    decode = decoding_of(question, evaluated, pools.decode).rps[:, -1]
    peak = question.demand.sustained_rps
    return replace(
        pools,
        prefill_instances=np.minimum(pools.prefill_instances, instances_needed(peak, most * prefill)),
        decode_instances=np.minimum(pools.decode_instances, instances_needed(peak, most * decode)),
    )
