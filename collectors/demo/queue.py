"""A simple queueing model of one replica, second by second. The product's simulator may replace ``advance``.

All running requests get tokens at the same pace, so a request admitted when the pace counter stood at v leaves when it
reaches v + output tokens. Prefill takes its share of every second and slows decoding down by it.
"""

import heapq
import math
from collections import deque
from dataclasses import dataclass, field

import numpy as np

# Chosen: figures of the order that is measured for a 70-billion-parameter model in FP8 on two H100 80 GB.
STEP_S = 0.021  # a decode step, whatever its batch: the weights are read
STEP_PER_SEQUENCE_S = 0.00016  # what each sequence adds to it: its KV cache is read
PREFILL_TOKENS_PER_S = 9_500.0  # prompts, alone on the GPUs
HANDLING_S = 0.018  # added to the prefill of every request: HTTP and tokenising
MAX_SEQUENCES = 256  # in flight: vLLM's default of the time
KV_TOKENS = 228_608  # what the KV cache holds: 14,288 blocks
BLOCK_TOKENS = 16  # of a block of the KV cache: vLLM's default
MOST_PREFILL_SHARE = 0.95  # of a step: chosen, so that decoding never stops
PREFILL_SLOWS = 0.8  # by which share of it prefill holds up decoding: chosen, chunked prefill lets most steps pass
JITTER = 0.02  # of a step, either way: chosen, no two steps are alike
SHORTEST_DECODE_S = 1e-3  # from the first token to the last: chosen, no answer takes less
SLOW_FACTOR = 1.7
"""Steps of a GPU that is too hot take so many times as long. Chosen: its clock falls to 58 %."""


@dataclass(slots=True)
class Request:
    """One request; it leaves when the pace counter reaches ``leaves_at``."""

    leaves_at: float
    arrived_s: float
    input_tokens: int
    output_tokens: int
    admitted_s: float = 0.0
    first_token_s: float = 0.0
    entered_at: float = 0.0
    gone: bool = False
    started: bool = False


@dataclass
class ReplicaState:
    """The requests that wait and run at a replica of the demo, and what its KV cache holds of them."""

    waiting: deque[Request] = field(default_factory=deque)
    running: list[tuple[float, int, Request]] = field(default_factory=list)
    entries: int = 0
    admitted: list[Request] = field(default_factory=list)
    count: int = 0
    pace: float = 0.0
    resident_kv_tokens: float = 0.0

    def kv_tokens(self) -> float:
        """Tokens in the KV cache now."""
        return self.resident_kv_tokens + self.count * self.pace


@dataclass
class StepOutcome:
    """What one engine step gave: first tokens, finished requests, tokens, and how many were evicted."""

    ttft_s: list[float] = field(default_factory=list)
    finished: list[tuple[Request, float]] = field(default_factory=list)
    itl_s: float = 0.0
    tokens: int = 0
    prompt_tokens: int = 0
    prefill_share: float = 0.0
    preemptions: int = 0


def advance(
    state: ReplicaState,
    arrivals: list[tuple[float, int, int]],
    *,
    now_s: float,
    step_s: float,
    cache_hits: float,
    slow: bool,
    rng: np.random.Generator,
) -> StepOutcome:
    """Move one replica by ``step_s`` to ``now_s``; ``arrivals`` are (time, input tokens, output tokens) of this step.

    This is the whole interface between the demo and its model.
    """
    out = StepOutcome()
    factor = SLOW_FACTOR if slow else 1.0
    state.waiting.extend(
        Request(leaves_at=0.0, arrived_s=at, input_tokens=given, output_tokens=wanted) for at, given, wanted in arrivals
    )
    busy_s = _admit(state, out, now_s=now_s, step_s=step_s, cache_hits=cache_hits, factor=factor)
    out.prefill_share = min(MOST_PREFILL_SHARE, busy_s / step_s)
    out.itl_s = factor * (STEP_S + STEP_PER_SEQUENCE_S * state.count) / (1.0 - PREFILL_SLOWS * out.prefill_share)
    out.itl_s *= float(rng.uniform(1.0 - JITTER, 1.0 + JITTER))
    _decode(state, out, now_s=now_s, step_s=step_s)
    _preempt(state, out)
    return out


def _admit(
    state: ReplicaState, out: StepOutcome, *, now_s: float, step_s: float, cache_hits: float, factor: float
) -> float:
    """Let waiting requests in while there is prefill time, a sequence and KV space; returns the seconds of prefill."""
    busy = 0.0
    begin = now_s - step_s
    while state.waiting and state.count < MAX_SEQUENCES:
        request = state.waiting[0]
        cost = factor * request.input_tokens * (1.0 - cache_hits) / PREFILL_TOKENS_PER_S
        if state.kv_tokens() + request.input_tokens > 0.98 * KV_TOKENS or busy >= 0.9 * step_s:
            break
        state.waiting.popleft()
        start = max(request.arrived_s, begin + busy)
        busy += cost
        request.admitted_s, request.first_token_s = start, start + cost + factor * (HANDLING_S + STEP_S)
        request.entered_at, request.leaves_at = state.pace, state.pace + request.output_tokens
        state.resident_kv_tokens += request.input_tokens - state.pace
        state.count += 1
        if not request.started:
            out.ttft_s.append(request.first_token_s - request.arrived_s)
            out.prompt_tokens += request.input_tokens
            request.started = True
        state.entries += 1
        heapq.heappush(state.running, (request.leaves_at, state.entries, request))
        state.admitted.append(request)
    return busy


def _decode(state: ReplicaState, out: StepOutcome, *, now_s: float, step_s: float) -> None:
    """Give every running request its tokens; those that are complete leave."""
    gained = step_s / out.itl_s
    before = state.pace
    state.pace += gained
    tokens = state.count * gained
    while state.running and (state.running[0][2].gone or state.running[0][0] <= state.pace):
        request = heapq.heappop(state.running)[2]
        if request.gone:
            continue
        share = min(1.0, max(0.0, (request.leaves_at - before) / gained))
        left = max(now_s - step_s + share * step_s, request.first_token_s + SHORTEST_DECODE_S)
        tokens -= state.pace - request.leaves_at  # it left before the end of the step
        _leave(state, request)
        out.finished.append((request, left))
    out.tokens = math.floor(max(tokens, 0.0))
    while state.admitted and state.admitted[-1].gone:
        state.admitted.pop()


def _preempt(state: ReplicaState, out: StepOutcome) -> None:
    """Put the newest requests back into the queue until the KV cache holds the rest; they are computed again."""
    while state.kv_tokens() > KV_TOKENS and state.admitted:
        request = state.admitted.pop()
        if request.gone:
            continue
        done = state.pace - request.entered_at
        _leave(state, request)
        again = Request(
            leaves_at=0.0,
            arrived_s=request.arrived_s,
            input_tokens=request.input_tokens,
            output_tokens=max(1, round(request.output_tokens - done)),
            started=True,
        )
        state.waiting.appendleft(again)
        out.preemptions += 1


def _leave(state: ReplicaState, request: Request) -> None:
    request.gone = True
    state.count -= 1
    state.resident_kv_tokens -= request.input_tokens - request.entered_at
    if len(state.admitted) > 4 * MAX_SEQUENCES:
        state.admitted = [r for r in state.admitted if not r.gone]
