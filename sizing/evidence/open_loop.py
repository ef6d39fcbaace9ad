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
from sizing.base.constants import constant
from sizing.evidence.point_table import AnySource, PointTable, asked_at, roofline_times, step_times, traffic_of
from sizing.evidence.points import Point
from sizing.evidence.protocols import Expected
from sizing.question.length_distributions import FixedLength
from sizing.question.traffic import Variability
from sizing.simulator.arrivals import Arrivals
from sizing.simulator.configured import configured_replica
from sizing.simulator.fleet import Fleet, Replica
from sizing.simulator.layout import E2E, ITL, TTFT
from sizing.simulator.outcome import Outcome
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

SAME_RATE = 1.0 + constant("measurement_repeatability")
"""A rate up to this factor above the largest stable one cannot be told from it: two runs of one benchmark differ by as
much. It is answered at the heaviest load that is simulated; beyond, a queue grows as long as the run lasts, and there
are no latencies."""

SAME_SYSTEM = ("configuration", "input_tokens", "output_tokens", "cached_tokens", "software_year")
"""What points of one model have in common that differ in nothing but their load."""

MOST_REQUESTS = 400_000
"""Requests simulated at most for an engine to settle. Chosen: because instances of many attention-DP ranks have ten
thousand and more in flight, and so many requests still take less than a second."""

SEED = 0
"""Seed of the requests, that of a plan."""


@dataclass(frozen=True, kw_only=True, eq=False)
class System:
    """One instance of a point as the simulation sees it."""

    replica: Replica
    lengths: DrawnLengths

    @cached_property
    def stable_rps(self) -> float:
        """Requests/s beyond which its queue grows for ever."""
        return stable_rps_of(self.replica, self.lengths, SEED)

    def run(self, rate_rps: float, requests: int) -> Outcome:
        """What is counted at a rate over so many requests."""
        return run(Fleet(replicas=(self.replica,)), Arrivals(rate_rps=rate_rps), self.lengths, requests, SEED)

    def settled(self, rate_rps: float) -> Outcome:
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
        return {
            "ttft_s": counted(outcome, TTFT, 0.50),
            "itl_s": sampled_mean(outcome, ITL).value,
            "e2e_s": sampled_mean(outcome, E2E).value,
            "rps": min(rate_rps, self.stable_rps),
            "ttft_p99_s": counted(outcome, TTFT, 0.99),
            "itl_p99_s": counted(outcome, ITL, 0.99),
        }

    def stretched(self, decode: float, prefill: float) -> System:
        """With decode steps and the work on prompts so many times as long."""
        grid = self.replica.grid.stretched(decode, prefill)
        return System(replica=replace(self.replica, grid=grid), lengths=self.lengths)


def counted(outcome: Outcome, metric: int, share: float) -> float:
    """Latency in seconds up to which a share of the counted requests lies."""
    return quantile(outcome.histogram[:, metric].sum(axis=0, dtype=np.int64), share)


def fixed_rate(points: PointTable, source: AnySource) -> Expected:
    """Every point at its rate per instance, columns (C, 1)."""
    rates = points.rate_rps[:, 0]
    return columns([one.at(float(rate)) for one, rate in zip(systems(points, source), rates, strict=True)])


def stretched_rate(points: PointTable, source: AnySource, decode: Floats, prefill: Floats) -> Expected:
    """As :func:`fixed_rate` with step times so many times as long, (C,): what a load means for an engine that is as
    fast or as slow as it may be. One that it does not carry is answered at the heaviest that it does."""
    at: dict[tuple[int, float, float], System] = {}
    known: dict[tuple[int, float], dict[str, float]] = {}
    rows = []
    for one, rate, d, p in zip(systems(points, source), points.rate_rps[:, 0], decode, prefill, strict=True):
        key = (id(one), float(d), float(p))
        slow = at.setdefault(key, one.stretched(float(d), float(p)))
        carried = min(float(rate), HEAVIEST * slow.stable_rps)  # the same of all rates beyond
        if (id(slow), carried) not in known:
            known[id(slow), carried] = slow.carrying(carried)
        rows.append(known[id(slow), carried])
    return columns(rows)


def columns(rows: Sequence[Mapping[str, float]]) -> Expected:
    """Fields of :class:`Expected` row by row as columns (C, 1)."""
    return Expected(**{f.name: np.array([[row[f.name]] for row in rows]) for f in fields(Expected)})


def largest_stable_rps(points: PointTable, source: AnySource) -> Floats:
    """Requests/s of one instance of every point beyond which its queue grows for ever, (C,)."""
    return np.array([one.stable_rps for one in systems(points, source)])


def systems(points: PointTable, source: AnySource) -> list[System]:
    """Every point as the simulation sees it; points that differ in nothing but their rate share one."""
    fit = getattr(source, "fit", None) or efficiencies()
    grid = asked_at(points)
    times = reference = None
    if not isinstance(source, Roofline):
        times, reference = step_times(points, grid, source), roofline_times(points, grid, Roofline(fit))
    known: dict[tuple[object, ...], System] = {}
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


def system_of(point: Point, holds: float, source: Roofline) -> System:
    """A point with step times of the roofline: the replica of a plan.

    What was measured has run: where a plan's memory does not hold one sequence, ``holds`` is how many a tuned run has
    room for.
    """
    tokens = point.input_tokens + point.output_tokens
    committed = source == roofline()
    traffic = replace(traffic_of(point), output_variation=0.0)  # the lengths of all requests are the same here
    replica = configured_replica(point.model, point.configuration, traffic, source=None if committed else source)
    # Blocks are filled up, and the step that ends it emits one token more.
    whole = tokens + 2.0 * replica.block_tokens + replica.sequence_tokens
    if replica.kv_tokens < whole:
        replica = replace(replica, kv_tokens=holds * whole)
    return System(replica=replica, lengths=lengths_of(point))


def lengths_of(point: Point) -> DrawnLengths:
    """The lengths of a point, the same for every request."""
    prompt, output = (FixedLength(tokens=tokens) for tokens in (point.input_tokens, point.output_tokens))
    return DrawnLengths(prompt=prompt, output=output, cached_tokens=point.cached_tokens)


def fitted_to(system: System, times: StepTimes, reference: StepTimes, concurrency: Floats) -> System:
    """A system with the level of other step times, ``times`` over ``reference``, both of its one row (1, K)."""
    same = np.array_equal(times.decode_s, reference.decode_s)
    if same and np.array_equal(times.prefill_work_s, reference.prefill_work_s):
        return system
    grid = system.replica.grid.fitted_to(times, reference, concurrency)
    return System(replica=replace(system.replica, grid=grid), lengths=system.lengths)
