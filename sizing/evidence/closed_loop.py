"""A closed loop: so many requests in flight, each replaced when it ends. Answered by the engine of plans.

A run is short: users begin together on an empty engine, and the last of them finish alone. So the run itself is
simulated, with as many requests as are stated, or :data:`ROUNDS` for each user, and means are of all of them.
"""

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sizing.base.arrays import ROUNDING, Floats
from sizing.base.units import ONE_SIDED_95
from sizing.evidence.open_loop import SimulatedInstance, systems, whole_sequence
from sizing.evidence.point_table import AnySource, PointTable
from sizing.evidence.points import Point
from sizing.evidence.protocols import FEWEST_GAPS, Expected, without_percentiles
from sizing.question.length_distributions import LognormalLength
from sizing.simulator.closed_loop import closed_loop
from sizing.simulator.fleet import Replica

ROUNDS = 10
"""Requests that each user sends where a run does not say how many it has. Chosen: because InferenceMAX sends so many,
and more would make little of the start, fewer much of it."""

MOST_REQUESTS = 200_000
"""Requests of a run at most. Chosen: because so many take a second."""

LONGER_RUN = 1.5
"""Factor by which a run of a stated duration is made longer until it is long enough."""

DRAWN = 0.2
"""Share of the mean by which lengths differ at most where their mean is no whole number and nothing else is known: load
generators draw them evenly from such a range (``vllm bench serve --random-range-ratio``, InferenceMAX: 0.2)."""

ENDING = 0.1
"""The same where it is a whole number and prompts share steps with decoding sequences. Exactly equal answers would stay
in step for ever there: those whose prompts shared a step end in the same step and start the next round together. They
do not: TTFT of 222 published runs with equal lengths has no such cohorts (vLLM; TensorRT-LLM has half). An assumption
about what disturbs them; from 0.02 to 0.1 it moves ITL by 1 % and TTFT by a sixth."""

SEED = 0
"""Seed of the drawn lengths: the same run gives the same answer."""

Records = NDArray[Any]


class Means(NamedTuple):
    """Mean times of a run in seconds, the median TTFT, and requests/s; NaN where none ended."""

    ttft_s: float
    ttft_p50_s: float
    itl_s: float
    e2e_s: float
    rps: float


def closed_loops(points: PointTable, source: AnySource) -> Expected:
    """Mean times of every point and its rate per instance, columns (C, 1)."""
    ttft, _, itl, e2e, rps = np.array(runs(points, source)).T[:, :, None]
    return without_percentiles(ttft, itl, e2e, rps)


def runs(points: PointTable, source: AnySource) -> list[Means]:
    """One run of every point on one instance."""
    known: dict[tuple[int, float, float, float], Means] = {}
    rows = []
    for i, (point, system) in enumerate(zip(points.points, systems(points, source), strict=True)):
        users, requests = float(points.concurrency[i, 0]), float(points.requests[i, 0])
        key = (id(system), users, requests, point.duration_s)
        if key not in known:
            known[key] = _means(_run(point, system, users, requests, float(points.holds[i, 0])), point)
        rows.append(known[key])
    return rows


def _run(point: Point, system: SimulatedInstance, users: float, requests: float, holds: float) -> Records:
    """The requests of one run on one instance."""
    active = max(round(users), 1)
    replica = roomy(system.replica, point, holds)
    number = requests if math.isfinite(requests) else float(ROUNDS * active)
    while True:
        count = int(min(max(math.ceil(number), 1), MOST_REQUESTS))
        records = closed_loop(replica, lengths(point, replica, count), active)
        if not math.isfinite(point.duration_s):
            return records
        within = records[records["arrived"] < point.duration_s]
        if len(within) < len(records) or count == MOST_REQUESTS:
            return within
        number = count * max(LONGER_RUN, point.duration_s / max(float(records["finished"].max()), ROUNDING))


def roomy(replica: Replica, point: Point, holds: float) -> Replica:
    """The replica with the memory that benchmarks use, which is more than what is left to a plan."""
    return replace(replica, kv_tokens=max(replica.kv_tokens, holds * whole_sequence(point, replica)))


def lengths(point: Point, replica: Replica, count: int) -> Floats:
    """Prompt, output, cached tokens and group of so many requests, (4, N): see :data:`DRAWN` and :data:`ENDING`."""
    rng = np.random.default_rng(SEED)
    prompt, output = point.input_tokens, point.output_tokens
    prompts, outputs = np.full(count, prompt), np.full(count, output)
    if point.equal_answers:
        if not replica.prompts_apart:
            outputs = spread(output, ENDING, count, rng)
    elif point.stated_variation:
        outputs = lognormal(output, point.stated_variation).sample(rng, count)
    else:
        outputs = spread(output, DRAWN, count, rng)
    if not prompt.is_integer():
        prompts = spread(prompt, DRAWN, count, rng)
    cached = np.minimum(np.full(count, point.cached_tokens), np.maximum(prompts - 1.0, 0.0))
    return np.stack([np.maximum(prompts, 1.0), np.maximum(outputs, 1.0), cached, np.full(count, -1.0)])


def spread(mean: float, share: float, count: int, rng: np.random.Generator) -> Floats:
    """Whole lengths (N,) evenly from ``mean`` x (1 - share) to ``mean`` x (1 + share), shuffled: their mean is that of
    rounding alone."""
    places = (2.0 * np.arange(count) + 1.0) / count - 1.0
    return np.round(mean * (1.0 + share * rng.permutation(places)))


def lognormal(mean: float, variation: float) -> LognormalLength:
    """A lognormal length of that mean and squared coefficient of variation: sigma^2 = ln(1 + cv^2)."""
    sigma = math.sqrt(math.log1p(variation))
    median = mean / math.sqrt(1.0 + variation)
    return LognormalLength(p50=median, p95=median * math.exp(ONE_SIDED_95 * sigma))


def _means(records: Records, point: Point) -> Means:
    """What is published of a run: means over its requests, and its rate from the first request to the last token."""
    if not len(records):
        return Means(*[math.nan] * len(Means._fields))
    first, lasted = records["first"] - records["arrived"], records["finished"].max() - records["arrived"].min()
    gaps = np.maximum(records["output"] - 1.0, FEWEST_GAPS)
    itl = (records["finished"] - records["first"]) / gaps if point.output_tokens > 1.0 else np.zeros(len(records))
    return Means(
        ttft_s=float(np.mean(first)),
        ttft_p50_s=float(np.median(first)),
        itl_s=float(np.mean(itl)),
        e2e_s=float(np.mean(records["finished"] - records["arrived"])),
        rps=float(records["output"].sum() / point.output_tokens / lasted),
    )
