"""Compiled: who has a place in the KV cache of a replica: admission, growth by a token a step, and eviction."""

from typing import Any

from sizing.base.compiled import compiled
from sizing.simulator.batch import Heap, dequeue, enqueue, heap_remove, line_out
from sizing.simulator.layout import BEGUN, NONE


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
def give_back(replica: Any, request: Any, held: float) -> None:
    """Free what a sequence occupied, and what it would have grown to."""
    replica.kv -= held
    replica.whole -= request.prompt + request.output + replica.waste_tokens


@compiled
def promised(replica: Any, request: Any) -> float:
    """Tokens that must stay free when a request is admitted, for what it and those running have yet to generate."""
    own = min(request.output - request.done, replica.promised_most)
    return replica.promised_new * own + replica.promised_running * (replica.whole - replica.kv)  # type: ignore[no-any-return]


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
    give_back(replica, request, held + replica.waste_tokens)
    request.target = request.prompt + request.done
    request.computed = request.cached
    request.preempted += 1
    state.preempted += 1
    state.events += 1
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
    growth = max((replica.running + 1) * replica.tokens_per_step, promised(replica, request))
    if replica.kv + need + growth > replica.kv_tokens:
        return NONE
    row: int = dequeue(requests, replica)
    replica.kv += need
    replica.whole += request.prompt + request.output + replica.waste_tokens
    request.order = replica.order
    replica.order += 1
    if request.started < 0.0:
        request.started = replica.now
    return row
