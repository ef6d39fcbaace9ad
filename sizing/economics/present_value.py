"""What every way pays over 36 months, and what that is worth today: a part of the answer about money."""

from typing import Annotated

from sizing.base.quantity import Result, quantity
from sizing.economics.views import ViewName


class WayOverTime(Result):
    """What one way pays over 36 months, and what that is worth today."""

    name: Annotated[ViewName, quantity("Way", help="As in the ways to pay.")]
    purchase_usd: Annotated[
        float,
        quantity("Purchase", "USD", "systems x price x (1 + switches + storage)", "Paid today; 0 for what is rented."),
    ]
    residual_usd: Annotated[
        float,
        quantity(
            "Residual value",
            "USD",
            "purchase x (1 - (1 - residual) x age / years)",
            "What the purchases are still worth after 36 months.",
        ),
    ]
    payments: Annotated[
        tuple[float, ...],
        quantity(
            "Payments",
            "USD",
            "purchases + running cost; the last less the residual value",
            "At the end of month 0 (today) to 36.",
        ),
    ]
    paid_usd: Annotated[float, quantity("Paid in all", "USD", "sum of the payments", "Not discounted.")]
    present_cost_usd: Annotated[
        float,
        quantity(
            "Present cost",
            "USD",
            "sum of payment / (1 + discount rate)^(month / 12)",
            "What all payments are worth today.",
        ),
    ]


class OwningAgainst(Result):
    """What owning is worth beside another way."""

    name: Annotated[ViewName, quantity("Way", help="What owning is compared with.")]
    npv_usd: Annotated[
        float,
        quantity(
            "Net present value of owning",
            "USD",
            "present cost of the other way - present cost of owning",
            "Above 0: owning is worth it. Before tax.",
        ),
    ]
    payback_month: Annotated[
        int | None,
        quantity(
            "Payback",
            "month",
            "first month from which owning has paid no more in all",
            "Without residual value and discount; None where not within 36 months.",
        ),
    ]


class Investment(Result):
    """Purchases, cash flow and present value over 36 months; tax is left out."""

    discount_percent_per_year: Annotated[
        float, quantity("Discount rate", "%/year", "costs.discount_percent_per_year", "Cost of capital.")
    ]
    months: Annotated[int, quantity("Horizon", "months", "36", "How far is looked ahead.")]
    ways: Annotated[tuple[WayOverTime, ...], quantity("Ways", help="Every way whose cost is known.")]
    owning_against: Annotated[
        tuple[OwningAgainst, ...], quantity("Owning against", help="Systems of one's own beside each other way.")
    ]

    @property
    def against_renting(self) -> OwningAgainst | None:
        """Owning beside renting: the same GPUs, or where nobody rents them the cheapest."""
        named = {one.name: one for one in self.owning_against}
        return named.get("cloud", named.get("cloud_best"))
