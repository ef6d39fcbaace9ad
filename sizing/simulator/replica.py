"""Compiled: the engine of one replica, leaping from event to event.

In-flight batching as in vLLM's scheduler (v1): decoding sequences first, then the rest of a partial prompt, then
waiting requests in order of arrival, within a token budget per step (chunked prefill after Agrawal et al.,
Sarathi-Serve, OSDI 2024). An engine may also keep prompts apart: while any of them can be computed, steps carry nothing
else, and decoding sequences wait (SGLang, vLLM before version 0.8). When the KV cache is full, the sequence admitted
last is evicted and recomputed later, unless the engine reserves the cache of the whole answer at admission
(TensorRT-LLM's default, guaranteed no evict). An engine may also keep some of it free for what is yet to be generated
when it admits another (SGLang).
Between two events (a sequence ends, a request arrives, the cache fills up) the decoding batch does not change, its mean
context grows by the tokens of a step, and step times are linear in it: k steps take k T + s k (k - 1) / 2, so they are
one event.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sizing.base.compiled import compiled
from sizing.simulator.batch import Heap, heap_push, heap_remove, line_out, line_up
from sizing.simulator.kv_cache import admit, cache_tokens, give_back, make_room, resident_kv_tokens
from sizing.simulator.layout import BEGUN, FINISH_STEP, NONE, PREFILL_ONLY, SCRATCH, World
from sizing.simulator.recording import record_finish, record_row, record_time, release, settle
from sizing.simulator.step_time import decode_time, pair_time, pipeline_lag, prompt_time

ROUNDING = 1e-9
"""Tokens that may seem to be missing from a complete answer because of rounding in float arithmetic."""

ALIKE = 1e-12
"""Growth of the step time over a leap, as a share of one step, below which all its steps count as equally long. The
root of the quadratic would then be the difference of two nearly equal numbers."""


@compiled
def join(requests: Any, heap: Heap, replica: Any, row: int) -> None:
    """A sequence whose prompt is computed starts decoding in the next step."""
    request = requests[row]
    request.joined_step = replica.step
    replica.running += 1
    replica.context += request.target  # tokens of context, summed over the decoding sequences
    # Speculation emits several tokens a step on average, so the steps left are the tokens left over that, rounded up.
    steps = math.ceil((request.output - request.done) / replica.tokens_per_step - ROUNDING)
    heap_push(requests, heap, replica, replica.step + steps, row)
    line_up(requests, replica, row)


@compiled
def leave(requests: Any, state: Any, replica: Any, row: int) -> None:
    """A request leaves this replica, finished or handed over: its load and its row of the table are freed."""
    replica.in_flight -= 1
    replica.ending += 1
    release(requests, state, row)


@compiled
def finish_due(world: World, r: int) -> None:
    """End every sequence whose last token came with the step just done.

    A static batch keeps their places and their KV cache until its longest answer ends.
    """
    replica, heap, requests = world.replicas[r], world.heap[r], world.requests
    while replica.alive > 0 and heap[FINISH_STEP, 0] <= replica.step:
        row = heap_remove(requests, heap, replica, 0)
        line_out(requests, replica, row)
        if replica.static == 0:
            replica.running -= 1
            replica.context -= resident_kv_tokens(replica, requests[row])
            give_back(replica, requests[row], cache_tokens(replica, requests[row]))
        record_finish(world, row, replica.now + requests[row].lag)
        leave(requests, world.state[0], replica, row)
    if replica.static == 1 and replica.alive == 0:
        replica.running = 0


@compiled
def take_chunk(rows: NDArray[np.float64], replica: Any, request: Any, budget: float) -> tuple[float, float]:
    """Process as much of a prompt as the budget (tokens) allows: the tokens, and the seconds of their attention.

    Sets ``request.lag``, the seconds from the end of the step to the first token where pipeline stages overlap.
    """
    left = request.target - request.computed
    chunk = min(left, budget)
    pair_s = pair_time(replica, chunk, request.computed)
    request.computed = request.target if chunk == left else request.computed + chunk
    request.lag = pipeline_lag(rows, replica, chunk, pair_s)
    return chunk, pair_s


@compiled
def plan_prompts(world: World, r: int, may_admit: bool) -> tuple[float, float, int, int]:
    """What prompts contribute to the next step: their tokens, seconds of their attention, prompts, prompts completed.

    The rows of the completed ones are left in ``heap[SCRATCH]``, those of the others in ``heap[BEGUN]``. Every
    attention-DP rank has its share of the token budget; a prompt stays on one of them, so a step advances at most as
    many incomplete prompts as there are ranks.
    """
    replica, heap, requests, rows = world.replicas[r], world.heap[r], world.requests, world.rows[world.replicas[r].kind]
    # Decoding sequences come first: each takes one row of the budget, and one for each draft token to be verified.
    beside = 0 if replica.apart == 1 else replica.running
    budget, tokens, pair_s = replica.budget - beside * replica.rows_per_sequence, 0.0, 0.0
    of_rank, begun, taken, left, ended = budget / replica.ranks, replica.partials, 0, 0, 0
    may_admit = may_admit and (replica.static == 0 or replica.running == 0)
    while budget > 0.0 and left < replica.ranks:
        if taken < begun:  # prompts begun in earlier steps come before waiting requests
            row = heap[BEGUN, taken]
            taken += 1
        else:
            if not may_admit or replica.waiting == 0 or replica.running + ended + left >= replica.max_sequences:
                break
            row = admit(requests, replica)
            if row == NONE:
                break
            if requests[row].computed >= requests[row].target:  # by a prefill instance, which handed the KV cache over
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
    for i in range(taken, begun):  # no budget was left for these; they stay in line behind the prompts of this step
        heap[BEGUN, left] = heap[BEGUN, i]
        left += 1
    replica.partials = left
    world.state[0].prefilled += tokens
    return tokens, pair_s, prompts, ended


@compiled
def first_token(world: World, r: int, row: int) -> None:
    """Emit the token that comes with the last chunk of a prompt, the first one unless the sequence was evicted before.

    Then the sequence decodes here, ends because that token was its last, or moves on to the decode pool.
    """
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
        # Its KV cache is freed: the tokens computed, what was reserved for the answer, and the unused rest of a block.
        reserved = replica.reserve * (request.prompt + request.output - request.target)
        give_back(replica, request, request.target + reserved + replica.waste_tokens)
    leave(world.requests, state, replica, row)


@compiled
def mixed_step(world: World, r: int, tokens: float, pair_s: float, prompts: int, ended: int) -> None:
    """One step with prompt tokens: completed prompts emit a token, and decoding sequences advance by one step.

    Where prompts have steps of their own, decoding sequences wait instead. Step time: the decode step of the running
    sequences plus what ``tokens`` prompt tokens (``pair_s`` seconds of attention) add to it.
    """
    replica = world.replicas[r]
    running = 0 if replica.apart == 1 else replica.running
    mean = replica.context / replica.running if replica.running > 0 else 0.0  # tokens of context per sequence
    decode_s = decode_time(world.decode[replica.kind], replica.running, mean)[0]
    rest_s = decode_time(world.decode[replica.kind], 0, 0.0)[0] if replica.apart == 1 else decode_s
    hidden_s = 0.0 if replica.apart == 1 else rest_s
    late_s = replica.first_token_steps * decode_s if replica.running > 0 else 0.0
    seconds = rest_s + prompt_time(world.rows[replica.kind], replica, running, tokens, pair_s, prompts, hidden_s)
    pass_time(world, replica, seconds)
    grown = running * replica.tokens_per_step
    replica.step += 1 - replica.apart  # counts decode steps, by which the heap orders the sequences' ends
    replica.steps += 1
    replica.context += grown
    replica.kv += grown * (1 - replica.reserve)  # a reserved cache holds the tokens of the answer from admission on
    finish_due(world, r)
    for i in range(ended):
        world.requests[world.heap[r, SCRATCH, i]].lag += late_s
        first_token(world, r, world.heap[r, SCRATCH, i])
    settle(replica)
    replica.hold = replica.now


@compiled
def pass_time(world: World, replica: Any, seconds: float) -> None:
    """Advance the clock of a replica by ``seconds`` in which its engine is busy, and record them in the series."""
    record_time(world.series, world.state[0].bin_s, replica, seconds)
    replica.now += seconds
    replica.ending = 0
    replica.busy_s += seconds


@compiled
def steps_until(base: float, slope: float, target: float, most_steps: int) -> int:
    """The fewest decode steps that last ``target`` seconds together, at most ``most_steps``.

    Equation: the smallest k >= 1 with k T + s k (k - 1) / 2 >= ``target``, where T = ``base`` is the time of the first
    step (s) and s = ``slope`` its growth per step (s). The root of the quadratic is taken first and then moved by
    single steps until it is exact, as float arithmetic may miss it by one.
    """
    if most_steps * base + slope * most_steps * (most_steps - 1) / 2.0 < target:
        return most_steps
    if slope * most_steps < ALIKE * base:
        k = target / base
    else:
        half = base - slope / 2.0
        k = (math.sqrt(half * half + 2.0 * slope * target) - half) / slope
    steps = min(max(int(k), 1), most_steps)
    while steps > 1 and (steps - 1) * base + slope * (steps - 1) * (steps - 2) / 2.0 >= target:
        steps -= 1
    while steps < most_steps and steps * base + slope * steps * (steps - 1) / 2.0 < target:
        steps += 1
    return steps


@compiled
def leap(world: World, r: int, until: float) -> None:
    """Take all decode steps up to the next event at once: their batch is the same and their times grow linearly.

    The leap ends when the first sequence ends, time ``until`` (s) is reached, the KV cache is full, or the mean context
    reaches the next knot of the step-time table, beyond which the slope differs.
    """
    replica = world.replicas[r]
    running, grown = replica.running, replica.tokens_per_step
    mean = replica.context / running
    # Seconds of the first step, seconds more per token of mean context, and the context at which that changes.
    base, slope, knot = decode_time(world.decode[replica.kind], running, mean)
    most_steps = world.heap[r, FINISH_STEP, 0] - replica.step
    # Nothing else can end earlier: later arrivals only slow the steps down.
    replica.hold = replica.now + most_steps * base if replica.waiting == 0 else replica.now
    if knot - mean < most_steps * grown:
        most_steps = min(most_steps, max(math.ceil((knot - mean) / grown), 1))
    if replica.reserve == 0 and replica.kv + most_steps * running * grown > replica.kv_tokens:
        most_steps = max(math.floor((replica.kv_tokens - replica.kv) / (running * grown)), 1)
    steps = steps_until(base, slope * grown, until - replica.now, most_steps)
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
    """Run a replica until its next step would start at ``until`` (s) or later, it is empty, or the work is used up.

    In a closed loop (``state.pausing``) it also stops once a request has ended, because its user sends the next one.
    """
    replica, state = world.replicas[r], world.state[0]
    finished = state.finished
    while replica.up == 1 and replica.now < until and state.events < state.most_events:
        if state.pausing == 1 and state.finished != finished:
            return
        state.events += 1
        if replica.running == 0 and replica.partials == 0 and replica.waiting == 0:
            return
        evicted = make_room(world.requests, world.heap[r], state, replica)
        tokens, pair_s, prompts, ended = 0.0, 0.0, 0, 0
        if replica.partials > 0 or replica.waiting > 0:
            tokens, pair_s, prompts, ended = plan_prompts(world, r, not evicted)
        if tokens > 0.0:
            mixed_step(world, r, tokens, pair_s, prompts, ended)
        else:
            leap(world, r, until)
