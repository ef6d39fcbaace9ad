"""Cost, power and business terms of a plan followed from the inputs to the formula to the source."""

from __future__ import annotations

from collections.abc import Iterator

from sizing.base.deployed import Business, Cost, Deployed
from sizing.base.format import large, significant, usd
from sizing.base.result import Explained
from sizing.question.understand import Question


def entry(name: str, value: str, formula: str, numbers: str, source: str) -> Explained:
    """One figure."""
    return Explained(name=name, value=value, formula=formula, numbers=numbers, source=source)


def _tokens_cost(cost: Cost, business: Business) -> Iterator[Explained]:
    """What a token costs at the tokens of a day, and at full load."""
    yield entry(
        "usd_per_million_output_tokens",
        usd(cost.usd_per_million_output_tokens),
        "USD/h x 24 h / output tokens a day x 10^6",
        f"{significant(cost.usd_per_hour)} x 24 / {large(business.output_tokens_per_day)} x 10^6",
        cost.source,
    )
    yield entry(
        "usd_per_million_output_tokens_at_full_load",
        usd(cost.usd_per_million_output_tokens_at_full_load),
        "as if the peak lasted day and night: USD/h / (peak output tokens/s x 3600) x 10^6",
        f"{significant(cost.usd_per_hour)} x 10^6 / output tokens in an hour of the peak",
        cost.source,
    )


def explain_money(question: Question, deployed: Deployed, cost: Cost, business: Business) -> Iterator[Explained]:
    """Cost, power and business terms; the same for predicted and measured plans."""
    hourly = "systems x USD per hour x 730 h"
    yield entry(
        "usd_per_month",
        usd(cost.usd_per_month),
        hourly,
        f"{deployed.systems} x "
        f"{usd(None if cost.usd_per_hour is None else cost.usd_per_hour / deployed.systems)}/h x 730; "
        f"{cost.basis}",
        cost.source,
    )
    yield entry(
        "power_kw",
        f"{significant(cost.power_kw)} kW" if cost.power_kw is not None else "unknown",
        "systems x maximum power of a whole system",
        f"{deployed.systems} systems; {cost.basis}",
        cost.source,
    )
    yield from _tokens_cost(cost, business)
    yield entry(
        "requests_per_day",
        large(business.requests_per_day),
        "requests/s at the busiest time / peak to mean x 3600 x hours",
        f"{significant(question.demand.sustained_rps)} / {significant(business.peak_to_mean)} x 3600 x "
        f"{significant(business.hours)} h = {large(business.requests_per_day)}",
        "module sizing.scenario.business",
    )
    yield entry(
        "daily_users",
        large(business.daily_users),
        "requests a day / requests per user",
        f"{large(business.requests_per_day)} / {significant(business.requests_per_user)}",
        "module sizing.scenario.business",
    )
