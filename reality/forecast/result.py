"""What a forecast answers; every public field carries its label, unit, formula and help."""

from typing import Annotated, Literal, TypedDict

from reality.result import Interval
from sizing.base.quantity import Result, quantity

ForecastState = Literal["ok", "too_little_history", "no_data", "unreachable", "no_capacity"]
CarriedBy = Literal["deployment", "plan"]
CountedBy = Literal[CarriedBy, "measured"]


class Dates(Result):
    """A moment with the ends of its 80 % interval, UTC; none where it lies beyond what can be foreseen."""

    value: Annotated[str | None, quantity("Value", help="When the expected load gets there.")]
    low: Annotated[str | None, quantity("Earliest", help="When the upper end of the expected load gets there.")]
    high: Annotated[str | None, quantity("Latest", help="When its lower end gets there; none where it never does.")]


class HistoryRead(Result):
    """The history that a forecast rests on."""

    since: Annotated[str, quantity("Since", help="First moment with data, UTC.")]
    until: Annotated[str, quantity("Until", help="Last moment, UTC.")]
    days: Annotated[float, quantity("Days", "days", "until - since", "Length of the history.")]
    step_s: Annotated[
        float, quantity("Step", "s", "the shortest that leaves 3,000 points", "Time that a point is the mean of.")
    ]
    known: Annotated[
        float, quantity("Known", "of 1", "points with data / all points", "Share of the history without gaps.")
    ]
    engine: Annotated[str | None, quantity("Engine", help="Engine whose metrics are read.")]


class ModelScore(Result):
    """How one model would have done."""

    error: Annotated[
        float, quantity("Error", "of the load", "mean absolute error / mean load", "Over all earlier moments.")
    ]
    coverage: Annotated[
        float | None,
        quantity(
            "Held by 80 % intervals",
            "of 1",
            "intervals for each earlier moment from the others alone",
            "Share of the hours that came which lay within.",
        ),
    ]


class BacktestResult(Result):
    """Forecasts from earlier moments of the history, held against what came."""

    origins: Annotated[int, quantity("Earlier moments", "moments", "counted", "From which a forecast was made.")]
    days_ahead: Annotated[
        float, quantity("Days ahead", "days", "of the earliest of them", "How far they looked at most.")
    ]
    fourier_regression: Annotated[ModelScore, quantity("Fourier regression", help="Growth, day and week, robust.")]
    seasonal_naive: Annotated[ModelScore, quantity("Seasonal naive", help="The load of the same hour a week before.")]


class Carries(Result):
    """The largest load within the limits."""

    rps: Annotated[
        float,
        quantity(
            "Largest load within the limits",
            "requests/s",
            "working replicas x requests/s of one, by the plan's engine",
            "As surely as the scenario's confidence asks; as expected, where a diagnosis measured it.",
        ),
    ]
    carried_by: Annotated[
        CountedBy,
        quantity(
            "Carried by",
            help="deployment: the replicas seen; plan: those planned; measured: those seen, by their diagnosis.",
        ),
    ]
    replicas: Annotated[
        int, quantity("Replicas", "replicas", "those seen or planned, without spares", "That carry the load.")
    ]
    per_replica_rps: Annotated[float, quantity("Of one replica", "requests/s", "see the plan", "Within the limits.")]
    confidence: Annotated[
        float | None, quantity("Confidence", "%", "of the scenario", "Chance that it carries as much.")
    ]


class LeadTime(Result):
    """How long what is ordered takes to be there."""

    weeks: Annotated[
        float, quantity("Lead time", "weeks", "the longest published, else by default", "From order to use.")
    ]
    basis: Annotated[Literal["given", "published", "default", "rented"], quantity("Basis", help="Where it comes from.")]
    source: Annotated[str, quantity("Source", help="Of a published one, with its date.")]


class Order(Result):
    """What to add so that the limits hold on."""

    replicas: Annotated[int, quantity("Replicas", "replicas", "ceil(load / load of one) - present ones", "To add.")]
    gpus: Annotated[int, quantity("GPUs", "GPUs", "replicas x GPUs of one", "To add.")]
    gpu: Annotated[str, quantity("GPU", help="Catalogue id.")]
    gpu_name: Annotated[str, quantity("Name of the GPU", help="What it is called, one of the scenario's own, too.")]
    systems: Annotated[int, quantity("Systems", "systems", "ceil(GPUs / GPUs of a system)", "Whole systems to add.")]
    system: Annotated[str, quantity("System", help="Server, rack or cloud instance.")]
    until: Annotated[str, quantity("Enough until", help="Day up to which this carries the load, UTC.")]
    load_rps: Annotated[
        float, quantity("For a load of", "requests/s", "upper end of the expected load until then", "Busiest hour.")
    ]


class Foreseen(Result):
    """The load of one step to come, or of the busiest step of one day, with its 80 % interval."""

    at: Annotated[str, quantity("At", help="Begin of the step, UTC.")]
    value: Annotated[float, quantity("Load", "requests/s", "central forecast", "Mean of the step.")]
    low: Annotated[float, quantity("Low", "requests/s", "80 % interval from the backtest", "Lower end.")]
    high: Annotated[float, quantity("High", "requests/s", "80 % interval from the backtest", "Upper end.")]


class Past(Result):
    """The busiest step of one day that was."""

    at: Annotated[str, quantity("At", help="Begin of the step, UTC.")]
    rps: Annotated[float, quantity("Load", "requests/s", "measured", "Mean of the step.")]


class ForecastBasis(TypedDict):
    """The fields of a forecast that its history and plan decide."""

    state: ForecastState
    history: HistoryRead | None
    method: Literal["fourier_regression", "seasonal_naive"] | None
    backtest: BacktestResult | None
    growth_per_week: Interval | None
    busiest_rps: float | None
    capacity: Carries | None
    days_ahead: float | None
    reaches_limit_at: Dates | None
    lead_time: LeadTime | None
    order_by: str | None
    order: Order | None
    hours: tuple[Foreseen, ...]
    days: tuple[Foreseen, ...]
    past_days: tuple[Past, ...]


def nothing_known(state: ForecastState) -> ForecastBasis:
    """A forecast that foresees nothing."""
    return ForecastBasis(
        state=state,
        history=None,
        method=None,
        backtest=None,
        growth_per_week=None,
        busiest_rps=None,
        capacity=None,
        days_ahead=None,
        reaches_limit_at=None,
        lead_time=None,
        order_by=None,
        order=None,
        hours=(),
        days=(),
        past_days=(),
    )


class Forecast(Result):
    """When the load outgrows what the limits carry."""

    answer: Annotated[str, quantity("Answer", help="The finding in a few sentences.")]
    state: Annotated[
        ForecastState,
        quantity(
            "State", help="ok, or why nothing is foreseen: too_little_history, no_data, unreachable, no_capacity."
        ),
    ]
    reasons: Annotated[tuple[str, ...], quantity("Reasons", help="Why something is not foreseen, and what to do.")]
    notes: Annotated[tuple[str, ...], quantity("Notes", help="What to know about the forecast.")]
    scenario: Annotated[str, quantity("Scenario", help="Name of the scenario.")]
    source: Annotated[str, quantity("Source", help="Name of the source of live data.")]
    at: Annotated[str, quantity("Forecast of", help="Moment from which it looks ahead, UTC.")]
    history: Annotated[HistoryRead | None, quantity("History", help="What was read.")]
    method: Annotated[
        Literal["fourier_regression", "seasonal_naive"] | None,
        quantity("Method", help="The model with the smaller error in the backtest."),
    ]
    backtest: Annotated[BacktestResult | None, quantity("Backtest", help="How both models would have done before.")]
    growth_per_week: Annotated[
        Interval | None,
        quantity(
            "Growth a week", "fraction", "of the regression", "Steady growth, a change of level aside; 80 % interval."
        ),
    ]
    busiest_rps: Annotated[
        float | None,
        quantity("Busiest hour of the last week", "requests/s", "largest mean of a step", "What was carried."),
    ]
    capacity: Annotated[Carries | None, quantity("Capacity", help="What the limits carry.")]
    days_ahead: Annotated[
        float | None,
        quantity("Days foreseen", "days", "3 x days of history, a year at most", "How far this history lets one look."),
    ]
    reaches_limit_at: Annotated[
        Dates | None,
        quantity(
            "Reaches the limit",
            help="When the expected load gets to the capacity; none where not even its upper end does.",
        ),
    ]
    lead_time: Annotated[LeadTime | None, quantity("Lead time", help="How long what is ordered takes.")]
    order_by: Annotated[
        str | None,
        quantity(
            "Order by", help="Day on which to order at the latest: the earliest end of the interval less the lead time."
        ),
    ]
    order: Annotated[Order | None, quantity("Order", help="What to add.")]
    hours: Annotated[
        tuple[Foreseen, ...], quantity("Hours", help="The steps to come, as far ahead as the backtest looked.")
    ]
    days: Annotated[tuple[Foreseen, ...], quantity("Days", help="The busiest step of each day to come.")]
    past_days: Annotated[tuple[Past, ...], quantity("Days before", help="The busiest step of each day of the history.")]
    engine_version: Annotated[str, quantity("Engine version", help="Version of the sizing engine.")]
