"""What the Cost page computes, once for everybody: keyed by the scenario with its constants of cost."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

import streamlit as st

from sizing.decision.flips import Flip, flips
from sizing.decision.heat_map import TwoInputs, two_inputs
from sizing.decision.outcome import Answers, Progress
from sizing.decision.promises import Promise, promises
from sizing.decision.tornado import Tornado, tornado
from sizing.economics.cost import cost
from sizing.economics.curves import OverLoad, over_load, over_months
from sizing.economics.results import CostAnswer
from sizing.economics.views import ViewName
from sizing.economics.ways import Ways, ways_of
from sizing.question.understand import understand
from sizing.scenario.costs import Costs
from sizing.scenario.schema import Scenario
from ui.state import plan_of

_kept = st.cache_resource(max_entries=32, ttl="6h", show_spinner=False)


def _scenario(scenario_json: str, costs_json: str) -> Scenario:
    """The scenario of the form with what the page says about money."""
    return Scenario.model_validate_json(scenario_json).model_copy(
        update={"costs": Costs.model_validate_json(costs_json)}
    )


@_kept
def cost_of(scenario_json: str, costs_json: str, on: date) -> CostAnswer:
    """The cost of the plan, the age of prices counted on a day. Raises InvalidScenario."""
    return cost(_scenario(scenario_json, costs_json), plan=plan_of(scenario_json), on=on)


def _ways(scenario_json: str, costs_json: str) -> Ways:
    return ways_of(understand(_scenario(scenario_json, costs_json)), plan_of(scenario_json))


@_kept
def months_of(scenario_json: str, costs_json: str) -> Mapping[ViewName, tuple[float, ...]]:
    """36 months of every way. Raises InvalidScenario."""
    return over_months(_ways(scenario_json, costs_json))


@_kept
def load_of(scenario_json: str, costs_json: str) -> OverLoad:
    """The cost over the load. Raises InvalidScenario."""
    return over_load(_ways(scenario_json, costs_json))


def _answers(scenario_json: str, costs_json: str) -> tuple[Scenario, Answers]:
    scenario, answers = _scenario(scenario_json, costs_json), _plans(scenario_json)
    answers.knows(scenario, plan_of(scenario_json))
    return scenario, answers


@_kept
def _plans(scenario_json: str) -> Answers:
    """Plans of the moved inputs, which constants of cost do not change."""
    return Answers()


@_kept
def tornado_of(scenario_json: str, costs_json: str, _progress: Progress) -> Tornado:
    """Every input moved alone. Raises InvalidScenario."""
    scenario, answers = _answers(scenario_json, costs_json)
    return tornado(scenario, answers, _progress)


@_kept
def flips_of(scenario_json: str, costs_json: str, _progress: Progress) -> tuple[Flip, ...]:
    """What flips the answer. Raises InvalidScenario."""
    scenario, answers = _answers(scenario_json, costs_json)
    return flips(scenario, answers, _progress).nearest


@_kept
def promises_of(scenario_json: str, costs_json: str) -> tuple[Promise, ...]:
    """What each promise costs. Raises InvalidScenario."""
    return promises(*_answers(scenario_json, costs_json))


@_kept
def two_inputs_of(scenario_json: str, costs_json: str, x: str, y: str, _progress: Progress) -> TwoInputs:
    """Two inputs moved together. Raises SizingError."""
    scenario, answers = _answers(scenario_json, costs_json)
    return two_inputs(scenario, x, y, answers, _progress)
