"""What gpuhunt's catalogues say today, provider by provider; optional (``requirements-prices.txt``)."""

from collections.abc import Iterator
from typing import Any

from calibration.prices.cloud_rows import OUR_PROVIDERS, HuntedOffer

PROVIDERS = ("aws", "azure", "crusoe", "gcp", "lambdalabs", "nebius", "oci", "runpod", "verda")
"""Providers of ``cloud_instances.csv`` that gpuhunt publishes a catalogue of; they need no account."""


class NoCatalogue(Exception):
    """Raised, with one sentence, where there is no catalogue to read."""


def offers(provider: str) -> tuple[HuntedOffer, ...]:
    """Everything with a GPU that a provider offers. Raises NoCatalogue without gpuhunt or a connection."""
    try:
        from gpuhunt import Catalog
        from gpuhunt._internal.catalog import CATALOG_URL
    except ImportError:
        raise NoCatalogue("gpuhunt is not installed: pip install -r requirements-prices.txt.") from None
    catalog = Catalog(auto_reload=False)
    try:
        loaded = catalog._load_provider(CATALOG_URL, provider, None)
    except OSError as error:
        named = OUR_PROVIDERS.get(provider, provider)
        raise NoCatalogue(f"The catalogue of {named} could not be fetched: {error}.") from error
    return tuple(_offers(provider, loaded.items, _day(str(loaded.version))))


def _day(version: str) -> str:
    """The day of a catalogue's version, which begins with it (``20261125-031``)."""
    return f"{version[:4]}-{version[4:6]}-{version[6:8]}"


def _offers(provider: str, items: list[Any], day: str) -> Iterator[HuntedOffer]:
    for item in items:
        if item.gpu_count and item.gpu_name and item.gpu_memory:
            yield HuntedOffer(
                provider=provider,
                instance=str(item.instance_name),
                region=str(item.location),
                gpu=str(item.gpu_name),
                gpus=int(item.gpu_count),
                gpu_memory_gib=float(item.gpu_memory),
                usd_per_hour=float(item.price),
                spot=bool(item.spot),
                day=day,
            )
