"""How rented instances may be paid for: a term is a row here, and everything that tells terms apart asks this table."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import get_args

from sizing.base.choices import HybridBase, Purchase
from sizing.catalog.facts import tco
from sizing.catalog.files import read_yaml
from sizing.catalog.system import CloudInstance


@dataclass(frozen=True, kw_only=True)
class PaymentTerm:
    """One way to pay for an instance.

    ``listed``: its price in USD/h as a provider lists it, None where it lists none, as by default nobody does.
    ``discount``: the constant of the cost model, in percent, that is taken off the price on demand where none is
    listed. ``allowance``: the constant, in percent of the time, in which there are none and others are rented on demand
    (``sizing.economics.spot``). Empty where there is no such thing. ``assumed``: what that constant is called in a
    sentence. ``words``: how instances are rented by it, behind "rented" or "renting".
    """

    label: str
    words: str
    listed: Callable[[CloudInstance], float | None] = lambda row: None
    discount: str = ""
    allowance: str = ""
    assumed: str = ""

    @property
    def commits(self) -> bool:
        """Whether instances are paid for whether they run or not: these may carry the base of a hybrid."""
        return bool(self.discount)


TERMS: Mapping[Purchase, PaymentTerm] = {
    "on_demand": PaymentTerm(label="On demand", words="on demand", listed=lambda row: row.on_demand_usd_per_hour),
    "reserved_1y": PaymentTerm(
        label="Reserved, 1 year",
        words="reserved for one year",
        listed=lambda row: row.reserved_1y_usd_per_hour,
        discount="reserved_1y_discount_percent",
        assumed="discount for one year",
    ),
    "reserved_3y": PaymentTerm(
        label="Reserved, 3 years",
        words="reserved for three years",
        listed=lambda row: row.reserved_3y_usd_per_hour,
        discount="reserved_3y_discount_percent",
        assumed="discount for three years",
    ),
    "spot": PaymentTerm(
        label="Spot",
        words="as spot instances",
        listed=lambda row: row.spot_usd_per_hour,
        allowance="spot_without_capacity_percent",
        assumed="time without spot capacity",
    ),
}
"""Every term, in the order in which they are offered."""


@cache
def usual_discount_percent(purchase: Purchase) -> float:
    """What a commitment takes off the price on demand, where a provider does not list it. Source: tco.csv."""
    fact = read_yaml("cost_assumptions.yaml")["constants"][TERMS[purchase].discount]["fact"]
    keys = fact["category"], fact["item"], fact["region"]
    discount = next(one for one in tco() if (one.category, one.item, one.region) == keys)
    assert discount.typical is not None, f"tco.csv: {discount.item} has no typical value"
    return discount.typical


ASSUMED: Mapping[str, str] = {term.discount or term.allowance: term.assumed for term in TERMS.values() if term.assumed}
"""The constants of terms, and what they are called."""

# A literal that no row explains would cost as another one does, and say nothing.
assert set(TERMS) == set(get_args(Purchase))
assert {name for name, term in TERMS.items() if term.commits} == set(get_args(HybridBase)) - {"on_prem"}
