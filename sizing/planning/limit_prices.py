"""What each limit costs: the cheapest deployment by estimate when that limit alone is loosened, or given up.

A limit that alone more than doubles the cost is a decision of its own, so that it is a warning with its price. The
analytic load model answers: states under load are known for every candidate already, of which a limit only cuts off
what is beyond it.
"""

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sizing.base.format import ms, significant, usd
from sizing.base.result import Fix, PlanWarning
from sizing.base.units import HOURS_PER_MONTH, MS_PER_S
from sizing.planning.deployment import LatencyMetric
from sizing.prices.cost import cheapest_option
from sizing.question.limits import LatencyLimits
from sizing.question.understand import Question
from sizing.queueing.capacity import capacity
from sizing.search.aggregated import considers_aggregated
from sizing.search.screen import Evaluated, all_offers, instances_needed, reserve_of

LIMIT_NAMES: dict[LatencyMetric, str] = {"ttft_s": "TTFT", "itl_s": "ITL", "e2e_s": "E2E"}
"""The limits by field, and what people call them."""

COSTLY = 2.0
"""How many times the cost without a limit must be exceeded for a warning. Chosen: from there on it is the limit that
decides what is spent, not the load."""

EASED = 1.6
"""How many times the cost without a limit a loosened one may cost by estimate. Chosen: the plan that simulation makes
of it is up to a fourth dearer than the estimate, and is not to be called costly again."""

LOOSENED = (1.25, 1.5, 2.0, 3.0, 5.0)
"""Multiples of a limit that are tried, the smallest first. Chosen: what may still be agreed to, step by step."""


@dataclass(frozen=True, kw_only=True)
class LimitPrice:
    """A costly limit: ``loosened_s`` is the tightest of those tried that is none any more, infinite where all are, and
    ``usd_per_hour`` the cost then, by estimate; ``without_usd_per_hour`` without this limit."""

    field: LatencyMetric
    limit_s: float
    loosened_s: float
    usd_per_hour: float
    without_usd_per_hour: float


def costly_limits(question: Question, evaluated: Evaluated, now_usd_per_hour: float) -> Iterator[LimitPrice]:
    """The limits that each alone multiply the cost by more than :data:`COSTLY`; ``now_usd_per_hour`` is the plan's.

    Only where the cost decides, and where instances that do both may be chosen, which is what is looked at.
    """
    deployment = question.scenario.deployment
    if deployment.objective != "cost" or not considers_aggregated(question) or not math.isfinite(now_usd_per_hour):
        return
    for field in LIMIT_NAMES:
        limit = float(getattr(question.limits, field))
        if math.isinf(limit):
            continue
        without = _cheapest(question, evaluated, dataclasses.replace(question.limits, **{field: math.inf}))
        if not now_usd_per_hour > COSTLY * without:
            continue
        for factor in LOOSENED:
            loosened = limit * factor
            cost = _cheapest(question, evaluated, dataclasses.replace(question.limits, **{field: loosened}))
            if cost <= EASED * without:
                break
        else:
            loosened, cost = math.inf, without
        yield LimitPrice(
            field=field, limit_s=limit, loosened_s=loosened, usd_per_hour=cost, without_usd_per_hour=without
        )


def about_costly_limits(question: Question, evaluated: Evaluated, now_usd_per_hour: float) -> Iterator[PlanWarning]:
    """Each costly limit with its price, and a fix that loosens it."""
    for one in costly_limits(question, evaluated, now_usd_per_hour):
        name, now = LIMIT_NAMES[one.field], usd(now_usd_per_hour * HOURS_PER_MONTH)
        then = usd(one.usd_per_hour * HOURS_PER_MONTH)
        more = usd((now_usd_per_hour - one.without_usd_per_hour) * HOURS_PER_MONTH)
        times = significant(now_usd_per_hour / one.without_usd_per_hour, 2)
        limit_ms, loosened_ms = one.limit_s * MS_PER_S, one.loosened_s * MS_PER_S
        eased = f"at {ms(loosened_ms)}" if math.isfinite(loosened_ms) else "without it"
        key = f"limits.{one.field.replace('_s', '_ms')}"
        yield PlanWarning(
            code=f"costly_limit_{name.lower()}",
            severity="warning",
            source="load model",
            message=f"The {name} limit of {ms(limit_ms)} alone makes this {times} times as dear: it costs {more} of "
            f"the {now} a month. By estimate {eased} it would be {then}.",
            fix=Fix(
                key=key,
                value=float(loosened_ms) if math.isfinite(loosened_ms) else None,
                label=f"Limit {name} to {ms(loosened_ms)}"
                if math.isfinite(loosened_ms)
                else f"Give up the {name} limit",
            ),
        )


def _cheapest(question: Question, evaluated: Evaluated, limits: LatencyLimits) -> float:
    """List cost in USD/h of the cheapest deployment of instances that do both within ``limits``; infinite where none
    serves or no price is known."""
    deployment = question.scenario.deployment
    rps = capacity(evaluated.state, evaluated.latencies, limits, deployment.max_utilization).rps
    able = np.flatnonzero(rps > 0)
    if not len(able):
        return math.inf
    working = instances_needed(question.demand.sustained_rps, rps[able])
    candidates = evaluated.candidates
    each = candidates.gpus[able].astype(np.int64)
    gpu = candidates.place_of_gpu(question.gpus, able)
    cost = cheapest_option(working, each, gpu, all_offers(question), reserve=reserve_of(question)).usd_per_hour
    return float(np.nan_to_num(cost, nan=math.inf).min())
