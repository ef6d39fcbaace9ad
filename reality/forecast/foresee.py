"""From a history of arrivals and a plan to the forecast: the better model, its intervals, the date, the order."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from collectors.questions.load import LoadHistory
from reality.forecast.backtest import MODELS, Backtest, Scored, backtest
from reality.forecast.capacity import addition, carries, lead_time
from reality.forecast.models import DAYS_PER_WEEK, Projection, season_of
from reality.forecast.result import (
    BacktestResult,
    CarriedBy,
    Carries,
    Dates,
    ForecastBasis,
    Foreseen,
    HistoryRead,
    LeadTime,
    ModelScore,
    Order,
    Past,
    nothing_known,
)
from reality.result import Interval
from sizing.base.arrays import Floats
from sizing.base.result import Plan
from sizing.base.units import S_PER_DAY
from sizing.question.own_gpu import accelerator_name
from sizing.scenario.schema import Scenario

LEAST_DAYS = 14.0
"""Days of history without which nothing is foreseen: each day of a week twice."""
LEAST_KNOWN = 0.5
"""Share of a history that must be known. Chosen: with less, seasons are guessed."""
AHEAD = 3.0
"""How many times the length of the history is looked ahead. Chosen: beyond, the uncertainty of growth says nothing."""
MOST_AHEAD_DAYS = 365.0
"""Days ahead at most: yearly seasons are in no history of less than two years."""
ENOUGH_DAYS = 90.0
"""Days after the limit is reached for which an order is to suffice. Chosen: a quarter, as budgets have them."""
ALREADY_STEPS = 3
"""Steps of the last week at or above the capacity from which it is reached already: fewer are single peaks."""
WIDEST = 3.0
"""Half width (log) at which an interval is cut. Chosen: a load between a twentieth and twenty times is unknown."""

Steps = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class ForecastRequest:
    """What is asked beside scenario and source: what carries the load, how much that is by a diagnosis
    (requests/s; None: by the plan's engine), and a lead time in weeks of the user's own."""

    carried_by: CarriedBy = "deployment"
    measured_rps: float | None = None
    lead_weeks: float | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class _Ahead:
    """The better model's projection from the end of a history, widened as its backtest says.

    Loads (H,) in requests/s: ``value`` with the 80 % interval of single steps ``low`` to ``high``, and that of the
    expected load ``least`` to ``most``.
    """

    start_s: float
    step_s: float
    value: Floats
    low: Floats
    high: Floats
    least: Floats
    most: Floats

    def at(self, step: int) -> float:
        """Begin of a step, seconds since 1970."""
        return self.start_s + step * self.step_s

    def first(self, loads: Floats, limit: float) -> str | None:
        """Day and hour of the first step at which ``loads`` reach ``limit``."""
        reached = np.flatnonzero(loads >= limit)
        return utc(self.at(int(reached[0]))) if len(reached) else None


def known_part(loaded: LoadHistory) -> tuple[Floats, HistoryRead | None]:
    """The history from its first known step on, and what is said of it; None where nothing is known."""
    rps = np.asarray(loaded.rps, dtype=np.float64)
    known = np.flatnonzero(np.isfinite(rps))
    if not len(known):
        return rps[:0], None
    rps, since = rps[known[0] :], loaded.start_s + (int(known[0]) - 1) * loaded.step_s
    read = HistoryRead(
        since=utc(since),
        until=utc(since + len(rps) * loaded.step_s),
        days=len(rps) * loaded.step_s / S_PER_DAY,
        step_s=loaded.step_s,
        known=len(known) / len(rps),
        engine=loaded.engine,
    )
    return rps, read


def foreseen(scenario: Scenario, plan: Plan, loaded: LoadHistory, wanted: ForecastRequest) -> ForecastBasis:
    """The fields of a forecast that its history and plan decide; those that are None or empty are not foreseen."""
    rps, read = known_part(loaded)
    fields = nothing_known("no_data")
    carried = carries(plan, loaded.replicas, wanted.carried_by, wanted.measured_rps)
    fields["history"], fields["capacity"] = read, carried
    if read is None:
        return fields
    day = round(S_PER_DAY / read.step_s)
    fields["busiest_rps"] = float(np.nanmax(rps[-DAYS_PER_WEEK * day :], initial=0.0))
    end_s = loaded.start_s + (len(loaded.rps) - 1) * loaded.step_s
    fields["past_days"] = _past(rps, end_s, read.step_s, day)
    if read.days < LEAST_DAYS or read.known < LEAST_KNOWN or not np.nanmax(rps) > 0.0:
        fields["state"] = "too_little_history"
        return fields
    season = season_of(read.step_s, read.days)
    tried = backtest(rps, season)
    name, score = tried.better, tried.scores[tried.better]
    days = min(AHEAD * read.days, MOST_AHEAD_DAYS)
    projection = MODELS[name](rps, round(days * day), season)
    ahead = _widened(projection, score, end_s, read.step_s)
    regressed = name == "fourier_regression"
    fields["method"] = "fourier_regression" if regressed else "seasonal_naive"
    fields["backtest"], fields["days_ahead"] = _result(tried), days
    fields["growth_per_week"] = _growth(projection, score) if regressed else None
    fields["hours"] = tuple(_step(ahead, i) for i in range(min(round(tried.days_ahead * day), len(ahead.value))))
    fields["days"] = tuple(_step(ahead, int(i)) for i in _busiest(ahead.value, day))
    if carried is None:
        fields["state"] = "no_capacity"
        return fields
    already = bool(np.sum(rps[-DAYS_PER_WEEK * day :] >= carried.rps) >= ALREADY_STEPS)
    fields["state"] = "ok"
    _reached(fields, scenario, plan, carried, ahead, wanted, already=already)
    return fields


def _widened(projection: Projection, score: Scored, start_s: float, step_s: float) -> _Ahead:
    """Loads of the projection with both intervals."""
    single = np.minimum(score.factor * projection.spread, WIDEST)
    slow = np.minimum(score.slow_factor * projection.slow, WIDEST)
    logs = {
        "value": projection.centre,
        "low": projection.centre - single,
        "high": projection.centre + single,
        "least": projection.centre - slow,
        "most": projection.centre + slow,
    }
    return _Ahead(start_s=start_s, step_s=step_s, **{name: projection.rps(values) for name, values in logs.items()})


def _reached(
    fields: ForecastBasis,
    scenario: Scenario,
    plan: Plan,
    carried: Carries,
    ahead: _Ahead,
    wanted: ForecastRequest,
    *,
    already: bool,
) -> None:
    """Fill in when the expected load reaches the capacity, and what to order by when."""
    assert plan.deployment is not None
    lead = lead_time(scenario, plan.deployment, wanted.lead_weeks)
    fields["lead_time"] = lead
    now = utc(ahead.start_s)
    if already:
        dates = Dates(value=now, low=now, high=now)
    else:
        value, low, high = (ahead.first(loads, carried.rps) for loads in (ahead.value, ahead.most, ahead.least))
        if low is None:
            return
        dates = Dates(value=value, low=low, high=high)
    fields["reaches_limit_at"], fields["order"] = dates, _order(scenario, plan, carried, ahead, dates, lead)
    fields["order_by"] = utc(seconds(dates.low or now) - lead.weeks * DAYS_PER_WEEK * S_PER_DAY)[:10]


def _order(scenario: Scenario, plan: Plan, carried: Carries, ahead: _Ahead, dates: Dates, lead: LeadTime) -> Order:
    """Replicas for the upper end of the expected load up to a quarter after the limit is reached, or after what is
    ordered today is there, as far as is foreseen."""
    assert plan.deployment is not None
    begun = max(seconds(dates.value or dates.low or utc(ahead.start_s)), ahead.start_s + _weeks_s(lead))
    last = min(int((begun + ENOUGH_DAYS * S_PER_DAY - ahead.start_s) / ahead.step_s), len(ahead.value))
    load = float(np.max(ahead.most[:last]))
    more = addition(plan.deployment, carried, load)
    return Order(
        replicas=more.replicas,
        gpus=more.gpus,
        gpu=plan.deployment.gpu,
        gpu_name=accelerator_name(plan.deployment.gpu, scenario),
        systems=more.systems,
        system=plan.deployment.system,
        until=utc(ahead.at(last))[:10],
        load_rps=load,
    )


def _weeks_s(lead: LeadTime) -> float:
    return lead.weeks * DAYS_PER_WEEK * S_PER_DAY


def _result(tried: Backtest) -> BacktestResult:
    scores = {
        name: ModelScore(error=one.error, coverage=one.coverage if math.isfinite(one.coverage) else None)
        for name, one in tried.scores.items()
    }
    return BacktestResult(
        origins=tried.origins,
        days_ahead=tried.days_ahead,
        fourier_regression=scores["fourier_regression"],
        seasonal_naive=scores["seasonal_naive"],
    )


def _growth(projection: Projection, score: Scored) -> Interval:
    """Growth of a week as a fraction."""
    room = score.slow_factor * projection.growth_spread
    value, low, high = (
        math.expm1(one) for one in (projection.growth, projection.growth - room, projection.growth + room)
    )
    return Interval(value=value, low=low, high=high)


def _step(ahead: _Ahead, i: int) -> Foreseen:
    return Foreseen(
        at=utc(ahead.at(i)), value=float(ahead.value[i]), low=float(ahead.low[i]), high=float(ahead.high[i])
    )


def _busiest(loads: Floats, day: int) -> Steps:
    """Places of the busiest step of each whole day."""
    days = len(loads) // day
    places: Steps = np.arange(days) * day + loads[: days * day].reshape(days, day).argmax(axis=1)
    return places


def _past(rps: Floats, end_s: float, step_s: float, day: int) -> tuple[Past, ...]:
    """The busiest step of each whole day before ``end_s`` of which anything is known."""
    days = len(rps) // day
    last = np.nan_to_num(rps[len(rps) - days * day :], nan=-1.0)
    at = (int(i) for i in _busiest(last, day))
    begin_s = end_s - days * day * step_s
    return tuple(Past(at=utc(begin_s + i * step_s), rps=float(last[i])) for i in at if last[i] >= 0.0)


def utc(at_s: float) -> str:
    """A moment as text: 2026-11-26T09:00:00Z."""
    return datetime.fromtimestamp(at_s, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def seconds(text: str) -> float:
    """Seconds since 1970 of what :func:`utc` writes."""
    return datetime.fromisoformat(text).timestamp()
