import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizing.base.errors import SizingError
from sizing.prices.packing import systems_needed

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
