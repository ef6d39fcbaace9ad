"""Compiled: what is written down when time passes and when a request ends. Fixed memory, whatever the number."""

from __future__ import annotations

import math

from numba import njit

from sizing.simulation import layout
from sizing.simulation.layout import (
    BATCHES, BINS, BUSY_S, E2E, FINISHED, FIRST_TOKENS, ITL, KV_S, METRICS, NONE, OUTPUT_TOKENS, QUEUE, RUNNING_S, SMALLEST_S, TTFT,
    TTFT_SUM, WAITING_S, World,
)  # fmt: skip

BINS_PER_E_FOLD = 1.0 / math.log(layout.BIN_RATIO)


@njit
def bin_of(seconds: float) -> int:
    """Histogram bin of a duration: 0 below the smallest, logarithmic above."""
    if seconds < SMALLEST_S:
        return 0
    return min(1 + int(math.log(seconds / SMALLEST_S) * BINS_PER_E_FOLD), BINS - 1)


@njit
def record_time(world: World, start: float, seconds: float, running: int, waiting: int, kv_share: float) -> None:
    """Add a stretch of engine time to the series, split over the bins it covers."""
    series, width = world.series, world.parameters[0].bin_s
    last = series.shape[0] - 1
    at, left = start, seconds
    while left > 0.0:
        k = min(int(at / width), last)
        part = left if k == last else min(left, (k + 1) * width - at)
        if part <= 0.0:  # rounding put us on the edge of the bin
            k, part = min(k + 1, last), min(left, width)
        series[k, RUNNING_S] += running * part
        series[k, WAITING_S] += waiting * part
        series[k, KV_S] += kv_share * part
        series[k, BUSY_S] += part
        at += part
        left -= part


@njit
def count_at(world: World, time: float, column: int, amount: float) -> None:
    """Add to a count of the series."""
    k = min(int(time / world.parameters[0].bin_s), world.series.shape[0] - 1)
    world.series[k, column] += amount


@njit
def _tally(world: World, batch: int, metric: int, seconds: float) -> None:
    world.histogram[batch, metric, bin_of(seconds)] += 1
    world.sums[batch, 2 + metric] += seconds
    world.sums[batch, 2 + METRICS + metric] += 1.0


@njit
def record_finish(world: World, row: int, finish: float) -> None:
    """A request ended: latencies into its batch, goodput, series, and its own record where they are kept."""
    request, parameters, totals = world.requests[row], world.parameters[0], world.totals[0]
    ttft, e2e = request.first - request.arrived, finish - request.arrived
    itl = (finish - request.first) / (request.output - 1.0) if request.output > 1.0 else 0.0
    count_at(world, finish, FINISHED, 1.0)
    count_at(world, finish, OUTPUT_TOKENS, request.output)
    count_at(world, request.first, FIRST_TOKENS, 1.0)
    count_at(world, request.first, TTFT_SUM, ttft)
    totals.finished += 1
    totals.generated += request.output
    if parameters.keep_records:
        record_row(world, row, finish)
    if request.id < parameters.warm_up:
        return
    batch = min(int((request.id - parameters.warm_up) * BATCHES / parameters.expected), BATCHES - 1)
    _tally(world, batch, TTFT, ttft)
    _tally(world, batch, E2E, e2e)
    _tally(world, batch, QUEUE, request.started - request.arrived)
    if request.output > 1.0:
        _tally(world, batch, ITL, itl)
    totals.measured += 1
    world.sums[batch, 0] += 1.0
    if ttft <= parameters.ttft_limit and itl <= parameters.itl_limit and e2e <= parameters.e2e_limit:
        totals.good += 1
        world.sums[batch, 1] += 1.0


@njit
def record_row(world: World, row: int, finish: float) -> None:
    """The request's own record; the caller has made room."""
    request = world.requests[row]
    record = world.records[world.totals[0].records]
    record.id, record.arrived, record.started = request.id, request.arrived, request.started
    record.first, record.finished, record.prompt = request.first, finish, request.prompt
    record.cached, record.output, record.group = request.cached, request.output, request.group
    record.preempted, record.replica = request.preempted, request.replica
    world.totals[0].records += 1


@njit
def release(world: World, row: int) -> None:
    """Give the row of a request back."""
    world.requests[row].after = world.totals[0].free
    world.totals[0].free = row


@njit
def settle(world: World, r: int) -> None:
    """An engine without sequences holds nothing; rounding must not accumulate over millions of requests."""
    replica = world.replicas[r]
    if replica.running == 0:
        replica.context = 0.0
        if replica.partial == NONE:
            replica.kv = 0.0


