"""What a report says, before it has a form: sections of text, figures, tables and charts, all of it plain data.

Every file and page that shows a report is made from this alone, so that a stored one can be shown again without the
engine. Text is plain text: whoever draws it escapes what its format would read as markup.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

FORMAT_VERSION = 2
"""Version of this form; 2 since columns say whether they are details. A stored report of a newer one is refused, an
older one is read."""

Cell = float | int | str | None
"""A value of a table; None where there is none, which is drawn as a dash, never as zero."""


class Released(StrEnum):
    """Which money the owner of a scenario lets a reader see."""

    NOTHING = "nothing"
    LIST_PRICES = "list prices"
    OWN_PRICES = "own prices"


BY_WORD = {"none": Released.NOTHING, "list": Released.LIST_PRICES, "own": Released.OWN_PRICES}
"""What is released, by the words of command lines."""


class Frozen(BaseModel):
    """Base of all parts of a report: they cannot be changed, and a stored one with other fields is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Paragraph(Frozen):
    """A paragraph of plain sentences."""

    kind: Literal["paragraph"] = "paragraph"
    text: str


class Bullets(Frozen):
    """Points, one line each."""

    kind: Literal["bullets"] = "bullets"
    items: tuple[str, ...]


class Fact(Frozen):
    """One figure with its name; ``note``: interval, limit or where it comes from."""

    label: str
    value: str
    note: str = ""


class Facts(Frozen):
    """Figures beside each other."""

    kind: Literal["facts"] = "facts"
    facts: tuple[Fact, ...]


class Column(Frozen):
    """A column of a table: ``digits`` are decimals of its numbers, None where they have three significant digits.

    ``detail``: what a slide leaves to the documents.
    """

    label: str
    unit: str = ""
    holds: Literal["text", "number", "money"] = "text"
    digits: int | None = None
    detail: bool = False


class Table(Frozen):
    """A table; each row has one cell for each column."""

    kind: Literal["table"] = "table"
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""

    def without_empty_columns(self) -> Table:
        """The same without the columns of figures that no row has."""
        kept = [
            place
            for place, column in enumerate(self.columns)
            if column.holds == "text" or any(row[place] is not None for row in self.rows)
        ]
        rows = tuple(tuple(row[place] for place in kept) for row in self.rows)
        return self.model_copy(update={"columns": tuple(self.columns[place] for place in kept), "rows": rows})


class ChartSeries(Frozen):
    """One line or one colour of bars: a value for each place of the chart; ``low`` and ``high``: its interval."""

    name: str
    values: tuple[float | None, ...]
    low: tuple[float | None, ...] = ()
    high: tuple[float | None, ...] = ()


class Mark(Frozen):
    """A line across a chart: a limit, the asked load, a crossing. One with a place ``near`` is a value of the y axis
    that holds there alone: a short line about it."""

    label: str
    axis: Literal["x", "y"]
    at: float
    near: float | None = None


Draws = Literal["line", "bar", "stacked", "tornado"]
"""What stands for the values of a chart: lines, bars beside each other or on each other, or bars to both sides."""


class Chart(Frozen):
    """A chart of one kind: its places along x, and series over them.

    A tornado has an input at each place and two series, the answer at the low and at the high end of the input; its
    bars are horizontal and start at ``base``, the answer as it is.
    """

    kind: Literal["chart"] = "chart"
    title: str
    draws: Draws
    x_label: str
    y_label: str
    x: tuple[float, ...] | tuple[str, ...]
    series: tuple[ChartSeries, ...]
    marks: tuple[Mark, ...] = ()
    base: float | None = None
    note: str = ""


Block = Annotated[Paragraph | Bullets | Facts | Table | Chart, Field(discriminator="kind")]


class Section(Frozen):
    """A chapter; ``key`` names it in links, sheets and tests."""

    key: str
    title: str
    blocks: tuple[Block, ...]


class Report(Frozen):
    """All of a report. ``currency`` is that of every amount in it, ISO 4217."""

    format_version: int = FORMAT_VERSION
    title: str
    customer: str = ""
    author: str = ""
    made_at: datetime
    engine_version: str
    data_version: str
    data_date: str
    currency: str = "USD"
    released: Released
    answer: str
    sections: tuple[Section, ...]
