"""What a request waits for in a stage: company in its batch, and batches that run on its GPU before it.

Batches of each stage come at random and take a fixed time, so that the wait of a GPU is Pollaczek-Khinchine's for a
mixture of fixed services: W = sum(lambda S^2) / (2 (1 - sum(lambda S))); of one stage that is M/D/1.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Batches:
    """Batches of one stage on one GPU: so many requests in each, their rate per s, the time of one in s."""

    requests: int
    per_s: float
    seconds: float

    @property
    def load(self) -> float:
        """Share of the GPU's time."""
        return self.per_s * self.seconds

    @property
    def collecting_s(self) -> float:
        """Mean time in which the requests of a batch come together: (r - 1) / 2 gaps between requests."""
        return (self.requests - 1) / (2.0 * self.requests * self.per_s)


@dataclass(frozen=True, kw_only=True)
class StageService:
    """What one stage asks of a GPU: requests/s, the most requests of a batch, and the time of a batch of so many."""

    per_s: float
    most: int
    seconds: Callable[[int], float]

    def batches(self, requests: int) -> Batches:
        """Its batches of so many requests."""
        return Batches(requests=requests, per_s=self.per_s / requests, seconds=self.seconds(requests))


def smallest_batches(served: Sequence[StageService], highest: float) -> tuple[Batches, ...]:
    """Batches of stages on one GPU: single requests, and where these take more than ``highest`` of its time, the batch
    doubled whose doubling saves most, until they do not or all are as large as they can be."""
    chosen = [one.batches(1) for one in served]
    while sum(one.load for one in chosen) > highest:
        larger = [one.batches(min(2 * now.requests, one.most)) for one, now in zip(served, chosen, strict=True)]
        saved = [now.load - then.load for now, then in zip(chosen, larger, strict=True)]
        if max(saved) <= 0.0:
            break
        best = saved.index(max(saved))
        chosen[best] = larger[best]
    return tuple(chosen)


def mixed_wait_s(together: Sequence[Batches]) -> float:
    """Mean wait before a batch runs where several stages share one GPU; infinite where they overload it."""
    load = sum(one.load for one in together)
    if load >= 1.0:
        return math.inf
    return sum(one.load * one.seconds for one in together) / (2.0 * (1.0 - load))


def servers_wait_s(load: float, seconds: float, servers: int) -> float:
    """Mean wait with several instances on one GPU, each fixed in its time: M/D/c by Sakasegawa (1977),
    load^(sqrt(2 (c + 1)) - 1) / (2 c (1 - load)) x S, which is exact for one."""
    if load >= 1.0:
        return math.inf
    return seconds * float(load ** (math.sqrt(2.0 * (servers + 1)) - 1.0)) / (2.0 * servers * (1.0 - load))
