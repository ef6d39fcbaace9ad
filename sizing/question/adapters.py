"""Adapters (LoRA) of a question: how many, how large, and how often a request finds its own in GPU memory."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sizing.base.arrays import Floats
from sizing.base.choices import AdapterTargets
from sizing.base.units import GB
from sizing.scenario.adapters import AdaptersAsked

RESIDENT = 32
"""Adapters that an instance keeps in GPU memory where a scenario does not say, if there are so many. Chosen: enough for
those that are in use at once, and at rank 16 a few GB of a model of 8 billion parameters."""

RARELY = 0.01
"""Share of requests that have to wait for their adapter, from which on every first token is taken to. Chosen: it is in
the percentiles that limits are set at."""


LONG = 50.0
"""Requests for the rarest adapter after which all others have been asked for, too, but for e^-50."""


@dataclass(frozen=True, kw_only=True)
class ResidentAdapters:
    """``number`` adapters of ``rank`` at most, ``resident`` of them in the memory of an instance.

    ``popularity``: exponent of the Zipf law by which requests ask for them; ``load_bytes_per_s``: at which one that is
    not resident is loaded. Without any (``number`` 0) requests go to the model alone.
    """

    number: int = 0
    rank: int = 0
    resident: int = 0
    popularity: float = 0.0
    targets: AdapterTargets = "all"
    load_bytes_per_s: float = 1.0

    @property
    def hit_share(self) -> float:
        """Share of requests whose adapter is resident on an instance that gets requests for all of them."""
        return lru_hit_share(self.number, self.popularity, self.resident)

    def hit_share_routed(self, instances: int) -> float:
        """The same where each request goes to the instance that has its adapter: one cache of all instances."""
        return lru_hit_share(self.number, self.popularity, self.resident * instances)

    def in_use(self, requests: float) -> float:
        """Different adapters among so many requests in flight, in the mean: sum of 1 - (1 - p)^n."""
        return float(np.sum(-np.expm1(requests * np.log1p(-np.minimum(self._shares, 1.0 - 1e-12)))))

    @property
    def _shares(self) -> Floats:
        return zipf_shares(self.number, self.popularity)


NO_ADAPTERS = ResidentAdapters()
"""Requests to the model alone."""


def adapters_of(given: AdaptersAsked | None) -> ResidentAdapters:
    """What a scenario says of adapters, with what it leaves out."""
    if given is None:
        return NO_ADAPTERS
    return ResidentAdapters(
        number=given.number,
        rank=given.rank,
        resident=given.resident or min(given.number, RESIDENT),
        popularity=given.popularity,
        targets=given.targets,
        load_bytes_per_s=given.load_gbs * GB,
    )


@lru_cache(maxsize=64)
def zipf_shares(number: int, exponent: float) -> Floats:
    """Share of the requests of each of so many adapters, (N,), the most popular first: p_i = i^-s / sum of j^-s."""
    weights = np.arange(1.0, number + 1.0) ** -exponent
    return np.asarray(weights / weights.sum())


@lru_cache(maxsize=256)
def lru_hit_share(number: int, exponent: float, resident: int) -> float:
    """Share of requests that find their adapter among the ``resident`` ones last used.

    Che's approximation: sum of p_i (1 - e^(-p_i T)), with T such that the sum of 1 - e^(-p_i T) is the number resident.
    Source: Che, Tung, Wang, "Hierarchical Web caching systems" (IEEE JSAC 2002); requests independent of each other.
    """
    if resident >= number:
        return 1.0
    from scipy.optimize import brentq  # takes a quarter of a second to load, and few questions have adapters

    shares = zipf_shares(number, exponent)

    def more_than_fit(log_time: float) -> float:
        return float(-np.expm1(-shares * np.exp(log_time)).sum()) - resident

    time = np.exp(brentq(more_than_fit, np.log(resident), np.log(LONG / float(shares[-1]))))
    return float(np.sum(shares * -np.expm1(-shares * time)))
