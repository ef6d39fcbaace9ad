"""Constants of the cost model: value, range, unit, source and date of each, those of the scenario first."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

from sizing.base.choices import Location, OptionalPart
from sizing.base.errors import InvalidScenario, UnknownName
from sizing.catalog import tco
from sizing.catalog.facts import TcoFact
from sizing.catalog.files import DATA_DATE, read_yaml
from sizing.catalog.payment_terms import TERMS
from sizing.economics.amount import NOTHING, Amount
from sizing.scenario.costs import Costs

FILE = "cost_assumptions.yaml"

Basis = Literal["scenario", "sourced", "chosen", "left_out", "gap"]
"""Where a constant comes from: the scenario; a source; a choice without one; left out by the scenario and so 0; or
nowhere, and then it is not counted."""

CAPITAL = ("switches_percent", "storage_percent", "support_percent_per_year", "capital_charge_percent_per_year")
"""Constants of what follows from the purchase of servers."""

BEYOND: Mapping[OptionalPart, tuple[str, ...]] = {
    "switches": ("switches_percent",),
    "storage": ("storage_percent",),
    "support": ("support_percent_per_year",),
    "capital_charge": ("capital_charge_percent_per_year",),
    "staff": ("staff_usd_per_month", "staff_rented_usd_per_month"),
}
"""Parts beyond hardware and power, with the constants that count them. Without any of them a cost is called
"hardware and power only"."""

FOLLOWS: Mapping[str, str] = {
    "idle_power_share": "power_utilization",
    "staff_rented_usd_per_month": "staff_usd_per_month",
}
"""Constants that are as another one where a scenario gives only that."""

SPOT = ("spot_interrupted_percent_per_month", "spot_zones", "spot_held_percent")
"""Constants of spot instances beside the one of their row in the terms."""

ELECTRICITY, CARBON, DISCOUNT = "electricity_usd_per_kwh", "carbon_g_per_kwh", "discount_percent_per_year"


@dataclass(frozen=True, kw_only=True)
class Assumption:
    """One constant of the cost model. ``amount`` is None where no figure is known and none is counted as 0.

    ``published``: what its source gives where the scenario says otherwise or leaves it out, None elsewhere.
    """

    name: str
    meaning: str
    unit: str
    amount: Amount | None
    basis: Basis
    source: str
    date: str
    published: float | None = None
    published_by: str = ""
    published_date: str = ""


class Assumptions(Mapping[str, Assumption]):
    """All constants by name, and the number of each for calculations."""

    def __init__(self, each: Mapping[str, Assumption]) -> None:
        self._each = dict(each)

    def __getitem__(self, name: str) -> Assumption:
        return self._each[name]

    def __iter__(self) -> Any:
        return iter(self._each)

    def __len__(self) -> int:
        return len(self._each)

    def amount(self, name: str) -> Amount:
        """The number of a constant that always has one."""
        known = self._each[name].amount
        assert known is not None, f"{name} has no number"
        return known

    def share(self, name: str) -> Amount:
        """The number of a constant in percent, as a fraction."""
        return self.amount(name) * 0.01


def assumptions_for(costs: Costs) -> Assumptions:
    """Every constant, that of the scenario where it gives one. Raises InvalidScenario for an unknown region."""
    known = {**_constants(), **_of_region(costs.region)}
    given = {name: value for name in known if (value := getattr(costs, name)) is not None}
    given |= {name: given[other] for name, other in FOLLOWS.items() if name not in given and other in given}
    without = {name for part in costs.leave_out for name in BEYOND[part]}
    return Assumptions(
        {name: _left_out(known[name]) if name in without else _given(known[name], given.get(name)) for name in known}
    )


@cache
def _data() -> Any:
    return read_yaml(FILE)


def regions() -> tuple[str, ...]:
    """Names of the regions that have a price of electricity, as a scenario writes them."""
    return tuple(_data()["regions"])


def default_region() -> str:
    """The region of a scenario that names none."""
    return str(_data()["default_region"])


def used_in(location: Location, costs: Costs) -> tuple[str, ...]:
    """Names of the constants that the cost of one way, its energy or its carbon rests on."""
    own = location == "on_prem" or (location == "hybrid" and costs.hybrid_base == "on_prem")
    paid = costs.hybrid_base if location == "hybrid" else costs.purchase
    named = [("pue", True), ("power_utilization", True), ("idle_power_share", True), (ELECTRICITY, own), (CARBON, True)]
    named += [(name, own) for name in (*CAPITAL, "residual_percent")]
    named += [("colocation_usd_per_kw_month", own and costs.facility == "colocation")]
    licensed = costs.licence != "none"
    named += [("licence_usd_per_gpu_year", own and licensed)]
    named += [("licence_usd_per_gpu_hour", location != "on_prem" and licensed)]
    named += [(name, not own and paid == kind) for kind, term in TERMS.items() if (name := term.discount)]
    named += [(name, location == "cloud" and paid == kind) for kind, term in TERMS.items() if (name := term.allowance)]
    named += [("staff_usd_per_month", own), ("staff_rented_usd_per_month", not own)]
    named += [(DISCOUNT, True)]
    spot = location == "cloud" and paid == "spot"
    named += [(name, spot) for name in SPOT]
    named += [("burst_start_up_minutes", location == "hybrid" or spot)]
    return tuple(name for name, used in named if used)


def licences_each(gpu_id: str) -> Amount:
    """Licences of NVIDIA AI Enterprise that a GPU takes: none where its price includes it, two at most of two dies."""
    data = _data()
    if gpu_id in data["licence_included"]:
        return NOTHING
    return Amount(value=1.0, low=1.0, high=2.0 if gpu_id in data["licence_perhaps_twice"] else 1.0)


def _given(known: Assumption, value: float | None) -> Assumption:
    if value is None:
        return known
    source = f"scenario: costs.{known.name}"
    return replace(_published(known), amount=Amount.exactly(value), basis="scenario", source=source, date="")


def _left_out(known: Assumption) -> Assumption:
    return replace(_published(known), amount=NOTHING, basis="left_out", source="scenario: costs.leave_out", date="")


def _published(known: Assumption) -> Assumption:
    """The constant with what its source gives kept beside."""
    if known.amount is None:
        return known
    return replace(
        known,
        published=known.amount.value,
        published_by=known.source.partition("; range:")[0],
        published_date=known.date,
    )


@cache
def _constants() -> Mapping[str, Assumption]:
    return {name: _constant(name, entry) for name, entry in _data()["constants"].items()}


def _constant(name: str, entry: Mapping[str, Any]) -> Assumption:
    described = {"name": name, "meaning": entry["meaning"], "unit": entry["unit"]}
    if "chosen" in entry:
        amount = _ranged(entry["value"], entry)
        return Assumption(
            **described, amount=amount, basis="chosen", source=f"chosen: {entry['chosen']}", date=DATA_DATE
        )
    fact = _fact(**entry["fact"])
    return _sourced(described, fact, entry)


def _sourced(described: Mapping[str, Any], fact: TcoFact, entry: Mapping[str, Any]) -> Assumption:
    assert fact.typical is not None, f"tco.csv: {fact.item} in {fact.region} has no typical value"
    source = fact.source + (f"; range: {entry['range']}" if "range" in entry else "")
    return Assumption(**described, amount=_ranged(fact.typical, entry), basis="sourced", source=source, date=fact.date)


def _ranged(value: float, entry: Mapping[str, Any]) -> Amount:
    return Amount(value=float(value), low=float(entry.get("low", value)), high=float(entry.get("high", value)))


def _of_region(region: str | None) -> Mapping[str, Assumption]:
    """Price of electricity, and carbon of the grid where it is known."""
    data = _data()
    name = (region or data["default_region"]).strip().lower().replace(" ", "_").replace("-", "_")
    if name not in data["regions"]:
        raise InvalidScenario.at("costs.region", UnknownName("region", region or name, data["regions"]))
    entry = data["regions"][name]
    electricity = next(
        f for f in tco() if (f.category, f.region, f.unit) == ("electricity", entry["electricity"], "USD/kWh")
    )
    price: dict[str, Any] = {
        "name": ELECTRICITY,
        "meaning": f"Electricity for businesses, {entry['electricity']}.",
        "unit": "USD/kWh",
    }
    return {ELECTRICITY: _sourced(price, electricity, entry), CARBON: _carbon(name, entry.get("carbon"))}


def _carbon(name: str, region: str | None) -> Assumption:
    described: dict[str, Any] = {
        "name": CARBON,
        "meaning": f"Carbon of the electricity, {region or name}.",
        "unit": "g CO2e/kWh",
    }
    if region is None:
        source = f"no figure for {name.replace('_', ' ')} is known: choose a country as region, or give it"
        return Assumption(**described, amount=None, basis="gap", source=source, date="")
    return _sourced(described, _fact("carbon", "grid carbon intensity", region), {})


def cloud_carbon(provider: str, region: str) -> TcoFact | None:
    """What a provider publishes on the electricity of one of its regions, where that is known."""
    place = f"{provider} {region}"
    return next((f for f in tco() if f.item == "cloud region carbon intensity" and f.region == place), None)


def _fact(category: str, item: str, region: str) -> TcoFact:
    return next(f for f in tco() if (f.category, f.item, f.region) == (category, item, region))
