"""Compiled: the queues of :mod:`sizing.queueing.waiting` over a whole table, one number at a time.

As arrays they would write and read a hundred megabytes for a question; a number at a time they stay in registers. The
formulas are those of ``waiting``, compiled as they are. Compiled code is kept on disk.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.extending import overload, register_jitable

from sizing.base.arrays import Floats
from sizing.base.compiled import compiled, compiled_entry, digest
from sizing.queueing import waiting

BODY_ENDS = 8.3
"""Standard deviations below which all of a normal distribution lies, as far as a double can tell."""
TAIL_ENDS = 12.0
"""Standard deviations from where on nobody waits for a slot. Chosen: because the share that waits by then, 1e-28, is
lost in the rounding of all that it is added to or taken from."""
PREFILL_LOAD, TTFT_MEAN, TTFT_VAR, ITL_MEAN, ITL_VAR, E2E_MEAN, E2E_VAR = range(7)
"""Places of the results of ``queues``."""
RESULTS = 7
WORK, EVEN, GAP, RATE, PAST_PROMPT, FLOOR = range(6)
"""Places of the results of ``loaded``."""
LOADED = 6

Spread = tuple[float, float, float]
"""Squared coefficients of variation of arrivals, prompts and outputs."""

register_jitable(waiting.cubed)
gamma_beyond = compiled(waiting.gamma_beyond)
residual_step = compiled(waiting.residual_step)
prompt_queue = compiled(waiting.prompt_queue)
slot_queue = compiled(waiting.slot_queue)
in_flight_variance = compiled(waiting.in_flight_variance)
drift = compiled(waiting.drift)


@overload(waiting.normal_below, strict=False)
def _normal_below(z: float) -> Callable[[float], float]:
    def scalar(z: float) -> float:
        return 1.0 if z > BODY_ENDS else 0.5 * math.erfc(-z / math.sqrt(2.0))

    return scalar


@overload(waiting.ninth_of_square)
def _ninth_of_square(variance: float, mean: float) -> Callable[[float, float], float]:
    def scalar(variance: float, mean: float) -> float:
        return variance / (9.0 * mean**2) if mean > 0.0 else 0.0

    return scalar


@compiled
def slope_at(values: Floats, at: Floats, k: int) -> float:
    """Growth of ``values`` with ``at``, (K,) each, at one place: between both neighbours, at an end to the only one."""
    low, high = max(k - 1, 0), min(k + 1, len(values) - 1)
    return float((values[high] - values[low]) / (at[high] - at[low]))


@compiled
def largest(values: Floats) -> float:
    """The largest of (K,) numbers; the array's own would take a quarter of the time to compile."""
    most = values[0]
    for k in range(1, len(values)):
        most = max(most, values[k])
    return most  # type: ignore[no-any-return]


@compiled
def beside(at: float, slots: float) -> float:
    """Requests in flight whose prompts may interrupt an answer: none where an engine admits one at a time."""
    return at if slots > 1.0 else 0.0


@compiled
def behind_prompts(
    decode: float, itl: float, work: float, even: float, rate: float, of_row: Floats, spread: Spread, never_full: float
) -> tuple[float, float]:
    """Mean and variance of the rest of the running step and the wait for earlier prompts, in s and s^2.

    A prompt also waits for the decode part of the steps that its share of the token budget of all ranks fills.
    Attention-DP ranks serve one queue, and a prompt that waits has all of them full, hence even, ahead of it.
    """
    gaps, chunks, filled = of_row[0], of_row[2], of_row[3]
    arrivals, prompt, _ = spread
    rest, rest_var = residual_step(decode, work / chunks, itl, gaps, prompt)
    service = even + filled * decode
    wait, wait_var = prompt_queue(service, min(rate * service, never_full), rate, arrivals, prompt)
    return rest + wait, rest_var + wait_var


@compiled
def for_a_slot(
    at: float, rate: float, growth: float, slots: float, full_rps: float, spread: Spread
) -> tuple[float, float, float, float, float]:
    """Variance of the number in flight, then :func:`sizing.queueing.waiting.slot_queue`."""
    arrivals, _, output = spread
    in_flight_var = in_flight_variance(at, rate, growth, arrivals)
    if slots - at >= TAIL_ENDS * math.sqrt(in_flight_var):
        return in_flight_var, 0.0, 0.0, 0.0, in_flight_var
    waits, mean, var, held = slot_queue(at, in_flight_var, slots, rate, full_rps, arrivals, output)
    return in_flight_var, waits, mean, var, held


def _entry(sources: str) -> Callable[..., None]:
    """The compiled entry; ``sources``: digest of all that it calls."""

    @compiled_entry
    def queues(tables: tuple[Floats, ...], of_rows: Floats, spread: Spread, never_full: float, out: Floats) -> None:
        decode, concurrency, rps, itl, work, even, past_prompt, floor = tables
        _, prompt, output = spread
        for c in range(decode.shape[0] if len(sources) > 0 else 0):
            gaps, per_token, _, _, slots, again = of_rows[c]
            full_rps = largest(rps[c])
            for k in range(decode.shape[1]):
                rate, at, gap, own = rps[c, k], concurrency[c, k], itl[c, k], work[c, k]
                step = decode[c, k] * past_prompt[c, k]
                wait, wait_var = behind_prompts(step, gap, own, even[c, k], rate, of_rows[c], spread, never_full)
                growth = slope_at(rps[c], concurrency[c], k)
                varies, waits, slot, slot_var, held = for_a_slot(at, rate, growth, slots, full_rps, spread)
                ttft_var = wait_var + slot_var + prompt * floor[c, k] ** 2
                interruption = beside(at, slots) * (own / max(gaps, 1.0)) ** 2 * (1.0 + output)
                # While requests wait, prompts come as answers end, and no more at random.
                at_random = 1.0 - waits * (1.0 - min(output, 1.0))
                moving = drift(slope_at(itl[c], concurrency[c], k), at, varies, held)
                itl_var = interruption * (prompt + at_random) + moving
                # While requests wait, those that were evicted have their prompts computed again.
                evicted = waits * again
                gap += evicted * slots * own * min(gaps, 1.0) / max(gaps, 1.0)
                out[PREFILL_LOAD, c, k] = min(rate * own * (1.0 + evicted), 1.0)
                out[TTFT_MEAN, c, k] = floor[c, k] + wait + slot
                out[TTFT_VAR, c, k] = ttft_var
                out[ITL_MEAN, c, k] = gap * per_token
                out[ITL_VAR, c, k] = itl_var * per_token**2
                out[E2E_MEAN, c, k] = out[TTFT_MEAN, c, k] + gaps * gap
                out[E2E_VAR, c, k] = ttft_var + gaps**2 * (itl_var + output * gap**2)

    return queues  # type: ignore[no-any-return]


def _loaded_entry(sources: str) -> Callable[..., None]:
    """The compiled entry of the loaded latencies; ``sources`` as for :func:`_entry`."""

    @compiled_entry
    def loaded(tables: tuple[Floats, ...], of_rows: Floats, out: Floats) -> None:
        decode, concurrency, stalled, prompt_steps = tables
        last_stalled = stalled.shape[1] - 1
        for c in range(decode.shape[0] if len(sources) > 0 else 0):
            alone, prefill, gaps, chunks, others, slots = of_rows[c]
            for k in range(decode.shape[1]):
                step, at = decode[c, k], concurrency[c, k]
                prompts = at / max(gaps, 1.0)
                even = chunks * (prompt_steps[c, k] * -math.expm1(-prompts) / prompts) + prefill
                work, answering = even + stalled[c, min(k, last_stalled)], gaps * step
                past_prompt = answering / (alone + answering)
                out[WORK, c, k], out[EVEN, c, k], out[PAST_PROMPT, c, k] = work, even, past_prompt
                out[GAP, c, k] = step + beside(at, slots) * work * min(gaps, 1.0) / max(gaps, 1.0)
                out[RATE, c, k] = at / (alone + answering + max(at - 1.0, 0.0) * work)
                # Prefill alone streams the weights once; a step shared with decoding has paid for that. Prompts on
                # other attention-DP ranks share its steps.
                longer = chunks * max(step - decode[c, 0], 0.0) * past_prompt
                out[FLOOR, c, k] = alone + longer + others * at * prefill

    return loaded  # type: ignore[no-any-return]


def _decoding_entry(sources: str) -> Callable[..., None]:
    """The compiled entry of the decode steps; ``sources`` as for :func:`_entry`."""

    @compiled_entry
    def decoding(tables: tuple[Floats, ...], slots: Floats, spread: Spread, steps: Floats, out: Floats) -> None:
        decode, concurrency, rps = tables
        for c in range(decode.shape[0] if len(sources) > 0 else 0):
            full_rps = rps[c, -1]
            for k in range(decode.shape[1]):
                step, at = decode[c, k], concurrency[c, k]
                growth = slope_at(rps[c], concurrency[c], k)
                varies, _, wait, wait_var, held = for_a_slot(at, rps[c, k], growth, slots[c], full_rps, spread)
                moving = drift(slope_at(decode[c], concurrency[c], k), at, varies, held)
                out[0, c, k] = step * (1.0 + 0.5 / steps[c]) + wait / steps[c]
                out[1, c, k] = moving + (step**2 / 12.0 + wait_var) / steps[c] ** 2

    return decoding  # type: ignore[no-any-return]


def _percentile_entry(sources: str) -> Callable[..., None]:
    """The compiled entry of the percentiles; ``sources`` as for :func:`_entry`."""

    @compiled_entry
    def percentiles(tables: tuple[Floats, ...], full: Floats, z: float, out: Floats) -> None:
        ttft_mean, floor, ttft_var, itl_mean, itl_var, e2e_mean, e2e_var = tables
        for c in range(ttft_mean.shape[0] if len(sources) > 0 else 0):
            highest = full[c, 0] + z * math.sqrt(full[c, 1])
            ttft = itl = e2e = -math.inf
            for k in range(ttft_mean.shape[1]):
                fixed, gap = floor[c, k], itl_mean[c, k] + z * math.sqrt(itl_var[c, k])
                ttft = np.maximum(ttft, fixed + gamma_beyond(ttft_mean[c, k] - fixed, ttft_var[c, k], z))
                itl = np.maximum(itl, np.maximum(np.minimum(gap, highest), 0.0))
                e2e = np.maximum(e2e, gamma_beyond(e2e_mean[c, k], e2e_var[c, k], z))
                out[0, c, k], out[1, c, k], out[2, c, k] = ttft, itl, e2e

    return percentiles  # type: ignore[no-any-return]


percentiles: Any = _percentile_entry(digest(waiting.__file__))
"""``percentiles(tables, full, z, out)``: TTFT, ITL and E2E ``z`` standard deviations beyond the mean, as
:class:`sizing.queueing.steady_state.SteadyState` has them, each at least as large as at any lower concurrency.

``tables``, (C, K) each: TTFT mean, its fixed part and its variance, then mean and variance of ITL and of E2E; ``full``
(C, 2): mean and variance of ITL while every slot is taken. ``out`` (3, C, K) is filled.
"""

decoding: Any = _decoding_entry(digest(waiting.__file__))
"""``decoding(tables, slots, spread, steps, out)``: mean and variance of the time of a decode step of a request, its
share of the rest of the running step and of the wait for a slot included, into ``out`` (2, C, K).

``tables``, (C, K) each: decode steps, concurrency and growing rate; ``slots`` (C,); ``steps`` of one request.
"""

loaded: Any = _loaded_entry(digest())
"""``loaded(tables, of_rows, out)``: an engine at each concurrency of its grid, in the mean, as
:func:`sizing.queueing.steady_state.steady_state` has it, into ``out`` (6, C, K) in the order of :data:`WORK` and so on.

``tables``: decode steps and concurrency, (C, K), what prompts take more where attention-DP ranks wait, (C, K) or
(C, 1), and by how much a step with prompts is longer beyond their work, (C, K); ``of_rows`` (C, 5): prefill of a prompt
alone, its engine time, decode steps of a request, chunks of a prompt, and chunks on other ranks for each request in
flight.
"""

queues: Any = _entry(digest(waiting.__file__))
"""``queues(tables, of_rows, spread, never_full, out)``.

``tables``, (C, K) each and as in :mod:`sizing.queueing.steady_state`: decode steps, concurrency, rate, ITL, work, work
with even ranks, share past the prompt, own prefill; ``of_rows`` (C, 6): decode steps of a request, of a token, chunks
of a prompt, share of the token budget of all ranks that it fills, slots, prompts computed again. ``out`` (7, C, K) is
filled in the order of :data:`PREFILL_LOAD` and so on.
"""
