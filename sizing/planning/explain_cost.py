"""Cost, power and business terms of a plan followed from the inputs to the formula to the source."""

from collections.abc import Iterator

from sizing.base.deployed import Deployed
from sizing.base.format import UNKNOWN, kilowatts, large, significant, usd
from sizing.base.latency_and_cost import Business, Cost
from sizing.base.result import Explained
from sizing.base.units import HOURS_PER_DAY, HOURS_PER_MONTH, S_PER_HOUR
from sizing.planning.arithmetic import entry, number, step
from sizing.question.understand import Question


def explain_money(question: Question, deployed: Deployed, cost: Cost, business: Business) -> Iterator[Explained]:
    """Cost, power and business terms; the same for predicted and measured plans."""
    yield from _hardware(deployed, cost)
    yield from _tokens(question, cost, business)
    rate = question.demand.sustained_rps
    yield entry(
        "requests_per_day",
        large(business.requests_per_day),
        "requests/s at the busiest time / peak to mean x 3600 x hours",
        step(
            "requests/s at the busiest time / peak to mean x seconds of the working day",
            f"{number(rate)} / {number(business.peak_to_mean)} x 3,600 x {number(business.hours)}",
            large(business.requests_per_day),
        ),
        source="module sizing.scenario.business",
    )
    if business.daily_users is None or business.requests_per_user is None:
        return
    yield entry(
        "daily_users",
        large(business.daily_users),
        "requests a day / requests per user",
        step(
            "requests a day / requests per user",
            f"{number(business.requests_per_day)} / {number(business.requests_per_user)}",
            large(business.daily_users),
        ),
        source="module sizing.scenario.business",
    )


def _hardware(deployed: Deployed, cost: Cost) -> Iterator[Explained]:
    """What the systems cost and draw."""
    formula = f"systems x USD per hour x 730 h. {cost.basis}"
    if cost.usd_per_hour is None:
        yield entry("usd_per_month", UNKNOWN, formula, source=cost.source)
    else:
        yield entry(
            "usd_per_month",
            usd(cost.hardware_usd_per_month),
            formula,
            step(
                "systems x USD per hour x hours of a month",
                f"{deployed.systems} x {number(cost.usd_per_hour / deployed.systems)} x {number(HOURS_PER_MONTH)}",
                usd(cost.hardware_usd_per_month),
            ),
            source=cost.source,
        )
    if cost.power_kw is None:
        yield entry("power_kw", UNKNOWN, "systems x maximum power of a whole system", source=cost.source)
        return
    yield entry(
        "power_kw",
        kilowatts(cost.power_kw),
        "systems x maximum power of a whole system",
        step(
            "systems x kW of one",
            f"{deployed.systems} x {number(cost.power_kw / deployed.systems)}",
            f"{significant(cost.power_kw)} kW",
        ),
        source=cost.source,
    )


def _tokens(question: Question, cost: Cost, business: Business) -> Iterator[Explained]:
    """What a token costs at the tokens of a day, and at full load."""
    if cost.usd_per_hour is None:
        return
    hourly = number(cost.usd_per_hour)
    yield entry(
        "usd_per_million_output_tokens",
        usd(cost.usd_per_million_output_tokens),
        "USD/h x 24 h / output tokens a day x 10^6",
        step(
            "USD of a day / output tokens of a day x a million",
            f"{hourly} x {number(HOURS_PER_DAY)} / {number(business.output_tokens_per_day)} x 10^6",
            usd(cost.usd_per_million_output_tokens),
        ),
        source=cost.source,
    )
    rate, length = question.demand.sustained_rps, question.traffic.output_tokens
    yield entry(
        "usd_per_million_output_tokens_at_full_load",
        usd(cost.usd_per_million_output_tokens_at_full_load),
        "as if the peak lasted day and night: USD/h / (peak output tokens/s x 3600) x 10^6",
        step(
            "USD of an hour / output tokens of an hour at the peak x a million",
            f"{hourly} / ({number(rate)} x {number(length)} x {S_PER_HOUR:,.0f}) x 10^6",
            usd(cost.usd_per_million_output_tokens_at_full_load),
        ),
        source=cost.source,
    )
