"""The load of a day hour by hour, where only working hours are known; and a scenario at another load."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sizing.base.checks import number_between
from sizing.base.units import HOURS_PER_DAY, S_PER_HOUR
from sizing.scenario.schema import RATES, Scenario, Workload
from sizing.scenario.traffic import Arrivals, Profile, TraceArrivals

MIDDAY = 13.0
"""Middle of the working day: 9 to 17 o'clock for eight hours."""

STEEPEST = 200.0
"""Exponent of the bell beyond which practically all requests come in one hour."""

LEAST_HOURS, HIGHEST_PEAK = 1e-6, 1000.0
"""Shortest working day, and largest ratio of busiest time to mean, that are read. Chosen: because what lies beyond them
is a typing error, and nothing is divided by 0."""

SLICES = 60
"""Parts of an hour over which the bell is averaged."""


def working_day(hours: float, peak_to_mean: float) -> tuple[float, ...]:
    """24 relative hourly loads, busiest hour 1: a bell over the working hours, nothing outside them.

    Assumption where only ``hours`` a day and the ratio of busiest time to mean are known: load(t) = sin(pi u)^p at
    the share u of the working day, with p such that the busiest hour is ``peak_to_mean`` times the mean of the working
    hours (p = 0, a box, for 1; at most all in one hour). Raises SizingError outside 0..24 h or below 1.
    """
    from scipy.optimize import brentq  # takes a quarter of a second, and few pages need it

    hours = number_between("Working hours", hours, LEAST_HOURS, HOURS_PER_DAY)
    wanted = number_between("Peak to mean", peak_to_mean, 1.0, HIGHEST_PEAK)

    def excess(p: float) -> float:
        shape = _bell(hours, p)
        return float(shape.max() / (shape.sum() / hours)) - wanted

    power = 0.0 if excess(0.0) >= 0.0 else STEEPEST if excess(STEEPEST) <= 0.0 else brentq(excess, 0.0, STEEPEST)
    shape = _bell(hours, power)
    return tuple((shape / shape.max()).tolist())


def _bell(hours: float, power: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Mean of the bell in every hour of the day."""
    start = min(max(MIDDAY - hours / 2.0, 0.0), HOURS_PER_DAY - hours)
    moments = (np.arange(int(HOURS_PER_DAY) * SLICES) + 0.5) / SLICES
    share = (moments - start) / hours
    inside = (share > 0.0) & (share < 1.0)
    values = np.where(inside, np.sin(np.pi * np.clip(share, 0.0, 1.0)) ** power, 0.0)
    return np.asarray(values.reshape(int(HOURS_PER_DAY), SLICES).mean(axis=1))


def at_peak(scenario: Scenario, peak_rps: float, arrivals: Arrivals) -> Scenario:
    """The scenario with this peak, growth included, whatever its load was given by, and other arrivals."""
    batch, sessions = scenario.workload.batch, scenario.workload.sessions
    load: dict[str, Any] = {"peak_rps": peak_rps}
    if batch is not None and not isinstance(arrivals, Profile | TraceArrivals):  # which keeps its window
        documents = peak_rps * batch.hours_per_month * S_PER_HOUR / batch.requests_per_document
        load = {"batch": batch.model_dump() | {"documents_per_month": documents}}
    if sessions is not None:
        per_hour = {"sessions_at_once": None, "sessions_per_hour": peak_rps * S_PER_HOUR / sessions.turns}
        load = {"sessions": sessions.model_dump() | per_hour}
    workload = scenario.workload.model_dump() | dict.fromkeys(RATES) | load
    workload |= {"growth_percent": 0.0, "arrivals": arrivals}
    return scenario.model_copy(update={"workload": Workload.model_validate(workload)})


def over_the_day(scenario: Scenario, peak_rps: float, hourly: Sequence[float]) -> Scenario:
    """The scenario with a day whose busiest hour has this peak."""
    return at_peak(scenario, peak_rps, Profile(profile=list(hourly)))
