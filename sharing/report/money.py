"""How amounts stand in a report: in which currency, and how a sentence writes them. The engine computes in USD."""

from dataclasses import dataclass
from datetime import date
from typing import Protocol, TypeVar

from sharing.report.content import Column
from sizing.base.format import usd
from sizing.base.quantity import Result

Converted = TypeVar("Converted", bound=Result)


class ReportCurrency(Protocol):
    """A currency with its rate, in which a report writes amounts."""

    @property
    def code(self) -> str:
        """Its code after ISO 4217."""
        ...

    @property
    def rate(self) -> str:
        """The exchange rate with its source and day, as a sentence ends with it; empty for USD."""
        ...

    @property
    def rate_on(self) -> date | None:
        """The day of the exchange rate; None for USD and where somebody typed it."""
        ...

    def of(self, usd_amount: float) -> float:
        """An amount in USD, in this currency."""
        ...

    def written(self, amount: float | None) -> str:
        """An amount that is in this currency already."""
        ...

    def converted(self, result: Converted) -> Converted:
        """A result of the engine with every quantity in USD in this currency."""
        ...


@dataclass(frozen=True, kw_only=True)
class Dollars:
    """USD: amounts as the engine has them."""

    code: str = "USD"

    @property
    def rate(self) -> str:
        """Empty: nothing is converted."""
        return ""

    @property
    def rate_on(self) -> None:
        """None: nothing is converted."""
        return None

    def of(self, usd_amount: float) -> float:
        """The amount as it is: it is in USD already."""
        return usd_amount

    def written(self, amount: float | None) -> str:
        """ "$9,500", "$1.23M"."""
        return usd(amount)

    def converted(self, result: Converted) -> Converted:
        """The result as it is: its quantities are in USD already."""
        return result


def amounts(label: str) -> Column:
    """A column of amounts over a month or longer: whole units of the currency everywhere, so that two tables that hold
    the same amount write it alike."""
    return Column(label=label, holds="money", digits=0)
