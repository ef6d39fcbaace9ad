"""What a workbook computes with: inputs, the engine's counts over the load, and every way's cost at the planned load.

Plain data, as the report beside it, so that both can be stored and made into a file without the engine. Amounts are in
the currency of the report. Nothing about money is in it where none is released.
"""

from typing import Literal

from pydantic import Field

from sharing.report.content import Frozen
from sizing.base.choices import Redundancy

WayName = Literal["on_prem", "cloud", "api"]
"""Ways whose cost a formula can follow; a hybrid chooses its base anew at each load, which no formula does."""

InputGroup = Literal["load", "growth", "on_prem", "power", "cloud", "api", "staff"]


class CalculatorInput(Frozen):
    """A number that a reader may change: ``name`` stands in formulas, ``low`` and ``high`` are what is accepted."""

    name: str
    label: str
    unit: str
    value: float
    low: float
    high: float
    group: InputGroup
    source: str = ""
    date: str = ""


class InstanceKind(Frozen):
    """Instances of one kind: GPUs of each, and how many stand by."""

    label: str
    gpus: int = Field(ge=1)
    spares: int = Field(ge=0)


class LoadRow(Frozen):
    """The engine's answer at a load: of each kind the instances that carry it, and what one of them could carry."""

    requests_per_s: float
    working: tuple[int, ...]
    capacity_rps: tuple[float, ...]


class BoughtSystem(Frozen):
    """What the instances stand in: bought servers or rented instances of one type."""

    name: str
    gpus: int = Field(ge=1)
    power_kw: float | None = None
    place: str = ""


class CalculatorMonth(Frozen):
    """A month of the look ahead at the planned inputs: working instances of each kind, and systems of either way."""

    working: tuple[int, ...]
    bought: int
    rented: int | None


class Way(Frozen):
    """What one way costs at the planned inputs: a month part by part, each of the months to come, what is paid at the
    end of month 0 (today) to 36, and what that is worth today."""

    name: WayName
    system: str
    parts: dict[str, float]
    cash: tuple[float, ...]
    payments: tuple[float, ...]
    present_cost: float

    @property
    def per_month(self) -> float:
        """Cost of a month in this way, all parts together."""
        return sum(self.parts.values())


class Calculator(Frozen):
    """All that formulas need. ``rows`` are in the order of their load; ``chosen`` is how the scenario pays;
    ``committed``: rented instances are paid for whether they run or not."""

    currency: str
    deployment: str
    planned_rps: float
    kinds: tuple[InstanceKind, ...]
    redundancy: Redundancy = "none"
    rows: tuple[LoadRow, ...]
    bought: BoughtSystem
    rented: BoughtSystem | None
    input_tokens: float
    cached_tokens: float
    output_tokens: float
    inputs: tuple[CalculatorInput, ...]
    months: tuple[CalculatorMonth, ...]
    ways: tuple[Way, ...]
    chosen: str
    committed: bool

    def way(self, name: WayName) -> Way | None:
        """A way by its name; None where its cost is not known or not released."""
        return next((way for way in self.ways if way.name == name), None)

    def value(self, name: str) -> float:
        """The planned value of an input. Raises KeyError for one that there is not."""
        return {one.name: one.value for one in self.inputs}[name]
