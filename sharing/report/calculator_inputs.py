"""The inputs of a calculator: what the load and the cost of each way rest on, as one may change it in a workbook.

What a scenario does not count (colocation in a facility of one's own, a licence nobody asks for) is 0.
"""

from collections.abc import Iterator, Mapping

from sharing.report.calculator import CalculatorInput, InputGroup, WayName
from sharing.report.content import Released
from sharing.report.money import Dollars, ReportCurrency
from sizing.base.choices import PowerFrom
from sizing.base.format import rounded
from sizing.base.units import HOURS_PER_DAY, HOURS_PER_MONTH, MONTHS_PER_YEAR, S_PER_HOUR
from sizing.economics.assumptions import ELECTRICITY
from sizing.economics.cash import MONTHS
from sizing.economics.spot import WITHOUT_CAPACITY
from sizing.economics.views import PartName, View, in_place
from sizing.economics.ways import Ways
from sizing.scenario.bounds import MAX_RPS, MAX_USD

OF_SCENARIO = "the scenario"

EXACT_DIGITS = 12
"""Digits of a price that was divided out of a part: what float arithmetic leaves is cut off, nothing that was given."""

POWER_FROM: Mapping[PowerFrom, str] = {
    "listed": "datasheet of the system",
    "rule": "TDP of its GPUs and a rule for the rest (server_hosts.csv)",
    "unknown": "",
}

MOST_PERCENT, MOST_PER_KWH, MOST_PUE, MOST_YEARS, MOST_KW, MOST_RESIDUAL = 1000.0, 1000.0, 10.0, 20.0, 1e5, 90.0
"""What a scenario takes at most, too."""


def inputs_of(
    ways: Ways, views: Mapping[WayName, View], money: ReportCurrency, released: Released
) -> Iterator[CalculatorInput]:
    """Every input, those of money only where any is released."""
    yield from _load(ways)
    yield from _growth(ways)
    yield from _power(ways)
    if released is Released.NOTHING:
        return
    if "on_prem" in views:
        yield from _on_prem(ways, views["on_prem"], money)
    if "cloud" in views:
        yield from _cloud(ways, views["cloud"], money)
    if "api" in views:
        yield from _api(ways, money)
    if "on_prem" in views:
        label = "People who run own systems"
        yield _constant(ways, "staff_usd_per_month", "staff", "staff", label, money, of_money=True)
    if "cloud" in views:
        label = "People who run the engine on rented instances"
        yield _constant(ways, "staff_rented_usd_per_month", "staff_rented", "staff", label, money, of_money=True)
    label = "Discount rate of the present value"
    yield _constant(ways, "discount_percent_per_year", "discount_percent", "growth", label, money, MOST_PERCENT)


def _load(ways: Ways) -> Iterator[CalculatorInput]:
    peak = ways.fleet.peak_rps
    hours = ways.month.requests_per_day / (peak * S_PER_HOUR)
    yield CalculatorInput(
        name="requests_per_s",
        label="Requests per second in the busiest time",
        unit="requests/s",
        value=peak,
        low=peak * 1e-6,
        high=MAX_RPS,
        group="load",
        source=OF_SCENARIO,
    )
    yield CalculatorInput(
        name="share_of_capacity",
        label="Utilisation: share of its capacity that an instance may carry then",
        unit="%",
        value=100.0,
        low=1.0,
        high=100.0,
        group="load",
        source="100 %: up to the limits of the scenario",
    )
    yield CalculatorInput(
        name="hours_at_full_load",
        label="Utilisation over the day: hours at that rate that make its requests",
        unit="hours/day",
        value=rounded(hours, EXACT_DIGITS),
        low=0.001,
        high=HOURS_PER_DAY,
        group="load",
        source=OF_SCENARIO,
    )


def _growth(ways: Ways) -> Iterator[CalculatorInput]:
    """How fast the load grows from month to month, and in how many months it is reached."""
    yield CalculatorInput(
        name="ramp_up_months",
        label="Ramp-up: months until the planned load is reached",
        unit="months",
        value=ways.money.costs.ramp_up_months,
        low=0.0,
        high=MONTHS,
        group="growth",
        source=OF_SCENARIO,
    )
    yield CalculatorInput(
        name="growth_percent",
        label="Growth of the load",
        unit="%/year",
        value=ways.money.costs.growth_percent_per_year,
        low=0.0,
        high=MOST_PERCENT,
        group="growth",
        source=OF_SCENARIO,
    )


def _power(ways: Ways) -> Iterator[CalculatorInput]:
    money = Dollars()
    kw = ways.option.power_kw
    if kw is None:
        return
    yield CalculatorInput(
        name="system_kw",
        label=f"Power budget of one {ways.option.name}",
        unit="kW",
        value=kw,
        low=0.0,
        high=MOST_KW,
        group="power",
        source=POWER_FROM[ways.option.power_from],
    )
    for name, share, label in (
        ("power_utilization", "work_power_share", "Share of the power budget at work"),
        ("idle_power_share", "idle_power_share", "Share of the power budget when idle"),
    ):
        yield _constant(ways, name, share, "power", label, money, 1)
    yield _constant(ways, "pue", "pue", "power", "Power usage effectiveness (PUE)", money, MOST_PUE)


def _on_prem(ways: Ways, view: View, money: ReportCurrency) -> Iterator[CalculatorInput]:
    assert view.systems is not None
    count, gpus, years = view.systems.value, view.gpus_per_system, ways.money.depreciation_years
    price = _part(view, "servers") * years * MONTHS_PER_YEAR / (count * (1.0 - ways.money.residual))
    yield _price(view, "system_price", f"Price of one {view.system}", f"{money.code}/system", money.of(price))
    yield CalculatorInput(
        name="depreciation_years",
        label="Written off over",
        unit="years",
        value=years,
        low=0.1,
        high=MOST_YEARS,
        group="on_prem",
        source=OF_SCENARIO,
    )
    for name, label in (
        ("switches_percent", "Switches and cables"),
        ("storage_percent", "Shared storage"),
        ("support_percent_per_year", "Hardware support"),
        ("capital_charge_percent_per_year", "Capital charge"),
        ("residual_percent", "Residual value when it is written off"),
    ):
        most = MOST_RESIDUAL if name == "residual_percent" else MOST_PERCENT
        yield _constant(ways, name, name.removesuffix("_per_year"), "on_prem", label, money, most)
    if view.power_kw is not None and ways.option.power_kw is not None:
        name = ELECTRICITY
        yield _constant(ways, name, "electricity_price", "power", "Electricity", money, MOST_PER_KWH, of_money=True)
        rent = "colocation_usd_per_kw_month"
        counted = ways.money.costs.facility != "own"
        yield _constant(ways, rent, "colocation_price", "on_prem", "Colocation", money, counted=counted, of_money=True)
    yearly = _part(view, "licence") * MONTHS_PER_YEAR / (count * gpus)
    yield _licence(ways, "licence_usd_per_gpu_year", "licence_per_gpu_year", "on_prem", money.of(yearly), money)


def _cloud(ways: Ways, view: View, money: ReportCurrency) -> Iterator[CalculatorInput]:
    assert view.systems is not None
    hours = view.systems.value * HOURS_PER_MONTH
    instances = _part(view, "instances")
    label = f"Price of one {in_place(view.system, view.place)}"
    hourly = money.of(instances / hours)
    yield _price(view, "instance_price", label, f"{money.code}/hour", hourly, group="cloud")
    spot = 100.0 * _part(view, "interruptions") / instances if instances else 0.0
    yield CalculatorInput(
        name="spot_interruption_percent",
        label="On top of spot prices: spare instances, time on demand",
        unit="%",
        value=rounded(spot, EXACT_DIGITS),
        low=0.0,
        high=MOST_PERCENT,
        group="cloud",
        source=_of_spot(ways) if spot else "not a spot price: none",
    )
    each = _part(view, "licence") / (hours * view.gpus_per_system)
    yield _licence(ways, "licence_usd_per_gpu_hour", "licence_per_gpu_hour", "cloud", money.of(each), money)


def _of_spot(ways: Ways) -> str:
    """Where the share without spot capacity comes from: the scenario, or the source of the constant."""
    if ways.money.costs.spot_interruption_percent is not None:
        return OF_SCENARIO
    return ways.money.assumptions[WITHOUT_CAPACITY].source


def _api(ways: Ways, money: ReportCurrency) -> Iterator[CalculatorInput]:
    prices = ways.prices
    if prices is None:
        return
    for name, label, usd in (
        ("api_input_price", "New prompt tokens", prices.input_usd),
        ("api_cached_price", "Cached prompt tokens", prices.cached_input_usd),
        ("api_output_price", "Tokens of answers", prices.output_usd),
    ):
        yield CalculatorInput(
            name=name,
            label=f"{label}, {prices.name}",
            unit=f"{money.code}/million tokens",
            value=money.of(usd),
            low=0.0,
            high=money.of(MAX_USD),
            group="api",
            source=prices.source.source,
            date=", ".join(dict.fromkeys(prices.source.dates)),
        )


def _price(
    view: View, name: str, label: str, unit: str, value: float, group: InputGroup = "on_prem"
) -> CalculatorInput:
    source = view.sources[0]
    return CalculatorInput(
        name=name,
        label=label,
        unit=unit,
        value=rounded(value, EXACT_DIGITS),
        low=0.0,
        high=max(MAX_USD, value),
        group=group,
        source=source.source,
        date=", ".join(dict.fromkeys(source.dates)),
    )


def _licence(
    ways: Ways, constant: str, name: str, group: InputGroup, each: float, money: ReportCurrency
) -> CalculatorInput:
    """The licence as counted: none where nobody asks for it or the price of the GPU includes it."""
    known = ways.money.assumptions[constant]
    return CalculatorInput(
        name=name,
        label="NVIDIA AI Enterprise",
        unit=known.unit.replace("USD", money.code),
        value=rounded(each, EXACT_DIGITS),
        low=0.0,
        high=money.of(MAX_USD),
        group=group,
        source=known.source if each else "not asked for in the scenario, or included: not counted",
        date=known.date if each else "",
    )


def _constant(
    ways: Ways,
    constant: str,
    name: str,
    group: InputGroup,
    label: str,
    money: ReportCurrency,
    high: float = MAX_USD,
    *,
    counted: bool = True,
    of_money: bool = False,
) -> CalculatorInput:
    """A constant of the cost model; 0 where the scenario does not count it."""
    known = ways.money.assumptions[constant]
    value = ways.money.assumptions.amount(constant).value if counted else 0.0
    return CalculatorInput(
        name=name,
        label=label,
        unit=known.unit.replace("USD", money.code),
        value=rounded(money.of(value), EXACT_DIGITS) if of_money else value,
        low=1.0 if constant == "pue" else 0.0,
        high=money.of(high) if of_money else high,
        group=group,
        source=known.source if counted else "not asked for in the scenario: not counted",
        date=known.date if counted else "",
    )


def _part(view: View, name: PartName) -> float:
    return view.parts[name].value if name in view.parts else 0.0
