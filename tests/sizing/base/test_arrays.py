"""Tables of columns and interpolation row by row."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from sizing.base.arrays import PER_ROW, SHARED, Columns, Floats
from sizing.base.compiled_rows import non_decreasing, position


@dataclass(frozen=True, kw_only=True)
class Inner(Columns):
    speed: Floats


@dataclass(frozen=True, kw_only=True)
class Sample(Columns):
    names: tuple[str, ...] = field(metadata=PER_ROW)
    units: tuple[str, ...]
    values: Floats
    inner: Inner
    whole: Inner = field(metadata=SHARED)
    number: Floats | float = 0.0


def sample(first: float = 0.0, number: Floats | float = 0.0, names: str = "abc") -> Sample:
    values = first + np.arange(float(len(names)))
    inner = Inner(speed=values * 10)
    return Sample(names=tuple(names), units=("s",), values=values, inner=inner, whole=inner, number=number)


def test_rows_are_taken_from_columns_tuples_and_inner_tables() -> None:
    taken = sample(number=np.array([5.0, 6.0, 7.0])).take(np.array([2, 0]))
    assert taken.names == ("c", "a")
    assert len(taken) == 2
    assert taken.values.tolist() == [2.0, 0.0]
    assert taken.inner.speed.tolist() == [20.0, 0.0]
    assert isinstance(taken.number, np.ndarray)
    assert taken.number.tolist() == [7.0, 5.0]


def test_what_belongs_to_all_rows_stays() -> None:
    whole = sample()
    taken = whole.take(np.array([1]))
    assert taken.units == ("s",)
    assert taken.whole is whole.whole
    assert taken.number == 0.0


def test_rows_are_replaced_in_a_copy() -> None:
    before = sample()
    after = before.replaced(np.array([2, 0]), sample(first=100.0, names="xy"))
    assert after.names == ("y", "b", "x")
    assert after.values.tolist() == [101.0, 1.0, 100.0]
    assert after.inner.speed.tolist() == [1010.0, 10.0, 1000.0]
    assert before.values.tolist() == [0.0, 1.0, 2.0]


def test_a_number_becomes_a_column_where_the_other_table_has_one() -> None:
    after = sample(number=1.0).replaced(np.array([1]), sample(number=np.array([4.0]), names="x"))
    assert isinstance(after.number, np.ndarray)
    assert after.number.tolist() == [1.0, 4.0, 1.0]
    assert sample(number=1.0).replaced(np.array([1]), sample(number=2.0, names="x")).number == 1.0


GRID = np.array([[1.0, 2.0, 4.0], [0.0, 10.0, 20.0]])


def test_interpolation_stops_at_the_ends_of_each_row_unless_told_to_go_on() -> None:
    at = np.array([[0.5, 3.0, 8.0], [5.0, 20.0, 30.0]])
    assert position(GRID, at).of(10 * GRID).tolist() == [[10.0, 30.0, 40.0], [50.0, 200.0, 200.0]]
    np.testing.assert_allclose(position(GRID, at, beyond=True).of(10 * GRID), 10 * at)


def test_one_number_for_each_row_is_interpolated_alike() -> None:
    assert position(GRID, np.array([3.0, 5.0])).of(10 * GRID).tolist() == [30.0, 50.0]


def test_interpolation_agrees_with_numpy_row_by_row() -> None:
    rng = np.random.default_rng(1)
    known, values = np.cumsum(rng.random((5, 8)), axis=1), rng.random((5, 8))
    at = rng.uniform(-1.0, 8.0, (5, 20))
    rows = [np.interp(a, k, v) for a, k, v in zip(at, known, values, strict=True)]
    np.testing.assert_allclose(position(known, at).of(values), rows)


def test_no_rows_have_no_positions() -> None:
    assert len(position(np.empty((0, 3)), np.empty(0)).lower) == 0


def test_points_that_coincide_are_no_division_by_zero() -> None:
    assert position(np.array([[1.0, 1.0]]), np.array([1.0])).of(np.array([[3.0, 4.0]])).tolist() == [3.0]


@pytest.mark.parametrize("points", [1, 4])
def test_values_never_fall_along_a_row(points: int) -> None:
    values = np.random.default_rng(2).random((3, points))
    assert np.array_equal(non_decreasing(values), np.maximum.accumulate(values, axis=1))
