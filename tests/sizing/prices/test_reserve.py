"""What stands by so that a system or a site may fail: hand-checked counts, and what must hold for any."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizing.base.choices import Redundancy
from sizing.prices.packing import Reserve, systems_needed


def bought(working: int, each: int, size: int, reserve: Reserve) -> tuple[int, int]:
    """(Systems, instances) with what stands by."""
    systems = systems_needed(reserve.held(working, each, size), each, size)
    more = reserve.standing_by(*(np.array([n]) for n in (working, each, size)), np.atleast_1d(systems))
    return int(systems), working + int(more[0])


@pytest.mark.parametrize(
    ("redundancy", "working", "each", "size", "systems", "instances"),
    [
        ("none", 3, 2, 8, 1, 3),
        ("system", 1, 4, 8, 2, 2),  # one in each of two servers
        ("system", 3, 2, 8, 2, 6),  # three in each
        ("system", 4, 2, 8, 2, 8),
        ("system", 5, 2, 8, 3, 8),  # 3 + 3 + 2: five are left
        ("system", 2, 16, 8, 6, 3),  # each spans two servers, of which one takes the instance with it
        ("site", 1, 4, 8, 2, 2),
        ("site", 5, 2, 8, 4, 10),  # two servers at each of two sites
        ("site", 1, 16, 8, 4, 2),
    ],
)
def test_known_counts(redundancy: Redundancy, working: int, each: int, size: int, systems: int, instances: int) -> None:
    assert bought(working, each, size, Reserve(redundancy=redundancy)) == (systems, instances)


@given(
    working=st.integers(1, 300),
    each=st.integers(1, 72),
    size=st.sampled_from([1, 2, 4, 8, 16, 72]),
    spares=st.integers(0, 9),
)
def test_as_many_as_the_peak_takes_are_left_without_the_fullest_system(
    working: int, each: int, size: int, spares: int
) -> None:
    systems, instances = bought(working, each, size, Reserve(spares=spares, redundancy="system"))
    places = systems // -(-each // size)
    lost = -(-instances // places)
    assert lost <= max(size // each, 1), "that many fit"
    assert instances - lost >= working
    assert instances >= working + spares
    fewer = instances - 1
    assert spares == instances - working or fewer - -(-fewer // places) < working, "none too many"
    alone, _ = bought(working, each, size, Reserve(spares=spares))
    assert systems >= alone


def test_of_two_kinds_as_many_stand_by_as_a_system_holds() -> None:
    counts = Reserve(redundancy="system").standing_by_of_two(np.array([3, 3]), np.array([2, 16]), np.array([8, 8]))
    assert counts.tolist() == [4, 1]
    assert Reserve(redundancy="site").standing_by_of_two(np.array([3]), np.array([2]), np.array([8])).tolist() == [3]
