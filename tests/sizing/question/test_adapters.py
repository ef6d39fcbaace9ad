"""How often a request finds its adapter resident: closed forms and a cache that is played through."""

from collections import OrderedDict

import numpy as np
import pytest

from sizing.question.adapters import ResidentAdapters, adapters_of, lru_hit_share, zipf_shares
from sizing.scenario.adapters import AdaptersAsked

REQUESTS = 200_000


def played(number: int, exponent: float, resident: int) -> float:
    """Hits of a cache that lets the least recently used one go, request by request."""
    asked = np.random.default_rng(1).choice(number, REQUESTS, p=zipf_shares(number, exponent))
    kept: OrderedDict[int, None] = OrderedDict()
    hits = 0
    for n, adapter in enumerate(asked.tolist()):
        if adapter in kept:
            hits += n >= REQUESTS // 10
            kept.move_to_end(adapter)
            continue
        kept[adapter] = None
        if len(kept) > resident:
            kept.popitem(last=False)
    return hits / (REQUESTS * 0.9)


@pytest.mark.parametrize(
    ("number", "exponent", "resident"),
    [(50, 1.0, 8), (50, 1.0, 32), (500, 0.8, 16), (2000, 1.2, 64), (100, 0.0, 25), (10, 1.0, 1), (1000, 2.0, 8)],
)
def test_hits_are_those_of_a_cache_that_is_played_through(number, exponent, resident):
    assert lru_hit_share(number, exponent, resident) == pytest.approx(played(number, exponent, resident), abs=0.01)


def test_alike_adapters_are_found_as_often_as_there_is_room():
    assert lru_hit_share(200, 0.0, 50) == pytest.approx(0.25, abs=1e-6)


def test_all_are_found_where_all_are_resident():
    assert lru_hit_share(50, 1.0, 50) == 1.0
    assert lru_hit_share(50, 1.0, 64) == 1.0


def test_more_room_never_finds_fewer_and_routing_by_adapter_is_one_cache():
    shares = [lru_hit_share(300, 1.0, n) for n in (1, 2, 5, 20, 100, 299)]
    assert shares == sorted(shares)
    some = ResidentAdapters(number=300, rank=8, resident=20, popularity=1.0)
    assert some.hit_share_routed(5) == lru_hit_share(300, 1.0, 100) > some.hit_share


def test_adapters_in_use_are_those_that_as_many_draws_show():
    some = ResidentAdapters(number=40, rank=8, resident=8, popularity=1.0)
    drawn = np.random.default_rng(2).choice(40, (4000, 30), p=zipf_shares(40, 1.0))
    assert some.in_use(30) == pytest.approx(np.mean([len(set(row)) for row in drawn.tolist()]), rel=0.01)
    assert some.in_use(0) == 0.0


def test_what_a_scenario_leaves_out():
    assert adapters_of(None).number == 0
    assert adapters_of(AdaptersAsked(number=12)).resident == 12
    assert adapters_of(AdaptersAsked(number=500)).resident == 32
    with pytest.raises(ValueError, match="resident must be at most number"):
        AdaptersAsked(number=4, resident=8)
