"""Compiled: what is written down when time passes and when a request ends. Fixed memory, whatever the number.

The compiled leaves take the arrays and records they touch, not the whole world: that halves the time to compile.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sizing.base.arrays import Floats
from sizing.base.compiled import compiled
from sizing.simulator.layout import (
    BATCHES,
    BINS,
    BUSY_S,
    COUNTED,
    E2E,
    FINISHED,
    FIRST_COUNT,
    FIRST_SUM,
    FIRST_TOKENS,
    GOOD,
    HIGHEST_BIN,
    ITL,
    KV_S,
    LOWEST_BIN,
    NONE,
    OUTPUT_TOKENS,
    QUEUE,
    RUNNING_S,
    SMALLEST_S,
    TTFT,
    TTFT_SUM,
    UPPER_S,
    WAITING_S,
    World,
)

LONGEST_S = float(UPPER_S[BINS - 2])
"""Seconds from which on every duration falls into the last bin of the histogram."""

MANTISSA_BITS = 8
"""Bits after the binary point that name a cell. Chosen: the fewest with which a cell, at most 1/256 of its duration
wide, is narrower than a bin, so that no more than one bin ends in it."""
CELL_SHIFT = np.int64(np.finfo(np.float64).nmant - MANTISSA_BITS)
"""Bits of a double below those that name its cell: its exponent and the first bits of its mantissa."""
FIRST_CELL, LAST_CELL = (int(np.float64(s).view(np.int64) >> CELL_SHIFT) for s in (SMALLEST_S, LONGEST_S))
BIN_OF_CELL = np.maximum(
    np.searchsorted(UPPER_S, (np.arange(FIRST_CELL, LAST_CELL + 1) << CELL_SHIFT).view(np.float64), side="right"), 1
).astype(np.int16)
"""The bin in which each cell begins."""


@compiled
def bin_of(seconds: float) -> int:
    """Histogram bin of a duration: 0 below the smallest, logarithmic above. Looked up: four logarithms would be a
    quarter of the time of a request."""
    if seconds < SMALLEST_S:
        return 0
    if not seconds < LONGEST_S:
        return BINS - 1
    k = BIN_OF_CELL[(np.float64(seconds).view(np.int64) >> CELL_SHIFT) - FIRST_CELL]
    return k + 1 if seconds >= UPPER_S[k] else k  # type: ignore[no-any-return]


@compiled
def record_time(series: Floats, width: float, replica: Any, seconds: float) -> None:
    """Add a stretch of a replica's time to the series, split over the bins it covers."""
    last = series.shape[0] - 1
    at, left, kv_share = replica.now, seconds, replica.kv / replica.kv_tokens
    while left > 0.0:
        k = min(int(at / width), last)
        part = left if k == last else min(left, (k + 1) * width - at)
        if part <= 0.0:  # rounding put us on the edge of the bin
            k, part = min(k + 1, last), min(left, width)
        series[k, RUNNING_S] += replica.running * part
        series[k, WAITING_S] += replica.waiting * part
        series[k, KV_S] += kv_share * part
        series[k, BUSY_S] += part
        at += part
        left -= part


@compiled
def bin_at(series: Floats, width: float, time: float) -> int:
    """The bin of the series that holds ``time``. A function with a column to count in would be compiled once for each
    column, since numba takes a constant for a type of its own."""
    return min(int(time / width), series.shape[0] - 1)  # type: ignore[no-any-return]


@compiled
def _tally(histogram: NDArray[np.uint32], sums: Floats, metric: int, seconds: float) -> None:
    k = bin_of(seconds)
    histogram[metric, k] += 1
    sums[LOWEST_BIN + metric] = min(sums[LOWEST_BIN + metric], k)
    sums[HIGHEST_BIN + metric] = max(sums[HIGHEST_BIN + metric], k)
    sums[FIRST_SUM + metric] += seconds
    sums[FIRST_COUNT + metric] += 1.0


@compiled
def record_finish(world: World, row: int, finish: float) -> None:
    """A request ended: latencies into its batch, goodput, series, and its own record where they are kept."""
    request, state, series = world.requests[row], world.state[0], world.series
    ttft, e2e = request.first - request.arrived, finish - request.arrived
    itl = (finish - request.first) / (request.output - 1.0) if request.output > 1.0 else 0.0
    ended, begun = bin_at(series, state.bin_s, finish), bin_at(series, state.bin_s, request.first)
    series[ended, FINISHED] += 1.0
    series[ended, OUTPUT_TOKENS] += request.output
    series[begun, FIRST_TOKENS] += 1.0
    series[begun, TTFT_SUM] += ttft
    state.finished += 1
    state.generated += request.output
    if state.keep_records:
        record_row(world.records, state, request, finish)
    if request.id < state.warm_up:
        return
    batch = min(int((request.id - state.warm_up) * BATCHES / state.expected), BATCHES - 1)
    histogram, sums = world.histogram[batch], world.sums[batch]
    _tally(histogram, sums, TTFT, ttft)
    _tally(histogram, sums, E2E, e2e)
    front = state.request_s + state.prompt_token_s * max(request.prompt - request.cached, 0.0)
    _tally(histogram, sums, QUEUE, request.started - request.arrived - front)
    if request.output > 1.0:
        _tally(histogram, sums, ITL, itl)
    sums[COUNTED] += 1.0
    if ttft <= state.ttft_limit and itl <= state.itl_limit and e2e <= state.e2e_limit:
        sums[GOOD] += 1.0


@compiled
def record_row(records: Any, state: Any, request: Any, finish: float) -> None:
    """The request's own record; the caller has made room."""
    record = records[state.records]
    record.id, record.arrived, record.started = request.id, request.arrived, request.started
    record.first, record.finished, record.prompt = request.first, finish, request.prompt
    record.cached, record.output, record.group = request.cached, request.output, request.group
    record.preempted, record.replica = request.preempted, request.replica
    state.records += 1


@compiled
def take_row(requests: Any, state: Any) -> int:
    """A row for a request: one that was given back, else one that was never used, whose memory nobody has touched."""
    row = state.free
    if row == NONE:
        row = state.fresh
        state.fresh += 1
    else:
        state.free = requests[row].after
    return row  # type: ignore[no-any-return]


@compiled
def release(requests: Any, state: Any, row: int) -> None:
    """Give the row of a request back."""
    requests[row].after = state.free
    state.free = row


@compiled
def settle(replica: Any) -> None:
    """An engine without sequences holds nothing; rounding must not accumulate over millions of requests."""
    if replica.running == 0:
        replica.context = 0.0
        if replica.partials == 0:
            replica.kv = 0.0
            replica.whole = 0.0
