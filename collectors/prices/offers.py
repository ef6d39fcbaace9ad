"""Offers of many providers at once: each asked on its own, within one time limit, failures beside answers."""

import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

PROVIDERS = ("aws", "azure", "gcp", "lambdalabs", "nebius", "oci", "runpod", "verda", "cloudrift")
"""Providers whose catalogues gpuhunt publishes; they need no account."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Offer(_Frozen):
    """One instance type in one region."""

    provider: str = Field(max_length=80)
    instance: str = Field(max_length=200)
    region: str = Field(max_length=120)
    gpu: str = Field(max_length=80)
    gpus: Annotated[int, Field(ge=1, le=1024)]
    usd_per_hour: Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)]
    spot: bool

    @property
    def usd_per_gpu_hour(self) -> float:
        """USD of one GPU for an hour: price / GPUs."""
        return self.usd_per_hour / self.gpus


NoOffersReason = Literal["not_installed", "offline", "too_slow", "broken"]
"""Why a provider has no offers: the package is not there; no connection; no answer in time; an answer without sense."""


class ProviderFailure(_Frozen):
    """A provider that did not answer."""

    provider: str
    reason: NoOffersReason


class ProviderOffers(_Frozen):
    """What the providers that answered offer, the cheapest GPU-hour first."""

    offers: tuple[Offer, ...]
    failures: tuple[ProviderFailure, ...]
    providers: int
    """How many providers were asked."""

    @property
    def answered(self) -> bool:
        """Whether any provider did, if only to say that it has none."""
        return len(self.failures) < self.providers

    @property
    def only_reason(self) -> NoOffersReason | None:
        """Why there is no answer at all; None where a provider answered, or the reasons differ."""
        reasons = {failure.reason for failure in self.failures}
        return reasons.pop() if not self.answered and len(reasons) == 1 else None


class NotInstalled(Exception):
    """The package that knows the providers is not there."""


Fetch = Callable[[str, Sequence[str]], Sequence[Offer]]
"""Offers of one provider for a GPU by any of its names. Raises NotInstalled, OSError without a connection."""

_Answer = tuple[str, Sequence[Offer] | NoOffersReason]


def offers_of(names: Sequence[str], fetch: Fetch, *, providers: Sequence[str], within_s: float) -> ProviderOffers:
    """Offers for a GPU from all ``providers``, whatever goes wrong with one of them; after ``within_s`` seconds those
    that have not answered count as too slow."""
    answers: queue.SimpleQueue[_Answer] = queue.SimpleQueue()
    for provider in providers:
        # daemon: one that never answers must not keep the process from ending
        threading.Thread(target=lambda p=provider: answers.put((p, _fetched(p, names, fetch))), daemon=True).start()
    until, seen = time.monotonic() + within_s, dict[str, Sequence[Offer] | NoOffersReason]()
    while len(seen) < len(providers):
        try:
            provider, answer = answers.get(timeout=max(until - time.monotonic(), 0.0))
        except queue.Empty:
            break
        seen[provider] = answer
    results = {provider: seen.get(provider, "too_slow") for provider in providers}
    every = [offer for answer in results.values() if not isinstance(answer, str) for offer in answer]
    return ProviderOffers(
        offers=tuple(sorted(every, key=lambda one: (one.usd_per_gpu_hour, one.provider, one.instance, one.region))),
        providers=len(providers),
        failures=tuple(
            ProviderFailure(provider=provider, reason=answer)
            for provider, answer in results.items()
            if isinstance(answer, str)
        ),
    )


def _fetched(provider: str, names: Sequence[str], fetch: Fetch) -> Sequence[Offer] | NoOffersReason:
    """What a provider answers, or why it does not: somebody else's code may raise anything."""
    try:
        return fetch(provider, names)
    except NotInstalled:
        return "not_installed"
    except (OSError, TimeoutError):
        return "offline"
    except Exception:  # noqa: BLE001 - one broken provider never fails the rest
        return "broken"


def fetch(provider: str, names: Sequence[str]) -> Sequence[Offer]:
    """What a provider offers of a GPU. Raises NotInstalled without gpuhunt, OSError without a connection."""
    try:
        from gpuhunt import Catalog
        from gpuhunt._internal.catalog import CATALOG_URL
    except ImportError:
        raise NotInstalled from None
    catalog = Catalog(auto_reload=False)
    # query() and load() fetch every provider, and wait for the slowest: one provider is loaded by this alone (0.1.34)
    catalog.catalog[provider] = catalog._load_provider(CATALOG_URL, provider, None)
    catalog.loaded_at = 0.0
    return tuple(_offers(provider, catalog.query(provider=provider, gpu_name=list(names))))


def _offers(provider: str, items: Sequence[Any]) -> Iterator[Offer]:
    """The items that make sense; others are left out."""
    for item in items:
        try:
            yield Offer(
                provider=provider,
                instance=str(item.instance_name),
                region=str(item.location),
                gpu=str(item.gpu_name),
                gpus=item.gpu_count,
                usd_per_hour=item.price,
                spot=bool(item.spot),
            )
        except (AttributeError, ValidationError):
            continue
