"""Compiled: the front end picks the replica that a request goes to."""

import math
from typing import Any

import numpy as np

from sizing.base.compiled import compiled
from sizing.simulator.layout import NONE, PREFIX_AWARE, RANDOM, ROUND_ROBIN, WEIGHTED, World
from sizing.simulator.replica import advance

BALANCE_ABSOLUTE, BALANCE_RELATIVE = 64, 1.5
"""Prefix-aware routing gives way to the shortest queue when loads differ by more than this (SGLang router defaults)."""

SAME_CREDIT = 1e-9
"""Credits of weighted round robin that differ by less are equal: what is left is rounding."""

WAITING_COUNTS = 4
"""Requests that one counts as which no step has begun yet. Source: vLLM's balancer of engines takes the lowest of
waiting x 4 + running. Requests of equal length that were admitted together end together: by outstanding requests alone
the engine that they leave would then be sent every request until it is as full as the others, and these would wait for
each other's prompts, over and over."""

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""Increment of SplitMix64, see :func:`at_random`: 2^64 over the golden ratio."""
MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))
"""Multipliers of its mixing function, and the shifts before and after them."""


@compiled
def load_of(world: World, r: int, time: float) -> int:
    """Requests outstanding on a replica at ``time``.

    The step that runs at ``time`` has been simulated to its end; what ends with it is still outstanding.
    """
    replica = world.replicas[r]
    running = replica.now > time
    return replica.in_flight + (replica.ending if running else 0)  # type: ignore[no-any-return]


@compiled
def pressure_of(world: World, r: int, time: float) -> int:
    """As :func:`load_of`, each request that waits counted :data:`WAITING_COUNTS` times."""
    waiting = (WAITING_COUNTS - 1) * world.replicas[r].waiting
    return load_of(world, r, time) + waiting  # type: ignore[no-any-return]


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
    for i in range(start, start + count):
        r = i - count if i >= count else i  # a division of whole numbers takes as long as the rest of this loop
        if world.replicas[r].up == 1:
            load = pressure_of(world, r, time) / world.replicas[r].weight
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
            if best == NONE or replica.credit > world.replicas[best].credit + SAME_CREDIT:
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
