"""Values of a table as text."""

from datetime import datetime

from sharing.report.content import Cell, Column
from sizing.base.format import significant

NOTHING = "–"
"""What stands where there is no value."""


def cell_text(column: Column, cell: Cell) -> str:
    """A cell as people read it, without its unit, which stands in the head of the column."""
    if cell is None or cell == "":
        return NOTHING
    if isinstance(cell, str):
        return cell
    return significant(cell) if column.digits is None else f"{cell:,.{column.digits}f}"


def heading(column: Column, currency: str) -> str:
    """The head of a column with its unit; that of money is the currency of the report."""
    unit = currency if column.holds == "money" else column.unit
    return f"{column.label} ({unit})" if unit else column.label


def day_and_time(moment: datetime) -> str:
    """ "2026-11-22, 16:40 UTC"."""
    return f"{moment:%Y-%m-%d, %H:%M} {moment.tzname() or ''}".strip()
