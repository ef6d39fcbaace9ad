"""Compiled: the engine of one replica, leaping from event to event.

In-flight batching as in vLLM's scheduler (v1): decoding sequences first, then the rest of a partial prompt, then
waiting requests in order of arrival, within a token budget per step (chunked prefill after Agrawal et al.,
Sarathi-Serve, OSDI 2024). When the KV cache is full, the sequence admitted last is evicted and recomputed later, unless
the engine reserves the cache of the whole answer at admission (TensorRT-LLM's default, guaranteed no evict).
Between two events (a sequence ends, a request arrives, the cache fills up) the decoding batch does not change, its mean
context grows by the tokens of a step, and step times are linear in it: k steps take k T + s k (k - 1) / 2, so they are
one event.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sizing.simulator.compiled import compiled
from sizing.simulator.layout import NONE, PREFILL_ONLY, World
from sizing.simulator.recording import record_finish, record_row, record_time, release, settle
from sizing.simulator.step_time import decode_time, pair_time, pipeline_lag, prompt_time

Heap = NDArray[np.int64]
"""One replica's (4, S + 1): steps in which sequences finish, their rows, scratch, and prompts begun and not ended."""

SCRATCH, BEGUN = 2, 3
ROUNDING = 1e-9  # tokens: what float arithmetic may leave of an answer that is complete


@compiled
def heap_up(requests: Any, heap: Heap, i: int, key: int) -> int:
    """Move a gap at place ``i`` up to where ``key`` belongs; every sequence knows its place. Returns the gap."""
    keys, rows = heap[0], heap[1]
    while i > 0 and keys[(i - 1) >> 1] > key:
        keys[i], rows[i] = keys[(i - 1) >> 1], rows[(i - 1) >> 1]
        requests[rows[i]].place = i
        i = (i - 1) >> 1
    return i


@compiled
def heap_push(requests: Any, heap: Heap, replica: Any, key: int, row: int) -> None:
    """Add a decoding sequence that finishes in step ``key``."""
    i = heap_up(requests, heap, replica.alive, key)
    replica.alive += 1
    heap[0, i], heap[1, i] = key, row
    requests[row].place = i


@compiled
def heap_remove(requests: Any, heap: Heap, replica: Any, i: int) -> int:
    """Take the sequence at place ``i`` out of the heap; returns its row. Place 0 finishes first."""
    keys, rows = heap[0], heap[1]
    replica.alive -= 1
    size, taken = replica.alive, rows[i]
    key, row = keys[size], rows[size]
    i = heap_up(requests, heap, i, key)
    while 2 * i + 1 < size:
        child = 2 * i + 1
        if child + 1 < size and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        keys[i], rows[i] = keys[child], rows[child]
        requests[rows[i]].place = i
        i = child
    keys[i], rows[i] = key, row
    requests[row].place = i
    return taken  # type: ignore[no-any-return]


@compiled
def line_up(requests: Any, replica: Any, row: int) -> None:
    """Put a sequence into the list of those that decode, by admission; nearly always it is the newest."""
    newer, older = NONE, replica.newest
    while older != NONE and requests[older].order > requests[row].order:
        newer, older = older, requests[older].older
    requests[row].older, requests[row].newer = older, newer
    if older != NONE:
        requests[older].newer = row
    if newer != NONE:
        requests[newer].older = row
    else:
        replica.newest = row


@compiled
def line_out(requests: Any, replica: Any, row: int) -> None:
    """Take a sequence out of the list of those that decode."""
    older, newer = requests[row].older, requests[row].newer
    if older != NONE:
        requests[older].newer = newer
    if newer != NONE:
        requests[newer].older = older
    else:
        replica.newest = older


@compiled
def enqueue(requests: Any, replica: Any, row: int, in_front: bool) -> None:
    """Put a request at the end of a replica's queue, or in front of it (an evicted one)."""
    requests[row].after = replica.head if in_front else NONE
    if replica.waiting == 0:
        replica.head = replica.tail = row
    elif in_front:
        replica.head = row
    else:
        requests[replica.tail].after = row
        replica.tail = row
    replica.waiting += 1


@compiled
def dequeue(requests: Any, replica: Any) -> int:
    """Take the first waiting request."""
    row = replica.head
    replica.head = requests[row].after
    replica.waiting -= 1
    return row  # type: ignore[no-any-return]


@compiled
def resident_kv_tokens(replica: Any, request: Any) -> float:
    """Tokens a decoding sequence has in the KV cache: all it knew when it joined, and one per token since."""
    return request.target + replica.tokens_per_step * (replica.step - request.joined_step)  # type: ignore[no-any-return]


@compiled
def cache_tokens(replica: Any, request: Any) -> float:
    """KV cache that a decoding sequence occupies: what was reserved for it, or its tokens; and the rest of a block."""
    if replica.reserve == 1:
        return request.prompt + request.output + replica.waste_tokens  # type: ignore[no-any-return]
    return resident_kv_tokens(replica, request) + replica.waste_tokens  # type: ignore[no-any-return]


@compiled
def join(requests: Any, heap: Heap, replica: Any, row: int) -> None:
    """A sequence whose prompt is computed starts decoding in the next step."""
    request = requests[row]
    request.joined_step = replica.step
    replica.running += 1
    replica.context += request.target
    steps = math.ceil((request.output - request.done) / replica.tokens_per_step - ROUNDING)
    heap_push(requests, heap, replica, replica.step + steps, row)
    line_up(requests, replica, row)


@compiled
def leave(requests: Any, state: Any, replica: Any, row: int) -> None:
    """A request is through with this replica: load and row are given back."""
    request = requests[row]
    tokens = request.prompt - request.cached + request.output
    replica.in_flight -= 1
    replica.load_tokens -= tokens
    replica.ending += 1
    replica.ending_tokens += tokens
    release(requests, state, row)


@compiled
def finish_due(world: World, r: int) -> None:
    """Every sequence whose last token came with the step just done. A static batch keeps their places until it ends."""
    replica, heap, requests = world.replicas[r], world.heap[r], world.requests
    while replica.alive > 0 and heap[0, 0] <= replica.step:
        row = heap_remove(requests, heap, replica, 0)
        line_out(requests, replica, row)
        if replica.static == 0:
            replica.running -= 1
            replica.context -= resident_kv_tokens(replica, requests[row])
            replica.kv -= cache_tokens(replica, requests[row])
        record_finish(world, row, replica.now + requests[row].lag)
        leave(requests, world.state[0], replica, row)
    if replica.static == 1 and replica.alive == 0:
        replica.running = 0


@compiled
def evict_last(requests: Any, heap: Heap, state: Any, replica: Any) -> None:
    """Free the KV cache of the sequence admitted last; it goes to the front of the queue, to be recomputed."""
    begun = heap[BEGUN, replica.partials - 1] if replica.partials > 0 else NONE
    row = begun
    if begun == NONE or (replica.newest != NONE and requests[replica.newest].order > requests[begun].order):
        row = heap_remove(requests, heap, replica, requests[replica.newest].place)
        line_out(requests, replica, row)
        request, held = requests[row], resident_kv_tokens(replica, requests[row])
        replica.running -= 1
        replica.context -= held
        request.done += held - request.target
        state.recomputed += request.prompt + request.done - request.cached
    else:
        request, held = requests[row], requests[row].target
        state.recomputed += request.computed - request.cached
        replica.partials -= 1
    replica.kv -= held + replica.waste_tokens
    request.target = request.prompt + request.done
    request.computed = request.cached
    request.preempted += 1
    state.preempted += 1
    enqueue(requests, replica, row, True)


@compiled
def make_room(requests: Any, heap: Heap, state: Any, replica: Any) -> bool:
    """Evict until the next token of every decoding sequence fits; whether anything was evicted."""
    evicted = False
    if replica.reserve == 1:
        return False
    while replica.running > 0 and replica.kv + replica.running * replica.tokens_per_step > replica.kv_tokens:
        evict_last(requests, heap, state, replica)
        evicted = True
    return evicted


@compiled
def admit(requests: Any, replica: Any) -> int:
    """The first waiting request, if a place and KV cache for all it knows are free; else NONE."""
    request = requests[replica.head]
    need = request.target + replica.waste_tokens
    if replica.reserve == 1:
        need += request.output - request.done
    if replica.kv + need + (replica.running + 1) * replica.tokens_per_step > replica.kv_tokens:
        return NONE
    row: int = dequeue(requests, replica)
    replica.kv += need
    request.order = replica.order
    replica.order += 1
    if request.started < 0.0:
        request.started = replica.now
    return row


@compiled
def take_chunk(rows: NDArray[np.float64], replica: Any, request: Any, budget: float) -> tuple[float, float]:
    """Process as much of a prompt as the budget allows: tokens, and seconds for their attention. Sets the lag."""
    left = request.target - request.computed
    chunk = min(left, budget)
    pair_s = pair_time(replica, chunk, request.computed)
    request.computed = request.target if chunk == left else request.computed + chunk
    request.lag = pipeline_lag(rows, replica, chunk, pair_s)
    return chunk, pair_s


@compiled
def plan_prompts(world: World, r: int, may_admit: bool) -> tuple[float, float, int, int]:
    """Prompt tokens of the next step, seconds of their attention, how many prompts they are of, and how many of these
    end in it (rows in scratch).

    Every attention-DP rank has its share of the token budget; a prompt stays on one of them.
    """
    replica, heap, requests, rows = world.replicas[r], world.heap[r], world.requests, world.rows[world.replicas[r].kind]
    budget, tokens, pair_s = replica.budget - replica.running * replica.rows_per_sequence, 0.0, 0.0
    of_rank, begun, taken, left, ended = budget / replica.ranks, replica.partials, 0, 0, 0
    may_admit = may_admit and (replica.static == 0 or replica.running == 0)
    while budget > 0.0 and left < replica.ranks:
        if taken < begun:
            row = heap[BEGUN, taken]
            taken += 1
        else:
            if not may_admit or replica.waiting == 0 or replica.running + ended + left >= replica.max_sequences:
                break
            row = admit(requests, replica)
            if row == NONE:
                break
            if requests[row].computed >= requests[row].target:  # prefilled elsewhere, KV cache handed over
                join(requests, heap, replica, row)
                budget -= replica.rows_per_sequence
                continue
        chunk, seconds = take_chunk(rows, replica, requests[row], min(budget, of_rank))
        budget, tokens, pair_s = budget - chunk, tokens + chunk, pair_s + seconds
        if requests[row].computed < requests[row].target:
            heap[BEGUN, left] = row
            left += 1
        else:
            heap[SCRATCH, ended] = row
            ended += 1
    prompts = left + ended
    for i in range(taken, begun):  # no budget was left for them
        heap[BEGUN, left] = heap[BEGUN, i]
        left += 1
    replica.partials = left
    world.state[0].prefilled += tokens
    return tokens, pair_s, prompts, ended


@compiled
def first_token(world: World, r: int, row: int) -> None:
    """The last chunk of a prompt is done: one more token is out, and decoding starts, or the request ends or moves."""
    replica, request, state = world.replicas[r], world.requests[row], world.state[0]
    if request.first < 0.0:
        request.first = replica.now + request.lag
    request.done += 1.0
    if replica.role == PREFILL_ONLY and request.done < request.output:
        record_row(world.records, state, request, request.first)
        state.handed += 1
    elif request.done >= request.output - ROUNDING:
        record_finish(world, row, replica.now + request.lag)
    else:
        join(world.requests, world.heap[r], replica, row)
        return
    if replica.static == 0:
        reserved = replica.reserve * (request.prompt + request.output - request.target)
        replica.kv -= request.target + reserved + replica.waste_tokens
    leave(world.requests, state, replica, row)


@compiled
def mixed_step(world: World, r: int, tokens: float, pair_s: float, prompts: int, ended: int) -> None:
    """One step with prompt tokens: decoding sequences advance by a token, ended prompts emit their first."""
    replica = world.replicas[r]
    running = replica.running
    mean = replica.context / running if running > 0 else 0.0
    seconds = decode_time(world.decode[replica.kind], running, mean)[0]
    seconds += prompt_time(world.rows[replica.kind], replica, tokens, pair_s, prompts)
    pass_time(world, replica, seconds)
    grown = running * replica.tokens_per_step
    replica.step += 1
    replica.steps += 1
    replica.context += grown
    replica.kv += grown * (1 - replica.reserve)
    finish_due(world, r)
    for i in range(ended):
        first_token(world, r, world.heap[r, SCRATCH, i])
    settle(replica)
    replica.hold = replica.now


@compiled
def pass_time(world: World, replica: Any, seconds: float) -> None:
    """The engine is busy for a while."""
    record_time(world.series, world.state[0].bin_s, replica, seconds)
    replica.now += seconds
    replica.ending, replica.ending_tokens = 0, 0.0
    replica.busy_s += seconds


@compiled
def steps_until(base: float, slope: float, target: float, most: int) -> int:
    """Smallest k >= 1 with k T + s k (k - 1) / 2 >= target, at most ``most``: the quadratic's root, then made exact."""
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


@compiled
def leap(world: World, r: int, until: float) -> None:
    """Decode steps up to the next event: a sequence ends, ``until`` is reached, the cache is full, another slope."""
    replica = world.replicas[r]
    running, grown = replica.running, replica.tokens_per_step
    mean = replica.context / running
    base, slope, knot = decode_time(world.decode[replica.kind], running, mean)
    most = world.heap[r, 0, 0] - replica.step
    # Nothing else can end earlier: later arrivals only slow the steps down.
    replica.hold = replica.now + most * base if replica.waiting == 0 else replica.now
    if knot - mean < most * grown:
        most = min(most, max(math.ceil((knot - mean) / grown), 1))
    if replica.reserve == 0 and replica.kv + most * running * grown > replica.kv_tokens:
        most = max(math.floor((replica.kv_tokens - replica.kv) / (running * grown)), 1)
    steps = steps_until(base, slope * grown, until - replica.now, most)
    seconds = steps * base + slope * grown * steps * (steps - 1) / 2.0
    replica.step += steps
    replica.steps += steps
    pass_time(world, replica, seconds)
    replica.context += steps * running * grown
    replica.kv += steps * running * grown * (1 - replica.reserve)
    finish_due(world, r)
    settle(replica)


@compiled
def advance(world: World, r: int, until: float) -> None:
    """Run a replica until its next step would start at ``until`` or later, or nothing is left to do."""
    replica = world.replicas[r]
    while replica.up == 1 and replica.now < until:
        if replica.running == 0 and replica.partials == 0 and replica.waiting == 0:
            return
        evicted = make_room(world.requests, world.heap[r], world.state[0], replica)
        tokens, pair_s, prompts, ended = 0.0, 0.0, 0, 0
        if replica.partials > 0 or replica.waiting > 0:
            tokens, pair_s, prompts, ended = plan_prompts(world, r, not evicted)
        if tokens > 0.0:
            mixed_step(world, r, tokens, pair_s, prompts, ended)
        else:
            leap(world, r, until)
