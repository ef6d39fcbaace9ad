"""A share of the requests sent elsewhere: to a smaller model with a plan of its own, or to an API."""

from sizing.base.errors import InvalidScenario
from sizing.economics.api import api, token_prices
from sizing.economics.views import View, without_cost
from sizing.economics.ways import Ways, ways_of
from sizing.planning.answered import Answer, Planner
from sizing.scenario.costs import RoutedShare
from sizing.scenario.day_profile import at_peak


def blended(ways: Ways, planner: Planner | None) -> View | None:
    """What a month costs when the scenario's share of requests goes elsewhere; None where it sends none.

    This model keeps the instances that the rest of the load needs, in the way that the scenario chose. Raises
    InvalidScenario where nothing serves the smaller model.
    """
    routing = ways.question.scenario.costs.routing
    if routing is None:
        return None
    share = routing.percent / 100.0
    kept = ways.by_name[ways.chosen](1.0 - share)
    sent = _elsewhere(ways, routing, share, planner)
    for view in (kept, sent):
        if view.unavailable is not None:
            return without_cost("blended", view.unavailable)
    return View(
        name="blended",
        parts={"this_model": kept.usd_per_month, "routed": sent.usd_per_month},
        system=f"{kept.system} and {sent.system}",
        sources=(*kept.sources, *sent.sources),
    )


def _elsewhere(ways: Ways, routing: RoutedShare, share: float, planner: Planner | None) -> View:
    if routing.api is not None:
        return api(token_prices(routing.api, ways.question.model, ways.month, ways.on), ways.month.times(share))
    scenario = ways.question.scenario
    smaller = at_peak(scenario, ways.fleet.peak_rps * share, scenario.workload.arrivals).model_copy(
        update={
            "model": routing.model,
            "measured": None,
            "benchmark": None,
            "costs": scenario.costs.model_copy(update={"routing": None}),
            "deployment": scenario.deployment.model_copy(update={"mixed": 1}),
        }
    )
    try:
        others = ways_of(Answer.of(smaller, planner), on=ways.on)
    except InvalidScenario as invalid:
        key = "costs.routing.model"
        problems = [f"{key}: {problem}" for problem in invalid.problems]
        raise InvalidScenario(problems, [key] * len(problems)) from None
    return others.by_name[others.chosen](1.0)
