"""What each benchmark mode measures, from the step times of one source.

Columns (C, 1) in, columns (C, 1) out; one row per configuration. The customer's latency at a request rate is the
business of ``sizing.queueing.steady_state``; what is here reproduces published measurements.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammainccinv

from sizing.base.arrays import Flags, Floats
from sizing.steps.times import StepTimes

FEWEST_GAPS = 1e-6
"""Gaps of an answer of one token, so that nothing is divided by 0."""


@dataclass(frozen=True, kw_only=True)
class ProtocolLengths:
    """Mean tokens per request as columns (C, 1): prompt tokens to compute, output tokens, tokens per engine step; the
    squared coefficient of variation of the output, and whether requests that start together end together: all answers
    are of one length, and the engine keeps prompts apart."""

    new: Floats
    output: Floats
    budget: Floats
    variation: Floats | float = 0.0
    together: Flags | bool = False

    @property
    def gaps(self) -> Floats:
        """Gaps between output tokens, OSL - 1; nearly 0 for one token, whose ITL is then the decode step."""
        return np.maximum(self.output - 1.0, FEWEST_GAPS)

    @property
    def chunks(self) -> Floats:
        """Steps that the prompt fills, at least one: prompts shorter than the token budget share a step."""
        return np.maximum(self.new / self.budget, 1.0)

    @property
    def held(self) -> Floats:
        """Prompts, or chunks of one, that the token budget holds: at least one."""
        return np.maximum(self.budget / self.new, 1.0)


@dataclass(frozen=True, kw_only=True)
class FrontEnd:
    """What a request takes before the engine has it, in seconds: see ``sizing.steps.efficiency`` for the names."""

    request_s: Floats
    prompt_token_s: float
    first_token_steps: Floats

    def taken_s(self, lengths: ProtocolLengths) -> Floats:
        """Seconds that a request of mean length takes in all, steps of others apart."""
        return np.asarray(self.request_s + self.prompt_token_s * lengths.new)


@dataclass(frozen=True, kw_only=True)
class Expected:
    """Mean times in seconds and rates per second of one instance, columns (C, 1); NaN where a mode has no such
    value."""

    ttft_s: Floats
    itl_s: Floats
    e2e_s: Floats
    rps: Floats
    ttft_p99_s: Floats
    itl_p99_s: Floats


def without_percentiles(ttft: Floats, itl: Floats, e2e: Floats, rps: Floats) -> Expected:
    """Expected values of which means alone are known: percentiles are NaN. All columns (C, 1)."""
    unknown = np.full_like(ttft, np.nan)
    return Expected(ttft_s=ttft, itl_s=itl, e2e_s=e2e, rps=rps, ttft_p99_s=unknown, itl_p99_s=unknown)


def static_batch(times: StepTimes, lengths: ProtocolLengths, batch: Floats, fits: Floats) -> Expected:
    """One batch of equal prompts run to the end: prefill of all of them, then OSL - 1 decode steps.

    TTFT = prefill + (B - 1) x work; ITL = decode at the mean context; E2E = TTFT + (OSL - 1) x ITL. A batch that does
    not fit in memory runs in batch / fits waves. Attention-DP ranks share it evenly: the fullest has ceil(B / ranks).
    """
    waves = np.maximum(batch / fits, 1.0)
    active = batch / waves
    first = times.prefill_s[:, None] + (active - 1.0) * times.prefill_work_s[:, None] + _stalled_s(times, active)
    itl = times.decode_s
    one_wave = first + (lengths.output - 1.0) * itl
    waiting = (waves - 1.0) / 2.0 * one_wave
    return without_percentiles(first + waiting, itl, one_wave + waiting, batch / (waves * one_wave))


LEAST_IMBALANCE = 1e-9
"""Share 1 - 1 / ranks at least, so that one rank, which has no stall, is not divided by 0."""


def _stalled_s(times: StepTimes, batch: Floats) -> Floats:
    """What B prompts at once take beyond one alone and B - 1 even ones: a x ((ceil(B / d) - 1) - (B - 1) / d), with
    a = stall / (1 - 1 / d) what a prompt takes of its own rank; 0 without ranks."""
    ranks, stall = (np.reshape(values, (-1, 1)) for values in (times.ranks, times.stall_s))
    own = stall / np.maximum(1.0 - 1.0 / ranks, LEAST_IMBALANCE)
    return np.asarray(own * (np.ceil(batch / ranks) - 1.0 - (batch - 1.0) / ranks))


def work_conserving_itl_s(
    times: StepTimes, lengths: ProtocolLengths, concurrency: Floats, again: Floats | float = 0.0
) -> Floats:
    """ITL with B sequences in flight, each replaced when it ends: decode(B) + (B - 1) x work / OSL + share of prompt
    steps x their fixed time (work conservation). On attention-DP ranks the work is that with B / OSL prompts a step. A
    request that is evicted ``again`` times has its prompt computed as many times more."""
    prompts = concurrency * (1.0 + again)
    others = np.maximum(concurrency - 1.0, 0.0) * (1.0 + again)
    shared = prompt_steps_share(lengths, others) * times.prompt_step_s
    work = times.work_s(prompts / lengths.output * lengths.chunks, lengths.held)
    itl: Floats = times.decode_s + others * work / lengths.output + shared
    return itl


def prompt_steps_share(lengths: ProtocolLengths, prompts: Floats) -> Floats:
    """Share of steps that carry prompt tokens: 1 - exp(-a), with a = B / OSL x chunks per prompt prompts per step; B
    ``prompts`` in the time of an answer, as many as are in flight."""
    return -np.expm1(-prompts / lengths.output * lengths.chunks)


FULL_SHARE = 0.978
"""Rate x E2E / B of a closed-loop run: it ends with the last of its requests, when most slots are idle. Median of the
748 good rows of InferenceMAX and InferenceX (2025-11 to 2026-06, 10 x B requests each), which publish all three;
quartiles 0.972 and 0.984, at every concurrency 0.97 to 0.99."""

STARTING = 0.05
"""Share of the prompts of all others that a request waits for in the mean over a run: in the first of ten rounds all
begin together, and wait for half of them."""


def fixed_concurrency(
    times: StepTimes,
    lengths: ProtocolLengths,
    concurrency: Floats,
    fits: Floats,
    front: FrontEnd,
    again: Floats | float = 0.0,
) -> Expected:
    """Closed loop in its steady state: B requests always in flight. What a run measures is simulated
    (:mod:`sizing.evidence.closed_loop`); this is what step times are fitted with, and layouts chosen.

    ITL by work conservation. TTFT = front end + prefill + half a decode step and those that were planned ahead +
    starting share x (B - 1) x work; as :func:`_in_step` says where all requests stay together.
    E2E = TTFT + (OSL - 1) x ITL; rate = full share x B / E2E.
    What does not fit in memory waits for a whole stay, and each request is evicted ``again`` times to be computed anew.
    """
    active = np.minimum(concurrency, fits)
    itl = work_conserving_itl_s(times, lengths, active, again)
    queued = STARTING * (active - 1.0)
    others = np.minimum(active - 1.0, 1.0)
    own = times.prefill_s[:, None] + times.decode_s * (0.5 + front.first_token_steps * others)
    own = own + queued * times.work_s(queued * lengths.chunks, lengths.held)
    own, itl = _in_step(times, lengths, active, own, itl)
    ttft = front.taken_s(lengths) + own
    ttft = ttft + (concurrency / active - 1.0) * (ttft + lengths.gaps * itl)
    e2e = ttft + lengths.gaps * itl
    return without_percentiles(ttft, itl, e2e, FULL_SHARE * concurrency / e2e)


def _in_step(
    times: StepTimes, lengths: ProtocolLengths, active: Floats, own: Floats, itl: Floats
) -> tuple[Floats, Floats]:
    """Time from engine to first token and ITL, where requests stay together (``ProtocolLengths.together``).

    B requests that start together are then computed one after the other while nobody decodes, decode as one batch and
    end in the same step, whereupon the next B start. Prompts are computed n to a step (what the token budget holds) in
    P = B x work + B / n x fixed time of a step: TTFT = P (1 + n / B) / 2 in the mean, the rest of P is a stall of those
    that came first: ITL = decode + P (1 - n / B) / 2 / (OSL - 1).
    """
    held = np.minimum(lengths.held, active)
    steps = active * lengths.chunks / np.where(lengths.chunks > 1.0, 1.0, held)
    prompts = active * times.prefill_work_s[:, None] + steps * times.prompt_step_s
    waited = prompts * (1.0 + held / active) / 2.0
    stalled = times.decode_s + prompts * (1.0 - held / active) / 2.0 / lengths.gaps
    return np.where(lengths.together, waited, own), np.where(lengths.together, stalled, itl)


def offline_max_throughput(
    times: StepTimes, lengths: ProtocolLengths, fits: Floats, again: Floats | float = 0.0
) -> Expected:
    """All requests queued: as many in flight as memory and engine hold; then work conservation. TTFT excludes the
    queue.

    rate = B / (OSL x decode(B) + B x work x (1 + again)), ``again`` the evictions of a request. Attention-DP ranks are
    even: published runs queue requests of equal lengths ("standard deviations set to 0", TensorRT-LLM performance
    overview 1.2), so that all ranks begin and end prompts in the same steps.
    """
    even = replace(times, stall_s=0.0)
    itl = work_conserving_itl_s(even, lengths, fits, again)
    own = even.work_s(fits * (1.0 + again) / lengths.output * lengths.chunks, lengths.held) * (1.0 + again)
    e2e = own + lengths.output * itl
    return without_percentiles(times.prefill_s[:, None] + itl, itl, e2e, fits / e2e)


def sustained(lengths: ProtocolLengths, batches: Floats) -> Floats:
    """Sequences that decode while prompts fill every step: ``batches`` x T x OSL / (ISL + OSL), at least 1.

    A step of T tokens (``budget``) carries a token of each of B sequences and p prompts: T = B + p x ISL, and in the
    steady state as many begin as end, B = p x OSL. Attention-DP ranks and pipeline stages run batches of their own.
    Source: a step's tokens are those of prompts and of sequences that decode, which come first (vLLM, optimization and
    tuning, chunked prefill; TensorRT-LLM, tuning max batch size and max num tokens).
    """
    return np.asarray(np.maximum(batches * lengths.budget * lengths.output / (lengths.new + lengths.output), 1.0))


CHAT_VARIATION = 1.2
"""Squared coefficient of variation of the answers of a burst of conversations, which are mostly ShareGPT's. From a
published run of 1,000 of them at 5 requests/s (``sglang_bench_serving.jsonl`` of the tests): E2E less TTFT has a mean
of 2.32 and a standard deviation of 2.62 s, squared 1.28, of which the varying TPOT (a sixth of its mean) has 0.06; its
median, 0.63 of the mean, is that of a gamma distribution of this variation (0.64)."""


def assumed_variation(output_tokens: float) -> float:
    """Squared coefficient of variation of answers of a burst that does not state it: 0 of a whole mean, as answers of
    equal length have, and that of conversations otherwise."""
    return 0.0 if output_tokens.is_integer() else CHAT_VARIATION


LEAST_VARIATION = 1e-3
"""Variation that stands for that of equal lengths, whose gamma distribution would be a point."""

LEFT_RUNNING = np.array([1.0, 0.8, 0.6, 0.4, 0.25, 0.15, 0.08, 0.04, 0.02, 0.01, 0.004, 0.0015])
"""Shares of a burst still running at which its last steps are read. Chosen: because decode time is nearly linear in
between."""


def burst_sizes(requests: Floats, fits: Floats) -> Floats:
    """Sequences in flight (C, K) while a burst of requests (C, 1) drains, from all that fit to the last one."""
    return np.asarray(np.maximum(np.fmin(requests, fits) * LEFT_RUNNING, 1.0))


def offline_burst(
    times: StepTimes, steady: Expected, lengths: ProtocolLengths, requests: Floats, fits: Floats
) -> Expected:
    """A finite run: ``requests`` (C, 1) sent at once (NaN: endless, as in ``steady``); ``times`` at
    :func:`burst_sizes`.

    makespan = (N - n) / steady rate + n x work + prompt steps x their fixed time + sum of decode steps while the last
    n = min(N, fits) sequences end one by one; rate = N / makespan. Sequences end as gamma-distributed lengths do.
    """
    start = np.fmin(requests, fits)
    left = np.maximum(LEFT_RUNNING, 1.0 / start)
    varied = np.maximum(lengths.variation, LEAST_VARIATION)
    ended = lengths.output * gammainccinv(1.0 / varied, left) * varied
    drain = (np.diff(ended, axis=1) * (times.decode_s[:, 1:] + times.decode_s[:, :-1]) / 2.0).sum(axis=1, keepdims=True)
    prompts = start * (times.prefill_work_s[:, None] + lengths.chunks / lengths.held * _at_full(times))
    makespan = np.maximum(requests - start, 0.0) / steady.rps + prompts + drain
    finite = np.isfinite(requests)
    return replace(
        steady, e2e_s=np.where(finite, makespan, steady.e2e_s), rps=np.where(finite, requests / makespan, steady.rps)
    )


def _at_full(times: StepTimes) -> Floats:
    """Fixed time of a step of prompts beside all that are in flight, (C, 1), at least 0."""
    return np.asarray(np.maximum(np.broadcast_to(times.prompt_step_s, times.decode_s.shape)[:, :1], 0.0))
