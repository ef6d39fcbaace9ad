"""A forecast in sentences, and as text for a terminal."""

from reality.forecast.foresee import AHEAD, LEAST_DAYS, LEAST_KNOWN, seconds
from reality.forecast.result import Dates, Forecast, LeadTime
from sizing.base.format import percent, requests_per_s, significant, with_noun
from sizing.base.units import S_PER_DAY, S_PER_HOUR, S_PER_MINUTE

METHODS = {
    "fourier_regression": "growth with day and week (robust Fourier regression)",
    "seasonal_naive": "the same hour a week before (seasonal naive)",
}
"""What each model of the load is called in sentences."""
BASES = {
    "given": "as given",
    "published": "the longest published",
    "default": "assumed, as none is published",
    "rented": "assumed for rented GPUs",
}
"""Where a lead time comes from, in words."""


def reasons(forecast: Forecast) -> tuple[str, ...]:
    """Why nothing is foreseen, and what to do."""
    read = forecast.history
    if forecast.state == "no_data":
        return (
            "There is no history of arrivals at this source: check its selector and engine, and whether the deployment "
            "reports now.",
        )
    if forecast.state == "no_capacity":
        return ("The plan deploys nothing within the limits, so that there is no load to be reached.",)
    if forecast.state != "too_little_history" or read is None:
        return ()
    if read.days < LEAST_DAYS:
        return (
            f"The history holds {_span(read.days)}; day and week are seen from {LEAST_DAYS:.0f} days on. Ask again in "
            f"{_span(LEAST_DAYS - read.days)}, or look further back; a source that keeps its samples for less than "
            f"{LEAST_DAYS:.0f} days has to keep them longer first.",
        )
    if read.known < LEAST_KNOWN:
        return (
            f"Of the history {percent(read.known)} is known; a forecast needs {percent(LEAST_KNOWN)}. Ask for another "
            "range, or repair what scrapes the deployment.",
        )
    return ("No request arrived in all of the history.",)


def _span(days: float) -> str:
    """A time in the unit in which it is a number from 1 on: "45 minutes", "1 hour", "13 days"."""
    for unit, seconds_of in (("day", S_PER_DAY), ("hour", S_PER_HOUR), ("minute", S_PER_MINUTE)):
        number = days * S_PER_DAY / seconds_of
        if number >= 1.0 or unit == "minute":
            text = significant(number, 2)
            return f"{text} {unit}{'' if text == '1' else 's'}"
    raise AssertionError("minutes take every time")


def notes(forecast: Forecast) -> tuple[str, ...]:
    """What to know about a forecast."""
    read, tried = forecast.history, forecast.backtest
    if read is None or tried is None or forecast.method is None:
        return ()
    hours = read.step_s / S_PER_HOUR
    step = "an hour" if hours == 1.0 else f"{hours:g} hours"
    other = tried.seasonal_naive if forecast.method == "fourier_regression" else tried.fourier_regression
    used = tried.fourier_regression if forecast.method == "fourier_regression" else tried.seasonal_naive
    known = f", of which {percent(read.known)} is known" if read.known < 1.0 else ""
    return (
        f"From {significant(read.days)} days of history{known}, each point the mean of {step}: within it the load may "
        "be higher.",
        f"Used: {METHODS[forecast.method]}; in {tried.origins} forecasts of the past it was off by "
        f"{percent(used.error)} of the load, the other model by {percent(other.error)}.",
        f"Beyond {significant(tried.days_ahead, 2)} days the intervals are continued, not tried; nothing is foreseen "
        f"beyond {AHEAD:.0f} times the history, or a year. Days and weeks are those of UTC.",
    )


def answer(forecast: Forecast) -> str:
    """The finding in a few sentences."""
    carried = forecast.capacity
    if forecast.state == "unreachable":
        return f"No forecast: {forecast.source} cannot be read. {' '.join(forecast.reasons)}"
    if forecast.state != "ok" or carried is None:
        return f"No forecast. {' '.join(forecast.reasons)}"
    replicas = f"{carried.replicas} replica{'s' if carried.replicas != 1 else ''}"
    whose = "planned" if carried.carried_by == "plan" else "present"
    measured = ", as measured" if carried.carried_by == "measured" else ""
    limit = f"{requests_per_s(carried.rps)} that the {whose} {replicas} carry within the limits{measured}"
    load = f"The busiest hour of the last week had {requests_per_s(forecast.busiest_rps)}{_growing(forecast)}."
    dates = forecast.reaches_limit_at
    if dates is None:
        return f"{load} It stays below the {limit}, as far as is foreseen ({_ahead(forecast)}).{_longer(forecast)}"
    return f"{load} {_reaching(forecast, dates, limit)} {_ordering(forecast)}"


def _growing(forecast: Forecast) -> str:
    growth = forecast.growth_per_week
    if growth is None or growth.value is None or growth.low is None or growth.high is None:
        return ", without a growth that can be told from chance"
    if growth.low <= 0.0 <= growth.high:
        return f", and growth cannot be told from none ({percent(growth.low)} to {percent(growth.high)} a week)"
    return f", and grows by {percent(growth.value)} a week ({percent(growth.low)} to {percent(growth.high)})"


def _ahead(forecast: Forecast) -> str:
    return with_noun(significant(forecast.days_ahead, 2), "day")


def _longer(forecast: Forecast) -> str:
    """What a delivery that takes longer than is foreseen means."""
    lead = forecast.lead_time
    if lead is None or forecast.days_ahead is None or lead.weeks * 7.0 <= forecast.days_ahead:
        return ""
    return (
        f" Delivery takes up to {lead.weeks:g} weeks ({BASES[lead.basis]}), longer than that: a longer history "
        "looks further."
    )


def _reaching(forecast: Forecast, dates: Dates, limit: str) -> str:
    if dates.value == dates.low == dates.high:
        return f"It has reached the {limit} already."
    if dates.value is None:
        return (
            f"As expected it stays below the {limit} ({_ahead(forecast)} foreseen); at the upper end of the 80 % "
            f"interval it gets there on {day(dates.low)}."
        )
    late = f"to {day(dates.high)}" if dates.high else "on, or not at all as far as is foreseen"
    return f"It reaches the {limit} on {day(dates.value)} (80 % interval: {day(dates.low)} {late})."


def _ordering(forecast: Forecast) -> str:
    order, lead = forecast.order, forecast.lead_time
    if order is None or lead is None or forecast.order_by is None:
        return ""
    late = seconds(f"{forecast.order_by}T00:00:00Z") < seconds(forecast.at) - S_PER_DAY
    when = f"now (it would have been due on {forecast.order_by})" if late else f"by {forecast.order_by}"
    what = f"{order.replicas} more replica{'s' if order.replicas != 1 else ''}"
    return (
        f"Order {what} ({order.gpus} x {order.gpu_name} in {order.systems} x {order.system}) {when}: "
        f"{lead_in_words(lead)}. That is enough until {order.until}, for {requests_per_s(order.load_rps)}."
    )


def lead_in_words(lead: LeadTime) -> str:
    """ "delivery takes up to 52 weeks (the longest published)"."""
    return f"delivery takes up to {lead.weeks:g} weeks ({BASES[lead.basis]})"


def day(at: str | None) -> str:
    """The day of a moment."""
    return (at or "")[:10]


def as_text(forecast: Forecast) -> str:
    """The forecast for a terminal: the finding, and what it rests on."""
    lines = [forecast.answer, ""]
    lines += [f"{forecast.scenario} against {forecast.source}, at {forecast.at}"]
    if forecast.lead_time is not None and forecast.lead_time.source:
        lines.append(f"Delivery      {forecast.lead_time.source}")
    lines += [f"Note: {text}" for text in forecast.notes]
    if forecast.days:
        lines += ["", f"{'Day':10} {'busiest hour, requests/s':>26} {'80 % interval':>24}"]
        weekly = forecast.days[::7]
        lines += [
            f"{day(one.at):10} {significant(one.value):>26} {significant(one.low):>11} to {significant(one.high):<9}"
            for one in weekly
        ]
    return "\n".join(lines)
