"""Compiled: the engine of one replica, leaping from event to event.

In-flight batching as in vLLM's scheduler (v1): decoding sequences first, then the rest of a partial prompt, then waiting
requests in order of arrival, within a token budget per step (chunked prefill after Agrawal et al., Sarathi-Serve, OSDI
2024). When the KV cache is full, the sequence admitted last is evicted and recomputed later. Between two events (a
sequence ends, a request arrives, the cache fills up) the decoding batch does not change, its mean context grows by the
tokens of a step, and step times are linear in it: k steps take k T + s k (k - 1) / 2, so they are one event.
"""

from __future__ import annotations

import math

from numba import njit

from sizing.simulation.layout import NONE, PREFILL_ONLY, World
from sizing.simulation.recording import record_finish, record_row, record_time, release, settle
from sizing.simulation.step_time import decode_time, pair_time, pipeline_lag, prompt_time


@njit
def heap_push(world: World, r: int, key: int, row: int) -> None:
    """Add a decoding sequence that finishes in step ``key``."""
    keys, rows = world.heap_key[r], world.heap_row[r]
    i = world.replicas[r].alive
    world.replicas[r].alive += 1
    while i > 0 and keys[(i - 1) >> 1] > key:
        keys[i], rows[i] = keys[(i - 1) >> 1], rows[(i - 1) >> 1]
        i = (i - 1) >> 1
    keys[i], rows[i] = key, row


@njit
def heap_remove(world: World, r: int, i: int) -> int:
    """Take the sequence at place ``i`` out of the heap; returns its row. Place 0 finishes first."""
    keys, rows = world.heap_key[r], world.heap_row[r]
    world.replicas[r].alive -= 1
    size, taken = world.replicas[r].alive, rows[i]
    key, row = keys[size], rows[size]
    while i > 0 and keys[(i - 1) >> 1] > key:
        keys[i], rows[i] = keys[(i - 1) >> 1], rows[(i - 1) >> 1]
        i = (i - 1) >> 1
    while 2 * i + 1 < size:
        child = 2 * i + 1
        if child + 1 < size and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        keys[i], rows[i] = keys[child], rows[child]
        i = child
    keys[i], rows[i] = key, row
    return taken  # type: ignore[no-any-return]


@njit
def enqueue(world: World, r: int, row: int, in_front: bool) -> None:
    """Put a request at the end of a replica's queue, or in front of it (an evicted one)."""
    replica = world.replicas[r]
    world.requests[row].after = replica.head if in_front else NONE
    if replica.waiting == 0:
        replica.head = replica.tail = row
    elif in_front:
        replica.head = row
    else:
        world.requests[replica.tail].after = row
        replica.tail = row
    replica.waiting += 1


@njit
def dequeue(world: World, r: int) -> int:
    """Take the first waiting request."""
    replica = world.replicas[r]
    row = replica.head
    replica.head = world.requests[row].after
    replica.waiting -= 1
    return row  # type: ignore[no-any-return]


@njit
def held_tokens(world: World, r: int, row: int) -> float:
    """Tokens a decoding sequence has in the KV cache: all it knew when it joined, and one per token since."""
    request, replica = world.requests[row], world.replicas[r]
    per_step = world.kinds[replica.kind].tokens_per_step
    return request.target + per_step * (replica.step - request.joined_step)  # type: ignore[no-any-return]


@njit
def join(world: World, r: int, row: int) -> None:
    """A sequence whose prompt is computed starts decoding in the next step."""
    request, replica = world.requests[row], world.replicas[r]
    per_step = world.kinds[replica.kind].tokens_per_step
    request.joined_step = replica.step
    replica.running += 1
    replica.context += request.target
    heap_push(world, r, replica.step + math.ceil((request.output - request.done) / per_step - 1e-9), row)


@njit
def leave(world: World, r: int, row: int) -> None:
    """A request is through with this replica: load and row are given back."""
    request, replica = world.requests[row], world.replicas[r]
    replica.in_flight -= 1
    replica.load_tokens -= request.prompt - request.cached + request.output
    release(world, row)


@njit
def finish_due(world: World, r: int) -> None:
    """Every sequence whose last token came with the step just done. A static batch keeps their places until it ends."""
    replica = world.replicas[r]
    kind = world.kinds[replica.kind]
    while replica.alive > 0 and world.heap_key[r, 0] <= replica.step:
        row = heap_remove(world, r, 0)
        if kind.static == 0:
            held = held_tokens(world, r, row)
            replica.running -= 1
            replica.context -= held
            replica.kv -= held + kind.waste_tokens
        record_finish(world, row, replica.now + world.requests[row].lag)
        leave(world, r, row)
    if kind.static == 1 and replica.alive == 0:
        replica.running = 0


@njit
def evict_last(world: World, r: int) -> None:
    """Free the KV cache of the sequence admitted last; it goes to the front of the queue, to be recomputed."""
    replica = world.replicas[r]
    kind, row = world.kinds[replica.kind], replica.partial
    if row == NONE:
        last = 0
        for i in range(1, replica.alive):
            if world.requests[world.heap_row[r, i]].order > world.requests[world.heap_row[r, last]].order:
                last = i
        row = heap_remove(world, r, last)
        request, held = world.requests[row], held_tokens(world, r, row)
        replica.running -= 1
        replica.context -= held
        request.done += held - request.target
        world.totals[0].recomputed += request.prompt + request.done - request.cached
    else:
        request, held = world.requests[row], world.requests[row].target
        world.totals[0].recomputed += request.computed - request.cached
        replica.partial = NONE
    replica.kv -= held + kind.waste_tokens
    request.target = request.prompt + request.done
    request.computed = request.cached
    request.preempted += 1
    world.totals[0].preempted += 1
    enqueue(world, r, row, True)


@njit
def make_room(world: World, r: int) -> bool:
    """Evict until the next token of every decoding sequence fits; whether anything was evicted."""
    replica = world.replicas[r]
    kind, evicted = world.kinds[replica.kind], False
    if kind.static == 1:
        return False
    while replica.running > 0 and replica.kv + replica.running * kind.tokens_per_step > kind.kv_tokens:
        evict_last(world, r)
        evicted = True
    return evicted


@njit
def admit(world: World, r: int) -> int:
    """The first waiting request, if a place and KV cache for all it knows are free; else NONE."""
    replica = world.replicas[r]
    kind, request = world.kinds[replica.kind], world.requests[replica.head]
    need = request.target + kind.waste_tokens
    if kind.static == 1:  # a static batch reserves the cache of the whole answer
        need += request.output - request.done
    if replica.kv + need + (replica.running + 1) * kind.tokens_per_step > kind.kv_tokens:
        return NONE
    row = dequeue(world, r)
    replica.kv += need
    request.order = replica.order
    replica.order += 1
    if request.started < 0.0:
        request.started = replica.now
    return row


@njit
def take_chunk(world: World, r: int, row: int, budget: float) -> tuple[float, float]:
    """Process as much of a prompt as the budget allows: tokens, and seconds for their attention. Sets the lag."""
    request, kind = world.requests[row], world.replicas[r].kind
    left = request.target - request.computed
    chunk = min(left, budget)
    pair_s = pair_time(world, kind, chunk, request.computed)
    request.computed = request.target if chunk == left else request.computed + chunk
    world.totals[0].prefilled += chunk
    request.lag = pipeline_lag(world, kind, chunk, pair_s)
    return chunk, pair_s


@njit
def plan_prompts(world: World, r: int, may_admit: bool) -> tuple[float, float, int]:
    """Prompt tokens of the next step, seconds of their attention, and how many prompts end in it (rows in scratch)."""
    replica = world.replicas[r]
    kind = world.kinds[replica.kind]
    budget, ended, tokens, pair_s = kind.budget - replica.running * kind.rows_per_sequence, 0, 0.0, 0.0
    row = replica.partial
    may_admit = may_admit and (kind.static == 0 or replica.running == 0)
    while budget > 0.0:
        if row == NONE:
            if not may_admit or replica.waiting == 0 or replica.running + ended >= kind.max_sequences:
                break
            row = admit(world, r)
            if row == NONE:
                break
            if world.requests[row].computed >= world.requests[row].target:  # prefilled elsewhere, KV cache handed over
                join(world, r, row)
                budget -= kind.rows_per_sequence
                row = NONE
                continue
        chunk, seconds = take_chunk(world, r, row, budget)
        budget, tokens, pair_s = budget - chunk, tokens + chunk, pair_s + seconds
        if world.requests[row].computed < world.requests[row].target:
            break
        world.scratch[ended] = row
        ended += 1
        row = NONE
    replica.partial = row
    return tokens, pair_s, ended


@njit
def first_token(world: World, r: int, row: int) -> None:
    """The last chunk of a prompt is done: one more token is out, and decoding starts, or the request ends or moves."""
    replica, request = world.replicas[r], world.requests[row]
    kind = world.kinds[replica.kind]
    if request.first < 0.0:
        request.first = replica.now + request.lag
    request.done += 1.0
    if kind.role == PREFILL_ONLY and request.done < request.output:
        record_row(world, row, request.first)
        world.totals[0].handed += 1
    elif request.done >= request.output - 1e-9:
        record_finish(world, row, replica.now + request.lag)
    else:
        join(world, r, row)
        return
    if kind.static == 0:
        replica.kv -= request.target + kind.waste_tokens
    leave(world, r, row)


@njit
def mixed_step(world: World, r: int, tokens: float, pair_s: float, ended: int) -> None:
    """One step with prompt tokens: decoding sequences advance by a token, ended prompts emit their first."""
    replica = world.replicas[r]
    kind, running = world.kinds[replica.kind], replica.running
    mean = replica.context / running if running > 0 else 0.0
    seconds = decode_time(world, replica.kind, running, mean)[0]
    seconds += prompt_time(world, replica.kind, running, tokens, pair_s)
    pass_time(world, r, seconds)
    grown = running * kind.tokens_per_step
    replica.step += 1
    replica.steps += 1
    replica.context += grown
    replica.kv += grown * (1 - kind.static)
    finish_due(world, r)
    for i in range(ended):
        first_token(world, r, world.scratch[i])
    settle(world, r)
    replica.hold = replica.now


@njit
def pass_time(world: World, r: int, seconds: float) -> None:
    """The engine is busy for a while."""
    replica = world.replicas[r]
    share = replica.kv / world.kinds[replica.kind].kv_tokens
    record_time(world, replica.now, seconds, replica.running, replica.waiting, share)
    replica.now += seconds
    replica.busy_s += seconds


@njit
def steps_until(base: float, slope: float, target: float, most: int) -> int:
    """Smallest k >= 1 with k T + s k (k - 1) / 2 >= target, at most ``most``: root of the quadratic, then made exact."""
    if most * base + slope * most * (most - 1) / 2.0 < target:
        return most
    if slope * most < 1e-12 * base:
        k = target / base
    else:
        half = base - slope / 2.0
        k = (math.sqrt(half * half + 2.0 * slope * target) - half) / slope
    steps = min(max(int(k), 1), most)
    while steps > 1 and (steps - 1) * base + slope * (steps - 1) * (steps - 2) / 2.0 >= target:
        steps -= 1
    while steps < most and steps * base + slope * steps * (steps - 1) / 2.0 < target:
        steps += 1
    return steps


@njit
def leap(world: World, r: int, until: float) -> None:
    """Decode steps up to the next event: a sequence ends, ``until`` is reached, the cache is full, the slope changes."""
    replica = world.replicas[r]
    kind, running = world.kinds[replica.kind], replica.running
    grown = kind.tokens_per_step
    mean = replica.context / running
    base, slope, knot = decode_time(world, replica.kind, running, mean)
    most = world.heap_key[r, 0] - replica.step
    # Nothing else can end earlier: later arrivals only slow the steps down.
    replica.hold = replica.now + most * base if replica.waiting == 0 else replica.now
    if knot - mean < most * grown:
        most = min(most, max(math.ceil((knot - mean) / grown), 1))
    if kind.static == 0 and replica.kv + most * running * grown > kind.kv_tokens:
        most = max(math.floor((kind.kv_tokens - replica.kv) / (running * grown)), 1)
    steps = steps_until(base, slope * grown, until - replica.now, most)
    seconds = steps * base + slope * grown * steps * (steps - 1) / 2.0
    replica.step += steps
    replica.steps += steps
    pass_time(world, r, seconds)
    replica.context += steps * running * grown
    replica.kv += steps * running * grown * (1 - kind.static)
    finish_due(world, r)
    settle(world, r)


@njit
def advance(world: World, r: int, until: float) -> None:
    """Run a replica until its next step would start at ``until`` or later, or nothing is left to do."""
    replica = world.replicas[r]
    while replica.up == 1 and replica.now < until:
        if replica.running == 0 and replica.partial == NONE and replica.waiting == 0:
            return
        evicted = make_room(world, r)
        tokens, pair_s, ended = 0.0, 0.0, 0
        if replica.partial != NONE or replica.waiting > 0:
            tokens, pair_s, ended = plan_prompts(world, r, not evicted)
        if tokens > 0.0:
            mixed_step(world, r, tokens, pair_s, ended)
        else:
            leap(world, r, until)
