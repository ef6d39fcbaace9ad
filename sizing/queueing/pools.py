"""What prefill and decode instances give under load when each has a pool of its own.

A prefill instance computes prompts in order of arrival and hands their KV cache over; a decode instance is never
interrupted by prompts. Both see their share of the requests at random. Arrays are (N, K): N configurations, K loads.
Sources: Zhong et al., "DistServe" (OSDI 2024); Patel et al., "Splitwise" (ISCA 2024); the queues of
``sizing.queueing.steady_state``. Validity: against the simulator, ``docs/LOAD_MODEL.md``.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from sizing.base.arrays import Columns, Floats
from sizing.base.compiled_rows import non_decreasing, position
from sizing.question.traffic import Traffic, Variability
from sizing.queueing.compiled import decoding as of_steps
from sizing.queueing.steady_state import NEVER_FULL, SteadyState
from sizing.queueing.waiting import gamma_quantile, prompt_queue
from sizing.steps.ranks import counted_unevenness
from sizing.steps.times import StepTimes

STEP_SIZES = 24
"""Numbers of prompts in a step at which its duration is computed, evenly spaced in their logarithm."""


@dataclass(frozen=True, kw_only=True)
class PrefillTimes(Columns):
    """One prompt on a prefill instance, seconds, (N,): alone; engine time for one at a time, and in full steps.

    ``together``: prompts that the token budget of a step of one attention-DP rank holds, at least 1. ``stall_s``: what
    one of ``single_s`` costs because the other ``ranks`` wait. ``front_s``: before the engine has the request.
    """

    alone_s: Floats
    single_s: Floats
    full_s: Floats
    together: Floats
    stall_s: Floats
    ranks: Floats
    front_s: Floats


def prefill_times(times: StepTimes, stages: Floats, budget: Floats, new_tokens: float | Floats) -> PrefillTimes:
    """Engine time of a prompt of ``new_tokens`` that are not cached: arithmetic W, plus the fixed part of a step, which
    as many prompts share as fit into it.

    single = W + S + F, full = W + F / (ranks x max(1, floor(budget / new tokens))) with S the stall of a prompt alone
    on its attention-DP rank and F what it takes beyond both: alone - last chunk x (1 - 1 / stages) is what a pipeline
    is busy with one, whose ``stages`` work beside each other. In full steps every rank has its budget full, so that
    none waits.
    """
    work = times.prefill_work_s
    stall, ranks, front = (np.broadcast_to(v, work.shape) for v in (times.stall_s, times.ranks, times.front_s))
    single = work + stall
    busy = times.prefill_s * (1.0 - np.asarray(times.last_chunk) * (1.0 - 1.0 / stages))
    fixed = np.maximum(busy - single, 0.0)
    together = np.maximum(budget / new_tokens, 1.0)
    return PrefillTimes(
        alone_s=times.prefill_s,
        single_s=single + fixed,
        full_s=work + fixed / (ranks * np.floor(together)),
        together=together,
        stall_s=stall,
        ranks=ranks,
        front_s=front,
    )


@dataclass(frozen=True, kw_only=True)
class FirstToken(Columns):
    """Time to the first token at some loads: mean and fixed part in s, variance in s^2, busy share; all (N, K)."""

    mean_s: Floats
    floor_s: Floats
    var: Floats
    busy: Floats

    def at(self, percentile: float) -> Floats:
        """Time to first token at a percentile over requests, (N, K)."""
        return self.floor_s + gamma_quantile(self.mean_s - self.floor_s, self.var, percentile)


def first_token(one: PrefillTimes, rps: Floats, transfer_s: Floats, variability: Variability) -> FirstToken:
    """Front end + queue for earlier prompts + own prefill + transfer of the KV cache, at ``rps`` (N, K) of an instance.

    Pollaczek-Khinchine with the time of a single prompt as the jump and that of full steps as the load. All prompts of
    a step end with it, so those that come behind one while it waits delay it too: rate x wait x time, as far as a step
    holds them.
    """
    alone = (one.alone_s + transfer_s)[:, None]
    busy = np.minimum(rps * one.full_s[:, None], NEVER_FULL)
    mean, var = prompt_queue(one.single_s[:, None], busy, rps, variability.arrivals, variability.prompt)
    behind = np.minimum(busy * mean, ((one.together - 1.0) * one.single_s)[:, None])
    longer = 1.0 + behind / np.maximum(mean, 1e-300)
    mean, var = mean * longer, var * longer**2
    if len(some := np.flatnonzero(one.ranks > 1.0)):
        mean[some], var[some] = _on_ranks(one.take(some), rps[some], busy[some], variability)
    floor, front = np.broadcast_to(alone, busy.shape), one.front_s[:, None]
    return FirstToken(
        mean_s=front + floor + mean,
        floor_s=front + (floor if variability.prompt == 0.0 else np.zeros_like(busy)),
        var=var + variability.prompt * floor**2,
        busy=busy,
    )


def _on_ranks(one: PrefillTimes, rps: Floats, busy: Floats, variability: Variability) -> tuple[Floats, Floats]:
    """Mean and variance of what delays a prompt beyond its own prefill on an instance with attention-DP ranks, (N, K).

    All ranks step together, and a step takes what came during the one before. With T(n) = n even work + n stall x
    unevenness + fixed, steps hold n = rate x T(n) prompts, at least 1; the engine works a share b = 1 / (1 + e^-x / x)
    of the time, x = rate x T (steps follow each other unless nobody came). Delay = b x (T / 2 + T(1 + x) - T(1)), plus
    the wait for room in full steps, full x r^(sqrt(2 m + 2) - 1) / (1 - r) x (ca^2 + cs^2) / 2 with m prompts in a full
    step and r the share of them that come. Sources: batch service (Bailey 1954); Sakasegawa (1977) for the last term.
    """
    most = (one.ranks * one.together)[:, None]
    number = most ** np.linspace(0.0, 1.0, STEP_SIZES)
    stall = one.stall_s[:, None] * counted_unevenness(number, one.ranks, one.together)
    alone = one.single_s - one.stall_s  # W + F, of which full steps share F
    fixed = (alone - one.full_s) / (1.0 - 1.0 / (one.ranks * np.floor(one.together)))
    step = fixed[:, None] + number * ((alone - fixed)[:, None] + stall)
    rate = non_decreasing(number / step)
    lasts = position(rate, np.clip(rps, rate[:, :1], rate[:, -1:]), beyond=True).of(step)
    come = rps * lasts
    follows = 1.0 / (1.0 + np.exp(-come) / np.maximum(come, 1e-12))
    shared = position(number, np.minimum(1.0 + come, most), beyond=True).of(step) - step[:, :1]
    spread = (variability.arrivals + variability.prompt) / 2.0
    room = one.full_s[:, None] * busy ** (np.sqrt(2.0 * most + 2.0) - 1.0) / (1.0 - busy) * spread
    rest = lasts * spread
    mean = follows * (rest + shared) + room
    square = follows * (4.0 / 3.0 * rest**2 + 2.0 * rest * shared + shared**2)
    var = np.maximum(square - (follows * (rest + shared)) ** 2, 0.0)  # which rounding takes below 0
    return mean, var + room**2


@dataclass(frozen=True, kw_only=True)
class Decoding(Columns):
    """Decode instances at growing concurrency: requests/s, and the gap between tokens in s and s^2, (N, K)."""

    concurrency: Floats
    rps: Floats
    mean_s: Floats
    var: Floats

    def gap_s(self, percentile: float) -> Floats:
        """Mean gap between the tokens of one request at a percentile over requests, (N, K)."""
        return np.asarray(self.mean_s + float(ndtri(percentile / 100.0)) * np.sqrt(self.var))

    def at(self, rps: Floats) -> tuple[Floats, Floats, Floats]:
        """Concurrency, mean and variance of the gap at ``rps`` (N, M); deviations lie on straight lines between loads,
        as percentiles do where a limit is looked up."""
        place = position(self.rps, rps)
        return place.of(self.concurrency), place.of(self.mean_s), place.of(np.sqrt(self.var)) ** 2


def decoding(
    decode_s: Floats,
    concurrency: Floats,
    slots: Floats,
    traffic: Traffic,
    variability: Variability,
    tokens_per_step: Floats | float = 1.0,
) -> Decoding:
    """Steady state of decode instances: rate(B) = B / (D x decode(B)), D = (OSL - 1) / tokens per step (Little's law).

    Gap = (decode step + (rest of the running step + wait for a slot) / D) / tokens per step: both lie between the first
    and second token.
    """
    tokens = max(traffic.output_tokens - 1.0, 1.0)
    gaps = np.maximum(tokens / np.broadcast_to(tokens_per_step, len(decode_s)), 1.0)
    per_token = gaps[:, None] / tokens
    rps = non_decreasing(concurrency / (gaps[:, None] * decode_s))
    spread = (float(variability.arrivals), float(variability.prompt), float(variability.output))
    out, tables = np.empty((2, *decode_s.shape)), map(np.ascontiguousarray, (decode_s, concurrency, rps))
    of_steps(tuple(tables), np.asarray(slots, dtype=np.float64), spread, gaps, out)
    return Decoding(concurrency=concurrency, rps=rps, mean_s=out[0] * per_token, var=out[1] * per_token**2)


def joined(
    first: FirstToken, gap: tuple[Floats, Floats, Floats], rps: Floats, traffic: Traffic, variability: Variability
) -> SteadyState:
    """Both pools together, (N, K): E2E = time to first token + D x gap, the two being independent."""
    concurrency, itl, itl_var = gap
    gaps = max(traffic.output_tokens - 1.0, 0.0)
    return SteadyState(
        concurrency=concurrency,
        rps=rps,
        prefill_load=first.busy,
        ttft_mean_s=first.mean_s,
        ttft_floor_s=first.floor_s,
        ttft_var=first.var,
        itl_mean_s=itl,
        itl_var=itl_var,
        itl_full_s=np.full_like(itl[:, :1], np.inf),
        itl_full_var=np.zeros_like(itl[:, :1]),
        e2e_mean_s=first.mean_s + gaps * itl,
        e2e_var=first.var + gaps**2 * (itl_var + variability.output * itl**2),
    )
