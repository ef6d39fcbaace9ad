"""What of the money in a scenario and its plan a reader may see: all of it, what lists say, or nothing."""

from dataclasses import replace

from sharing.form.cost_words import COST_CHOICES
from sharing.report.content import Released
from sizing.base.latency_and_cost import Cost
from sizing.base.result import Plan
from sizing.planning.answered import Answer, Planner
from sizing.question.understand import understand
from sizing.scenario.costs import ApiChoice, Costs
from sizing.scenario.prices import Prices
from sizing.scenario.schema import Scenario

CHOICES = tuple(COST_CHOICES.values())
"""Keys of ``costs`` that choose what is paid for, and say nothing of what it costs."""

ABOUT_MONEY = frozenset(
    {
        *("price_unknown", "price_by_rule", "price_basis", "hybrid_as_on_prem"),
        *("costly_limit_ttft", "costly_limit_itl", "costly_limit_e2e"),
    }
)
"""Codes of the warnings that speak of prices."""


def has_own_prices(scenario: Scenario) -> bool:
    """Whether a price, discount or constant of cost was typed that a list says otherwise."""
    listed = at_list_prices(scenario)
    return scenario.prices.private or (listed.costs, listed.deployment) != (scenario.costs, scenario.deployment)


def at_list_prices(scenario: Scenario) -> Scenario:
    """The scenario with nothing but list prices, those of its price book too: typed and negotiated ones, discounts and
    constants of cost left out."""
    prices = scenario.prices.without_private()
    costs = Costs.model_validate(
        scenario.costs.model_dump(include=set(CHOICES))
        | {"api": _listed(scenario.costs.api), "routing": _routing(scenario.costs)}
    )
    return scenario.model_copy(update={"prices": prices, "costs": costs, "deployment": _unpriced_gpus(scenario)})


def _listed(choice: ApiChoice) -> ApiChoice:
    return ApiChoice(provider=choice.provider, model=choice.model)


def _routing(costs: Costs) -> object:
    """Where requests are sent elsewhere, without the price of that."""
    routed = costs.routing
    return routed and routed.model_copy(update={"api": routed.api and _listed(routed.api)})


def _unpriced_gpus(scenario: Scenario) -> object:
    gpus = [gpu.model_copy(update={"price_usd": None}) for gpu in scenario.deployment.custom_gpus]
    return scenario.deployment.model_copy(update={"custom_gpus": gpus})


def as_released(answer: Answer, released: Released, planner: Planner | None = None) -> Answer:
    """The answer with the money that is released; planned again where the scenario has prices that lists do not.

    Raises InvalidScenario where the scenario cannot be planned without its own prices.
    """
    if released is Released.OWN_PRICES:
        return answer
    listed = at_list_prices(answer.scenario)
    if released is Released.NOTHING:
        bare = listed.model_copy(update={"prices": Prices(), "costs": Costs()})
        return _beside(bare, without_money(answer.plan))
    return Answer.of(listed, planner) if has_own_prices(answer.scenario) else _beside(listed, answer.plan)


def _beside(scenario: Scenario, plan: Plan) -> Answer:
    """The plan as the answer to the scenario that its reader sees, which lacks prices the plan was made with."""
    return Answer(understand(scenario), plan.marked(replace(plan.made_for, scenario=scenario)))


def without_money(plan: Plan) -> Plan:
    """The plan without any amount, price, or sentence about them; power stays."""
    sentences = tuple(one for one in plan.sentences if one.about != "cost")
    of_cost = {field.alias or name for name, field in Cost.model_fields.items()}
    unpriced = {"hardware_usd_per_month": None}
    return plan.model_copy(
        update={
            "answer": " ".join(one.text for one in sentences),
            "sentences": sentences,
            "cost": plan.cost and _power_alone(plan.cost),
            "warnings": tuple(one for one in plan.warnings if one.code not in ABOUT_MONEY),
            "proposals": tuple(one.model_copy(update=unpriced) for one in plan.proposals),
            "alternatives": tuple(one.model_copy(update=unpriced) for one in plan.alternatives),
            "trade_off": tuple(one.model_copy(update=unpriced) for one in plan.trade_off),
            "pipeline": plan.pipeline and plan.pipeline.without_money(),
            "mixed": plan.mixed and plan.mixed.without_money(),
            "explained": tuple(one for one in plan.explained if one.name not in of_cost),
        }
    )


def _power_alone(cost: Cost) -> Cost:
    return Cost(
        basis="",
        system_usd=None,
        purchase_usd=None,
        usd_per_hour=None,
        hardware_usd_per_month=None,
        hardware_usd_per_month_low=None,
        hardware_usd_per_month_high=None,
        usd_per_million_output_tokens=None,
        usd_per_million_output_tokens_at_full_load=None,
        power_kw=cost.power_kw,
        power_from=cost.power_from,
        source="",
    )
