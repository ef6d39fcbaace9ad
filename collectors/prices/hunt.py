"""Offers from the catalogues that gpuhunt collects from providers; optional (``requirements-prices.txt``)."""

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import ValidationError

from collectors.prices.offers import NotInstalled, Offer

PROVIDERS = ("aws", "azure", "gcp", "lambdalabs", "nebius", "oci", "runpod", "verda", "cloudrift")
"""Providers whose catalogues gpuhunt publishes; they need no account."""


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
