"""Points as columns, and the step times of all of them at once."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sizing.base.arrays import PER_ROW, Columns, Flags, Floats
from sizing.deployments.candidates import Candidates, table
from sizing.deployments.concurrency import evicted_share, evictions, held_bytes, sequences_at_once
from sizing.deployments.memory import memory_fit
from sizing.evidence.points import Point
from sizing.evidence.protocols import ProtocolLengths
from sizing.question.traffic import Traffic, TrafficColumns
from sizing.queueing.steady_state import concurrency_grid
from sizing.steps.efficiency import REFERENCE_YEAR, Efficiencies
from sizing.steps.hardware import Hardware, hardware
from sizing.steps.kernel_times import kernel_decode_s
from sizing.steps.mixture import Mixed, Mixture, mixed
from sizing.steps.rates import rates
from sizing.steps.roofline import Roofline
from sizing.steps.shape import Shape, shapes_of
from sizing.steps.times import StepTimes, StepTimeSource

BENCHMARK_MEMORY_SHARE = 0.95
"""Share of memory that published runs use ("KV mem 0.95 mostly", TensorRT-LLM performance overview 0.17). Shares of
0.88 to 0.92 are worse by 0.2 to 1 point on offline runs and by 2 to 11 on closed loops whose KV cache is full."""


@dataclass(frozen=True, kw_only=True)
class PointTable(Columns):
    """Points as columns (C, 1) beside their candidates. ``holds`` is how many sequences of full length one instance's
    memory holds, ``fits`` how many run at once there, and ``again`` the prompts that each request computes again,
    evicted, while more of them wait (:mod:`sizing.deployments.concurrency`).

    ``concurrency``, ``rate_rps`` and ``requests`` (NaN: without end) are per instance; ``instances``, those that have
    requests, scales rates back to the row. ``variation``: squared coefficient of variation of the output.
    """

    points: tuple[Point, ...] = field(metadata=PER_ROW)
    candidates: Candidates
    facts: Hardware
    shape: Shape
    prompt: Floats
    cached: Floats
    output: Floats
    variation: Floats
    equal: Flags
    software_year: Floats
    plans_ahead: Flags
    instances: Floats
    concurrency: Floats
    rate_rps: Floats
    requests: Floats
    holds: Floats
    fits: Floats
    again: Floats
    scheduled: Floats

    @property
    def lengths(self) -> ProtocolLengths:
        """The lengths that protocols need."""
        return ProtocolLengths(
            new=self.prompt - self.cached,
            output=self.output,
            budget=self.facts.budget,
            variation=self.variation,
            together=self.equal & self.facts.prompts_apart,
        )

    def again_at(self, running: Floats) -> Floats:
        """Prompts that each request computes again with so many sequences ``running`` at once, (C, 1)."""
        return np.asarray(self.again * evicted_share(running, self.fits))

    @property
    def context(self) -> Floats:
        """Mean tokens a decoding sequence attends to."""
        lengths = TrafficColumns(
            input_tokens=self.prompt,
            output_tokens=self.output,
            cached_tokens=self.cached,
            output_variation=self.variation,
        )
        return lengths.decode_context


def point_table(points: Sequence[Point]) -> PointTable:
    """The table that evaluates all points at once: a row for each, (C,)."""
    rows = [p.configuration for p in points]
    candidates = table(rows)

    def col(values: list[float]) -> Floats:
        return np.asarray(values, dtype=np.float64)[:, None]

    instances = col([p.busy for p in points])
    held = _held(points, candidates)
    return PointTable(
        points=tuple(points),
        candidates=candidates,
        facts=hardware(candidates),
        shape=shapes_of([p.model for p in points]),
        prompt=col([p.input_tokens for p in points]),
        cached=col([p.cached_tokens for p in points]),
        output=col([p.output_tokens for p in points]),
        variation=col([p.output_variation for p in points]),
        equal=np.array([[p.equal_answers] for p in points], dtype=bool),
        software_year=col([p.software_year for p in points]),
        plans_ahead=np.array([[_plans_ahead(p)] for p in points], dtype=bool),
        instances=instances,
        concurrency=np.maximum(col([p.concurrency for p in points]) / instances, 1.0),
        rate_rps=col([p.rate_rps for p in points]) / instances,
        requests=col([p.requests for p in points]) / instances,
        holds=held.holds,
        fits=held.fits,
        again=held.again,
        scheduled=col([float(r.engine.sequences(r.gpu) * r.dp) for r in rows]),
    )


class _Held(NamedTuple):
    """Columns (C, 1) of :class:`PointTable`."""

    holds: Floats
    fits: Floats
    again: Floats


def _held(points: Sequence[Point], candidates: Candidates) -> _Held:
    """Sequences that fit in memory, at least 1: what has been measured must have run.

    A benchmark uses more of the memory than an engine's defaults, which keep the margin that a plan needs.
    """
    held = _Held(*np.ones((3, len(points), 1)))
    for index in alike([(p.model.id, traffic_of(p)) for p in points]):
        some, first = candidates.take(index), points[index[0]]
        traffic = traffic_of(first)
        memory = memory_fit(first.model, some, traffic.resident_kv_tokens)
        seen = some.column(lambda r: r.gpu.program_bytes)
        taken = memory.weights + memory.activations + memory.overhead
        available, whole = np.maximum(BENCHMARK_MEMORY_SHARE * seen - taken, 0.0), memory.kv_per_sequence
        at_once = sequences_at_once(available, held_bytes(first.model, some, traffic, whole), whole)
        held.holds[index, 0] = np.maximum(np.floor(available / np.maximum(whole, 1.0)) * some.dp, 1.0)
        held.fits[index, 0] = np.maximum(at_once * some.dp, 1.0)
        held.again[index, 0] = evictions(some, traffic, at_once)
    return held


def alike(keys: Sequence[Hashable]) -> Iterator[NDArray[np.intp]]:
    """Indices of equal keys, group by group in order of first appearance."""
    groups: dict[Hashable, list[int]] = {}
    for index, key in enumerate(keys):
        groups.setdefault(key, []).append(index)
    for members in groups.values():
        yield np.array(members, dtype=np.intp)


def traffic_of(point: Point) -> Traffic:
    """The lengths of a point as other step sources and the load model take them."""
    return Traffic(
        input_tokens=point.input_tokens,
        output_tokens=point.output_tokens,
        cached_tokens=point.cached_tokens,
        output_variation=point.output_variation,
    )


@runtime_checkable
class PointSource(Protocol):
    """A source that knows the step times of whole tables of points."""

    def point_times(self, points: PointTable, concurrency: Floats) -> StepTimes:
        """Step times of every point at its concurrencies (C, K)."""
        ...


AnySource = StepTimeSource | PointSource
"""Anything that gives step times of a table of points."""


def step_times(points: PointTable, concurrency: Floats, source: AnySource) -> StepTimes:
    """Step times of every point at its concurrencies (C, K): the roofline in one go, other sources by group."""
    if isinstance(source, PointSource):
        return source.point_times(points, concurrency)
    if isinstance(source, Roofline):
        return roofline_times(points, concurrency, source)
    if isinstance(source, Mixture):
        return mixed_times(points, concurrency, source).times
    return times_by_group(points, concurrency, source)


def mixed_times(points: PointTable, concurrency: Floats, source: Mixture) -> Mixed:
    """Measured kernels, slowed to the software of each point as the roofline is, and the roofline, with the weight of
    the former; how far they are apart is told over all concurrencies, as of a plan."""
    over_load = np.concatenate([concurrency, asked_at(points)], axis=1)
    base, today = (times(points, over_load, source.base) for times in (roofline_times, todays_times))
    kernel_s = measured_decode_s(points, over_load) * (base.decode_s / today.decode_s)
    return mixed(base, kernel_s, source.trust, leading=concurrency.shape[1])


def measured_decode_s(points: PointTable, concurrency: Floats) -> Floats:
    """Decode steps of every point by today's measured kernels, (C, K); NaN rows where there are none."""
    decode = np.full_like(concurrency, np.nan)
    for index in alike([(p.model.id, traffic_of(p).decode_context) for p in points.points]):
        first, some = points.points[index[0]], points.candidates.take(index)
        context = traffic_of(first).decode_context
        decode[index] = kernel_decode_s(first.model, some, context, concurrency[index])
    return decode


def asked_at(points: PointTable) -> Floats:
    """Concurrencies (C, K) from one request to all that fit."""
    return concurrency_grid(np.minimum(points.fits, points.scheduled)[:, 0])


def todays_times(points: PointTable, concurrency: Floats, source: Roofline) -> StepTimes:
    """The roofline as if every point ran today's software."""
    today = replace(points, software_year=np.full_like(points.software_year, REFERENCE_YEAR))
    return roofline_times(today, concurrency, source)


def roofline_times(points: PointTable, concurrency: Floats, source: Roofline) -> StepTimes:
    """The roofline over rows that differ in everything."""
    speed = rates(points.candidates, points.facts, source.fit, points.software_year)
    new = points.lengths.new
    times = source.at_rates(points.shape, speed, new, points.cached, points.context, concurrency)
    return replace(times, first_token_steps=first_token_steps(points, source.fit)[:, 0])


def first_token_steps(points: PointTable, fit: Efficiencies) -> Floats:
    """Decode steps of others that the first token of every point takes, (C, 1)."""
    return np.where(points.plans_ahead, fit.common.first_token_steps, 0.0)


def _plans_ahead(point: Point) -> bool:
    return point.configuration.engine.plans_ahead_in(point.software_year, point.model.hf_architecture)


def times_by_group(points: PointTable, concurrency: Floats, source: StepTimeSource) -> StepTimes:
    """Any source: rows of the same model and lengths are one question."""
    keys = [(p.model.id, traffic_of(p)) for p in points.points]
    unknown = np.full(len(points), np.nan)
    times = StepTimes(
        decode_s=np.full_like(concurrency, np.nan), prefill_s=unknown, prefill_work_s=unknown, source=source.name
    )
    for index in alike(keys):
        first = points.points[index[0]]
        group = source.times(first.model, points.candidates.take(index), traffic_of(first), concurrency[index])
        times = replace(times.replaced(index, group), source=group.source)
    return times
