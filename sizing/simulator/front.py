"""Compiled: the front end. Routes arrivals to replicas and runs a chunk of arrivals."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from sizing.base.arrays import Floats
from sizing.simulator.compiled import compiled
from sizing.simulator.layout import (
    ARRIVED,
    LEAST_TOKENS,
    NONE,
    PREFILL_ONLY,
    PREFIX_AWARE,
    RANDOM,
    REJECTED,
    ROUND_ROBIN,
    WEIGHTED,
    World,
)
from sizing.simulator.recording import count_at, release
from sizing.simulator.replica import advance, enqueue

BALANCE_ABSOLUTE, BALANCE_RELATIVE = 64, 1.5
"""Prefix-aware routing gives way to the shortest queue when loads differ by more than this (SGLang router defaults)."""

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))
"""Constants of SplitMix64."""


@compiled
def load_of(world: World, r: int, time: float) -> float:
    """Outstanding work of a replica at ``time``: requests, or tokens where the policy counts those.

    The step that runs at ``time`` has been simulated to its end; what ends with it is still outstanding.
    """
    replica = world.replicas[r]
    running = replica.now > time
    if world.state[0].policy == LEAST_TOKENS:
        return replica.load_tokens + (replica.ending_tokens if running else 0.0)  # type: ignore[no-any-return]
    return replica.in_flight + (replica.ending if running else 0)  # type: ignore[no-any-return]


@compiled
def catch_up(world: World, time: float) -> None:
    """Advance every replica in which a request may have ended by ``time``."""
    for r in range(world.replicas.shape[0]):
        if world.replicas[r].hold < time:
            advance(world, r, time)


@compiled
def least_loaded(world: World, time: float) -> int:
    """The replica with the least outstanding work relative to its weight; in turn among equals."""
    count = world.replicas.shape[0]
    start, best, least = world.state[0].turn % count, NONE, math.inf
    world.state[0].turn += 1
    for i in range(count):
        r = (start + i) % count
        if world.replicas[r].up == 1:
            load = load_of(world, r, time) / world.replicas[r].weight
            if load < least:
                best, least = r, load
    return best


@compiled
def at_random(world: World) -> int:
    """Any replica that is up, all equally likely: the same ones every time, from a count of the choices.

    Source: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), a generator whose state is a counter.
    """
    count = 0
    for r in range(world.replicas.shape[0]):
        count += world.replicas[r].up
    if count == 0:
        return NONE
    world.state[0].turn += 1
    x = np.uint64(world.state[0].turn) * GOLDEN
    x = (x ^ (x >> SHIFTS[0])) * MIX[0]
    x = (x ^ (x >> SHIFTS[1])) * MIX[1]
    place = int((x ^ (x >> SHIFTS[2])) % np.uint64(count))
    for r in range(world.replicas.shape[0]):
        if world.replicas[r].up == 1:
            if place == 0:
                return r
            place -= 1
    return NONE


@compiled
def in_turn(world: World, weighted: bool) -> int:
    """Smooth weighted round robin (as in nginx): the replica with the most credit; equal weights make it plain."""
    best, total = NONE, 0.0
    for r in range(world.replicas.shape[0]):
        replica = world.replicas[r]
        if replica.up == 1:
            weight = replica.weight if weighted else 1.0
            replica.credit += weight
            total += weight
            if best == NONE or replica.credit > world.replicas[best].credit + 1e-9:
                best = r
    if best != NONE:
        world.replicas[best].credit -= total
    return best


@compiled
def with_prefix(world: World, group: int, time: float) -> Any:
    """The least loaded replica that still caches the prefix, unless it is far busier than the least loaded of all."""
    best = least_loaded(world, time)
    if group == NONE or best == NONE:
        return best
    warm = NONE
    for r in range(world.replicas.shape[0]):
        cached = time - world.seen[r, group % world.seen.shape[1]] < world.state[0].prefix_life_s
        less = warm == NONE or load_of(world, r, time) < load_of(world, warm, time)
        if world.replicas[r].up == 1 and cached and less:
            warm = r
    if warm == NONE:
        return best
    high, low = load_of(world, warm, time), load_of(world, best, time)
    return best if high > low + BALANCE_ABSOLUTE and high > BALANCE_RELATIVE * low else warm


@compiled
def route(world: World, group: int, time: float) -> Any:
    """The replica for a request; when none is up, the one that returns first (its queue waits)."""
    policy = world.state[0].policy
    if policy == RANDOM:
        chosen = at_random(world)
    elif policy in (ROUND_ROBIN, WEIGHTED):
        chosen = in_turn(world, policy == WEIGHTED)
    else:
        catch_up(world, time)
        chosen = with_prefix(world, group, time) if policy == PREFIX_AWARE else least_loaded(world, time)
    if chosen == NONE:
        chosen = 0
        for r in range(world.replicas.shape[0]):
            if world.replicas[r].back < world.replicas[chosen].back:
                chosen = r
    advance(world, chosen, time)
    return chosen


@compiled
def submit(world: World, row: int, time: float) -> bool:
    """Send a request to a replica; False when it is turned away: too long for the KV cache, or the queue is full."""
    request = world.requests[row]
    r = route(world, request.group, time)
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
    replica.load_tokens += request.prompt - request.cached + request.output
    if replica.now < time:
        replica.now = time
    replica.hold = min(replica.hold, replica.now)
    enqueue(world.requests, replica, row, False)
    return True


@compiled
def fill(requests: Any, state: Any, row: int, chunk: Floats, i: int) -> None:
    """Fill a request's row from column ``i`` of a chunk. One without an id is new, and gets the next."""
    request = requests[row]
    request.id, request.arrived = int(chunk[8, i]), chunk[1, i]
    request.prompt, request.output, request.cached = chunk[2, i], chunk[3, i], min(chunk[4, i], chunk[2, i])
    request.group, request.started, request.first, request.lag = int(chunk[5, i]), chunk[6, i], chunk[7, i], 0.0
    # A request that comes with a first token brings its KV cache: its prompt is computed.
    handed = request.first >= 0.0
    request.done = 1.0 if handed else 0.0
    request.computed, request.target = request.prompt if handed else request.cached, request.prompt
    request.preempted = 0
    if request.id < 0:
        request.id = state.arrived
    if handed or chunk[8, i] < 0.0:
        state.arrived += 1


def _sources() -> str:
    """Digest of all compiled modules: numba notices a change in the file of the entry only, not in what it calls."""
    digest = hashlib.sha256()
    for name in ("compiled", "layout", "recording", "step_time", "replica", "front"):
        digest.update(Path(__file__).with_name(f"{name}.py").read_bytes())
    return digest.hexdigest()


def _entry(sources: str) -> Callable[[World, Floats, float], None]:
    """The compiled entry, cached on disk under a key that holds ``sources`` (numba hashes the closure)."""

    @njit(cache=True, nogil=True, error_model="numpy", _nrt=False)  # type: ignore[call-overload]
    def run_chunk(world: World, chunk: Floats, until: float) -> None:
        state = world.state[0]
        for i in range(chunk.shape[1] if len(sources) > 0 else 0):
            time, row = chunk[0, i], state.free
            state.free = world.requests[row].after
            fill(world.requests, state, row, chunk, i)
            if chunk[8, i] < 0.0:
                count_at(world.series, state.bin_s, time, ARRIVED, 1.0)
            if not submit(world, row, time):
                count_at(world.series, state.bin_s, time, REJECTED, 1.0)
                release(world.requests, state, row)
        for r in range(world.replicas.shape[0]):
            advance(world, r, until)

    return run_chunk  # type: ignore[no-any-return]


run_chunk: Any = _entry(_sources())
"""``run_chunk(world, chunk, until)``: serve a chunk of arrivals, then run every replica up to ``until``.

Columns of ``chunk`` (9, M) are time, arrived, prompt, output, cached, group, started, first and id; times in seconds,
-1 where not known yet. A request with an id comes back (its replica failed) or comes from another pool.
"""
