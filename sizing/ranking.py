"""Which deployment first: by cost, GPUs, latency or energy; and the frontier from few GPUs to low latency."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sizing.question import Question
from sizing.scenario.schema import Objective
from sizing.screen import Evaluated, Sized, size

MORE_INSTANCES = (1.0, 1.25, 1.5, 2.0, 3.0)  # how far beyond the smallest deployment the frontier looks


def order(sized: Sized, evaluated: Evaluated, objective: Objective) -> NDArray[np.intp]:
    """Rows of ``sized``, best first. Unknown prices and powers come last; ties go to fewer GPUs, then to an engine
    with measurements of its own, then to the wider weight format, then to the shorter E2E latency."""
    cost = np.nan_to_num(sized.usd_per_hour, nan=np.inf)
    power = np.nan_to_num(sized.power_kw, nan=np.inf)
    bytes_per = evaluated.candidates.column(lambda r: r.precision.bytes)[sized.index]
    ways = evaluated.candidates.pp[sized.index] * evaluated.candidates.dp[sized.index]
    borrowed = evaluated.candidates.column(lambda r: r.engine.runs_as != r.engine.id)[sized.index]
    ties = (ways, sized.e2e_s, -bytes_per, borrowed)
    keys = {
        "cost": (*ties, sized.gpus, cost),
        "gpus": (*ties, cost, sized.gpus),
        "latency": (*ties[:1], -bytes_per, sized.gpus, cost, sized.e2e_s),
        "energy": (*ties, sized.gpus, cost, power),
    }[objective]
    return np.lexsort(keys)


def shortlist(sized: Sized, evaluated: Evaluated, ranked: NDArray[np.intp], count: int) -> list[int]:
    """The winner, the best of every other GPU, then the other engines, formats and parallelism on the winner's GPU.

    Returns rows of ``sized``, at most ``count`` beyond the winner; each of the two groups in ranked order.
    """
    if not len(ranked):
        return []
    candidates = evaluated.candidates
    gpu_of: dict[str, int] = {}
    gpu = candidates.column(lambda r: gpu_of.setdefault(r.gpu.id, len(gpu_of)))[sized.index[ranked]]
    best_of_gpu = sorted(int(k) for k in np.unique(gpu, return_index=True)[1])
    seen: set[object] = set()
    variants = []
    for k in np.flatnonzero(gpu == gpu[0]):
        row = candidates.rows[sized.index[ranked[k]]]
        traits = {row.engine.runs_as, row.precision.id, (row.tp, row.pp, row.dp)}
        if traits - seen and k:
            variants.append(int(k))
        seen |= traits
    return [int(ranked[k]) for k in [*best_of_gpu, *variants][: count + 1]]


def frontier(question: Question, evaluated: Evaluated, sized: Sized, winner: int) -> Sized:
    """Deployments on the winner's GPU, engine and formats that no other beats on both systems bought and E2E latency.

    Ordered from the fewest GPUs to the shortest latency.
    """
    unit = evaluated.candidates.unit[sized.index]
    alike = np.flatnonzero(unit == unit[winner])
    spare = question.scenario.deployment.spare_instances
    smallest = sized.instances[alike] - spare
    counts = np.concatenate([np.ceil(smallest * f) for f in MORE_INSTANCES]).astype(np.int64)
    index = np.tile(sized.index[alike], len(MORE_INSTANCES))
    more = size(question, evaluated, index, counts)
    return take(more, _undominated(more))


def _undominated(sized: Sized) -> NDArray[np.intp]:
    """Rows no other row beats on GPUs and E2E latency, by growing GPUs."""
    by_gpus = np.lexsort((sized.e2e_s, sized.gpus))
    best = np.inf
    kept = []
    for k in by_gpus:
        if sized.e2e_s[k] < best * 0.98:  # a gain below 2 % is not worth a point on the slider
            kept.append(k)
            best = sized.e2e_s[k]
    return np.array(kept, dtype=np.intp)


def take(sized: Sized, rows: NDArray[np.intp]) -> Sized:
    """The rows of a Sized."""
    position = type(sized.position)(sized.position.index[rows], sized.position.share[rows])
    plain = {k: v[rows] for k, v in vars(sized).items() if isinstance(v, np.ndarray)}
    return Sized(**plain, position=position, options=tuple(sized.options[r] for r in rows))
