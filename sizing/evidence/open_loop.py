"""An open loop: requests arrive at a rate, whatever happens. Answered by the event simulation that a plan rests on.

One instance under its share of Poisson arrivals, with the replica, the step times, the seed and the number of requests
of a plan, so that a benchmark at the rate of a plan has the plan's percentiles. Which loads are measured or published,
and why, has no part in it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from sizing.base.arrays import Floats
from sizing.evidence.point_table import AnySource, PointTable, asked_at, roofline_times, step_times, traffic_of
from sizing.evidence.points import Point
from sizing.evidence.protocols import Expected
from sizing.question.length_distributions import FixedLength
from sizing.question.traffic import Variability
from sizing.simulator.arrivals import Arrivals
from sizing.simulator.configured import configured_replica
from sizing.simulator.drive import drive
from sizing.simulator.fleet import Fleet, Replica
from sizing.simulator.layout import E2E, ITL, TIME_ROW, TTFT
from sizing.simulator.outcome import SimulationCounts
from sizing.simulator.pool import MeasuredSpan
from sizing.simulator.quantiles import quantile, sampled_mean
from sizing.simulator.request_lengths import DrawnLengths
from sizing.simulator.run_length import HEAVIEST, REPORTED_REQUESTS, SPARE_SHARE, forgotten, run, settling
from sizing.simulator.stability import stable_rps_of
from sizing.steps.efficiency import efficiencies
from sizing.steps.roofline import Roofline, roofline
from sizing.steps.times import StepTimes

EQUAL_LENGTHS = Variability(arrivals=1.0, prompt=0.0, output=0.0)
"""Poisson arrivals of requests of equal lengths, as in a scenario that names none but the mean and in the other modes:
a table of benchmarks states means only."""

SAME_RATE = 1.1
"""A rate up to this factor above the largest stable one cannot be told from it: two runs of one benchmark differ by as
much, and so does the capacity of an engine that is planned well. It is answered at the heaviest load that is simulated.
Beyond, it is as far as an engine as fast as its interval allows would carry it (:func:`carried`); else a queue grows as
long as the run lasts, and there are no latencies, but of a run that ends."""

SAME_SYSTEM = ("configuration", "input_tokens", "output_tokens", "cached_tokens", "software_year")
"""What points of one model have in common that differ in nothing but their load."""

MOST_REQUESTS = 400_000
"""Requests simulated at most for an engine to settle. Chosen: because instances of many attention-DP ranks have ten
thousand and more in flight, and so many requests still take less than a second."""

SEED = 0
"""Seed of the requests, that of a plan."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SimulatedInstance:
    """One instance of a point as the simulation sees it."""

    replica: Replica
    lengths: DrawnLengths

    @cached_property
    def stable_rps(self) -> float:
        """Requests/s beyond which its queue grows for ever."""
        return stable_rps_of(self.replica, self.lengths, SEED)

    def run(self, rate_rps: float, requests: int) -> SimulationCounts:
        """What is counted at a rate over so many requests."""
        return run(Fleet(replicas=(self.replica,)), Arrivals(rate_rps=rate_rps), self.lengths, requests, SEED)

    def settled(self, rate_rps: float) -> SimulationCounts:
        """What is counted at a stable rate over as many requests as a plan reports, or as it takes to settle."""
        least = math.ceil(REPORTED_REQUESTS * (1.0 + SPARE_SHARE))
        requests = max(least, forgotten(rate_rps / self.stable_rps))
        while True:
            outcome = self.run(rate_rps, requests)
            needed = settling(rate_rps * sampled_mean(outcome, E2E).value, MOST_REQUESTS)
            if needed <= requests:
                return outcome
            requests = needed

    def unstable(self, rate_rps: float) -> bool:
        """Whether a rate is surely more than is carried for ever."""
        return rate_rps > SAME_RATE * self.stable_rps

    def at(self, rate_rps: float) -> dict[str, float]:
        """Fields of :class:`Expected` at a rate: median TTFT, mean ITL and E2E, 99th percentiles.

        What is served is the rate, at most the largest stable one, and that where no rate is asked (NaN). Latencies are
        those of a load up to :data:`HEAVIEST` of it, as in a plan; NaN beyond :data:`SAME_RATE` of it.
        """
        if rate_rps != rate_rps or self.unstable(rate_rps):
            served = min(rate_rps, self.stable_rps) if rate_rps == rate_rps else self.stable_rps
            return {f.name: math.nan for f in fields(Expected)} | {"rps": served}
        return self.carrying(rate_rps)

    def carrying(self, rate_rps: float) -> dict[str, float]:
        """As :meth:`at`, at the heaviest load that is simulated where the rate is more, however much."""
        outcome = self.settled(min(rate_rps, HEAVIEST * self.stable_rps))
        return _latencies(outcome) | {"rps": min(rate_rps, self.stable_rps)}

    def answer(self, rate_rps: float, requests: float) -> dict[str, float]:
        """:meth:`ending` where a run has an end, else :meth:`at` (requests: NaN)."""
        return self.ending(rate_rps, requests) if math.isfinite(requests) else self.at(rate_rps)

    def ending(self, rate_rps: float, requests: float) -> dict[str, float]:
        """As :meth:`at`, of a run of so many requests that begins on an empty engine and ends with the last of them."""
        number = int(min(max(round(requests), 1), MOST_REQUESTS))
        chunk = next(iter(Arrivals(rate_rps=rate_rps).stream(self.lengths, math.inf, SEED, chunk=number)))
        measured = MeasuredSpan(expected=number, horizon_s=float(chunk[TIME_ROW, -1]), keep_records=True)
        outcome = drive(Fleet(replicas=(self.replica,)), [chunk], measured)
        return _latencies(outcome) | {"rps": len(outcome.records) / float(outcome.records["finished"].max())}

    def stretched(self, decode: float, prefill: float, front: float = 1.0) -> SimulatedInstance:
        """With decode steps, the work on prompts and the front end so many times as long."""
        grid, taken = self.replica.grid.stretched(decode, prefill), self.replica.request_s * front
        return SimulatedInstance(replica=replace(self.replica, grid=grid, request_s=taken), lengths=self.lengths)


def _latencies(outcome: SimulationCounts) -> dict[str, float]:
    """Median TTFT, mean ITL and E2E, 99th percentiles of the counted requests."""
    return {
        "ttft_s": counted(outcome, TTFT, 0.50),
        "itl_s": sampled_mean(outcome, ITL).value,
        "e2e_s": sampled_mean(outcome, E2E).value,
        "ttft_p99_s": counted(outcome, TTFT, 0.99),
        "itl_p99_s": counted(outcome, ITL, 0.99),
    }


def counted(outcome: SimulationCounts, metric: int, share: float) -> float:
    """Latency in seconds up to which a share of the counted requests lies."""
    return quantile(outcome.histogram[metric].every_bin(), share)


def fixed_rate(points: PointTable, source: AnySource) -> Expected:
    """Every point at its rate per instance, columns (C, 1); a run that ends, as it is."""
    each = zip(systems(points, source), points.rate_rps[:, 0], run_requests(points), strict=True)
    return columns([one.answer(float(rate), float(number)) for one, rate, number in each])


def run_requests(points: PointTable) -> Floats:
    """Requests of the run of every point on one instance, (C,): as stated, or as many as come in the time that it
    lasts; NaN where it has no end."""
    lasting = points.rate_rps[:, 0] * np.array([p.duration_s for p in points.points])
    return np.where(np.isfinite(points.requests[:, 0]), points.requests[:, 0], lasting)


def carried(points: PointTable, source: AnySource) -> Expected:
    """As :func:`fixed_rate`, whatever the rate: at the heaviest load that is simulated where it is more."""
    rates = points.rate_rps[:, 0]
    return columns([one.carrying(float(rate)) for one, rate in zip(systems(points, source), rates, strict=True)])


def stretched_rate(
    points: PointTable, source: AnySource, decode: Floats, prefill: Floats, front: float = 1.0
) -> Expected:
    """As :func:`fixed_rate` with step times so many times as long, (C,): what a load means for an engine that is as
    fast or as slow as it may be; its front end ``front`` times. A load that it does not carry is answered at the
    heaviest that it does."""
    at: dict[tuple[int, float, float], SimulatedInstance] = {}
    known: dict[tuple[int, float, float | None], dict[str, float]] = {}
    rows, numbers = [], run_requests(points)
    for one, rate, number, d, p in zip(
        systems(points, source), points.rate_rps[:, 0], numbers, decode, prefill, strict=True
    ):
        key = (id(one), float(d), float(p))
        slow, ends = at.setdefault(key, one.stretched(float(d), float(p), front)), math.isfinite(number)
        load = float(rate) if ends else min(float(rate), HEAVIEST * slow.stable_rps)  # the same of all rates beyond
        run = id(slow), load, number if ends else None
        if run not in known:
            known[run] = slow.ending(load, number) if ends else slow.carrying(load)
        rows.append(known[run])
    return columns(rows)


def stable_stretched(points: PointTable, source: AnySource, decode: Floats, prefill: Floats) -> Floats:
    """Largest stable rate of every point with step times so many times as long, over that without, (C,)."""
    each = zip(systems(points, source), decode, prefill, strict=True)
    return np.array([one.stretched(float(d), float(p)).stable_rps / one.stable_rps for one, d, p in each])


def columns(rows: Sequence[Mapping[str, float]]) -> Expected:
    """Fields of :class:`Expected` row by row as columns (C, 1)."""
    return Expected(**{f.name: np.array([[row[f.name]] for row in rows]) for f in fields(Expected)})


def largest_stable_rps(points: PointTable, source: AnySource) -> Floats:
    """Requests/s of one instance of every point beyond which its queue grows for ever, (C,)."""
    return np.array([one.stable_rps for one in systems(points, source)])


def systems(points: PointTable, source: AnySource) -> list[SimulatedInstance]:
    """Every point as the simulation sees it; points that differ in nothing but their rate share one."""
    fit = getattr(source, "fit", None) or efficiencies()
    grid = asked_at(points)
    times = reference = None
    if not isinstance(source, Roofline):
        times, reference = step_times(points, grid, source), roofline_times(points, grid, Roofline(fit))
    known: dict[tuple[object, ...], SimulatedInstance] = {}
    of_points = []
    for i, point in enumerate(points.points):
        key = (point.model.id, *(getattr(point, name) for name in SAME_SYSTEM))
        if key not in known:
            one = system_of(point, float(points.holds[i, 0]), Roofline(fit, point.software_year))
            if times is not None and reference is not None:
                rows = np.array([i])
                one = fitted_to(one, times.take(rows), reference.take(rows), grid[i])
            known[key] = one
        of_points.append(known[key])
    return of_points


def system_of(point: Point, holds: float, source: Roofline) -> SimulatedInstance:
    """A point with step times of the roofline: the replica of a plan.

    What was measured has run: where a plan's memory does not hold one sequence, ``holds`` is how many a tuned run has
    room for.
    """
    committed = source == roofline()
    traffic = replace(traffic_of(point), output_variation=0.0)  # the lengths of all requests are the same here
    replica = configured_replica(point.model, point.configuration, traffic, source=None if committed else source)
    whole = whole_sequence(point, replica)
    if replica.kv_tokens < whole:
        replica = replace(replica, kv_tokens=holds * whole)
    return SimulatedInstance(replica=replica, lengths=lengths_of(point))


def whole_sequence(point: Point, replica: Replica) -> float:
    """Tokens of KV cache that one request holds at its end: blocks are filled up, and the step that ends it emits one
    token more."""
    return point.input_tokens + point.output_tokens + 2.0 * replica.block_tokens + replica.sequence_tokens


def lengths_of(point: Point) -> DrawnLengths:
    """The lengths of a point, the same for every request."""
    prompt, output = (FixedLength(tokens=tokens) for tokens in (point.input_tokens, point.output_tokens))
    return DrawnLengths(prompt=prompt, output=output, cached_tokens=point.cached_tokens)


def fitted_to(
    system: SimulatedInstance, times: StepTimes, reference: StepTimes, concurrency: Floats
) -> SimulatedInstance:
    """A system with the level of other step times, ``times`` over ``reference``, both of its one row (1, K)."""
    same = np.array_equal(times.decode_s, reference.decode_s)
    if same and np.array_equal(times.prefill_work_s, reference.prefill_work_s):
        return system
    grid = system.replica.grid.fitted_to(times, reference, concurrency)
    return SimulatedInstance(replica=replace(system.replica, grid=grid), lengths=system.lengths)
