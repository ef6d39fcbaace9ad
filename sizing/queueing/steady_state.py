"""What step times give under load: steady state of in-flight batching at a request rate, and latency percentiles.

Prefill and decode share the engine. With B sequences decoding, a token takes the decode step plus its share of the
prefill work that arrives meanwhile; Little's law ties B to the request rate. Every array is (C, K): C candidates, K
points of growing concurrency. Sources: Little (1961); Pollaczek-Khinchine for the prompt queue; a birth-death
process for waiting on a free sequence slot; chunked prefill after Agrawal et al., "Sarathi-Serve" (OSDI 2024). This
is the analytic screen: it assumes stationary arrivals and first-come-first-served prompts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from sizing.base.arrays import Columns, Floats
from sizing.question.traffic import Traffic, TrafficColumns, Variability
from sizing.steps.times import StepTimes

NEARLY_FULL = (0.65, 0.77, 0.86, 0.92, 0.96, 0.985, 0.999)
"""Shares of the maximum concurrency at which the grid is dense."""

ROOT_2PI = float(np.sqrt(2.0 * np.pi))


@dataclass(frozen=True, kw_only=True)
class SteadyState(Columns):
    """Steady state at each concurrency: rate (requests/s per instance), means and variances in s and s^2, (C, K).

    ``itl_full_s`` and ``itl_full_var``, (C, 1): the gap between tokens while every slot is taken, which is the longest.
    """

    concurrency: Floats
    rps: Floats
    prefill_load: Floats
    ttft_mean_s: Floats
    ttft_floor_s: Floats
    ttft_var: Floats
    itl_mean_s: Floats
    itl_var: Floats
    itl_full_s: Floats
    itl_full_var: Floats
    e2e_mean_s: Floats
    e2e_var: Floats

    def ttft_s(self, percentile: float) -> Floats:
        """Time to first token at a percentile over requests: fixed part plus a gamma-distributed wait."""
        return self.ttft_floor_s + gamma_quantile(self.ttft_mean_s - self.ttft_floor_s, self.ttft_var, percentile)

    def itl_s(self, percentile: float) -> Floats:
        """Mean gap between the tokens of one request at a percentile over requests (normal: a sum of many gaps).

        Never beyond that percentile of an engine whose slots are all taken: a batch limit bounds the gap.
        """
        z = float(ndtri(percentile / 100.0))
        highest = self.itl_full_s + z * np.sqrt(self.itl_full_var)
        return np.maximum(np.minimum(self.itl_mean_s + z * np.sqrt(self.itl_var), highest), 0.0)

    def e2e_s(self, percentile: float) -> Floats:
        """Time to last token at a percentile over requests."""
        return gamma_quantile(self.e2e_mean_s, self.e2e_var, percentile)


def concurrency_grid(max_concurrency: Floats, points: int = 24) -> Floats:
    """Concurrencies from nearly idle to the maximum, shape (C, K): geometric, then closer where the last slots fill.

    There the wait for a slot grows without bound; the last point is just below the limit.
    """
    most = np.maximum(max_concurrency, 1.0)
    spread = np.geomspace(0.05, most * NEARLY_FULL[0], points, axis=1)
    return np.concatenate([spread, np.multiply.outer(most, NEARLY_FULL[1:])], axis=1)


def steady_state(
    times: StepTimes,
    concurrency: Floats,
    max_concurrency: Floats,
    budget: Floats,
    traffic: Traffic | TrafficColumns,
    variability: Variability,
) -> SteadyState:
    """Steady state at each concurrency of the grid.

    rate(B) = B / (P + D x decode(B) + max(B - 1, 0) x W): a request holds its place for its own prefill P, for
    D = (OSL - 1) / tokens per step decode steps, and while the engine works W on the prompt of each of the others
    (Little's law, work conservation); on attention-DP ranks W falls with the B / D prompts that begin per step.
    ITL(B) = (decode(B) + B x W / D) / tokens per step; an answer of one token has no gap that a prompt could interrupt.
    TTFT = rest of the running step + prompt queue + slot queue + own prefill, each chunk of which shares its step with
    the decoding sequences. Validity: against the simulator, ``docs/LOAD_MODEL.md``.
    """
    alone = times.prefill_s[:, None]
    tokens = np.maximum(traffic.output_tokens - 1.0, 0.0)
    gaps = np.maximum(tokens / times.tokens_per_step, np.minimum(tokens, 1.0))  # steps of one request, at least one
    per_token = np.where(tokens > 0.0, gaps / np.maximum(tokens, 1e-300), 1.0)
    decode = times.decode_s
    budget, ranks = budget[:, None], np.reshape(times.ranks, (-1, 1))
    chunks = np.ceil(traffic.new_tokens / budget)
    work, even = _work(times, concurrency / np.maximum(gaps, 1.0), chunks, budget * chunks / traffic.new_tokens)
    itl = decode + concurrency * work * np.minimum(gaps, 1.0) / np.maximum(gaps, 1.0)
    rps = concurrency / (alone + gaps * decode + np.maximum(concurrency - 1.0, 0.0) * work)
    past_prompt = gaps * decode / (alone + gaps * decode)  # share of the B sequences that is decoding
    # Prefill alone streams the weights once; a step shared with decoding has paid for that.
    floor = alone + chunks * np.maximum(decode - decode[:, :1], 0.0) * past_prompt
    if even is not work:  # prompts on other attention-DP ranks share its steps
        others = (1.0 - 1.0 / ranks) * np.minimum(gaps, 1.0) / np.maximum(gaps, 1.0) * chunks * concurrency
        floor += others * times.prefill_work_s[:, None]
    # A prompt also waits for the decode part of the steps that its share of the token budget of all ranks fills.
    # Attention-DP ranks serve one queue, and a prompt that waits has all of them full, hence even, ahead of it.
    service = even + traffic.new_tokens / (budget * ranks) * decode * past_prompt
    load = np.minimum(rps * service, 1.0 - 1e-9)
    step_mean, step_var = residual_step(decode * past_prompt, work / chunks, itl, gaps, variability)
    queue_mean, queue_var = prompt_queue(service, load, rps, variability)
    in_flight_var = in_flight_variance(concurrency, rps, variability)
    slots = slot_queue(
        concurrency, in_flight_var, max_concurrency[:, None], rps, np.max(rps, axis=1, keepdims=True), variability
    )
    ttft_mean = floor + step_mean + queue_mean + slots.mean_s
    ttft_var = step_var + queue_var + slots.var + variability.prompt * floor**2
    interruption = concurrency * (work / np.maximum(gaps, 1.0)) ** 2 * (1.0 + variability.output)
    # While requests wait, prompts come as answers end, and no more at random.
    at_random = 1.0 - slots.waits * (1.0 - min(variability.output, 1.0))
    itl_var = interruption * (variability.prompt + at_random) + drift(itl, concurrency, in_flight_var, slots.held_var)
    return SteadyState(
        concurrency=concurrency,
        rps=rps,
        prefill_load=np.minimum(rps * work, 1.0),
        ttft_mean_s=ttft_mean,
        ttft_floor_s=floor if variability.prompt == 0.0 else np.zeros_like(floor),
        ttft_var=ttft_var,
        itl_mean_s=itl * per_token,
        itl_var=itl_var * per_token**2,
        itl_full_s=itl[:, -1:] * per_token,
        itl_full_var=interruption[:, -1:] * (variability.prompt + min(variability.output, 1.0)) * per_token**2,
        e2e_mean_s=ttft_mean + gaps * itl,
        e2e_var=ttft_var + gaps**2 * (itl_var + variability.output * itl**2),
    )


def _work(times: StepTimes, prompts: Floats, chunks: Floats, held: Floats) -> tuple[Floats, Floats]:
    """Engine time of a prompt (C, K) with so many ``prompts`` a step: as they fall on attention-DP ranks, and with even
    ranks (the same array where there are none)."""
    fixed = chunks * _launches(times, prompts)
    if not np.any(times.stall_s):
        fixed += times.prefill_work_s[:, None]
        return fixed, fixed
    return times.work_s(prompts * chunks, held) + fixed, times.prefill_work_s[:, None] + fixed


def _launches(times: StepTimes, prompts: Floats) -> Floats:
    """Fixed time of prompt-carrying steps per chunk of one prompt (C, K): prompts that fall into one step share it.

    f x (1 - e^-a) / a with a = B / D ``prompts`` a step (Poisson).
    """
    fixed = np.broadcast_to(np.asarray(times.prompt_step_s, dtype=np.float64), times.prefill_s.shape)[:, None]
    return np.asarray(fixed * -np.expm1(-prompts) / prompts)


def residual_step(
    decode: Floats, chunk: Floats, itl: Floats, gaps: float | Floats, variability: Variability
) -> tuple[Floats, Floats]:
    """Mean and variance of the rest of the step that runs when a request arrives, in s and s^2.

    Steps last decode + N x chunk, N Poisson with mean a so that the mean is ITL: E[R] = E[T^2] / 2 E[T], E[R^2] =
    E[T^3] /
    3 E[T] (renewal theory; Cox 1962). Nothing runs between answers of one token.
    """
    running = np.asarray(gaps) >= 1.0
    if not running.any():
        return np.zeros_like(itl), np.zeros_like(itl)
    jump2 = chunk**2 * (1.0 + variability.prompt)
    jump3 = cubed(chunk) * (1.0 + variability.prompt) ** 3
    prompts = np.maximum(itl - decode, 0.0) / np.maximum(chunk, 1e-12)
    second = itl**2 + prompts * jump2
    third = cubed(itl) + 3.0 * itl * prompts * jump2 + prompts * jump3
    mean = second / (2.0 * itl)
    var = np.maximum(third / (3.0 * itl) - mean**2, 0.0)
    return (mean, var) if running.all() else (np.where(running, mean, 0.0), np.where(running, var, 0.0))


def in_flight_variance(concurrency: Floats, rps: Floats, variability: Variability) -> Floats:
    """Variance of the number in flight (C, K): rate / (d rate / d B), scaled by the burstiness of arrivals.

    The engine serves its sequences like processor sharing at a total rate mu(B); near its mode the stationary
    distribution prod(lambda / mu(i)) is normal with this variance, whatever the lengths are (Kelly, "Reversibility and
    stochastic networks", 1979). With mu proportional to B it is B (Poisson); where adding sequences no longer adds
    rate it
    grows without bound.
    """
    growth = slope(rps, concurrency)
    spread = rps / np.maximum(growth, 1e-12)
    return (
        np.minimum(np.maximum(spread, concurrency), concurrency**2 + concurrency) * (1.0 + variability.arrivals) / 2.0
    )


def prompt_queue(service: Floats, load: Floats, rps: Floats, variability: Variability) -> tuple[Floats, Floats]:
    """Mean and variance of the wait for earlier prompts, in s and s^2.

    mean = load x S / (2 (1 - load)) x (ca^2 + cs^2); var = mean^2 + rate x E[S^3] / (3 (1 - load)) (Pollaczek-Khinchine
    for Poisson arrivals, Kingman's factor otherwise).
    """
    spread = variability.arrivals + variability.prompt
    mean = load * service / (2.0 * (1.0 - load)) * spread
    third = cubed(service) * (1.0 + variability.prompt) ** 3  # lognormal: E[S^3] = S^3 (1 + cs^2)^3
    return mean, mean**2 + rps * third / (3.0 * (1.0 - load)) * variability.arrivals


@dataclass(frozen=True, kw_only=True)
class Slots:
    """A limited number of sequence slots, all (C, K): share of requests that wait, the wait, and the number served."""

    waits: Floats
    mean_s: Floats
    var: Floats
    held_var: Floats


def slot_queue(
    concurrency: Floats, in_flight_var: Floats, slots: Floats, rps: Floats, full_rps: Floats, variability: Variability
) -> Slots:
    """The wait for a free sequence slot, in s and s^2, and the variance of the number being served.

    Below the last slot the number in flight is normal with variance ``in_flight_var``; beyond it requests leave at the
    full rate, so that the tail is geometric with ratio r = rate / full rate: P(wait) = t / (body + t), body = P(normal
    < slots), t = density at slots / (1 - r). The wait given that is exponential with mean (ca^2 + co^2) / 2 / (full
    rate - rate). Source: birth-death process, Halfin and Whitt (1981); equals Erlang C within a few per cent. The
    number served is the last slot for those that wait, else normal cut off there: mean B - s h, variance s^2 (1 - z h -
    h^2), h = density / distribution at z (Johnson, Kotz, Balakrishnan, "Continuous univariate distributions", 1994,
    13.10.1).
    """
    deviation = np.sqrt(in_flight_var)
    z = (slots - concurrency) / deviation
    room = 1.0 - np.minimum(rps / full_rps, 0.999)
    body, density = ndtr(z), np.exp(z * z * -0.5) / ROOT_2PI
    tail = density / (deviation * room)
    waits = tail / (body + tail)
    given = (variability.arrivals + variability.output) / 2.0 / (full_rps * room)
    mean = waits * given
    hazard = density / body
    shift = slots - concurrency + deviation * hazard
    cut = in_flight_var * np.maximum(1.0 - hazard * (z + hazard), 0.0)
    return Slots(
        waits=waits,
        mean_s=mean,
        var=2.0 * mean * given - mean * mean,
        held_var=(1.0 - waits) * (cut + waits * shift * shift),
    )


def drift(itl: Floats, concurrency: Floats, in_flight_var: Floats, held: Floats) -> Floats:
    """Variance over requests of the mean gap from slow changes of the number in flight, whose variance is ``held``.

    slope^2 x held x f(x), f(x) = 2 (x - 1 + e^-x) / x^2: the window average over a stay of an Ornstein-Uhlenbeck
    process with relaxation d rate / d B, x = relaxation x stay.
    """
    steepness = slope(itl, concurrency)
    x = np.clip(concurrency / np.maximum(in_flight_var, 1e-12), 1e-6, 1.0)
    window = 2.0 * (x - 1.0 + np.exp(-x)) / x**2
    return np.asarray(steepness**2 * held * window)


def cubed(values: Floats) -> Floats:
    """Third power: two products take a tenth of the time of a general power."""
    return values * values * values


def slope(values: Floats, at: Floats) -> Floats:
    """Growth of ``values`` (C, K) with ``at`` (C, K): between both neighbours, at the ends to the only one."""
    grown = np.empty_like(values)
    np.divide(values[:, 2:] - values[:, :-2], at[:, 2:] - at[:, :-2], out=grown[:, 1:-1])
    for end, other in ((0, 1), (-1, -2)):
        grown[:, end] = (values[:, end] - values[:, other]) / (at[:, end] - at[:, other])
    return grown


def gamma_quantile(mean: Floats, variance: Floats, percentile: float) -> Floats:
    """Quantile of a gamma distribution with this mean and variance, by Wilson and Hilferty (1931), never below 0.

    Within 2 % of the exact value for shapes above 0.5; a smaller shape (a rare, long wait) is held at 0.5.
    """
    z = float(ndtri(percentile / 100.0))
    ninth = np.divide(variance, 9.0 * mean**2, out=np.zeros_like(mean), where=mean > 0)
    ninth = np.minimum(ninth, 2.0 / 9.0)
    return np.asarray(mean * cubed(np.maximum(1.0 - ninth + z * np.sqrt(ninth), 0.0)), dtype=np.float64)
