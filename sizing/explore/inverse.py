"""The question the other way round: what given hardware, a budget or power serves, and how far a question can go.

Each answer holds for the best deployment a plan could choose, instances that do both prefill and decode or a pool for
each, by the same load model and limits: it is where the plan's own answer starts to need more than there is.

The largest value that fits is found by growing steps and bisection.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from sizing.base.checks import number_between, whole_number
from sizing.base.errors import SizingError
from sizing.base.format import counted, ms, requests_per_s, significant, usd
from sizing.base.latency_and_cost import Business
from sizing.base.quantity import Result, quantity
from sizing.base.units import HOURS_PER_MONTH, MS_PER_S
from sizing.deployments.layouts import TP_SIZES
from sizing.explore.length_map import on_gpu
from sizing.planning.sentences import LONGER_CONTEXT, beyond_context, systems_named
from sizing.planning.settled import counted_on
from sizing.prices.hardware import HardwareOption, offers_of
from sizing.question.understand import Question, understand
from sizing.queueing.capacity import capacity
from sizing.scenario.bounds import MAX_RPS, MAX_TOKENS
from sizing.scenario.business import in_business_terms
from sizing.scenario.schema import Scenario
from sizing.search.all_deployments import AllDeployments
from sizing.search.drafted import with_drafts
from sizing.search.screen import Evaluated, all_configurations, evaluate, evaluate_all
from sizing.search.serving import fewest_gpus, screened

LimitName = Literal["ttft_ms", "itl_ms", "e2e_ms"]
MAX_FLEET_GPUS, MAX_FLEET_SYSTEMS, MAX_BUDGET_USD, MAX_POWER_KW = 1_000_000, 100_000, 1e12, 1e7
"""GPUs, systems, monthly budget and power at most: more is a typing error."""
TIGHTEST_MS, LOOSEST_MS = 0.01, 1e9
"""Limits between which the tightest is looked for: shorter than any step of an engine, longer than any answer."""
PROMPT_TOLERANCE, LIMIT_TOLERANCE = 0.01, 0.002
"""Relative widths at which a bisection stops. Chosen: because lengths are known to a per cent at best, and an answer
shows three digits of a limit."""
ROOM = 1.0 + 1e-9
"""A budget that equals a price up to rounding pays it."""

Affordable = Callable[[AllDeployments], NDArray[np.bool_]]

RATE_TOLERANCE = 0.002
"""Relative width at which a bisection of the load stops. Chosen: because an answer shows three digits."""
LEAST_RPS = 1e-6
"""Load that any instance carries that can carry anything."""
FIRST_STEP, LARGEST_STEP = 1.1, 2.0
"""Factor of the first step to a larger load, and of the largest: steps grow as long as one is found."""
LAST_STEP = 1e-6
"""Relative step of the last search for a slightly larger load, and the width at which it stops halving."""


class Served(Result):
    """What given hardware serves within the limits, with its best deployment."""

    requests_per_s: Annotated[
        float,
        quantity(
            "Requests/s",
            "requests/s",
            "instances x requests/s per instance; of pools the smaller one's",
            "Load within every limit, spares not counted.",
        ),
    ]
    configuration: Annotated[
        str, quantity("Deployment", help="GPU, engine, precision and parallelism of its instances.")
    ]
    instances: Annotated[
        int,
        quantity(
            "Instances", "instances", "floor(GPUs / GPUs per instance)", "Copies of the model; of pools both kinds."
        ),
    ]
    gpus: Annotated[int, quantity("GPUs", "GPUs", "sum over instances", "GPUs in use, spares not counted.")]
    gpus_given: Annotated[
        int, quantity("GPUs given", "GPUs", "asked, or those of the systems", "GPUs there are to use.")
    ]
    systems: Annotated[
        int, quantity("Systems", "systems", "whole systems", "Systems that are bought or used; 0 when GPUs were given.")
    ]
    business: Annotated[
        Business | None, quantity("In business terms", help="The same in requests, users and tokens a day.")
    ]
    message: Annotated[str, quantity("Finding", help="The answer in one sentence.")]


class Pushed(Result):
    """How far one input can be pushed before nothing fits any more."""

    value: Annotated[
        float | None,
        quantity(
            "Value", formula="bisection over plans", help="Largest or smallest feasible value; none when nothing fits."
        ),
    ]
    unit: Annotated[str, quantity("Unit", help="Unit of the value.")]
    configuration: Annotated[str, quantity("Deployment", help="The deployment that reaches it.")]
    message: Annotated[str, quantity("Finding", help="The answer in one sentence.")]


@dataclass(frozen=True)
class _Best:
    """The deployment at ``place`` among all, and the load it carries."""

    among: AllDeployments
    place: int
    rps: float


def served_by_gpus(scenario: Scenario, gpus: int) -> Served:
    """Largest request rate that ``gpus`` GPUs of one type serve.

    Raises InvalidScenario or SizingError for malformed input.
    """
    given = whole_number("GPUs", gpus, 1, MAX_FLEET_GPUS)
    question, base = _evaluated(scenario)
    best = None if beyond_context(question) else _most(question, base, lambda among: among.gpus <= given)
    return _served(question, best, counted(given, "GPU"), given, many=given > 1)


def served_by_budget(scenario: Scenario, usd_per_month: float) -> Served:
    """Largest request rate that a monthly hardware budget serves: whole systems at list price, USD/h x 730.

    Hardware without a known price is left out. Raises InvalidScenario or SizingError for malformed input.
    """
    budget = number_between("Budget in USD a month", usd_per_month, 0.0, MAX_BUDGET_USD, exclude_low=True)
    question, base = _evaluated(scenario)
    best = None if beyond_context(question) else _most(question, base, _within_budget(budget))
    return _served(question, best, f"{usd(budget)} a month", None)


def served_by_systems(scenario: Scenario, systems: int, system_id: str) -> Served:
    """Largest request rate that ``systems`` servers or racks of one kind serve, which are there already.

    An instance is spread over several of them only where it fits in none. Raises InvalidScenario or SizingError for
    malformed input.
    """
    given = whole_number("Systems", systems, 1, MAX_FLEET_SYSTEMS)
    owned = systems_to_own(scenario).get(system_id)
    if owned is None:
        raise SizingError(f"{system_id} is no system of the GPUs considered.")
    question, base = _evaluated(owning(scenario, owned), system_id)
    best = None if beyond_context(question) else _most(question, base, lambda among: among.systems <= given)
    what = systems_named(given, owned.name)
    return _served(question, best, what[0].upper() + what[1:], given * owned.gpus, many=given > 1)


def served_by_power(scenario: Scenario, kilowatts: float) -> Served:
    """Largest request rate of systems that draw at most so much at their maximum, cooling aside.

    Hardware whose power is not known is left out. Raises InvalidScenario or SizingError for malformed input.
    """
    limit = number_between("Power in kW", kilowatts, 0.0, MAX_POWER_KW, exclude_low=True)
    question, base = _evaluated(scenario)
    best = None if beyond_context(question) else _most(question, base, lambda among: among.power_kw <= limit * ROOM)
    return _served(question, best, f"{significant(limit)} kW", None)


def systems_to_own(scenario: Scenario) -> dict[str, HardwareOption]:
    """The servers and racks that the considered GPUs come in, by id, whether the scenario buys or rents."""
    question = understand(_on_premises(scenario))
    return {option.id: option for gpu in question.gpus for option in offers_of(question, gpu)}


def owning(scenario: Scenario, owned: HardwareOption) -> Scenario:
    """The scenario on these systems, no layer of the model split over two of them."""
    scenario = on_gpu(_on_premises(scenario), owned.gpu_id)
    sizes = scenario.deployment.tp
    inside = [one for one in sizes or TP_SIZES if one <= owned.gpus]
    if not inside:
        raise SizingError(f"{owned.name} has {counted(owned.gpus, 'GPU')}: no TP of the scenario fits.")
    deployment = scenario.deployment.model_copy(update={"tp": inside})
    return scenario.model_copy(update={"deployment": deployment})


def _on_premises(scenario: Scenario) -> Scenario:
    deployment = scenario.deployment.model_copy(update={"location": "on_prem"})
    return scenario.model_copy(update={"deployment": deployment})


def longest_prompt(scenario: Scenario, gpus: int) -> Pushed:
    """Longest mean prompt in tokens with which ``gpus`` GPUs still carry the asked peak within the limits.

    Bisection: capacity falls with prompt length. The context window of the model bounds it where known.
    """
    given = whole_number("GPUs", gpus, 1, MAX_FLEET_GPUS)
    question = counted_on(understand(scenario))
    window = question.model.max_context or MAX_TOKENS
    top = min(window - question.traffic.output_tokens, MAX_TOKENS)

    def fits(tokens: float, plain: bool) -> str | None:
        longer = replace(question, traffic=replace(question.traffic, input_tokens=tokens))
        return _carrying(longer, with_drafts(longer, evaluate(longer, all_configurations(longer))), given, plain)

    low, label = farthest(fits, question.traffic.cached_tokens + 1.0, top, PROMPT_TOLERANCE)
    if low is None:
        return _nowhere("tokens", f"{counted(given, 'GPU')} cannot carry the peak at any prompt length.")
    carrying = f"{counted(given, 'GPU')} {'carry' if given > 1 else 'carries'}"
    limited = " (the context window)" if low >= top * (1 - PROMPT_TOLERANCE) else ""
    return Pushed(
        value=float(int(low)),
        unit="tokens",
        configuration=label,
        message=f"{carrying} the peak with prompts of up to {int(low):,} tokens{limited}, by estimate.",
    )


def tightest_limit(scenario: Scenario, limit: LimitName, gpus: int) -> Pushed:
    """Smallest value of one limit at which ``gpus`` GPUs still carry the asked peak, the other limits unchanged."""
    given = whole_number("GPUs", gpus, 1, MAX_FLEET_GPUS)
    if limit not in ("ttft_ms", "itl_ms", "e2e_ms"):
        raise SizingError(f"There is no limit {limit!r}: choose ttft_ms, itl_ms or e2e_ms.")
    question, base = _evaluated(scenario)
    if beyond := beyond_context(question):
        return _nowhere("ms", f"{beyond} {LONGER_CONTEXT}")

    def fits(reciprocal: float, plain: bool) -> str | None:
        seconds = 1.0 / reciprocal / MS_PER_S
        tighter = replace(question, limits=replace(question.limits, **{limit.replace("_ms", "_s"): seconds}))
        return _carrying(tighter, _held_to(tighter, base), given, plain)

    reciprocal, label = farthest(fits, 1.0 / LOOSEST_MS, 1.0 / TIGHTEST_MS, LIMIT_TOLERANCE)
    name = limit.removesuffix("_ms").upper()
    if reciprocal is None:
        return _nowhere("ms", f"{counted(given, 'GPU')} cannot carry the peak, however loose the {name} limit.")
    carrying = f"{counted(given, 'GPU')} {'carry' if given > 1 else 'carries'}"
    p, value = f"p{question.limits.percentile:g}", 1.0 / reciprocal
    return Pushed(
        value=value,
        unit="ms",
        configuration=label,
        message=f"{carrying} the peak with {p} {name} down to {ms(value)}, by estimate.",
    )


def _nowhere(unit: str, message: str) -> Pushed:
    """Where nothing fits, at any value."""
    return Pushed(value=None, unit=unit, configuration="", message=message)


def _evaluated(scenario: Scenario, system: str | None = None) -> tuple[Question, Evaluated]:
    question = replace(counted_on(understand(scenario)), system=system)
    return question, with_drafts(question, evaluate_all(question))


def _held_to(question: Question, base: Evaluated) -> Evaluated:
    """The same candidates under the limits of ``question``, which change no latency, only what is within them."""
    deployment = question.scenario.deployment
    return replace(base, capacity=capacity(base.state, base.latencies, question.limits, deployment.max_utilization))


def _within_budget(usd_per_month: float) -> Affordable:
    return lambda among: among.usd_per_hour * HOURS_PER_MONTH <= usd_per_month * ROOM


def _carrying(question: Question, base: Evaluated, gpus: int, plain: bool) -> str | None:
    """The deployment with the fewest GPUs that carries the peak on at most ``gpus``; None when there is none."""
    fewest = fewest_gpus(question, base, plain=plain)
    return fewest[1] if fewest is not None and fewest[0] <= gpus else None


def _most(question: Question, base: Evaluated, affordable: Affordable) -> _Best | None:
    """The largest load that an affordable deployment carries: first without caps and pools, then with all there is."""

    def at(rps: float, plain: bool) -> _Best | None:
        asked_rate = replace(question, demand=replace(question.demand, peak_rps=rps, sustained_rps=rps))
        among = screened(asked_rate, base, plain=plain).deployments
        rates = np.where(affordable(among), among.max_rps, 0.0)
        if not len(rates) or rates.max() <= 0.0:
            return None
        best = int(np.lexsort((among.gpus, -rates))[0])
        return _Best(among, best, float(rates[best]))

    alike = largest_load(lambda rps: at(rps, True), None)
    return largest_load(lambda rps: at(rps, False), alike)


def _served(question: Question, best: _Best | None, what: str, gpus: int | None, *, many: bool = False) -> Served:
    if best is None:
        return Served(
            requests_per_s=0.0,
            configuration="",
            instances=0,
            gpus=0,
            gpus_given=gpus or 0,
            systems=0,
            business=None,
            message=f"{beyond} {LONGER_CONTEXT}"
            if (beyond := beyond_context(question))
            else f"{what} cannot serve this scenario: one instance does not fit, or a limit is out of reach.",
        )
    rps, one = best.rps, best.among[best.place]
    working, kinds = one.kind.working(one.k), one.kind.configurations(one.k)
    traffic = question.traffic
    serve = "serve" if many else "serves"
    terms = (rps, traffic.input_tokens, traffic.output_tokens, question.demand)
    return Served(
        requests_per_s=rps,
        configuration=one.label,
        instances=sum(working),
        gpus=sum(instances * row.gpus for instances, row in zip(working, kinds, strict=True)),
        gpus_given=int(one.kind.gpus_bought[one.k]) if gpus is None else gpus,
        systems=one.systems if gpus is None or question.system else 0,
        business=in_business_terms(*terms) if rps <= MAX_RPS else None,  # beyond any load the engine is asked for
        message=f"{what} {serve} up to {requests_per_s(rps)} within the limits, by estimate: "
        f"{one.kind.in_words(one.k)}.",
    )


class CarriesLoad(Protocol):
    """A deployment of either kind, as far as the load that it carries goes."""

    @property
    def rps(self) -> float:
        """The load in requests/s."""
        ...


Carrier = TypeVar("Carrier", bound=CarriesLoad)


def largest_load(at: Callable[[float], Carrier | None], start: Carrier | None) -> Carrier | None:
    """The largest load that ``at`` finds a deployment for, from ``start`` upwards: growing steps, then bisection.

    A deployment that is found carries more than was asked for, up to its own limits: the search goes on from there, and
    mostly ends where a slightly larger load finds none. Where each finds one that carries hardly more, the gap below
    the smallest load without a deployment is halved until it is no wider than :data:`LAST_STEP`.
    """
    best = at(LEAST_RPS if start is None else start.rps * (1.0 + RATE_TOLERANCE))
    if best is None:
        return start
    beyond, step = np.inf, FIRST_STEP
    while beyond > best.rps * (1.0 + RATE_TOLERANCE):
        tried = step * best.rps if np.isinf(beyond) else float(np.sqrt(best.rps * beyond))
        larger = at(tried)
        best, beyond, step = (best, tried, step) if larger is None else (larger, beyond, min(step**2, LARGEST_STEP))
    while beyond > best.rps * (1.0 + LAST_STEP) and (larger := at(best.rps * (1.0 + LAST_STEP))) is not None:
        best = larger
        if beyond > best.rps:
            middle = float(np.sqrt(best.rps * beyond))
            larger = at(middle)
            best, beyond = (best, middle) if larger is None else (larger, beyond)
    return best


def farthest(
    fits: Callable[[float, bool], str | None], low: float, high: float, tolerance: float
) -> tuple[float | None, str]:
    """Largest value in [low, high] that fits, to a relative tolerance, and what fits it; None if ``low`` fails.

    ``fits`` is asked without caps and pools (True) as long as these can, then with all there is (False).
    """
    plain, label = _bisect(lambda value: fits(value, True), low, high, tolerance)
    start = low if plain is None else min(plain * (1.0 + tolerance), high)
    farther, other = _bisect(lambda value: fits(value, False), start, high, tolerance)
    return (plain, label) if farther is None else (farther, other)


def _bisect(fits: Callable[[float], str | None], low: float, high: float, tolerance: float) -> tuple[float | None, str]:
    """Largest value in [low, high] that fits, to a relative tolerance, and what fits it; None if ``low`` fails."""
    label = fits(low)
    if high < low or label is None:
        return None, ""
    top = fits(high)
    if top is not None:
        return high, top
    while high - low > tolerance * high:
        middle = (low * high) ** 0.5
        inside = fits(middle)
        low, high, label = (middle, high, inside) if inside is not None else (low, middle, label)
    return low, label
