"""What the formulas come to at the planned inputs: written beside each, for readers that do not compute."""

from dataclasses import dataclass
from functools import cached_property

from sharing.report.calculator import Calculator, LoadRow, WayName

HOURS_PER_MONTH, SECONDS_PER_HOUR, DAYS_PER_MONTH = 730, 3600, "730/24"
MILLION = 1e6


@dataclass(frozen=True)
class WorkbookFigures:
    """The planned figures of a calculator."""

    calculator: Calculator

    @cached_property
    def row(self) -> LoadRow:
        """The engine's answer at the planned load."""
        return next(row for row in self.calculator.rows if row.requests_per_s == self.calculator.planned_rps)

    @cached_property
    def instances(self) -> tuple[int, ...]:
        """Instances of each kind, spares included."""
        pairs = zip(self.row.working, self.calculator.kinds, strict=True)
        return tuple(working + kind.spares for working, kind in pairs)

    @property
    def gpus(self) -> int:
        """GPUs of all instances that are planned, spare ones included."""
        return sum(n * kind.gpus for n, kind in zip(self.instances, self.calculator.kinds, strict=True))

    @property
    def requests_per_month(self) -> float:
        """Requests of a month."""
        hours = self.calculator.value("hours_at_full_load")
        return self.calculator.planned_rps * SECONDS_PER_HOUR * hours * HOURS_PER_MONTH / 24

    @property
    def utilisation(self) -> float:
        """Requests of a month over those that the working instances could serve, at most 1."""
        pairs = zip(self.row.working, self.row.capacity_rps, strict=True)
        most = min(working * capacity for working, capacity in pairs) * SECONDS_PER_HOUR * HOURS_PER_MONTH
        return min(self.requests_per_month / most, 1.0)

    @property
    def bought(self) -> int:
        """How many systems are bought for the first month."""
        return self.calculator.months[0].bought

    @property
    def rented(self) -> int:
        """Rented systems; 0 where none are offered."""
        return self.calculator.months[0].rented or 0

    def per_month(self, name: WayName) -> float:
        """What a month costs in one way."""
        way = self.calculator.way(name)
        return 0.0 if way is None else way.per_month

    def per_million(self, name: WayName) -> float:
        """What a million tokens of answers cost in one way."""
        return self.per_month(name) / (self.requests_per_month * self.calculator.output_tokens) * MILLION
