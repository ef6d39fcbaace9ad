"""The inputs of a scenario that can be moved: where they stand, and between which values they may lie."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from sizing.catalog import systems
from sizing.decision.keys import Values, values_of, with_values
from sizing.economics.assumptions import DISCOUNT, FOLLOWS, Assumptions, assumptions_for, used_in
from sizing.planning.answered import Answer
from sizing.prices.system_price import system_price
from sizing.scenario.prices import Prices
from sizing.scenario.schema import Scenario

Range = Literal["share", "sources", "natural"]
"""Where a range comes from: a share of the value to both sides, what sources give, or the bounds of the quantity."""

SHARE = 0.2
"""To both sides where no source gives a range. Chosen: because estimates of load and lengths are seldom better."""

SESSIONS = (
    "workload.sessions.turns",
    "workload.sessions.first_prompt_tokens",
    "workload.sessions.user_tokens",
    "workload.sessions.tool_tokens",
    "workload.sessions.answer_tokens",
    "workload.sessions.think_time_s",
    "workload.sessions.tool_time_s",
)
"""Keys of sessions that decide about lengths and hits."""

LOADS = (
    "workload.sessions.sessions_at_once",
    "workload.sessions.sessions_per_hour",
    "workload.users.daily_users",
    "workload.peak_rps",
    "workload.average_rps",
    "workload.batch.documents_per_month",
)
"""Keys of the load, of which a scenario has one: adoption moves it."""

SCALED = (
    *LOADS,
    *SESSIONS,
    "workload.users.requests_per_user",
    "workload.users.peak_to_mean",
    "workload.input_tokens",
    "workload.output_tokens",
    "workload.prefix_cached_tokens",
    "workload.images.per_request",
    "workload.pages",
    "workload.audio_seconds",
    "limits.ttft_ms",
    "limits.itl_ms",
    "limits.e2e_ms",
    "prices.depreciation_years",
    "prices.gpu_hour_usd",
)
"""Keys that are moved by a share."""

NATURAL: Mapping[str, tuple[float, float]] = {"deployment.max_utilization": (0.7, 1.0)}
"""Keys with a range of their own. Chosen: because nobody plans below 70 % of what an instance carries."""


@dataclass(frozen=True, kw_only=True)
class Input:
    """One input: its value, its range, and the scenario keys it sets as multiples of their value.

    ``beside`` are keys that are set with it, whatever its value: what a price is of.
    """

    key: str
    value: float
    low: float
    high: float
    basis: Range
    base: Any
    beside: Values = field(default_factory=dict)

    def moved(self, scenario: Scenario, value: float) -> Scenario | None:
        """The scenario with this input at ``value``; None where that cannot stand beside the others."""
        return with_values(scenario, self.values(value))

    def values(self, value: float) -> Values:
        """What the scenario would say."""
        if isinstance(self.base, dict):  # a length with its percentiles: all of them move
            return {self.key: {name: number * value / self.value for name, number in self.base.items()}}
        return {self.key: value, **self.beside}


def price_input(answer: Answer) -> Input | None:
    """The price of one system that is bought, between what its sources give; None where none is bought or priced.

    A price that the scenario gives, or that is known exactly, is moved by a share.
    """
    scenario, plan, prices = answer.scenario, answer.plan, answer.question.prices
    where, bought = scenario.deployment.location, plan.deployment
    own = where == "on_prem" or (where == "hybrid" and scenario.costs.hybrid_base == "on_prem")
    known = next((one for one in systems().values() if bought is not None and one.name == bought.system), None)
    if not own or known is None or (prices.system_usd is not None and prices.system != known.id):
        return None
    usd = system_price(known, prices).usd
    if usd is None or usd.typical <= 0 or plan.cost is None or plan.cost.system_usd != usd.typical:
        return None  # an accelerator of the scenario's own has a price of its own
    ranged = usd.low < usd.high
    low, high = (usd.low, usd.high) if ranged else (usd.typical * (1.0 - SHARE), usd.typical * (1.0 + SHARE))
    return Input(
        key="prices.system_usd",
        value=usd.typical,
        low=low,
        high=high,
        basis="sources" if ranged else "share",
        base=usd.typical,
        beside={"prices.system": known.id, **_without(prices, known.id)},
    )


def _without(prices: Prices, system: str) -> Values:
    """The price books as keys, without what they say of a system: a price has one place."""
    books = {"listed": prices.listed.systems, "negotiated": prices.negotiated.systems}
    kept = {name: [one for one in book if one.system != system] for name, book in books.items()}
    return {
        f"prices.{name}.systems": [one.model_dump(mode="json") for one in kept[name]]
        for name, book in books.items()
        if len(kept[name]) < len(book)
    }


def inputs_of(scenario: Scenario) -> tuple[Input, ...]:
    """Every input that can be moved: what decides the plan first, then constants of the cost."""
    known = values_of(scenario)
    return (*sizing_inputs(scenario, known), *_cost_inputs(scenario))


def sizing_inputs(scenario: Scenario, known: Mapping[str, Any] | None = None) -> tuple[Input, ...]:
    """The inputs that decide which deployment is planned, those of its cost left out."""
    return tuple(_sizing_inputs(values_of(scenario) if known is None else known))


def _sizing_inputs(known: Mapping[str, Any]) -> Iterator[Input]:
    for key in SCALED:
        base = known.get(key)
        value = _number(base)
        if value is not None and value > 0:
            low, high = value * (1.0 - SHARE), value * (1.0 + SHARE)
            yield Input(key=key, value=value, low=low, high=high, basis="share", base=base)
    for key, (low, high) in NATURAL.items():
        value = float(known[key])
        yield Input(key=key, value=value, low=min(low, value), high=max(high, value), basis="natural", base=value)


def _number(base: Any) -> float | None:
    """The number of a key: itself, or the median of a length given by percentiles; None for anything else."""
    if isinstance(base, dict):
        numbers = all(isinstance(v, int | float) for v in base.values())
        return float(base["p50"]) if numbers and "p50" in base else None
    return float(base) if isinstance(base, int | float) and not isinstance(base, bool) else None


def _cost_inputs(scenario: Scenario) -> Iterator[Input]:
    """Constants of the cost in the chosen way, between what sources give, else a share to both sides."""
    constants = assumptions_for(scenario.costs)
    for name in used_in(scenario.deployment.location, scenario.costs):
        amount = constants[name].amount
        if amount is None or amount.value <= 0 or name == DISCOUNT:  # which moves no cost of a month
            continue
        ranged = amount.low < amount.value or amount.high > amount.value
        low, high = (
            (amount.low, amount.high) if ranged else (amount.value * (1.0 - SHARE), amount.value * (1.0 + SHARE))
        )
        basis: Range = "sources" if ranged else "share"
        held = _held_beside(name, scenario, constants)
        yield Input(
            key=f"costs.{name}", value=amount.value, low=low, high=high, basis=basis, base=amount.value, beside=held
        )


def _held_beside(name: str, scenario: Scenario, constants: Assumptions) -> Values:
    """Constants that would follow this one as soon as a scenario states it, at the values that they have now: without,
    moving the power at work would move the power when idle to the same, and both ends would cost more."""
    if getattr(scenario.costs, name) is not None:
        return {}
    following = (one for one, other in FOLLOWS.items() if other == name and getattr(scenario.costs, one) is None)
    return {f"costs.{one}": constants.amount(one).value for one in following}
