"""The queues of an instance: what a request waits for, and how much the number in flight varies, in s and s^2.

Formulas of numbers, or of arrays (C, K): C candidates, K points of growing concurrency. They are compiled as they are,
one number at a time (:mod:`sizing.queueing.compiled`). ``arrivals``, ``prompt`` and ``output`` are the squared
coefficients of variation of :class:`sizing.question.traffic.Variability`. Sources: Pollaczek-Khinchine for the prompt
queue; a birth-death process for waiting on a free sequence slot; renewal theory for the rest of a running step.
"""

from typing import NamedTuple, TypeVar

import numpy as np
from scipy.special import ndtr, ndtri

from sizing.base.arrays import Floats

Number = TypeVar("Number", float, Floats)

ROOT_2PI = float(np.sqrt(2.0 * np.pi))

FULLEST = 0.999
"""Share of the full rate that the slot queue counts with at most: at 1 the wait has no end. Chosen: because the grid of
concurrencies ends there too."""


def residual_step(decode: Number, chunk: Number, itl: Number, gaps: Number, prompt: float) -> tuple[Number, Number]:
    """Mean and variance of the rest of the step that runs when a request arrives, in s and s^2.

    Steps last decode + N x chunk, N Poisson with mean a so that the mean is ITL: E[R] = E[T^2] / 2 E[T], E[R^2] =
    E[T^3] / 3 E[T] (renewal theory; Cox 1962). Nothing runs between answers of one token.
    """
    running = (gaps >= 1.0) * 1.0
    jump2 = chunk**2 * (1.0 + prompt)
    jump3 = cubed(chunk) * (1.0 + prompt) ** 3
    prompts = np.maximum(itl - decode, 0.0) / np.maximum(chunk, 1e-12)
    second = itl**2 + prompts * jump2
    third = cubed(itl) + 3.0 * itl * prompts * jump2 + prompts * jump3
    mean = second / (2.0 * itl)
    var: Number = np.maximum(third / (3.0 * itl) - mean**2, 0.0)
    return running * mean, running * var


def prompt_queue(service: Number, load: Number, rps: Number, arrivals: float, prompt: float) -> tuple[Number, Number]:
    """Mean and variance of the wait for earlier prompts, in s and s^2.

    mean = load x S / (2 (1 - load)) x (ca^2 + cs^2); var = mean^2 + rate x E[S^3] / (3 (1 - load)) (Pollaczek-Khinchine
    for Poisson arrivals, Kingman's factor otherwise).
    """
    mean = load * service / (2.0 * (1.0 - load)) * (arrivals + prompt)
    third = cubed(service) * (1.0 + prompt) ** 3  # lognormal: E[S^3] = S^3 (1 + cs^2)^3
    return mean, mean**2 + rps * third / (3.0 * (1.0 - load)) * arrivals


class SlotWaits(NamedTuple):
    """A limited number of sequence slots: share of requests that wait, the wait, and the number served."""

    waits: Floats
    mean_s: Floats
    var: Floats
    held_var: Floats


def normal_below(z: Number) -> Number:
    """Share of a normal distribution below ``z`` standard deviations above its mean."""
    return ndtr(z)


def slot_queue(
    concurrency: Floats,
    in_flight_var: Floats,
    slots: Floats,
    rps: Floats,
    full_rps: Floats,
    arrivals: float,
    output: float,
) -> SlotWaits:
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
    room = 1.0 - np.minimum(rps / full_rps, FULLEST)
    body, density = normal_below(z), np.exp(z * z * -0.5) / ROOT_2PI
    tail = density / (deviation * room)
    waits = tail / (body + tail)
    given = (arrivals + output) / 2.0 / (full_rps * room)
    mean = waits * given
    hazard = density / body
    shift = slots - concurrency + deviation * hazard
    cut = in_flight_var * np.maximum(1.0 - hazard * (z + hazard), 0.0)
    return SlotWaits(waits, mean, 2.0 * mean * given - mean * mean, (1.0 - waits) * (cut + waits * shift * shift))


def in_flight_variance(concurrency: Floats, rps: Floats, growth: Floats, arrivals: float) -> Floats:
    """Variance of the number in flight: rate / (d rate / d B ``growth``), scaled by the burstiness of arrivals.

    The engine serves its sequences like processor sharing at a total rate mu(B); near its mode the stationary
    distribution prod(lambda / mu(i)) is normal with this variance, whatever the lengths are (Kelly, "Reversibility and
    stochastic networks", 1979). With mu proportional to B it is B (Poisson); where adding sequences no longer adds
    rate it
    grows without bound.
    """
    spread = rps / np.maximum(growth, 1e-12)
    return np.minimum(np.maximum(spread, concurrency), concurrency**2 + concurrency) * (1.0 + arrivals) / 2.0


def drift(steepness: Floats, concurrency: Floats, in_flight_var: Floats, held: Floats) -> Floats:
    """Variance over requests of the mean gap from slow changes of the number in flight, whose variance is ``held``.

    ``steepness`` (d gap / d B)^2 x held x f(x), f(x) = 2 (x - 1 + e^-x) / x^2: the window average over a stay of an
    Ornstein-Uhlenbeck process with relaxation d rate / d B, x = relaxation x stay.
    """
    x = np.minimum(np.maximum(concurrency / np.maximum(in_flight_var, 1e-12), 1e-6), 1.0)
    window = 2.0 * (x - 1.0 + np.exp(-x)) / x**2
    drifts: Floats = steepness**2 * held * window
    return drifts


def gamma_quantile(mean: Floats, variance: Floats, percentile: float) -> Floats:
    """Quantile of a gamma distribution with this mean and variance, by Wilson and Hilferty (1931), never below 0.

    Within 2 % of the exact value for shapes above 0.5; a smaller shape (a rare, long wait) is held at 0.5.
    """
    return np.asarray(gamma_beyond(mean, variance, float(ndtri(percentile / 100.0))), dtype=np.float64)


def gamma_beyond(mean: Floats, variance: Floats, z: float) -> Floats:
    """As :func:`gamma_quantile`, ``z`` standard deviations of a normal distribution beyond its mean."""
    ninth = np.minimum(ninth_of_square(variance, mean), 2.0 / 9.0)
    return mean * cubed(np.maximum(1.0 - ninth + z * np.sqrt(ninth), 0.0))


def ninth_of_square(variance: Floats, mean: Floats) -> Floats:
    """The ninth part of a squared coefficient of variation; 0 where the mean is."""
    return np.divide(variance, 9.0 * mean**2, out=np.zeros_like(mean), where=mean > 0)


def cubed(values: Number) -> Number:
    """Third power: two products take a tenth of the time of a general power."""
    return values * values * values
