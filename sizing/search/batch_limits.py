"""Caps on the sequences of one instance: fewer in flight hold the inter-token limit at a higher load.

Without a cap the number in flight swings around its mean, and an ITL or E2E limit at a percentile has to hold for the
swings too. A cap cuts them off and lets requests wait for a slot instead, which costs TTFT. So caps are tried where ITL
or E2E binds, and kept where they save an instance. Orca (Yu et al., OSDI 2022) has the cap as its maximum batch size.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sizing.base.arrays import ROUNDING, Floats, Rows
from sizing.base.compiled_rows import non_decreasing, position
from sizing.question.understand import Question
from sizing.queueing.capacity import Bound, rate_at_limit
from sizing.queueing.steady_state import NEARLY_FULL, concurrency_grid
from sizing.search.screen import Evaluated, fewest_on_gpu, instances_needed, under_load

TRIED = (1.0, 1.1, 1.2, 1.4)
"""Caps tried, as multiples of the concurrency at which the mean gap reaches its limit."""

BEST_OF_UNIT = 12
"""Configurations of each GPU, engine and number format that are tried: those that could need the fewest GPUs."""


def with_batch_limits(question: Question, evaluated: Evaluated) -> Evaluated:
    """The candidates, those with a cap where one saves an instance, or as far as the scenario names the caps."""
    if not len(evaluated) or (question.scenario.workload.mode == "offline" and not _caps_of_scenario(question)):
        return evaluated
    if _caps_of_scenario(question):
        return _with_named(question, evaluated)
    rows, caps = proposals(question, evaluated)
    if not len(rows):
        return evaluated
    peak = question.demand.sustained_rps
    tried = _under_caps(question, evaluated, rows, caps)
    best = _best_of_row(rows, tried.capacity.rps)
    before, after = (instances_needed(peak, r) for r in (evaluated.capacity.rps[rows[best]], tried.capacity.rps[best]))
    best = best[after < before]
    return evaluated.replaced(rows[best], _named(tried.take(best), caps[best]))


def proposals(question: Question, evaluated: Evaluated) -> tuple[Rows, Floats]:
    """Rows and caps (N,) worth a try: where ITL or E2E binds, and a cap could make it the smallest on its GPU type.

    The best a cap can do is the rate at which the mean gap, not its percentile, reaches the limit.
    """
    limits, state = question.limits, evaluated.state
    gaps = max(question.traffic.output_tokens - 1.0, 1.0)
    limit = min(limits.itl_s, limits.e2e_s / gaps)
    able = np.flatnonzero(np.isin(evaluated.capacity.bound, (Bound.ITL, Bound.E2E)) & (evaluated.capacity.excess < 1.0))
    if not len(able) or np.isinf(limit):
        return np.empty(0, dtype=np.intp), np.empty(0)
    gap = non_decreasing(state.itl_mean_s[able])
    most = np.minimum(rate_at_limit(non_decreasing(state.rps[able]), gap, limit), evaluated.capacity.stable_rps[able])
    slots = np.minimum(rate_at_limit(state.concurrency[able], gap, limit), evaluated.memory.max_concurrency[able])
    peak = question.demand.sustained_rps
    least = instances_needed(peak, most)
    gpus = least * evaluated.candidates.gpus[able]
    gain = np.flatnonzero(
        (least < instances_needed(peak, evaluated.capacity.rps[able])) & (gpus < fewest_on_gpu(peak, evaluated)[able])
    )
    gpus = gpus[gain]
    first = first_of_each(evaluated.candidates.unit[able][gain], gpus, BEST_OF_UNIT)
    chosen = gain[first]
    ranks = evaluated.candidates.dp[able][chosen][:, None]
    wanted = np.multiply.outer(slots[chosen], TRIED) / ranks  # engines are told the limit of one attention-DP rank
    whole = np.concatenate([np.floor(wanted[:, :1]), np.round(wanted[:, 1:])], axis=1)  # the first keeps the mean gap
    caps = np.maximum(whole, 1.0) * ranks
    row = np.repeat(able[chosen], len(TRIED)).astype(np.intp)
    distinct = np.diff(caps, axis=1, prepend=0.0) > 0  # caps of few sequences round to the same
    useful = distinct.ravel() & (caps.ravel() < evaluated.memory.max_concurrency[row])
    return row[useful], caps.ravel()[useful]


def first_of_each(group: NDArray[np.int64], value: Floats | NDArray[np.int64], count: int) -> Rows:
    """Positions of the ``count`` smallest values of each group."""
    by_value = np.lexsort((value, group))
    ordered = group[by_value]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    place = np.arange(len(ordered)) - np.repeat(starts, np.diff(starts, append=len(ordered)))
    return by_value[place < count]


def limited(question: Question, evaluated: Evaluated, rows: Rows, caps: Floats) -> Evaluated:
    """The candidates at ``rows``, each with its cap (N,); step times between known concurrencies are interpolated."""
    return _named(_under_caps(question, evaluated, rows, caps), caps)


def _named(evaluated: Evaluated, caps: Floats) -> Evaluated:
    """The evaluated candidates as configurations that say their cap (N,)."""
    rows = evaluated.candidates.rows
    named = tuple(replace(row, batch_limit=int(cap)) for row, cap in zip(rows, caps.tolist(), strict=True))
    return replace(evaluated, candidates=replace(evaluated.candidates, rows=named))


def _under_caps(question: Question, evaluated: Evaluated, rows: Rows, caps: Floats) -> Evaluated:
    """As :func:`limited`; the configurations do not say their cap yet, because most are dropped again."""
    memory = evaluated.memory.take(rows)
    slots = np.minimum(memory.max_concurrency, caps)
    times, known = evaluated.times.take(rows), evaluated.state.concurrency[rows]
    grid = concurrency_grid(slots, known.shape[1] + 1 - len(NEARLY_FULL))
    candidates = evaluated.candidates.take(rows)
    return under_load(
        question,
        candidates,
        replace(memory, max_concurrency=slots),
        times.on_grid(position(known, grid, beyond=True).of),
        tuple(evaluated.sources[i] for i in rows),
        grid,
        evaluated.slowness.take(rows),
    )


def _caps_of_scenario(question: Question) -> tuple[int, ...]:
    return tuple(sorted(set(question.scenario.deployment.batch_limits)))


def _with_named(question: Question, evaluated: Evaluated) -> Evaluated:
    """Each candidate with the best of the caps that the scenario names; of equals the largest."""
    every = np.arange(len(evaluated), dtype=np.intp)
    caps, best = np.zeros(len(every)), None
    for cap in reversed(_caps_of_scenario(question)):
        tried = _under_caps(question, evaluated, every, np.full(len(every), float(cap)))
        better = np.flatnonzero(tried.capacity.rps > best.capacity.rps * (1.0 + ROUNDING)) if best else every
        best = best.replaced(better, tried.take(better)) if best else tried
        caps[better] = cap
    assert best is not None
    return _named(best, caps)


def _best_of_row(rows: Rows, rps: Floats) -> Rows:
    """Positions of the largest rate of each row."""
    return first_of_each(rows.astype(np.int64), -rps, 1)
