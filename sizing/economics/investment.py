"""When money is paid: purchases, running cost and what is left of a purchase, month by month, and their present value.

Tax is left out: it depends on the country and the company.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from sizing.base.units import MONTHS_PER_YEAR
from sizing.economics.cash import MONTHS, views_over_time
from sizing.economics.on_prem import Money
from sizing.economics.views import CAPITAL_PARTS, BaseWay, View
from sizing.economics.ways import Ways

NOT_PAID = (*CAPITAL_PARTS, "capital_charge")
"""Parts of a month's cost that are no payment: a purchase is paid for at once, and discounting stands for the charge on
its capital."""


@dataclass(frozen=True, kw_only=True)
class CashFlow:
    """What one way pays, in USD: ``purchases`` and ``running`` cost at the end of month 0 to 36, month 0 being today.

    ``residual`` is what the purchases are still worth after the last month.
    """

    purchases: tuple[float, ...]
    running: tuple[float, ...]
    residual: float

    @property
    def payments(self) -> tuple[float, ...]:
        """Payments of each month, what the purchases are still worth taken off the last."""
        each = [bought + ran for bought, ran in zip(self.purchases, self.running, strict=True)]
        return (*each[:-1], each[-1] - self.residual)

    def present_value(self, percent_per_year: float) -> float:
        """What all payments are worth today: ``sum of payment / (1 + rate)^(month / 12)``."""
        rate = 1.0 + percent_per_year / 100.0
        return math.fsum(paid / rate ** (month / MONTHS_PER_YEAR) for month, paid in enumerate(self.payments))


def cash_flow(ways: Ways, name: BaseWay) -> CashFlow | None:
    """What a way pays over 36 months; None where its cost is not known.

    What the first month needs is bought today, what a later one needs beyond that at the end of the month before it;
    running cost is paid at the end of its month. A purchase that is written off within the months is sold for its
    residual value and bought anew.
    """
    views = views_over_time(ways.over_time[name], ways.fleet.peak_rps, ways.money.costs)
    return cash_flow_of(views, ways.money) if views else None


def cash_flow_of(views: Sequence[View], money: Money) -> CashFlow:
    """As :func:`cash_flow`, from what each month costs."""
    residual = money.residual
    life = max(round(money.depreciation_years * MONTHS_PER_YEAR), 1)
    invested = list(accumulate((_purchase(view, money) for view in views), max))
    purchases, left = [0.0] * (MONTHS + 1), 0.0
    for month, added in _added(invested):
        replaced = range(month, MONTHS, life)
        for when in replaced:
            purchases[when] += added if when == month else added * (1.0 - residual)
        age = MONTHS - replaced[-1]
        left += added * (1.0 - (1.0 - residual) * age / life)
    running = (0.0, *(_running(view) for view in views))
    return CashFlow(purchases=tuple(purchases), running=running, residual=left)


def payback_month(one: CashFlow, other: CashFlow) -> int | None:
    """The first month by whose end ``one`` has paid no more than ``other`` in all, and does so from then on; None where
    that is not within the 36. What the purchases are still worth does not count."""
    ahead = [
        sum(one.purchases[: month + 1]) + sum(one.running[: month + 1])
        - sum(other.purchases[: month + 1]) - sum(other.running[: month + 1])
        for month in range(MONTHS + 1)
    ]  # fmt: skip
    behind = [month for month, more in enumerate(ahead) if more > 0.0]
    last = behind[-1] if behind else -1
    return None if last == MONTHS else last + 1


def _added(invested: Sequence[float]) -> Iterator[tuple[int, float]]:
    """Months, counted from 0, at whose beginning something is bought, and for how much."""
    before = 0.0
    for month, now in enumerate(invested):
        if now > before:
            yield month, now - before
        before = now


def _purchase(view: View, money: Money) -> float:
    """What was bought for a month: what it writes off, times the months of that, over the share that is written off."""
    written_off = math.fsum(view.parts[name].value for name in CAPITAL_PARTS if name in view.parts)
    return written_off * money.depreciation_years * MONTHS_PER_YEAR / (1.0 - money.residual)


def _running(view: View) -> float:
    return math.fsum(amount.value for name, amount in view.parts.items() if name not in NOT_PAID)
