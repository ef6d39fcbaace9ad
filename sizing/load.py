"""What step times give under load: steady state of in-flight batching at a request rate, and latency percentiles.

Prefill and decode share the engine. With B sequences decoding, a token takes the decode step plus its share of the
prefill work that arrives meanwhile; Little's law ties B to the request rate. Every array is (C, K): C candidates, K
points of growing concurrency. Sources: Little (1961); Pollaczek-Khinchine for the prompt queue; Sakasegawa (1977) for
waiting on a free sequence slot; chunked prefill after Agrawal et al., "Sarathi-Serve" (OSDI 2024). This is the analytic
screen: it assumes stationary arrivals and first-come-first-served prompts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from sizing.candidates import Floats
from sizing.steps.times import StepTimes, Traffic


@dataclass(frozen=True, kw_only=True)
class Variability:
    """Squared coefficients of variation: of the gaps between arrivals, of the prompt length and of the output
    length."""

    arrivals: float = 1.0
    prompt: float = 0.0
    output: float = 0.0


@dataclass(frozen=True, kw_only=True)
class SteadyState:
    """Steady state at each concurrency: rate (requests/s per instance), means and variances in s and s^2, (C, K)."""

    concurrency: Floats
    rps: Floats
    prefill_load: Floats
    ttft_mean_s: Floats
    ttft_floor_s: Floats
    ttft_var: Floats
    itl_mean_s: Floats
    itl_var: Floats
    e2e_mean_s: Floats
    e2e_var: Floats

    def ttft_s(self, percentile: float) -> Floats:
        """Time to first token at a percentile over requests: fixed part plus a gamma-distributed wait."""
        return self.ttft_floor_s + gamma_quantile(self.ttft_mean_s - self.ttft_floor_s, self.ttft_var, percentile)

    def itl_s(self, percentile: float) -> Floats:
        """Mean gap between the tokens of one request at a percentile over requests (normal: a sum of many gaps)."""
        z = float(ndtri(percentile / 100.0))
        return np.maximum(self.itl_mean_s + z * np.sqrt(self.itl_var), 0.0)

    def e2e_s(self, percentile: float) -> Floats:
        """Time to last token at a percentile over requests."""
        return gamma_quantile(self.e2e_mean_s, self.e2e_var, percentile)

    def take(self, index: NDArray[np.intp]) -> SteadyState:
        """The candidates at ``index``."""
        return SteadyState(**{name: values[index] for name, values in vars(self).items()})


def concurrency_grid(max_concurrency: Floats, points: int = 28) -> Floats:
    """Concurrencies from nearly idle to the maximum, geometric, shape (C, K); the last point is just below the
    limit."""
    return np.geomspace(0.05, np.maximum(max_concurrency, 1.0) * 0.999, points, axis=1)


def steady_state(
    times: StepTimes,
    concurrency: Floats,
    max_concurrency: Floats,
    budget: Floats,
    traffic: Traffic,
    variability: Variability,
) -> SteadyState:
    """Steady state at each concurrency of the grid.

    rate(B) = B / (P + D x decode(B) + max(B - 1, 0) x W): a request holds its place for its own prefill P, for
    D = OSL - 1 decode steps, and while the engine works W on the prompt of each of the others (Little's law, work
    conservation). ITL(B) = decode(B) + B x W / D; an answer of one token has no gap that a prompt could interrupt.
    TTFT = rest of the running step + prompt queue + slot queue +
    own prefill, in which each chunk shares its step with the decoding sequences.
    """
    work = times.prefill_work_s[:, None]
    gaps = max(traffic.output_tokens - 1.0, 0.0)
    decode = times.decode_s
    itl = decode + concurrency * work * min(gaps, 1.0) / max(gaps, 1.0)
    rps = concurrency / (times.prefill_s[:, None] + gaps * decode + np.maximum(concurrency - 1.0, 0.0) * work)
    residence = gaps * itl
    chunks = np.ceil(traffic.new_tokens / budget)[:, None]
    shared = decode * (gaps * decode / (times.prefill_s[:, None] + gaps * decode))  # share of B that is past its prompt
    floor = times.prefill_s[:, None] + chunks * shared
    # A prompt also waits for the decode part of the steps that its share of the token budget fills.
    service = work + traffic.new_tokens / budget[:, None] * shared
    load = np.minimum(rps * service, 1.0 - 1e-9)
    step = np.minimum(itl, gaps * itl)  # with one output token no decoding step runs that a prompt could wait for
    queue_mean, queue_var = prompt_queue(service, load, rps, variability)
    slot_mean, slot_var = slot_queue(
        residence, concurrency / max_concurrency[:, None], max_concurrency[:, None], variability
    )
    ttft_mean = floor + step / 2.0 + queue_mean + slot_mean
    ttft_var = step**2 / 12.0 + queue_var + slot_var + variability.prompt * times.prefill_s[:, None] ** 2
    itl_var = _itl_variance(decode, concurrency, work, gaps)
    e2e_var = ttft_var + gaps**2 * (itl_var + variability.output * itl**2)
    return SteadyState(
        concurrency=concurrency,
        rps=rps,
        prefill_load=np.minimum(rps * work, 1.0),
        ttft_mean_s=ttft_mean,
        ttft_floor_s=floor,
        ttft_var=ttft_var,
        itl_mean_s=itl,
        itl_var=itl_var,
        e2e_mean_s=ttft_mean + residence,
        e2e_var=e2e_var,
    )


def prompt_queue(service: Floats, load: Floats, rps: Floats, variability: Variability) -> tuple[Floats, Floats]:
    """Mean and variance of the wait for earlier prompts, in s and s^2.

    mean = load x S / (2 (1 - load)) x (ca^2 + cs^2); var = mean^2 + rate x E[S^3] / (3 (1 - load)) (Pollaczek-Khinchine
    for Poisson arrivals, Kingman's factor otherwise).
    """
    spread = variability.arrivals + variability.prompt
    mean = load * service / (2.0 * (1.0 - load)) * spread
    third = service**3 * (1.0 + variability.prompt) ** 3  # lognormal: E[S^3] = S^3 (1 + cs^2)^3
    return mean, mean**2 + rps * third / (3.0 * (1.0 - load)) * variability.arrivals


def slot_queue(residence: Floats, used: Floats, slots: Floats, variability: Variability) -> tuple[Floats, Floats]:
    """Mean and variance of the wait for a free sequence slot when all are in use.

    P(wait) = u^(sqrt(2 (c+1)) - 1); wait given wait: exponential with mean R / (c (1 - u)) x (ca^2 + cs^2) / 2
    (Sakasegawa's M/M/c approximation, Allen-Cunneen factor).
    """
    waits = used ** (np.sqrt(2.0 * (slots + 1.0)) - 1.0)
    given = residence / (slots * (1.0 - used)) * (variability.arrivals + variability.output) / 2.0
    mean = waits * given
    return mean, 2.0 * waits * given**2 - mean**2


def _itl_variance(decode: Floats, concurrency: Floats, work: Floats, gaps: float) -> Floats:
    """Variance over requests of the mean gap: Poisson number of prefill interruptions, and fluctuating concurrency.

    Var = B x (W / D)^2 + slope^2 x B x 2/3; 2/3 is the variance of a window average of an M/G/infinity population
    whose window equals the stay.
    """
    slope = np.gradient(decode, axis=1) / np.gradient(concurrency, axis=1)
    return np.asarray(concurrency * (work / max(gaps, 1.0)) ** 2 + slope**2 * concurrency * 2.0 / 3.0)


def gamma_quantile(mean: Floats, variance: Floats, percentile: float) -> Floats:
    """Quantile of a gamma distribution with this mean and variance, by Wilson and Hilferty (1931), never below 0.

    Within 2 % of the exact value for shapes above 0.5; a smaller shape (a rare, long wait) is held at 0.5.
    """
    z = float(ndtri(percentile / 100.0))
    ninth = np.divide(variance, 9.0 * mean**2, out=np.zeros_like(mean), where=mean > 0)
    ninth = np.minimum(ninth, 2.0 / 9.0)
    return np.asarray(mean * np.maximum(1.0 - ninth + z * np.sqrt(ninth), 0.0) ** 3, dtype=np.float64)
