"""What the Cost page computes, once for everybody: keyed by the scenario with its constants of cost."""

from collections.abc import Mapping
from datetime import date
from typing import Any

import streamlit as st

from sizing.decision.flips import Flip, flips
from sizing.decision.outcome import Answers, Progress
from sizing.decision.promises import Promise, promises
from sizing.decision.tornado import Tornado, TwoInputs, tornado, two_inputs
from sizing.economics.cost import cost
from sizing.economics.curves import OverLoad, over_load, over_months
from sizing.economics.mix import ways_of_answer
from sizing.economics.results import CostAnswer
from sizing.economics.views import BaseWay
from sizing.economics.ways import Ways
from sizing.planning.answered import Answer
from sizing.scenario.costs import Costs
from sizing.scenario.schema import Scenario
from ui.shell.progress import Held
from ui.state import answer_of
from ui.work.plans import brief_plan

_kept = st.cache_resource(max_entries=32, ttl="6h", show_spinner=False)


@_kept
def _held(key: tuple[str, ...]) -> Held[Any]:
    """The place in which the result of one computation is held, by its key."""
    return Held()


def _answer(scenario_json: str, costs_json: str) -> Answer:
    """The plan of the scenario at what the page says about money."""
    return answer_of(scenario_json).at_costs(Costs.model_validate_json(costs_json))


@_kept
def cost_of(scenario_json: str, costs_json: str, on: date) -> CostAnswer:
    """The cost of the plan, the age of prices counted on a day. Raises InvalidScenario."""
    return cost(_answer(scenario_json, costs_json), planner=brief_plan, on=on)


def _ways(scenario_json: str, costs_json: str, on: date) -> Ways:
    return ways_of_answer(_answer(scenario_json, costs_json), on=on)


@_kept
def months_of(scenario_json: str, costs_json: str, on: date) -> Mapping[BaseWay, tuple[float, ...]]:
    """36 months of every way, at the offers of a day. Raises InvalidScenario."""
    return over_months(_ways(scenario_json, costs_json, on))


@_kept
def load_of(scenario_json: str, costs_json: str, on: date) -> OverLoad:
    """The cost over the load, at the offers of a day. Raises InvalidScenario."""
    return over_load(_ways(scenario_json, costs_json, on))


def _answers(scenario_json: str, costs_json: str) -> tuple[Scenario, Answers]:
    answer, answers = _answer(scenario_json, costs_json), _plans(scenario_json)
    answers.knows(answer)
    return answer.scenario, answers


@_kept
def _plans(scenario_json: str) -> Answers:
    """Plans of the moved inputs, which constants of cost do not change."""
    return Answers(brief_plan)


def tornado_of(scenario_json: str, costs_json: str, progress: Progress, *, keep_hardware: bool) -> Tornado:
    """Every input moved alone, on the plan's hardware or on any. Raises InvalidScenario."""
    held: Held[Tornado] = _held(("tornado", scenario_json, costs_json, str(keep_hardware)))
    return held.computed(lambda: tornado(*_answers(scenario_json, costs_json), progress, keep_hardware=keep_hardware))


def flips_of(scenario_json: str, costs_json: str, progress: Progress) -> tuple[Flip, ...]:
    """What flips the answer. Raises InvalidScenario."""
    held: Held[tuple[Flip, ...]] = _held(("flips", scenario_json, costs_json))
    return held.computed(lambda: flips(*_answers(scenario_json, costs_json), progress).nearest)


@_kept
def promises_of(scenario_json: str, costs_json: str) -> tuple[Promise, ...]:
    """What each promise costs. Raises InvalidScenario."""
    return promises(*_answers(scenario_json, costs_json))


def two_inputs_of(scenario_json: str, costs_json: str, x: str, y: str, progress: Progress) -> TwoInputs:
    """Two inputs moved together. Raises SizingError."""
    scenario, answers = _answers(scenario_json, costs_json)
    held: Held[TwoInputs] = _held(("two", scenario_json, costs_json, x, y))
    return held.computed(lambda: two_inputs(scenario, x, y, answers, progress))
