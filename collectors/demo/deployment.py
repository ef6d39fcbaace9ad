"""The demo deployment: replicas behind a balancer, their GPUs, and the day that happens to them."""

import math

import numpy as np

from collectors.backends.scrape.text import PageSample
from collectors.demo.day import INPUT_SPREAD, INPUT_TOKENS, OUTPUT_SPREAD, OUTPUT_TOKENS, Conditions, conditions_at
from collectors.demo.gpu import GPUS_PER_REPLICA, DemoGpu, gpu_page, gpu_samples
from collectors.demo.queue import advance
from collectors.demo.replica import DemoReplica
from collectors.units import S_PER_DAY

STEP_S = 1.0
"""Step of the simulation. Chosen: finer than a scrape."""
WARM_UP_S = 120.0
"""How long it runs before it is shown. Chosen: longer than a request."""
MAX_INPUT, MAX_OUTPUT = 16_000, 4_000
"""Tokens at which a drawn prompt and answer are cut. Chosen: limits such as a gateway sets, far beyond the median."""
LONGEST_CATCH_UP_S = 900.0
"""After a pause of the machine, only this much is made up for."""


class Demo:
    """The same seed and moments give the same pages.

    Every second draws from a generator of its own: a demo that begins hours earlier sees the same requests, so that
    what was read of the last hour still holds once the hours before it are made.

    ``second_of_day`` is the time of day at ``start_s``; ``speed`` makes the day pass faster, while requests and seconds
    keep their pace: a time lapse of conditions, not of the engine.
    """

    def __init__(
        self, *, start_s: float, second_of_day: float = 34_200.0, speed: float = 1.0, replicas: int = 4, seed: int = 1
    ) -> None:
        self._seed = seed
        self._begun_s, self._second_of_day, self._speed = start_s, second_of_day, speed
        self._now_s = start_s - WARM_UP_S
        self.replicas = [DemoReplica(number=i, started_s=self._now_s) for i in range(replicas)]
        self.gpus = [DemoGpu(number=i, replica=self.replicas[i // GPUS_PER_REPLICA]) for i in range(2 * replicas)]
        self.advance(start_s)

    @property
    def now_s(self) -> float:
        """The moment the demo has reached."""
        return self._now_s

    def day_second(self, now_s: float) -> float:
        """The time of day at a moment."""
        return self._second_of_day + max(0.0, now_s - self._begun_s) * self._speed

    def conditions(self) -> Conditions:
        """The conditions at the moment up to which time has passed."""
        return conditions_at(self.day_second(self._now_s))

    def advance(self, to_s: float) -> None:
        """Let time pass up to ``to_s``."""
        self._now_s = max(self._now_s, to_s - LONGEST_CATCH_UP_S)
        while self._now_s + STEP_S <= to_s:
            self._now_s += STEP_S
            self._step(self.conditions(), self._generator())

    def _generator(self) -> np.random.Generator:
        """The draws of this second: by the time of day, whenever the demo has begun."""
        second = round(self._second_of_day + self._now_s - self._begun_s) % round(S_PER_DAY)
        return np.random.default_rng((self._seed, second))

    def _step(self, now: Conditions, rng: np.random.Generator) -> None:
        for replica in self.replicas:
            self._lose_or_return(replica, replica.number in now.lost)
        alive = [r for r in self.replicas if not r.lost]
        arrivals: dict[int, list[tuple[float, int, int]]] = {r.number: [] for r in alive}
        count = int(rng.poisson(now.arrivals_rps * STEP_S)) if alive else 0
        rivals = rng.integers(0, max(1, len(alive)), (count, 2)).tolist()
        for (one, other), request in zip(rivals, self._requests(count, rng), strict=True):
            target = alive[min(one, other, key=lambda i: _load(alive[i]))]
            arrivals[target.number].append(request)
        for replica in alive:
            out = advance(
                replica.state,
                sorted(arrivals[replica.number]),
                now_s=self._now_s,
                step_s=STEP_S,
                cache_hits=now.cache_hits,
                slow=replica.number in now.slow,
                rng=rng,
            )
            replica.record(out, cache_hits=now.cache_hits, rng=rng)
        for gpu in self.gpus:
            gpu.slow = gpu.replica.number in now.slow and gpu.number % GPUS_PER_REPLICA == 0
            gpu.advance(STEP_S)

    def _requests(self, count: int, rng: np.random.Generator) -> list[tuple[float, int, int]]:
        """Arrival times within the step, input and output tokens."""
        at = self._now_s - STEP_S * rng.random(count)
        given = _lengths(rng, count, INPUT_TOKENS, INPUT_SPREAD, MAX_INPUT)
        wanted = _lengths(rng, count, OUTPUT_TOKENS, OUTPUT_SPREAD, MAX_OUTPUT)
        return list(zip(at.tolist(), given, wanted, strict=True))

    def _lose_or_return(self, replica: DemoReplica, lost: bool) -> None:
        """A lost replica loses everything in flight; it comes back as a new process that counts from 0."""
        if lost == replica.lost:
            return
        replica.lost = lost
        if not lost:
            fresh = DemoReplica(number=replica.number, started_s=self._now_s)
            for name in ("started_s", "state", "tally", "last"):
                setattr(replica, name, getattr(fresh, name))

    def replica_samples(self, number: int) -> list[PageSample] | None:
        """What the page of one replica holds, without writing and reading it; None while it is lost."""
        replica = self.replicas[number]
        return None if replica.lost else replica.samples()

    def gpu_samples(self) -> list[PageSample]:
        """What the page of the GPU exporter holds."""
        return gpu_samples(self.gpus)

    def replica_page(self, number: int) -> str | None:
        """The page of one replica; None while it is lost."""
        replica = self.replicas[number]
        return None if replica.lost else replica.page()

    def gpu_page(self) -> str:
        """The page of the GPU exporter."""
        return gpu_page(self.gpus)

    def page(self) -> str:
        """Everything on one page; a lost replica is missing from it."""
        parts = [replica.page() for replica in self.replicas if not replica.lost]
        return _merged("".join([*parts, self.gpu_page()]))


def _load(replica: DemoReplica) -> int:
    return replica.state.count + 4 * len(replica.state.waiting)


def _lengths(rng: np.random.Generator, count: int, mean: float, sigma: float, most: int) -> list[int]:
    """Lognormal lengths of the given mean."""
    drawn = rng.lognormal(math.log(mean) - sigma**2 / 2, sigma, count)
    return [int(min(most, max(1.0, length))) for length in drawn.tolist()]


def _merged(text: str) -> str:
    """Lines grouped by metric family, as the format wants them."""
    families: dict[str, list[str]] = {}
    current = ""
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            current = line
            families.setdefault(current, [])
        else:
            families[current].append(line)
    return "\n".join(line for head, lines in families.items() for line in (head, *lines)) + "\n"
