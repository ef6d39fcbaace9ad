"""The question the other way round: what given hardware or a budget can serve, and how far a question can be pushed.

Each answer holds for the best deployment of the candidates the scenario allows, by the same load model and limits as a
plan.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sizing.business import in_business_terms
from sizing.candidates import Floats
from sizing.capacity import at_rate
from sizing.checks import number_between, whole_number
from sizing.cost import HOURS_PER_MONTH
from sizing.demand import MAX_RPS
from sizing.errors import SizingError
from sizing.format import count, ms, requests_per_s, usd
from sizing.quantity import Result, quantity
from sizing.question import Question, understand
from sizing.result import Business
from sizing.scenario.schema import Scenario
from sizing.screen import Evaluated, all_configurations, all_offers, evaluate

LimitName = Literal["ttft_ms", "itl_ms", "e2e_ms"]
MAX_GPUS = 1_000_000
MAX_BUDGET_USD = 1e12
LONGEST_PROMPT = 10_000_000.0
PROMPT_TOLERANCE = 0.01
"""Relative width at which the bisection for the longest prompt stops."""


class Served(Result):
    """What given hardware serves within the limits, with its best deployment."""

    requests_per_s: float = quantity(
        "Requests/s",
        "requests/s",
        "instances x requests/s per instance",
        "Load within every limit, spares not counted.",
    )
    configuration: str = quantity("Deployment", help="GPU, engine, precision and parallelism of one instance.")
    instances: int = quantity("Instances", "instances", "floor(GPUs / GPUs per instance)", "Copies of the model.")
    gpus: int = quantity("GPUs", "GPUs", "instances x GPUs per instance", "GPUs in use.")
    systems: int = quantity("Systems", "systems", "whole systems", "Systems the budget buys; 0 when GPUs were given.")
    business: Business | None = quantity("In business terms", help="The same in requests, users and tokens a day.")
    message: str = quantity("Finding", help="The answer in one sentence.")


class Pushed(Result):
    """How far one input can be pushed before nothing fits any more."""

    value: float | None = quantity(
        "Value",
        formula="bisection or minimum over candidates",
        help="Largest or smallest feasible value; none when nothing fits.",
    )
    unit: str = quantity("Unit", help="Unit of the value.")
    configuration: str = quantity("Deployment", help="The deployment that reaches it.")
    message: str = quantity("Finding", help="The answer in one sentence.")


@dataclass(frozen=True)
class _Fleet:
    """Instances (C,) of each evaluated candidate that given hardware holds, spares taken off."""

    instances: NDArray[np.int64]
    systems: NDArray[np.int64]


def served_by_gpus(scenario: Scenario, gpus: int) -> Served:
    """Largest request rate that ``gpus`` GPUs of one type serve: floor(GPUs / GPUs per instance) x requests/s.

    Raises InvalidScenario or SizingError for malformed input.
    """
    held = whole_number("GPUs", gpus, 1, MAX_GPUS)
    question, evaluated = _evaluated(scenario)
    return _best(question, evaluated, _from_gpus(question, evaluated, held), f"{count(held)} GPUs")


def served_by_budget(scenario: Scenario, usd_per_month: float) -> Served:
    """Largest request rate that a monthly hardware budget serves: whole systems at list price, USD/h x 730.

    Hardware without a known price is left out. Raises InvalidScenario or SizingError for malformed input.
    """
    budget = number_between("Budget in USD a month", usd_per_month, 0.0, MAX_BUDGET_USD, exclude_low=True)
    question, evaluated = _evaluated(scenario)
    return _best(question, evaluated, _from_budget(question, evaluated, budget), f"{usd(budget)} a month")


def longest_prompt(scenario: Scenario, gpus: int) -> Pushed:
    """Longest mean prompt in tokens with which ``gpus`` GPUs still carry the asked peak within the limits.

    Bisection: capacity falls with prompt length. The context window of the model bounds it where known.
    """
    held = whole_number("GPUs", gpus, 1, MAX_GPUS)
    question = understand(scenario)
    window = question.model.max_context or LONGEST_PROMPT
    top = min(window - question.traffic.output_tokens, LONGEST_PROMPT)

    def best_at(tokens: float) -> tuple[bool, str]:
        longer = replace(question, traffic=replace(question.traffic, input_tokens=tokens))
        evaluated = evaluate(longer, all_configurations(longer))
        fleet = _from_gpus(longer, evaluated, held)
        rates = _rates(evaluated, fleet)
        if not len(rates) or rates.max() < longer.demand.peak_rps:
            return False, ""
        return True, evaluated.candidates.rows[int(rates.argmax())].label

    shortest = question.traffic.cached_tokens + 1.0
    low, label = _bisect(best_at, shortest, top)
    if low is None:
        return Pushed(
            value=None,
            unit="tokens",
            configuration="",
            message=f"{held:,} GPUs cannot carry the peak at any prompt length.",
        )
    limited = " (the context window)" if low >= top * (1 - PROMPT_TOLERANCE) else ""
    return Pushed(
        value=float(int(low)),
        unit="tokens",
        configuration=label,
        message=f"{held:,} GPUs carry the peak with prompts of up to {int(low):,} tokens{limited}.",
    )


def tightest_limit(scenario: Scenario, limit: LimitName, gpus: int) -> Pushed:
    """Smallest value of one limit at which ``gpus`` GPUs still carry the asked peak, the other limits unchanged."""
    held = whole_number("GPUs", gpus, 1, MAX_GPUS)
    if limit not in ("ttft_ms", "itl_ms", "e2e_ms"):
        raise SizingError(f"There is no limit {limit!r}: choose ttft_ms, itl_ms or e2e_ms.")
    attribute = limit.replace("_ms", "_s")
    question = understand(scenario)
    question = replace(question, limits=replace(question.limits, **{attribute: np.inf}))
    evaluated = evaluate(question, all_configurations(question))
    fleet = _from_gpus(question, evaluated, held)
    able = np.flatnonzero((_rates(evaluated, fleet) >= question.demand.peak_rps) & (fleet.instances > 0))
    name = limit.removesuffix("_ms").upper()
    if not len(able):
        return Pushed(
            value=None,
            unit="ms",
            configuration="",
            message=f"{held:,} GPUs cannot carry the peak, however loose the {name} limit.",
        )
    at = at_rate(evaluated.state.rps[able], question.demand.peak_rps / fleet.instances[able])
    values = at.of(getattr(evaluated.latencies, attribute)[able]) * 1e3
    best = int(values.argmin())
    p = f"p{question.limits.percentile:g}"
    return Pushed(
        value=float(values[best]),
        unit="ms",
        configuration=evaluated.candidates.rows[able[best]].label,
        message=f"{held:,} GPUs carry the peak with {p} {name} down to {ms(float(values[best]))}.",
    )


def _evaluated(scenario: Scenario) -> tuple[Question, Evaluated]:
    question = understand(scenario)
    return question, evaluate(question, all_configurations(question))


def _rates(evaluated: Evaluated, fleet: _Fleet) -> Floats:
    """Requests/s of each candidate's fleet, shape (C,)."""
    return evaluated.capacity.rps * np.maximum(fleet.instances, 0)


def _from_gpus(question: Question, evaluated: Evaluated, gpus: int) -> _Fleet:
    each = evaluated.candidates.gpus.astype(np.int64)
    working = gpus // each - question.scenario.deployment.spare_instances
    return _Fleet(working, np.zeros_like(working))


def _from_budget(question: Question, evaluated: Evaluated, budget: float) -> _Fleet:
    """Instances on the systems the budget buys, by the offer of each GPU that holds most instances."""
    order = {gpu.id: i for i, gpu in enumerate(question.gpus)}
    index = evaluated.candidates.column(lambda r: order[r.gpu.id]).astype(np.int64)
    each = evaluated.candidates.gpus.astype(np.int64)
    best, systems = np.zeros_like(each), np.zeros_like(each)
    for g, offers in enumerate(all_offers(question)):
        rows = np.flatnonzero(index == g)
        priced = [o for o in offers if o.usd_per_hour] if len(rows) else []
        surest = min((o.price_rank for o in priced), default=0)  # a complete system before the price of its GPUs alone
        for offer in (o for o in priced if o.price_rank == surest):
            bought = int(budget / ((offer.usd_per_hour or np.inf) * HOURS_PER_MONTH) + 1e-9)
            per_system, spans = offer.gpus // each[rows], -(-each[rows] // offer.gpus)
            held = np.where(per_system > 0, bought * per_system, bought // spans)
            more = held > best[rows]
            best[rows[more]], systems[rows[more]] = held[more], bought
    return _Fleet(best - question.scenario.deployment.spare_instances, systems)


def _best(question: Question, evaluated: Evaluated, fleet: _Fleet, what: str) -> Served:
    rates = _rates(evaluated, fleet)
    if not len(rates) or rates.max() <= 0:
        return Served(
            requests_per_s=0.0,
            configuration="",
            instances=0,
            gpus=0,
            systems=0,
            business=None,
            message=f"{what} cannot serve this scenario: one instance does not fit, or a limit is out of reach.",
        )
    i = int(np.lexsort((evaluated.candidates.gpus, -rates))[0])
    rps, row = float(rates[i]), evaluated.candidates.rows[i]
    instances = int(fleet.instances[i])
    traffic = question.traffic
    served = (rps, traffic.input_tokens, traffic.output_tokens, question.demand)
    business = in_business_terms(*served) if rps <= MAX_RPS else None  # beyond any load the engine is asked for
    return Served(
        requests_per_s=rps,
        configuration=row.label,
        instances=instances,
        gpus=instances * row.gpus,
        systems=int(fleet.systems[i]),
        business=business,
        message=f"{what} serve up to {requests_per_s(rps)} within the limits: {instances} x {row.label}.",
    )


def _bisect(fits: Callable[[float], tuple[bool, str]], low: float, high: float) -> tuple[float | None, str]:
    """Largest value in [low, high] that fits (relative tolerance PROMPT_TOLERANCE) and its label; None if ``low``
    fails."""
    ok, label = fits(low)
    if high < low or not ok:
        return None, ""
    top, top_label = fits(high)
    if top:
        return high, top_label
    while high - low > PROMPT_TOLERANCE * high:
        middle = (low * high) ** 0.5
        ok, found = fits(middle)
        low, high, label = (middle, high, found) if ok else (low, middle, label)
    return low, label
