"""Arrays: their types, tables of columns with one entry per row, and interpolation row by row.

Shapes are written (N,) for one number per row and (N, K) for one per row and point of a grid.
"""

from collections.abc import Iterator, Mapping
from dataclasses import Field, dataclass, fields
from functools import cache
from types import MappingProxyType
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]
Rows = NDArray[np.intp]
"""Which rows of a table: their numbers from 0."""

PER_ROW: Mapping[str, bool] = MappingProxyType({"per_row": True})
"""Metadata of a tuple in :class:`Columns` that has one entry per row."""

SHARED: Mapping[str, bool] = MappingProxyType({"per_row": False})
"""Metadata of an array or table in :class:`Columns` that belongs to all rows together."""

ROUNDING = 1e-9
"""What float arithmetic may leave of a whole number, or of two equal ones as a share of them. Chosen: because the error
of a double is a millionth of it, and no count or rate is known to a billionth."""


class Columns:
    """Base of a frozen dataclass that is a table: each array, and each table inside, has one entry per row.

    Anything else belongs to all rows, unless its field says otherwise with :data:`PER_ROW` or :data:`SHARED`.
    """

    def __len__(self) -> int:
        kind: Any = type(self)
        values = vars(self)
        for name, declared in _declared(kind):
            value = values[name]
            if isinstance(value, TABLES) if declared is None else declared:
                return len(value)
        raise TypeError(f"{type(self).__name__} has nothing with one entry per row.")

    def take(self, index: Rows) -> Self:
        """The rows at ``index``, in that order."""
        kind: Any = type(self)
        taken: Self = object.__new__(kind)
        mine, theirs = vars(self), vars(taken)
        for name, declared in _declared(kind):  # one loop: a question does this some thousand times
            value = mine[name]
            if declared is None:
                if isinstance(value, np.ndarray):
                    value = value[index]
                elif isinstance(value, Columns):
                    value = value.take(index)
            elif declared:
                value = _taken(value, index)
            theirs[name] = value
        return taken

    def replaced(self, index: Rows, other: Self) -> Self:
        """A copy with the rows of ``other``, in its order, at ``index``; what belongs to all rows stays.

        A number that stands for a whole column on one side becomes one where the other side has a column.
        """
        if not len(index):
            return self
        names = dict.fromkeys(name for table in (self, other) for name, _ in _per_row(table))
        rows = len(self)
        return _with(self, {name: _merged(getattr(self, name), index, getattr(other, name), rows) for name in names})

    def followed_by(self, other: Self) -> Self:
        """These rows and then those of ``other``; what belongs to all rows stays.

        A number that stands for a whole column on one side becomes one where the other side has a column.
        """
        names = dict.fromkeys(name for table in (self, other) for name, _ in _per_row(table))
        mine, more = len(self), len(other)
        return _with(self, {name: _joined(getattr(self, name), getattr(other, name), mine, more) for name in names})


TABLES = (np.ndarray, Columns)
"""What has one entry per row, unless its field says otherwise."""


Table = TypeVar("Table", bound=Columns)


def _with(table: Table, changed: Mapping[str, Any]) -> Table:
    """A copy of a table with other columns: as dataclasses.replace, without setting every field by a call of its own,
    which a question does some thousand times."""
    kind: Any = type(table)
    copy: Table = object.__new__(kind)
    values = vars(table)
    vars(copy).update({name: values[name] for name, _ in _declared(kind)}, **changed)
    return copy


@cache
def _declared(kind: Any) -> tuple[tuple[str, bool | None], ...]:
    """Each field and whether it has one entry per row; None where its value decides."""
    each: tuple[Field[Any], ...] = fields(kind)
    return tuple((field.name, field.metadata.get("per_row")) for field in each)


def _per_row(table: Columns) -> Iterator[tuple[str, Any]]:
    """Name and value of what has one entry per row."""
    kind: Any = type(table)
    values = vars(table)
    for name, declared in _declared(kind):
        value = values[name]
        if isinstance(value, TABLES) if declared is None else declared:
            yield name, value


def _taken(value: Any, index: Rows) -> Any:
    if isinstance(value, tuple):
        return tuple(map(value.__getitem__, index.tolist()))
    return value.take(index) if isinstance(value, Columns) else value[index]


def _merged(value: Any, index: Rows, other: Any, rows: int) -> Any:
    if isinstance(value, Columns):
        return value.replaced(index, other)
    if isinstance(value, tuple):
        merged = list(value)
        for place, entry in zip(index.tolist(), other, strict=True):
            merged[place] = entry
        return tuple(merged)
    column = value.copy() if isinstance(value, np.ndarray) else np.full((rows, *other.shape[1:]), value)
    column[index] = other
    return column


def _joined(value: Any, other: Any, rows: int, more: int) -> Any:
    if isinstance(value, Columns):
        return value.followed_by(other)
    if isinstance(value, tuple):
        return value + other
    return np.concatenate([_column(value, rows), _column(other, more)])


def _column(value: Any, rows: int) -> NDArray[Any]:
    """A column, also where one number stands for it."""
    return value if isinstance(value, np.ndarray) else np.full(rows, value)


def moved(now: Floats, before: Floats) -> Floats:
    """How many times ``before`` is ``now``, (N,) each; 1 where that is no number, nothing being there to be moved."""
    with np.errstate(divide="ignore", invalid="ignore"):
        times = now / before
    return np.where(np.isfinite(times), times, 1.0)


def least_by_group(group: Counts, values: Floats | Counts, groups: int) -> Floats:
    """The least of ``values`` (N,) in each of so many groups, (groups,); ``group`` (N,): their numbers from 0. Infinite
    for a group without any."""
    least = np.full(groups, np.inf)
    np.minimum.at(least, group, values)
    return least


@dataclass(frozen=True)
class Position(Columns):
    """Where numbers lie between the points of a grid of each row: the lower point and the share of the way to the next.

    Both (N,), or (N, M) for several numbers of each row.
    """

    lower: Rows
    share: Floats

    def of(self, values: Floats, rows: Rows | None = None) -> Floats:
        """What ``values`` (N, K), known at the points of the grid, are there: straight lines between the points.

        ``rows``: which of more rows of ``values`` are meant, (N,), so that no other points of theirs are copied.
        """
        each = np.arange(len(values)) if rows is None else rows
        row = each.reshape(-1, *(1,) * (self.lower.ndim - 1))
        low, high = values[row, self.lower], values[row, self.lower + 1]
        return np.asarray(low + self.share * (high - low), dtype=np.float64)
