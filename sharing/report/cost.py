"""What the plan costs: by part, in every way to pay, per token, over 36 months, and where every price comes from."""

from collections.abc import Iterator

from sharing.report.assumptions import BASIS
from sharing.report.content import Block, Bullets, Cell, Chart, ChartSeries, Column, Paragraph, Section, Table
from sharing.report.money import amounts
from sharing.report.names import titled
from sharing.report.subject import ReportSubject
from sizing.base.format import significant
from sizing.economics.assumptions import used_in
from sizing.economics.dates import AGES
from sizing.economics.results import CostAnswer, WayToPay
from sizing.economics.text import PARTS, UNITS, WAY_NAMES, against_api, against_renting, described, senses, sentences
from sizing.economics.views import Unavailable

WHY_NOT: dict[Unavailable, str] = {
    "no_price": "its price is not known",
    "not_offered": "no provider in the catalogue has a price for it on these terms",
    "no_profile": "needs the load over the day, which the scenario does not say",
    "no_peaks": "a batch has no peaks to rent for",
    "two_places": "prefill and decode on two GPU types stand in one place",
    "no_api_price": "no provider in the list has these open weights",
}
"""Why a way to pay has no cost."""

MONTHS_OF_YEAR = 12

DIGITS = {key: 6 if key == "usd_per_request" else 3 for key, _ in UNITS}
"""Decimals of the money per unit."""

DISCOUNT = "_discount_percent"
"""End of the names of constants that are discounts: one that was agreed is in no report."""


def cost(subject: ReportSubject) -> Section | None:
    """The chapter; None where nothing is deployed or no money is released."""
    answer = subject.cost
    if answer is None:
        return None
    blocks: list[Block] = [Paragraph(text=sentences(answer, subject.money.written))]
    if parts := _parts(answer):
        blocks.append(parts)
    blocks += [*_ways_chart(answer, subject.money.code), _ways(answer), *_months(subject)]
    blocks += _present(subject, answer)
    blocks.append(Bullets(items=(against_api(answer), against_renting(answer))))
    if answer.lenses:
        blocks.append(_units(answer))
    blocks += [_constants(subject, answer), _prices(answer)]
    return Section(key="cost", title="Cost over 36 months", blocks=tuple(blocks))


def _parts(answer: CostAnswer) -> Table | None:
    """What a month is paid for in the way that the scenario chose, with the sum."""
    if answer.usd_per_month is None:
        return None
    rows: list[tuple[Cell, ...]] = [(PARTS[name].capitalize(), each) for name, each in answer.parts.items() if each]
    columns = (Column(label="Part"), amounts("A month"))
    rows.append(("All parts", answer.usd_per_month))
    return Table(
        title=f"A month, part by part: {WAY_NAMES[answer.location].lower()}", columns=columns, rows=tuple(rows)
    )


def _ways_chart(answer: CostAnswer, code: str) -> Iterator[Chart]:
    ways = [way for way in answer.ways if way.usd_per_month is not None]
    parts = [part for part in PARTS if any(way.parts.get(part) for way in ways)]
    if not ways:
        return
    yield Chart(
        title="The same capacity in every way to pay",
        draws="stacked",
        x_label="",
        y_label=f"{code} a month",
        x=tuple(WAY_NAMES[way.name] for way in ways),
        series=tuple(
            ChartSeries(name=PARTS[part].capitalize(), values=tuple(way.parts.get(part, 0.0) for way in ways))
            for part in parts
        ),
    )


def _ways(answer: CostAnswer) -> Table:
    columns = (
        Column(label="Way to pay"),
        *map(amounts, ("A month", "Low", "High")),
        Column(label="What"),
        Column(label="Utilisation", unit="%", holds="number", detail=True),
        Column(label="Energy", unit="kWh a month", holds="number", detail=True),
        Column(label="Carbon", unit="kg CO2e a month", holds="number", detail=True),
    )
    return Table(title="Ways to pay", columns=columns, rows=tuple(map(_way, answer.ways))).without_empty_columns()


def _way(way: WayToPay) -> tuple[Cell, ...]:
    what = WHY_NOT[way.unavailable] if way.unavailable else described(way)
    used = None if way.utilization is None else way.utilization * 100.0
    energy = (way.energy_kwh_per_month, way.carbon_kg_per_month)
    return WAY_NAMES[way.name], way.usd_per_month, way.low, way.high, what, used, *energy


def _months(subject: ReportSubject) -> Iterator[Block]:
    """The cost of 36 months as lines, and by year."""
    months = subject.months
    if not months:
        return
    length = max(map(len, months.values()))
    yield Chart(
        title="Cost of each month",
        draws="line",
        x_label="Month",
        y_label=f"{subject.money.code} a month",
        x=tuple(float(month) for month in range(1, length + 1)),
        series=tuple(ChartSeries(name=WAY_NAMES[name], values=each) for name, each in months.items()),
        note="A purchase is counted by its depreciation, month by month; systems are added when the load needs them.",
    )
    years = [slice(start, start + MONTHS_OF_YEAR) for start in range(0, length, MONTHS_OF_YEAR)]
    rows = [
        (f"Year {number}", *(sum(each[year]) for each in months.values())) for number, year in enumerate(years, start=1)
    ]
    rows.append((f"{length} months", *(sum(each) for each in months.values())))
    columns = (Column(label="Period"), *(amounts(WAY_NAMES[name]) for name in months))
    yield Table(title=f"Cost over {length} months", columns=columns, rows=tuple(rows))


def _present(subject: ReportSubject, answer: CostAnswer) -> Iterator[Block]:
    """When money is paid, and what that is worth today."""
    investment = answer.investment
    if investment is None:
        return
    beside = {one.name: one.npv_usd for one in investment.owning_against}
    labels = ("Paid at once", f"Paid in {investment.months} months", "Residual value", "Present cost", "NPV of owning")
    rows = [
        (
            WAY_NAMES[way.name],
            way.purchase_usd,
            way.paid_usd + way.residual_usd,
            way.residual_usd,
            way.present_cost_usd,
            beside.get(way.name),
        )
        for way in investment.ways
    ]
    yield Table(
        title="Cash flow and present value",
        columns=(Column(label="Way to pay"), *map(amounts, labels)),
        rows=tuple(rows),
        note=f"Discounted at {significant(investment.discount_percent_per_year)} % a year; purchases when they are "
        "made, running cost at the end of its month; the residual value is what is not yet written off. NPV of "
        "owning: beside that way. Tax is left out.",
    )


def _units(answer: CostAnswer) -> Table:
    rows = [(name, *(getattr(unit, key) for key, _ in UNITS)) for name, unit in senses(answer)]
    columns = (
        Column(label="Counted"),
        *(Column(label=words.capitalize(), holds="money", digits=DIGITS[key]) for key, words in UNITS),
    )
    return Table(title="Cost per request and per million tokens", columns=columns, rows=tuple(rows))


def _constants(subject: ReportSubject, answer: CostAnswer) -> Table:
    """Constants that the cost rests on, and who stated them. They stay in USD, as their units say."""
    used = set(used_in(subject.scenario.deployment.location, subject.scenario.costs)) - set(answer.not_counted)
    columns = (
        Column(label="Constant"),
        Column(label="Value"),
        Column(label="Unit"),
        Column(label="Stated by"),
        Column(label="Source"),
        Column(label="Date"),
    )
    rows = [
        (titled(f"costs.{one.name}"), significant(one.value), one.unit, BASIS[one.basis], one.source, one.date)
        for one in answer.assumptions
        if one.name in used and not (one.basis == "scenario" and one.name.endswith(DISCOUNT))
    ]
    return Table(title="Constants of the cost model", columns=columns, rows=tuple(rows))


def _prices(answer: CostAnswer) -> Table:
    columns = (Column(label="Price"), Column(label="Source"), Column(label="Date"), Column(label="Age"))
    constants = {one.name for one in answer.assumptions}
    rows = [
        (one.what, one.source, one.date or None, AGES[one.age]) for one in answer.sources if one.what not in constants
    ]
    return Table(title="Prices", columns=columns, rows=tuple(rows), note=f"Ages on {answer.priced_on}.")
