"""Cells of a table that people hand in, each checked; a bad one fails its row only."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from commandline.foreign_text import shown
from sizing.base.errors import InvalidPoints, SizingError

if TYPE_CHECKING:  # a quarter of a second at every start of a process, for those who have a table only
    import pandas as pd

MAX_COUNT = 1e9
"""Largest number of a cell: a larger one is a typing error."""

Cells = Mapping[str, object]


class BadCell(SizingError):
    """One cell that cannot be used; the message is the row's ``error``."""


def rows(frame: pd.DataFrame) -> Iterator[Cells]:
    """The rows of a table, each by its columns."""
    from pandas import NA

    columns = {str(k): [None if value is NA else value for value in cells.tolist()] for k, cells in frame.items()}
    return (dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True))


def is_empty(value: object) -> bool:
    """Whether a cell says nothing."""
    return math.isnan(value) if isinstance(value, float) else value is None or str(value).strip() == ""


def text(cells: Cells, name: str) -> str:
    """A cell as text without space around it, "" where it is empty."""
    return "" if is_empty(value := cells.get(name)) else str(value).strip()


def number_in(cells: Cells, name: str, *, at_least: float = 0.0, at_most: float = MAX_COUNT) -> float | None:
    """A number between ``at_least`` and ``at_most``, or None where the cell is empty."""
    value = cells.get(name)
    if is_empty(value):
        return None
    try:
        number = value if isinstance(value, float) else float(str(value))
    except ValueError:
        raise BadCell(f"{name} is not a number: “{shown(value)}”") from None
    if not (math.isfinite(number) and at_least <= number <= at_most):
        raise BadCell(f"{name} must be between {at_least:g} and {at_most:g}, not {shown(value)}")
    return number


def needed(cells: Cells, name: str, *, at_least: float) -> float:
    """A number of at least so much; an empty cell is a bad one."""
    number = number_in(cells, name, at_least=at_least)
    if number is None:
        raise BadCell(f"{name} is empty")
    return number


def whole(cells: Cells, name: str) -> int | None:
    """A whole number of at least 1, or None where the cell is empty."""
    number = number_in(cells, name, at_least=1.0)
    if number is not None and number != int(number):
        raise BadCell(f"{name} must be a whole number, not {number:g}")
    return None if number is None else int(number)


def degree(cells: Cells, name: str) -> int:
    """A degree of parallelism; 0 says like an empty cell that there is none of the kind, which is 1."""
    return 1 if number_in(cells, name) == 0 else whole(cells, name) or 1


def demand(required: Sequence[str], names: Collection[str]) -> None:
    """Raises InvalidPoints where a table lacks a required column."""
    missing = [name for name in required if name not in names]
    if missing:
        raise InvalidPoints(f"The table lacks the column{'s' if len(missing) > 1 else ''} {', '.join(missing)}.")
