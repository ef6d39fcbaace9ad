"""How many requests per second have to be served at the peak, and how that number came about."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from scipy.special import pdtr, pdtrik

from sizing.base.errors import InvalidScenario
from sizing.base.format import percent, stated, with_noun
from sizing.base.units import DAYS_PER_MONTH, HOURS_PER_DAY, S_PER_HOUR
from sizing.scenario.bounds import MAX_RPS, MIN_RPS
from sizing.scenario.schema import Users, Workload
from sizing.scenario.sessions import Sessions
from sizing.scenario.traffic import Profile, TraceArrivals

WORKING_HOURS = 8.0
"""Hours a day when nobody says (NVIDIA "LLM inference sizing": 70.7 x 3600 x 8 h = 2.04 M requests a working day)."""

REQUESTS_PER_USER = 3.0
"""Requests per person and day when nobody says (same deck: 2.04 M requests = 679 k daily users)."""


PEAK_TO_MEAN = 2.0
"""How much busier the busiest time of a working day is than its mean, when nobody says. Chosen: the default of
``workload.users``, so that the users shown for a peak, entered as users, ask for that peak again."""

SINGLE_REQUESTS_BELOW_RPS = 1.0
"""Mean rate below which many seconds are empty, so that a percentile over seconds says little (stated in ``how``)."""


@dataclass(frozen=True, kw_only=True)
class Demand:
    """The load to size for. ``how`` says in one sentence how it came about, ``arithmetic`` with numbers alone.

    ``sustained_rps`` is the mean rate of the busiest time: what instances are sized for, by arrivals that vary around
    it. ``peak_rps`` is the same, but where an average was given: there it is the burst that a second of Poisson
    arrivals brings, which those arrivals already contain. ``average_rps`` is None where only a peak was given;
    ``mean_to_peak`` is the share of ``sustained_rps`` that an average second of the ``hours`` sees, ``day_assumed``
    where nobody said; ``requests_per_user`` is None where nobody waits. Growth is contained in all rates.
    """

    peak_rps: float
    sustained_rps: float
    average_rps: float | None
    mean_to_peak: float
    day_assumed: bool = False
    hours: float
    requests_per_user: float | None
    growth_factor: float
    arithmetic: str
    how: str


def peak_demand(workload: Workload) -> Demand:
    """Peak requests per second of a workload, growth included.

    Given: ``peak``. Average: the average is sustained; the burst of one second is ``max(average, smallest n with
    P(N <= n) >= percentile)``, N Poisson with the average as its mean. Users: ``users x requests / (hours x 3600) x
    peak-to-mean``. An hourly profile takes the place of hours and peak-to-mean, and lifts an average over the day to
    the busiest hour. Offline, where a queue levels out every peak: the mean rate while it is worked off, day and night
    unless a batch or users state a window. Growth multiplies the load before the percentile is taken. Units:
    requests/s. Raises InvalidScenario when the result is not in [1e-9, 1e6]. Source: NVIDIA "LLM inference sizing"
    (64 -> 77, 7 -> 12).
    """
    growth = 1.0 + workload.growth_percent / 100.0
    profile = hourly(workload)
    if workload.sessions is not None:
        demand = of_sessions(workload, workload.sessions, workload.sessions.assumed_service_s)
    elif workload.mode == "offline" and (profile is None or workload.users is not None):
        demand = _offline(workload, growth)
    elif workload.users is not None:
        demand = _from_users(workload.users, growth, profile)
    elif workload.average_rps is not None:
        demand = _from_average(workload.average_rps, workload.peak_percentile, growth, profile)
    elif isinstance(workload.arrivals, TraceArrivals) and workload.peak_rps is None:
        demand = _from_trace(workload.arrivals, growth)
    else:
        demand = _from_peak(workload.peak_rps or 0.0, growth, profile)
    if not (math.isfinite(demand.peak_rps) and MIN_RPS <= demand.peak_rps <= MAX_RPS):
        raise InvalidScenario(
            [
                f"The peak comes to {_rate(stated(demand.peak_rps, 3))}; it must be at least {MIN_RPS:g} and "
                f"at most {MAX_RPS:,.0f}: change the load. {demand.how}"
            ]
        )
    return replace(demand, requests_per_user=None) if workload.mode == "offline" else demand


def _rate(number: str) -> str:
    """A rate with its unit, in the digits that it was given in."""
    return with_noun(number, "request/s")


def hourly(workload: Workload) -> Sequence[float] | None:
    """The shape of the load over time, where one is given: the hours of a profile, or the windows of a trace."""
    arrivals = workload.arrivals
    if isinstance(arrivals, TraceArrivals):
        return arrivals.rps
    return arrivals.profile if isinstance(arrivals, Profile) else None


def poisson_peak(average_rps: float, percentile: float) -> float:
    """Requests in one second that ``percentile`` % of the seconds do not exceed, but never less than the average.

    ``max(average, smallest n with P(N <= n) >= percentile / 100)``: whole requests in a window of one second, so for a
    fraction of a request per second it is 1 or 2, or the average itself when most seconds are empty. The same number
    as ``scipy.stats.poisson.ppf``, without the third of a second that importing scipy.stats takes. Source: NVIDIA
    "LLM inference sizing".
    """
    share = percentile / 100.0
    count = math.ceil(pdtrik(share, average_rps))
    if count > 0 and pdtr(count - 1, average_rps) >= share:
        count -= 1
    return max(average_rps, float(count))


def mean_to_peak_of(profile: Sequence[float]) -> float:
    """Mean hour divided by the busiest hour of a daily profile: ``mean(h) / max(h)``, above 0 and at most 1."""
    busiest = max(profile)
    return sum(hour / busiest for hour in profile) / len(profile)


def _from_peak(peak_rps: float, growth: float, profile: Sequence[float] | None) -> Demand:
    peak = peak_rps * growth
    share = mean_to_peak_of(profile) if profile else 1.0 / PEAK_TO_MEAN
    how = f"Peak as given: {_rate(stated(peak_rps))}{_growth_text(growth)}."
    if profile:
        how += f" By the hourly profile the mean hour has {percent(share)} of it."
    return Demand(
        peak_rps=peak,
        sustained_rps=peak,
        average_rps=peak * share if profile else None,
        mean_to_peak=share,
        day_assumed=not profile,
        hours=HOURS_PER_DAY if profile else WORKING_HOURS,
        requests_per_user=REQUESTS_PER_USER,
        growth_factor=growth,
        arithmetic=f"{stated(peak_rps)}{_growth_factor(growth)}",
        how=how,
    )


def _offline(workload: Workload, growth: float) -> Demand:
    """What nobody waits for, worked off evenly: a queue has no peak, and a rate lasts day and night."""
    batch, users, hours, share = workload.batch, workload.users, HOURS_PER_DAY, 1.0
    if batch is not None:
        requests, hours = batch.documents_per_month * batch.requests_per_document, batch.hours_per_day
        rate, share = requests / (batch.hours_per_month * S_PER_HOUR), batch.days_worked / DAYS_PER_MONTH
        factors = [stated(batch.documents_per_month), stated(batch.requests_per_document)]
        arithmetic = f"{' x '.join(factors)} / ({stated(batch.hours_per_month, 4)} x 3,600)"
        each = "" if batch.requests_per_document == 1.0 else f" x {factors[1]} requests"
        window = f"{stated(batch.days_worked, 3)} days x {stated(hours)} h x 3,600 s"
        how = (
            f"{with_noun(factors[0], 'document')} a month{each} / ({window}){_growth_text(growth)} = "
            f"{_rate(stated(rate * growth, 3))}, evenly in the working window."
        )
    elif users is not None:
        hours, rate = users.hours, users.daily_users * users.requests_per_user / (users.hours * S_PER_HOUR)
        arithmetic = f"{stated(users.daily_users)} x {stated(users.requests_per_user)} / ({stated(hours)} x 3,600)"
        total = f"{arithmetic}{_growth_text(growth)} = {_rate(stated(rate * growth, 3))}"
        how = f"{total}: what nobody waits for has no peak."
    else:
        rate = workload.average_rps or workload.peak_rps or 0.0
        arithmetic = stated(rate)
        how = f"{_rate(stated(rate))}{_growth_text(growth)}, day and night: what nobody waits for has no peak."
    return Demand(
        peak_rps=rate * growth,
        sustained_rps=rate * growth,
        average_rps=rate * growth,
        mean_to_peak=share,
        hours=hours,
        requests_per_user=None,
        growth_factor=growth,
        arithmetic=arithmetic + _growth_factor(growth),
        how=how,
    )


def _from_trace(trace: TraceArrivals, growth: float) -> Demand:
    busiest, share = max(trace.rps), mean_to_peak_of(trace.rps)
    how = (
        f"Busiest {trace.window_s:,.0f} s of {trace.trace}: {_rate(stated(busiest, 3))}{_growth_text(growth)}; the "
        f"mean is {percent(share)} of it."
    )
    return Demand(
        peak_rps=busiest * growth,
        sustained_rps=busiest * growth,
        average_rps=busiest * growth * share,
        mean_to_peak=share,
        hours=HOURS_PER_DAY,
        requests_per_user=REQUESTS_PER_USER,
        growth_factor=growth,
        arithmetic=f"{stated(busiest)}{_growth_factor(growth)}",
        how=how,
    )


def _from_average(average_rps: float, percentile: float, growth: float, profile: Sequence[float] | None) -> Demand:
    average = average_rps * growth
    busy = average / mean_to_peak_of(profile) if profile else average
    peak = poisson_peak(busy, percentile)
    hour = f", {stated(busy, 3)} in the busiest hour of the profile" if profile else ""
    how = (
        f"Average {_rate(stated(average_rps))}{_growth_text(growth)}{hour}: the rate that is sustained. With "
        f"Poisson arrivals {percentile:g} % of all seconds see at most {stated(peak)} requests "
        f"({percent(peak / busy - 1)} above the mean): a burst of one second, which the simulated arrivals contain."
    )
    if busy < SINGLE_REQUESTS_BELOW_RPS:
        how += " At so low a rate a one-second window counts single requests, which makes that peak generous."
    return Demand(
        peak_rps=peak,
        sustained_rps=busy,
        average_rps=average,
        mean_to_peak=average / busy,
        hours=HOURS_PER_DAY if profile else WORKING_HOURS,
        requests_per_user=REQUESTS_PER_USER,
        growth_factor=growth,
        arithmetic=f"{stated(average_rps)}{_growth_factor(growth)}"
        + (f" / {stated(mean_to_peak_of(profile))}" if profile else ""),
        how=how,
    )


def of_sessions(workload: Workload, sessions: Sessions, service_s: float) -> Demand:
    """The requests of sessions whose answers take ``service_s`` each: ``sessions begun a second x turns``."""
    growth, shape = 1.0 + workload.growth_percent / 100.0, sessions.shape
    rate = sessions.traffic(service_s).requests_per_s
    if sessions.sessions_per_hour is not None:
        many, answered = f"{with_noun(stated(sessions.sessions_per_hour), 'session')} an hour", ""
        arithmetic = f"{stated(sessions.sessions_per_hour)} x {shape.turns:,} / 3,600"
    else:
        many = f"{with_noun(stated(sessions.sessions_at_once or 0.0), 'session')} at once"
        answered = f", each answered in {stated(service_s, 3)} s in the mean"
        lasts = f"({shape.turns:,} x {stated(service_s, 3)} + {shape.turns - 1:,} x {stated(shape.gap_s, 3)})"
        arithmetic = f"{stated(sessions.sessions_at_once or 0.0)} x {shape.turns:,} / {lasts}"
    total = f"{arithmetic}{_growth_text(growth)} = {_rate(stated(rate * growth, 3))}"
    return replace(
        _from_peak(rate, growth, hourly(workload)),
        requests_per_user=float(shape.turns),
        arithmetic=arithmetic + _growth_factor(growth),
        how=f"{many} of {shape.turns:,} turns: {total}{answered}.",
    )


def _from_users(users: Users, growth: float, profile: Sequence[float] | None) -> Demand:
    hours = HOURS_PER_DAY if profile else users.hours
    ratio = 1.0 / mean_to_peak_of(profile) if profile else users.peak_to_mean
    average = users.daily_users * users.requests_per_user / (hours * S_PER_HOUR) * growth
    where = "busiest hour of the profile to mean" if profile else "peak to mean"
    people, each = stated(users.daily_users), stated(users.requests_per_user)
    how = (
        f"{people} users x {each} requests / ({stated(hours)} h x 3,600 s) x {stated(ratio, 3)} ({where})"
        f"{_growth_text(growth)} = {_rate(stated(average * ratio, 3))}."
    )
    return Demand(
        peak_rps=average * ratio,
        sustained_rps=average * ratio,
        average_rps=average,
        mean_to_peak=1.0 / ratio,
        hours=hours,
        requests_per_user=users.requests_per_user,
        growth_factor=growth,
        arithmetic=f"{people} x {each} / ({stated(hours)} x 3,600) x {stated(ratio)}" + _growth_factor(growth),
        how=how,
    )


def _growth_factor(growth: float) -> str:
    return f" x {stated(growth)}" if growth != 1.0 else ""


def _growth_text(growth: float) -> str:
    return f" x {stated(growth)} growth" if growth != 1.0 else ""
