"""Gaps and lengths drawn for a seed, kept: runs that differ in their rate alone see the same requests."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import lru_cache
from itertools import count

import numpy as np

from sizing.base.arrays import Floats
from sizing.simulator.request_lengths import DrawnLengths, RequestLengths

Drawn = tuple[Floats, Floats]
"""Of a chunk: the sum of all gaps up to each request, in mean gaps (M,), and the lengths (4, M). Not to be changed."""

KEPT = 8
"""Draws kept. Chosen: the search for a number of instances takes four, and the scenario next to it as many."""

LONGEST_KEPT = 65_536
"""Requests of the longest run whose draws are kept, 3 MB: no search simulates more."""


def draws(cv: float, lengths: RequestLengths, seed: int, chunk: int, expected: float) -> Iterator[Drawn]:
    """Chunks without end, of gaps with the coefficient of variation ``cv``; ``expected``: requests asked for about.

    What is drawn from a trace is not kept, because the trace would be, too.
    """
    if expected > LONGEST_KEPT or not isinstance(lengths, DrawnLengths):
        return _drawn(cv, lengths, seed, chunk)
    return iter(_kept(cv, lengths, seed, chunk))


class _Kept:
    """The chunks that were asked for so far; safe to use from several threads."""

    def __init__(self, endless: Iterator[Drawn]) -> None:
        self._endless, self._lock, self._chunks = endless, threading.Lock(), list[Drawn]()

    def __iter__(self) -> Iterator[Drawn]:
        for number in count():
            with self._lock:
                if number == len(self._chunks):
                    self._chunks.append(next(self._endless))
            yield self._chunks[number]


@lru_cache(maxsize=KEPT)
def _kept(cv: float, lengths: DrawnLengths, seed: int, chunk: int) -> _Kept:
    return _Kept(_drawn(cv, lengths, seed, chunk))


def _drawn(cv: float, lengths: RequestLengths, seed: int, chunk: int) -> Iterator[Drawn]:
    gaps, _, *rngs = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(5))
    epoch = 0.0
    while True:
        epochs = epoch + np.cumsum(_gaps(gaps, cv, chunk))
        epoch = float(epochs[-1])
        yield epochs, lengths.sample(tuple(rngs), chunk)


def _gaps(rng: np.random.Generator, cv: float, number: int) -> Floats:
    """Gaps of mean 1: gamma with shape 1 / cv^2."""
    if cv == 0.0:
        return np.ones(number)
    if cv == 1.0:
        return rng.standard_exponential(number)
    return rng.standard_gamma(cv**-2, number) * cv**2
