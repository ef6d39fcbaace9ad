"""Live prices without a network: invented providers that answer, break, hang or are away."""

import sys
import threading
import types
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from collectors.prices import offers
from collectors.prices.offers import NotInstalled, Offer, offers_of

NAMES = ("H100",)


def offer(provider: str, usd: float = 20.0, gpus: int = 8) -> Offer:
    return Offer(provider=provider, instance="x", region="r", gpu="H100", gpus=gpus, usd_per_hour=usd, spot=False)


def test_the_cheapest_gpu_hour_comes_first() -> None:
    prices = {"a": offer("a", 20.0, 8), "b": offer("b", 2.0, 1), "c": offer("c", 9.6, 4)}
    answer = offers_of(NAMES, lambda p, _: [prices[p]], providers=tuple(prices), within_s=10)
    assert [one.provider for one in answer.offers] == ["b", "c", "a"]
    assert answer.offers[1].usd_per_gpu_hour == pytest.approx(2.4)
    assert answer.failures == ()
    assert answer.only_reason is None


def test_one_broken_provider_never_fails_the_rest() -> None:
    released = threading.Event()

    def fetch(provider: str, names: Sequence[str]) -> Sequence[Offer]:
        assert names == NAMES
        if provider == "broken":
            raise KeyError("price")
        if provider == "away":
            raise ConnectionError
        if provider == "hangs":
            released.wait()
        return [offer(provider)]

    answer = offers_of(NAMES, fetch, providers=("broken", "good", "away", "hangs"), within_s=1.0)
    released.set()
    assert [one.provider for one in answer.offers] == ["good"]
    reasons = {failure.provider: failure.reason for failure in answer.failures}
    assert reasons == {"broken": "broken", "away": "offline", "hangs": "too_slow"}
    assert answer.only_reason is None


@pytest.mark.parametrize(
    ("error", "reason"), [(NotInstalled(), "not_installed"), (OSError(), "offline"), (ValueError(), "broken")]
)
def test_where_nothing_answers_the_reason_is_known(error: Exception, reason: str) -> None:
    def fetch(provider: str, names: Sequence[str]) -> Sequence[Offer]:
        raise error

    assert offers_of(NAMES, fetch, providers=("a", "b"), within_s=10).only_reason == reason


def test_nobody_answered_for_different_reasons() -> None:
    def fetch(provider: str, names: Sequence[str]) -> Sequence[Offer]:
        raise OSError if provider == "a" else ValueError

    answer = offers_of(NAMES, fetch, providers=("a", "b"), within_s=10)
    assert not answer.answered
    assert answer.only_reason is None


def test_one_that_has_none_has_answered() -> None:
    def fetch(provider: str, names: Sequence[str]) -> Sequence[Offer]:
        if provider == "a":
            raise OSError
        return []

    answer = offers_of(NAMES, fetch, providers=("a", "b"), within_s=10)
    assert answer.answered
    assert answer.only_reason is None


@dataclass
class Item:
    instance_name: str = "p5.48xlarge"
    location: str = "us-east-1"
    gpu_name: str = "H100"
    gpu_count: int = 8
    price: float = 55.0
    spot: bool = False


@dataclass
class Catalog:
    """What gpuhunt's catalogue does, without its network."""

    auto_reload: bool = True
    catalog: dict[str, Any] = field(default_factory=dict)
    loaded_at: float | None = None

    def _load_provider(self, url: str, provider: str, version: str | None) -> list[Item]:
        return [Item(), Item(price=0.0), Item(price=float("nan")), Item(gpu_count=0), Item(price=-3.0)]

    def query(self, *, provider: str, gpu_name: list[str]) -> list[Item]:
        assert self.loaded_at is not None
        return [item for item in self.catalog[provider] if item.gpu_name in gpu_name]


def test_items_without_sense_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    package, internal, inner = (types.ModuleType(name) for name in ("gpuhunt", "_internal", "catalog"))
    package.Catalog, inner.CATALOG_URL = Catalog, "https://example.invalid"
    monkeypatch.setitem(sys.modules, "gpuhunt", package)
    monkeypatch.setitem(sys.modules, "gpuhunt._internal", internal)
    monkeypatch.setitem(sys.modules, "gpuhunt._internal.catalog", inner)
    assert [(one.usd_per_hour, one.gpus, one.region) for one in offers.fetch("aws", NAMES)] == [(55.0, 8, "us-east-1")]
    assert offers.fetch("aws", ("L4",)) == ()


def test_without_the_package_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gpuhunt", None)
    with pytest.raises(NotInstalled):
        offers.fetch("aws", NAMES)
