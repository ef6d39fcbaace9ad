"""Compiled: the entry from Python. Serves a chunk of arrivals, then runs every replica on."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sizing.base.compiled import compiled, compiled_entry, digest
from sizing.simulator.batch import enqueue
from sizing.simulator.layout import (
    ARRIVED,
    ARRIVED_ROW,
    CACHED_ROW,
    FIRST_ROW,
    GROUP_ROW,
    ID_ROW,
    NONE,
    OUTPUT_ROW,
    PREFILL_ONLY,
    PROMPT_ROW,
    REJECTED,
    STARTED_ROW,
    TIME_ROW,
    World,
)
from sizing.simulator.recording import bin_at, release, take_row
from sizing.simulator.replica import advance
from sizing.simulator.routing import route
from sizing.steps import ranks  # step_time compiles one of its constants in

Floats = NDArray[np.float64]

REPLICAS_PER_EVENT = 16
"""Replicas that the front end looks at in the time of one step. Chosen: by order of magnitude; what matters is that
work in a large fleet is counted."""


@compiled
def submit(world: World, r: int, row: int, time: float) -> bool:
    """Send a request to replica ``r``, which has been run up to ``time``; False when it is turned away: too long for
    the KV cache, or the queue is full. Without :func:`route` in it, the engine is linked in and optimised once less."""
    request = world.requests[row]
    world.state[0].events += world.replicas.shape[0] // REPLICAS_PER_EVENT
    replica = world.replicas[r]
    kept = 1.0 if replica.role == PREFILL_ONLY else request.output
    if request.prompt + kept + replica.tokens_per_step + replica.waste_tokens > replica.kv_tokens:
        world.state[0].too_long += 1
        return False
    if replica.waiting >= replica.queue_limit:
        world.state[0].rejected += 1
        return False
    if request.group != NONE:
        slot = request.group % world.seen.shape[1]
        if time - world.seen[r, slot] >= world.state[0].prefix_life_s:
            request.cached = 0.0
            if request.computed < request.target:
                request.computed = 0.0
        world.seen[r, slot] = time
    request.replica = r
    replica.in_flight += 1
    if replica.now < time:
        replica.now = time
    replica.hold = min(replica.hold, replica.now)
    enqueue(world.requests, replica, row, False)
    return True


@compiled
def fill(requests: Any, state: Any, row: int, chunk: Floats, i: int) -> None:
    """Fill a request's row from column ``i`` of a chunk. One without an id is new, and gets the next."""
    request = requests[row]
    request.id, request.arrived = int(chunk[ID_ROW, i]), chunk[ARRIVED_ROW, i]
    request.prompt, request.output = chunk[PROMPT_ROW, i], chunk[OUTPUT_ROW, i]
    request.cached, request.group = min(chunk[CACHED_ROW, i], chunk[PROMPT_ROW, i]), int(chunk[GROUP_ROW, i])
    request.started, request.first, request.lag = chunk[STARTED_ROW, i], chunk[FIRST_ROW, i], 0.0
    # A request that comes with a first token brings its KV cache: its prompt is computed.
    handed = request.first >= 0.0
    request.done = 1.0 if handed else 0.0
    request.computed, request.target = request.prompt if handed else request.cached, request.prompt
    request.preempted = 0
    if request.id < 0:
        request.id = state.arrived
    if handed or chunk[ID_ROW, i] < 0.0:
        state.arrived += 1


COMPILED = ("layout", "recording", "step_time", "batch", "kv_cache", "replica", "routing", "entry")
"""Modules of this package that are compiled, or whose constants are compiled in."""


def _entry(sources: str) -> Callable[[World, Floats, float], None]:
    """The compiled entry; ``sources``: digest of all that it calls."""

    @compiled_entry
    def run_chunk(world: World, chunk: Floats, until: float) -> None:
        state = world.state[0]
        for i in range(chunk.shape[1] if len(sources) > 0 else 0):
            time, row = chunk[TIME_ROW, i], take_row(world.requests, state)
            fill(world.requests, state, row, chunk, i)
            if chunk[ID_ROW, i] < 0.0:
                world.series[bin_at(world.series, state.bin_s, time), ARRIVED] += 1.0
            r = route(world, world.requests[row].group, time)
            if not submit(world, r, row, time):
                world.series[bin_at(world.series, state.bin_s, time), REJECTED] += 1.0
                release(world.requests, state, row)
        for r in range(world.replicas.shape[0]):
            advance(world, r, until)

    return run_chunk  # type: ignore[no-any-return]


def _closed_entry(sources: str) -> Callable[[World, Floats, int, float, float], None]:
    """The compiled entry of a closed loop of users; ``sources`` as for :func:`_entry`."""

    @compiled_entry
    def run_closed(world: World, chunk: Floats, users: int, delay_s: float, each_s: float) -> None:
        state, sent, due, ended = world.state[0], 0, users, 0
        while sent < due or state.finished < sent:
            until = chunk[TIME_ROW, sent] if sent < due else np.inf
            advance(world, 0, until)
            idle = int(state.finished) == ended
            while ended < state.finished and len(sources) > 0:
                finish = world.records[ended].finished
                ended += 1
                if due < chunk.shape[1]:
                    chunk[ARRIVED_ROW, due] = finish
                    chunk[TIME_ROW, due] = max(finish + delay_s, chunk[TIME_ROW, due - 1]) + each_s
                    due += 1
            if idle and sent < due:
                row = take_row(world.requests, state)
                fill(world.requests, state, row, chunk, sent)
                submit(world, 0, row, chunk[TIME_ROW, sent])
                sent += 1
            elif idle:
                return

    return run_closed  # type: ignore[no-any-return]


def compiling() -> bool:
    """Whether the simulator has to be compiled, as in the first process after an installation: none fits on disk."""
    return bool(sum(run_chunk.stats.cache_misses.values()))


_SOURCES = digest(*(Path(__file__).with_name(f"{name}.py") for name in COMPILED), ranks.__file__)

run_chunk: Any = _entry(_SOURCES)
"""``run_chunk(world, chunk, until)``: serve a chunk of arrivals, then run every replica up to ``until``.

``chunk`` (9, M) has the rows of :data:`layout.CHUNK_FIELDS`, times in seconds. A request with an id comes back (its
replica failed) or comes from another pool.
"""

run_closed: Any = _closed_entry(_SOURCES)
"""``run_closed(world, chunk, users, delay_s, each_s)``: requests in flight for so many ``users``, on a replica.

The first ``users`` columns of ``chunk`` are sent at their times; each request that ends sends the next one, which the
engine has ``delay_s`` later and ``each_s`` after the one before it, as the front end takes them one by one. ``world``
keeps records and pauses; it has rows and records for all of the chunk.
"""
