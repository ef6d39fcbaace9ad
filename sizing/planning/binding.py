"""What binds: at the planned load, and what an instance reaches first when the load grows."""

from dataclasses import dataclass, replace
from enum import Enum, auto

import numpy as np

from sizing.base.arrays import Floats, Rows
from sizing.question.understand import Question
from sizing.queueing.capacity import Bound
from sizing.search.screen import Evaluated

STILL_GROWING = 1.10
"""Rate gained by the last doubling of concurrency, above which memory and not speed is the limit."""

PREFILL_BOUND = 0.5
"""Share of an instance's time spent on prompts, above which they and not decoding set its rate: the larger part."""


class Binds(Enum):
    """What sets how much hardware is needed."""

    SMALLEST_UNIT = auto()
    SMALLEST_ALLOWED = auto()
    SHORTEST_LATENCY = auto()
    TTFT = auto()
    ITL = auto()
    E2E = auto()
    UTILIZATION = auto()
    CAPPED_ITL = auto()
    BATCH_LIMIT = auto()
    SEQUENCES = auto()
    KV_MEMORY = auto()
    PREFILL_RATE = auto()
    DECODE_BANDWIDTH = auto()
    NETWORK = auto()


OF_BOUND = {Bound.TTFT: Binds.TTFT, Bound.ITL: Binds.ITL, Bound.E2E: Binds.E2E, Bound.UTILIZATION: Binds.UTILIZATION}
"""The bounds of the load model that need no second look."""

LATENCY_OR_SPEED = (Bound.TTFT, Bound.ITL, Bound.SATURATION)
"""Bounds that a batch limit stands for where it was chosen to hold the ITL limit."""


@dataclass(frozen=True)
class Binding:
    """What binds; ``batch_limit`` where it is one, or holds the ITL limit; ``of_fewer_gpus``: not the planned instance,
    but the next smaller one, which is therefore not enough."""

    kind: Binds
    batch_limit: int | None = None
    of_fewer_gpus: bool = False


def reached_first(question: Question, evaluated: Evaluated, index: int) -> Binding:
    """What sets the capacity of one instance of candidate ``index``: what a growing load reaches first."""
    bound = Bound(int(evaluated.capacity.bound[index]))
    limit = evaluated.candidates.rows[index].batch_limit
    if limit is not None and limit <= evaluated.memory.max_concurrency[index]:
        named = question.scenario.deployment.batch_limits
        if (not named or limit < max(named)) and bound in LATENCY_OR_SPEED:
            return Binding(Binds.CAPPED_ITL, limit)
        if bound is Bound.SATURATION:
            return Binding(Binds.BATCH_LIMIT, limit)
    if bound in OF_BOUND:
        return Binding(OF_BOUND[bound])
    of_prompts = evaluated.state.prefill_load[index, -1] > PREFILL_BOUND
    return Binding(saturated(evaluated, index, evaluated.state.rps[index], of_prompts=of_prompts))


def saturated(evaluated: Evaluated, index: int, rps: Floats, *, of_prompts: bool) -> Binds:
    """What keeps an instance without a binding limit from more than the last of ``rps`` (K,), its rates over the
    concurrency; ``of_prompts``: whether they take the larger part of its time."""
    grid = evaluated.state.concurrency[index]
    half = int((grid <= grid[-1] / 2).sum()) - 1
    if rps[-1] > STILL_GROWING * rps[half]:
        row = evaluated.candidates.rows[index]
        by_engine = evaluated.memory.max_concurrency[index] >= row.engine.sequences(row.gpu) * row.dp
        return Binds.SEQUENCES if by_engine else Binds.KV_MEMORY
    return Binds.PREFILL_RATE if of_prompts else Binds.DECODE_BANDWIDTH


def at_the_load(question: Question, evaluated: Evaluated, index: int, working: int) -> Binding:
    """What keeps the plan from being smaller at this load, with ``working`` instances of candidate ``index``.

    With several instances one fewer would not do: what they reach first binds. A single one cannot be fewer: what
    keeps it from being a smaller one binds, or nothing but the size of the model.
    """
    if working > 1:
        return reached_first(question, evaluated, index)
    smaller = smaller_units(evaluated, index)
    if not len(smaller):
        return Binding(smallest(question))
    rates = evaluated.capacity.rps[smaller]
    closest = int(smaller[int(np.argmax(rates))])
    if evaluated.capacity.rps[closest] < question.demand.sustained_rps:
        return replace(reached_first(question, evaluated, closest), of_fewer_gpus=True)
    if question.scenario.deployment.objective == "latency":
        return Binding(Binds.SHORTEST_LATENCY)
    return reached_first(question, evaluated, index)


def smaller_units(evaluated: Evaluated, index: int) -> Rows:
    """Candidates of the same GPU, engine and formats that hold the model on fewer GPUs."""
    candidates = evaluated.candidates
    alike = candidates.unit == candidates.unit[index]
    return np.flatnonzero(alike & (candidates.gpus < candidates.gpus[index]))


def smallest(question: Question) -> Binds:
    """Whether the smallest unit is that of the model, or that of the sizes which the scenario allows."""
    allowed = question.allowed
    return Binds.SMALLEST_ALLOWED if allowed.tp or allowed.pp or allowed.ep else Binds.SMALLEST_UNIT
