"""Compiled: the queues of :mod:`sizing.queueing.waiting` over a whole table, one number at a time.

As arrays they would write and read a hundred megabytes for a question; a number at a time they stay in registers. The
formulas are those of ``waiting``, compiled as they are. Compiled code is kept on disk.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit
from numba.extending import overload, register_jitable

from sizing.base.arrays import Floats
from sizing.queueing import waiting

BODY_ENDS = 8.3
"""Standard deviations below which all of a normal distribution lies, as far as a double can tell."""
TAIL_ENDS = 39.0
"""Standard deviations at which a double has no density left: nobody waits for a slot."""
PREFILL_LOAD, TTFT_MEAN, TTFT_VAR, ITL_MEAN, ITL_VAR, E2E_MEAN, E2E_VAR = range(7)
"""Places of the results."""
RESULTS = 7

compiled: Any = njit(error_model="numpy")
register_jitable(waiting.cubed)
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


@compiled
def slope_at(values: Floats, at: Floats, k: int) -> float:
    """:func:`sizing.queueing.waiting.slope` of one row, (K,) each, at one place."""
    low, high = max(k - 1, 0), min(k + 1, len(values) - 1)
    return float((values[high] - values[low]) / (at[high] - at[low]))


def _sources() -> str:
    """Digest of all that is compiled: numba notices a change in the file of the entry only, not in what it calls."""
    return hashlib.sha256(Path(waiting.__file__).read_bytes()).hexdigest()


def _entry(sources: str) -> Callable[..., None]:
    """The compiled entry, cached on disk under a key that holds ``sources`` (numba hashes the closure)."""

    @njit(cache=True, nogil=True, error_model="numpy")
    def queues(
        decode: Floats,
        concurrency: Floats,
        rps: Floats,
        itl: Floats,
        work: Floats,
        even: Floats,
        past_prompt: Floats,
        floor: Floats,
        of_rows: Floats,
        spread: tuple[float, float, float],
        never_full: float,
        out: Floats,
    ) -> None:
        arrivals, prompt, output = spread
        for c in range(decode.shape[0] if len(sources) > 0 else 0):
            gaps, per_token, chunks, filled, slots = of_rows[c]
            full_rps = rps[c].max()
            for k in range(decode.shape[1]):
                rate, at, step = rps[c, k], concurrency[c, k], decode[c, k] * past_prompt[c, k]
                rest, rest_var = residual_step(step, work[c, k] / chunks, itl[c, k], gaps, prompt)
                # A prompt also waits for the decode part of the steps that its share of the token budget of all ranks
                # fills. Attention-DP ranks serve one queue, and a prompt that waits has all of them full, hence even,
                # ahead of it.
                service = even[c, k] + filled * decode[c, k] * past_prompt[c, k]
                queue, queue_var = prompt_queue(service, min(rate * service, never_full), rate, arrivals, prompt)
                in_flight_var = in_flight_variance(at, rate, slope_at(rps[c], concurrency[c], k), arrivals)
                waits, slot, slot_var, held = 0.0, 0.0, 0.0, in_flight_var
                if slots - at < TAIL_ENDS * math.sqrt(in_flight_var):
                    waits, slot, slot_var, held = slot_queue(at, in_flight_var, slots, rate, full_rps, arrivals, output)
                ttft = floor[c, k] + rest + queue + slot
                ttft_var = rest_var + queue_var + slot_var + prompt * floor[c, k] ** 2
                interruption = at * (work[c, k] / max(gaps, 1.0)) ** 2 * (1.0 + output)
                # While requests wait, prompts come as answers end, and no more at random.
                at_random = 1.0 - waits * (1.0 - min(output, 1.0))
                moving = drift(slope_at(itl[c], concurrency[c], k), at, in_flight_var, held)
                itl_var = interruption * (prompt + at_random) + moving
                out[PREFILL_LOAD, c, k] = min(rate * work[c, k], 1.0)
                out[TTFT_MEAN, c, k] = ttft
                out[TTFT_VAR, c, k] = ttft_var
                out[ITL_MEAN, c, k] = itl[c, k] * per_token
                out[ITL_VAR, c, k] = itl_var * per_token**2
                out[E2E_MEAN, c, k] = ttft + gaps * itl[c, k]
                out[E2E_VAR, c, k] = ttft_var + gaps**2 * (itl_var + output * itl[c, k] ** 2)

    return queues


queues: Any = _entry(_sources())
"""``queues(decode, concurrency, rps, itl, work, even, past_prompt, floor, of_rows, spread, never_full, out)``.

What is (C, K) as in :mod:`sizing.queueing.steady_state`; ``of_rows`` (C, 5): decode steps of a request, of each token,
chunks of a prompt, share of the token budget of all ranks that it fills, slots; ``spread``: squared coefficients of
variation of arrivals, prompts and outputs. ``out`` (7, C, K) is filled in the order of :data:`PREFILL_LOAD` and so on.
"""
