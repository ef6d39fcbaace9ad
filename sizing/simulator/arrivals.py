"""When requests arrive: Poisson, gamma gaps, on/off bursts, a daily profile; as chunks, from one seed.

Gaps of mean 1 are drawn first and mapped to time through the inverse of the cumulative rate (time transformation of a
Poisson process; Çınlar, 1975). So two simulations with the same seed see the same requests in the same order, whatever
their rates: common random numbers.

What is drawn for a seed is kept: runs that differ in their rate alone see the same requests.
"""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import count

import numpy as np

from sizing.base.arrays import Floats
from sizing.base.units import S_PER_HOUR
from sizing.simulator.layout import ARRIVED_ROW, CHUNK_FIELDS, PROMPT_ROW, STARTED_ROW, TIME_ROW
from sizing.simulator.request_lengths import DrawnLengths, RequestLengths

CHUNK = 16_384
"""Requests per chunk. Chosen: because they are a few hundredths of a second of work, so that progress and cancellation
are looked at often and the call costs nothing."""

PERIODS_DRAWN = 256
"""On and off periods drawn at a time, at least."""

BLURRED = 0.01
"""On and off periods per request above 1 / this are not told from their mean. Chosen: the index of dispersion of such
bursts is below 1 + 2 x this (:func:`sizing.question.understand.arrival_variability`), and a queue grows with half of
what is above 1."""

Drawn = tuple[Floats, Floats]
"""What was drawn for a chunk: the sum of all gaps up to each request, in mean gaps (M,), and the lengths (4, M). It is
kept and shared, so nothing may change it."""

KEPT = 8
"""Draws kept. Chosen: the search for a number of instances takes four, and the scenario next to it as many."""

LONGEST_KEPT = 65_536
"""Requests of the longest run whose draws are kept, 3 MB: no search simulates more."""


@dataclass(frozen=True, kw_only=True)
class Bursts:
    """On and off periods of exponential length (means in s); ``share_on`` of all requests come in the on periods."""

    on_s: float
    off_s: float
    share_on: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Arrivals:
    """Arrivals at a mean of ``rate_rps``; with a ``profile`` of 24 relative loads that is the rate of the busiest hour.

    ``cv``: coefficient of variation of the gaps (1 is Poisson, 0 a metronome). ``profile_step_s``: time between two
    loads of a profile that is not by the hour; it starts anew after its last.
    """

    rate_rps: float
    cv: float = 1.0
    profile: tuple[float, ...] = ()
    profile_step_s: float = S_PER_HOUR
    bursts: Bursts | None = None

    def expected(self, duration_s: float) -> float:
        """Expected number of requests in ``duration_s`` from midnight."""
        if not self.profile:
            return self.rate_rps * duration_s
        edges, total = self._day()
        days, rest = divmod(duration_s, edges[-1])
        return float(days * total[-1] + np.interp(rest, edges, total))

    def stream(self, lengths: RequestLengths, duration_s: float, seed: int, *, chunk: int = CHUNK) -> Iterator[Floats]:
        """Chunks (9, M) of at most ``chunk`` requests in order of arrival, rows as in :func:`entry.run_chunk`.

        The size of the chunks does not change the requests.
        """
        bursts = np.random.default_rng(np.random.SeedSequence(seed).spawn(2)[1])
        clock = _BurstClock(self.rate_rps, self.bursts, bursts) if self.bursts and not self._blurred else None
        for epochs, drawn in draws(self.cv, lengths, seed, chunk, self.expected(duration_s)):
            time = clock.times(epochs) if clock else self._times(epochs)
            kept = int(np.searchsorted(time, duration_s))
            yield requests(time[:kept], drawn[:, :kept])
            if kept < chunk:
                return

    @property
    def _blurred(self) -> bool:
        """Whether so many on and off periods pass between two requests that these come at random at the mean rate."""
        return self.bursts is not None and (self.bursts.on_s + self.bursts.off_s) * self.rate_rps < BLURRED

    def _times(self, epochs: Floats) -> Floats:
        if not self.profile:
            return epochs / self.rate_rps
        edges, total = self._day()
        days, rest = np.divmod(epochs, total[-1])
        return np.asarray(days * edges[-1] + np.interp(rest, total, edges))

    def _day(self) -> tuple[Floats, Floats]:
        """Edges of the steps of the profile in seconds, and the requests expected up to each."""
        each = np.asarray(self.profile) / max(self.profile) * self.rate_rps * self.profile_step_s
        edges = np.arange(len(self.profile) + 1.0) * self.profile_step_s
        return edges, np.concatenate([[0.0], np.cumsum(each)])


class _BurstClock:
    """Maps a cumulative number of requests to time, with periods drawn as far as needed."""

    def __init__(self, rate_rps: float, bursts: Bursts, rng: np.random.Generator) -> None:
        self.bursts, self.rng = bursts, rng
        whole = bursts.on_s + bursts.off_s
        self.on_rate = rate_rps * bursts.share_on * whole / bursts.on_s
        self.off_rate = rate_rps * (1.0 - bursts.share_on) * whole / bursts.off_s
        self.edges, self.total = np.zeros(1), np.zeros(1)

    def times(self, epochs: Floats) -> Floats:
        """The time at which the cumulative rate reaches each of ``epochs``, which grow from call to call."""
        keep = max(int(np.searchsorted(self.total, epochs[0])) - 1, 0)
        self.edges, self.total = self.edges[keep:], self.total[keep:]
        drawn = PERIODS_DRAWN
        while self.total[-1] <= epochs[-1]:
            periods = self.rng.standard_exponential((drawn, 2)) * [self.bursts.on_s, self.bursts.off_s]
            counts = periods * [self.on_rate, self.off_rate]
            self.edges = np.concatenate([self.edges, self.edges[-1] + np.cumsum(periods)])
            self.total = np.concatenate([self.total, self.total[-1] + np.cumsum(counts)])
            drawn *= 2  # so that few steps do, however many periods there are
        return np.interp(epochs, self.total, self.edges)


def requests(time: Floats, lengths: Floats) -> Floats:
    """A chunk (9, M) from times and rows prompt, output, cached, group; nothing has started yet."""
    chunk = np.empty((len(CHUNK_FIELDS), len(time)))
    chunk[TIME_ROW] = chunk[ARRIVED_ROW] = time
    chunk[PROMPT_ROW:STARTED_ROW] = lengths
    chunk[STARTED_ROW:] = -1.0
    return chunk


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
