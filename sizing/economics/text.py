"""The cost of a plan in words: a few sentences, a page for a terminal, and Markdown."""

from collections.abc import Iterator, Mapping, Sequence
from typing import get_args

from sizing.base.format import count, counted, kilowatts, large, percent, significant, usd, with_noun
from sizing.catalog.payment_terms import ASSUMED, TERMS
from sizing.economics.dates import AGES, DOUBTFUL
from sizing.economics.fleet_text import Money, burst_sentence, mix_sentence, spot_of_fleets, spot_sentences
from sizing.economics.present_value import Investment
from sizing.economics.results import (
    BreakEvenAt,
    BreakEvenOutcome,
    CostAnswer,
    CountedParts,
    LensName,
    LoadRange,
    StagesBeside,
    UnitCost,
    WayToPay,
)
from sizing.economics.views import PartName, Unavailable, ViewName, in_place
from sizing.planning.sentences import systems_named

WAYS: Mapping[ViewName, str] = {
    "on_prem": "own systems",
    "cloud": "rented instances",
    "hybrid": "hybrid",
    "api": "API",
    "on_prem_best": "own systems, cheapest",
    "cloud_best": "rented instances, cheapest",
    "cloud_hours": "rented while the batch runs",
    "api_cheapest": "API, cheapest",
    "api_median": "API, median price",
    "blended": "with some requests sent elsewhere",
}
WAY_NAMES: Mapping[ViewName, str] = {
    "on_prem": "Own systems",
    "cloud": "Rented, same GPUs",
    "hybrid": "Hybrid",
    "api": "API",
    "cloud_best": "Rented, cheapest",
    "on_prem_best": "Own, cheapest",
    "cloud_hours": "Rented by window",
    "api_cheapest": "API, cheapest",
    "api_median": "API, median",
    "blended": "Split",
}
"""Ways to pay as legends and tables call them."""
SENSES: Mapping[LensName, str] = {"allocated": "Everything provisioned", "used": "The share in use"}
"""What the money per unit counts, as tables call it."""
WHY_UNKNOWN: Mapping[Unavailable, str] = {
    "no_price": "the price of a system is not known: enter it",
    "not_offered": "no provider in the catalogue has a price for it{terms}: enter one per GPU-hour",
    "no_profile": "it needs the load over the day: enter a load by hour or a trace on Size",
    "no_peaks": "a batch runs evenly in its window and has no peaks to rent for",
    "two_places": "prefill and decode on two GPU types stand in one place, and a burst would stand in another",
    "no_api_price": "no provider in the list has these open weights: enter prices of an API",
}
COUNTED: Mapping[CountedParts, str] = {
    "full": "",
    "partly": "Without what is left out: ",
    "hardware_and_power": "Hardware and power only: ",
}
"""What stands before a cost that does not count everything."""
KEYS: Mapping[Unavailable, str] = {
    "no_price": "prices.system and prices.system_usd",
    "not_offered": "prices.gpu and prices.gpu_hour_usd",
    "no_profile": "workload.arrivals",
    "no_peaks": "workload.batch",
    "two_places": "deployment.mixed",
    "no_api_price": "costs.api",
}
"""Where a scenario file has what is missing."""
PARTS: Mapping[PartName, str] = {
    "servers": "servers",
    "switches": "switches",
    "storage": "storage",
    "support": "support",
    "capital_charge": "capital charge",
    "power": "power and cooling",
    "colocation": "colocation",
    "licence": "licences",
    "staff": "staff",
    "instances": "instances",
    "interruptions": "interruptions of spot",
    "burst": "burst on demand",
    "api_input": "input tokens",
    "api_cached_input": "cached input tokens",
    "api_output": "output tokens",
    "this_model": "this model",
    "routed": "requests sent elsewhere",
}
assert set(PARTS) == set(get_args(PartName))

CONSTANTS: Mapping[str, str] = {
    "pue": "power usage effectiveness",
    "power_utilization": "share of maximum power at work",
    "idle_power_share": "share of maximum power when idle",
    "electricity_usd_per_kwh": "electricity",
    "carbon_g_per_kwh": "carbon of electricity",
    "colocation_usd_per_kw_month": "colocation",
    "licence_usd_per_gpu_year": "licence per GPU and year",
    "licence_usd_per_gpu_hour": "licence per GPU-hour",
    "switches_percent": "switches",
    "storage_percent": "storage",
    "support_percent_per_year": "hardware support",
    "capital_charge_percent_per_year": "capital charge",
    "staff_usd_per_month": "staff",
    "staff_rented_usd_per_month": "staff of rented instances",
    "discount_percent_per_year": "discount rate",
    "residual_percent": "residual value",
    **ASSUMED,
    "spot_interrupted_percent_per_month": "spot instances taken back",
    "spot_zones": "zones of spot instances",
    "spot_held_percent": "time that spot instances hold",
    "burst_start_up_minutes": "start-up time of rented instances",
}
"""What each constant of the cost is for, as sentences about missing ones name it."""

LEAST_PRICE, THOUSAND_DOCUMENTS = 0.01, 1000
"""USD below which a price is stated of so many documents."""
MOST_RANGES = 3
"""Ranges of loads in a sentence; the chart shows them all."""

UNITS = (
    ("usd_per_request", "a request"),
    ("usd_per_million_input_tokens", "a million input tokens"),
    ("usd_per_million_output_tokens", "a million output tokens"),
    ("usd_per_million_blended_tokens", "a million tokens"),
)


def sentences(cost: CostAnswer, money: Money = usd) -> str:
    """What it costs, what that is per token, when it breaks even, and what is not counted; ``money`` writes amounts."""
    return " ".join(each_sentence(cost, money))


def each_sentence(cost: CostAnswer, money: Money) -> Iterator[str]:
    """The same one by one; the first says what it costs."""
    chosen = next(way for way in cost.ways if way.name == cost.location)
    gpus = counted(cost.gpus, "GPU")
    name = _capital(COUNTED[cost.counted] + WAYS[cost.location])
    if chosen.unavailable is not None or cost.usd_per_month is None:
        why = why_unknown(chosen)
        yield f"{name} for {gpus}: the cost is not known: {why}."
    else:
        low, high = money(cost.low), money(cost.high)
        around = f"at least {low}" if cost.high is None else low if low == high else f"{low} to {high}"
        verb = "cost" if cost.location in ("on_prem", "cloud") else "costs"
        a_month = f"{money(cost.usd_per_month)} a month ({around})"
        yield f"{name} for {gpus} ({described(chosen)}) {verb} {a_month}{_parts(cost, money)}."
        if cost.mixed is not None:
            yield mix_sentence(cost.mixed, money)
            yield from spot_of_fleets(cost.mixed, money)
        yield f"Idle hours included, that is {_per_unit_served(cost, money)}{_used(chosen)}."
        yield against_api(cost)
        if cost.investment is not None:
            yield from worth(cost, cost.investment, money)
        if cost.spot is not None and cost.location == "cloud":
            yield from spot_sentences(cost.spot, money)
        if cost.burst is not None and cost.location == "hybrid":
            yield burst_sentence(cost.burst)
    if cost.stages is not None:
        yield _stages(cost.stages, money)
    if cost.left_out:
        yield f"Left out as asked: {', '.join(left_out(cost))}."


def _stages(stages: StagesBeside, money: Money) -> str:
    """What the stages of a pipeline take, which is not in the cost of the language model."""
    power = "power not known" if stages.power_kw is None else kilowatts(stages.power_kw)
    gpus = counted(stages.gpus, "GPU")
    if stages.usd_per_month is None:
        return f"Not counted: the stages of the pipeline on {gpus} ({power}), whose price is not known."
    if not stages.usd_per_month:
        return f"The stages of the pipeline run on {gpus} that the plan pays for: they need no further hardware."
    amount = f"{money(stages.usd_per_month)} a month of hardware"
    return f"Not counted: the stages of the pipeline on {gpus}, {amount} ({power})."


def described(way: WayToPay) -> str:
    """What is paid for in a way: so many of which system, where, and on which terms where it is rented."""
    several = " and " in way.gpu or way.name in ("hybrid", "blended") or not way.gpu
    name = way.system if several or not way.systems else systems_named(round(way.systems), way.system)
    paid = "" if way.payment is None else f", {'burst ' if way.name == 'hybrid' else ''}{TERMS[way.payment].words}"
    return f"{in_place(name, way.place)}{paid}"


def _rented(cost: CostAnswer, name: ViewName) -> str:
    """How a way is rented, behind what is rented: " on demand"; nothing where that is not known."""
    way = next((one for one in cost.ways if one.name == name), None)
    return "" if way is None or way.payment is None else f" {TERMS[way.payment].words}"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _per_unit_served(cost: CostAnswer, money: Money) -> str:
    """ "$10.10 per million output tokens at 144k requests a day"; of a batch by document, too."""
    tokens = f"{money(cost.usd_per_million_output_tokens)} per million output tokens at"
    if cost.documents_per_month is None:
        return f"{tokens} {with_noun(large(cost.requests_per_day), 'request')} a day"
    return (
        f"{_per_documents(cost, money)} and {tokens} {with_noun(large(cost.documents_per_month), 'document')} a month"
    )


def documents_priced(cost: CostAnswer) -> tuple[int, float | None]:
    """How many documents a price is stated of, and that price: of one, or of a thousand where one is below a cent."""
    one = cost.usd_per_document
    number = 1 if one is None or one >= LEAST_PRICE else THOUSAND_DOCUMENTS
    return number, None if one is None else one * number


def _per_documents(cost: CostAnswer, money: Money) -> str:
    number, price = documents_priced(cost)
    return f"{money(price)} per {'document' if number == 1 else f'{count(number)} documents'}"


def _used(way: WayToPay) -> str:
    return "" if way.utilization is None else f", {percent(way.utilization)} of what could be served"


def worth(cost: CostAnswer, investment: Investment, money: Money) -> Iterator[str]:
    """Purchase and present value of owning against renting, in a sentence."""
    own = next((way for way in investment.ways if way.name == "on_prem"), None)
    rent = investment.against_renting
    if own is None or rent is None:
        return
    verdict = "more" if rent.npv_usd >= 0 else "less"
    paid = "without that value " if own.residual_usd else ""
    paid += (
        f"it has paid no more than renting from month {rent.payback_month} on"
        if rent.payback_month
        else f"it is not paid back within {investment.months} months"
    )
    rented = f"{'the same GPUs' if rent.name == 'cloud' else 'the cheapest other GPUs'}{_rented(cost, rent.name)}"
    yield (
        f"Owning takes {money(own.purchase_usd)} at once; over {investment.months} months at a discount rate of "
        f"{significant(investment.discount_percent_per_year)} % it is worth {money(abs(rent.npv_usd))} {verdict} than "
        f"renting {rented}, {money(own.residual_usd)} of residual value included, before tax; {paid}."
    )


def left_out(cost: CostAnswer) -> Iterator[str]:
    """What the scenario leaves out, with what is published on it."""
    constants = {one.name: one for one in cost.assumptions}
    for name in cost.not_counted:
        words, one = CONSTANTS.get(name, name), constants[name]
        yield words if one.published is None else f"{words} ({significant(one.published)} {one.unit} by default)"


def _parts(cost: CostAnswer, money: Money) -> str:
    """ ": servers $2,940, power and cooling $646", largest first; "" where it is all for one thing."""
    parts = sorted(((value, name) for name, value in cost.parts.items() if value), reverse=True)
    return ": " + ", ".join(f"{PARTS[name]} {money(value)}" for value, name in parts) if len(parts) > 1 else ""


def against_api(cost: CostAnswer) -> str:
    """Break-even with an API in two sentences: with the systems that each load needs, and with those of the plan."""
    break_even = cost.break_even
    ranges = (
        "" if break_even.api_ranges is None else f"{_cheaper(break_even.api_ranges, WAYS[cost.location], 'the API')} "
    )
    return f"{ranges}{_with_these_systems(break_even.api)}"


def _cheaper(ranges: Sequence[LoadRange], one: str, other: str) -> str:
    """Where one way is cheaper, each load having the systems that it needs."""
    if not ranges:
        return f"Sized for each load, {one} never cost less than {other}, up to three times this load."
    if all(r.from_requests_per_day is None and r.to_requests_per_day is None for r in ranges):
        return f"Sized for each load, {one} always cost less than {other}, up to three times this load."
    each = [_between(r) for r in ranges]
    more = len(each) - MOST_RANGES
    if more > 0:
        each = [*each[: MOST_RANGES - 1], f"{more} more ranges in between", each[-1]]
    where = each[0] if len(each) == 1 else f"{', '.join(each[:-1])} and {each[-1]}"
    return f"Sized for each load, {one} cost less than {other} {where} requests a day."


def _between(one: LoadRange) -> str:
    low, high = one.from_requests_per_day, one.to_requests_per_day
    if low is None:
        return f"up to {large(high)}"
    return f"from {large(low)} on" if high is None else f"from {large(low)} to {large(high)}"


def _with_these_systems(one: BreakEvenAt) -> str:
    at = f"{large(one.requests_per_day)} requests a day ({percent(one.utilization)} utilisation)"
    cheaper = f"The systems of this plan cost less than the API from {at} on"
    words: Mapping[BreakEvenOutcome, str] = {
        "reached": f"{cheaper}.",
        "reached_on_a_flatter_day": f"{cheaper}, which a day of this shape does not reach.",
        "not_reached": "The systems of this plan do not break even with the API, not even at full load day and night.",
        "unknown": "Break-even with an API is not known: no price of this model behind one is listed.",
    }
    return words[one.outcome]


def against_renting(cost: CostAnswer) -> str:
    """Owning against renting the same GPUs in a sentence or two."""
    break_even, one = cost.break_even, cost.break_even.renting
    ranges = break_even.renting_ranges
    renting = f"renting the same GPUs{_rented(cost, 'cloud')}"
    followed = "" if ranges is None else f" {_cheaper(ranges, WAYS['on_prem'], renting)}"
    return f"{_by_the_hour(one)}{followed}"


def _by_the_hour(one: BreakEvenAt) -> str:
    if one.outcome == "unknown":
        return "Whether owning or renting the same GPUs is cheaper is not known: the price of one of both is missing."
    if one.outcome == "not_reached":
        return "Owning is never cheaper than renting the same GPUs on demand, not even day and night."
    return f"Owning is cheaper than renting the same GPUs on demand from {percent(one.utilization)} of the hours on."


def as_text(cost: CostAnswer) -> str:
    """The cost for a terminal."""
    lines = [cost.answer, ""]
    lines += [f"{PARTS[name]:28} {usd(value):>10} a month" for name, value in cost.parts.items() if value]
    lines += ["", "The same capacity otherwise"]
    lines += [f"  {WAY_NAMES[way.name]:18} {_amount(way)}" for way in cost.ways]
    lines += ["", *_per_unit(cost), against_api(cost), against_renting(cost)]
    lines += [*_over_time(cost), *_present(cost), *_energy(cost), *_old_prices(cost)]
    if cost.not_counted:
        lines += [f"Left out by costs.leave_out: {', '.join(CONSTANTS[name] for name in cost.not_counted)}"]
    return "\n".join(lines)


def _amount(way: WayToPay) -> str:
    if way.unavailable is not None:
        return _why(way, way.unavailable)
    return f"{usd(way.usd_per_month)} a month, {described(way)}"


def _per_unit(cost: CostAnswer) -> Iterator[str]:
    """Every unit in every sense, one line each."""
    for name, unit in senses(cost):
        yield f"{name}: {_units(unit)}"


def senses(cost: CostAnswer) -> Iterator[tuple[str, UnitCost]]:
    """The money per unit in every sense, each under one name for pages, reports and command lines. At capacity it is
    that of the share in use."""
    yield from ((SENSES[lens.name], lens.per_unit) for lens in cost.lenses)
    for name, unit in (("At full load", cost.full_load), ("The next system", cost.marginal)):
        if unit is not None:
            yield name, unit


def _units(unit: UnitCost) -> str:
    return ", ".join(f"{usd(getattr(unit, key))} {words}" for key, words in UNITS)


def _over_time(cost: CostAnswer) -> list[str]:
    if not cost.cash:
        return []
    first, last = usd(cost.cash[0]), usd(cost.cash[-1])
    return [
        f"36 months, purchases by their depreciation: {usd(sum(cost.cash))}, from {first} in the first to {last} in "
        "the last"
    ]


def _present(cost: CostAnswer) -> Iterator[str]:
    """What every way pays over the months, and what that is worth today."""
    if cost.investment is None:
        return
    yield f"Present cost at {significant(cost.investment.discount_percent_per_year)} % a year, before tax:"
    for way in cost.investment.ways:
        left = f", less {usd(way.residual_usd)} that it is still worth" if way.residual_usd else ""
        at_once = f", {usd(way.purchase_usd)} of it at once" if way.purchase_usd else ""
        paid = usd(way.paid_usd + way.residual_usd)
        yield f"  {WAY_NAMES[way.name]:18} {usd(way.present_cost_usd)}: {paid} paid{at_once}{left}"


def _energy(cost: CostAnswer) -> list[str]:
    way = next(way for way in cost.ways if way.name == cost.location)
    if way.energy_kwh_per_month is None:
        return []
    carbon = "carbon of the grid not known"
    if way.carbon_kg_per_month is not None:
        carbon = f"{significant(way.carbon_kg_per_month)} kg CO2e"
    return [f"Energy: {large(way.energy_kwh_per_month)} kWh a month, {carbon}"]


def _old_prices(cost: CostAnswer) -> list[str]:
    return [
        f"Check: {CONSTANTS.get(source.what, source.what)}: {'value' if source.what in CONSTANTS else 'price'} "
        f"{AGES[source.age]} ({source.date or 'no date'})"
        for source in cost.sources
        if source.age in DOUBTFUL
    ]


def as_markdown(cost: CostAnswer) -> str:
    """The cost as a Markdown page: parts with their sum, ways, units and constants."""
    lines = [cost.answer, ""]
    if cost.usd_per_month is not None:
        lines += ["| Part | USD a month |", "|---|---:|"]
        lines += [f"| {_capital(PARTS[name])} | {value:,.2f} |" for name, value in cost.parts.items() if value]
        lines += [f"| **All parts** | **{cost.usd_per_month:,.2f}** |", ""]
    lines += ["| Way | USD a month | What |", "|---|---:|---|"]
    lines += [f"| {WAY_NAMES[way.name]} | {_cell(way.usd_per_month)} | {_what(way)} |" for way in cost.ways]
    lines += ["", "| USD per | " + " | ".join(words for _, words in UNITS) + " |", "|---|---:|---:|---:|---:|"]
    lines += [f"| {name} | {cells} |" for name, cells in _unit_rows(cost)]
    lines += ["", against_api(cost), against_renting(cost)]
    lines += [*_over_time(cost), *_present(cost), *_energy(cost), *_old_prices(cost)]
    lines += ["", "| Constant | Value | Unit | Source |", "|---|---:|---|---|"]
    each = ((_capital(CONSTANTS[one.name]), significant(one.value), one) for one in cost.assumptions)
    lines += [f"| {name} | {value} | {one.unit} | {one.source} |" for name, value, one in each]
    return "\n".join(lines)


def _what(way: WayToPay) -> str:
    return described(way) if way.unavailable is None else _why(way, way.unavailable)


def why_unknown(way: WayToPay) -> str:
    """Why a way has no cost, with the terms on which nobody rents it where it is to be rented."""
    terms = "" if way.payment is None else f" {TERMS[way.payment].words}"
    return WHY_UNKNOWN[way.unavailable or "no_price"].format(terms=terms)


def _why(way: WayToPay, unavailable: Unavailable) -> str:
    """The same with the keys of a scenario file that would give it one."""
    return f"{why_unknown(way)} ({KEYS[unavailable]})"


def _cell(value: float | None) -> str:
    return "unknown" if value is None else f"{value:,.2f}"


def _unit_rows(cost: CostAnswer) -> Iterator[tuple[str, str]]:
    for name, unit in senses(cost):
        yield name, " | ".join(f"{getattr(unit, key):,.4f}" for key, _ in UNITS)
