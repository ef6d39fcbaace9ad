import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizing.base.choices import Redundancy
from sizing.base.errors import SizingError
from sizing.prices.packing import Reserve, systems_needed

COUNT = st.integers(1, 10_000)
SIZE = st.integers(1, 200)


@pytest.mark.parametrize(("tp", "per_server"), [(1, 8), (2, 4), (4, 2), (8, 1)])
def test_instances_times_tp_is_8(tp, per_server):
    assert systems_needed([per_server, per_server + 1], tp, 8).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("instances", "gpus", "size", "systems"),
    [(13, 8, 8, 13), (4, 2, 8, 1), (3, 3, 8, 2), (2, 16, 8, 4), (1, 12, 8, 2), (10, 8, 72, 2)],
)
def test_hand_counted_packings(instances, gpus, size, systems):
    assert systems_needed(instances, gpus, size) == systems


@given(COUNT, SIZE, SIZE)
def test_the_packing_holds_every_instance_and_wastes_no_whole_system(instances, gpus, size):
    systems = int(systems_needed(instances, gpus, size))
    assert systems * size >= instances * gpus
    if per_system := size // gpus:
        assert (systems - 1) * per_system < instances <= systems * per_system
    else:
        assert systems == instances * math.ceil(gpus / size)


@given(COUNT, SIZE, SIZE, st.integers(0, 1000))
def test_more_instances_never_need_fewer_systems(instances, gpus, size, more):
    assert systems_needed(instances + more, gpus, size) >= systems_needed(instances, gpus, size)


@given(st.lists(st.tuples(COUNT, SIZE, SIZE), min_size=1, max_size=30))
def test_rows_of_an_array_do_not_know_of_each_other(rows):
    instances, gpus, size = np.array(rows).T
    expected = [int(systems_needed(*row)) for row in rows]
    assert systems_needed(instances, gpus, size).tolist() == expected
    assert systems_needed(instances.astype(float), gpus, size).tolist() == expected


def test_arrays_broadcast_and_nothing_needs_nothing():
    assert systems_needed(np.array([0, 5]), 2, np.array([[8], [4]])).tolist() == [[0, 2], [0, 3]]
    assert systems_needed(np.array([], dtype=int), 2, 8).tolist() == []


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, 1.5, 10**13, "8", None, True])
@pytest.mark.parametrize("position", [0, 1, 2])
def test_bad_counts_are_refused(position, bad):
    numbers = [4, 2, 8]
    numbers[position] = bad
    if bad != 0 or position > 0:
        with pytest.raises(SizingError):
            systems_needed(*[np.array([n]) for n in numbers])


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
