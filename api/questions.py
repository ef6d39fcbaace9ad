"""Questions of programs, read and answered as the command line does it. No name in a question opens a file."""

from collections.abc import Mapping, Sequence
from datetime import date
from http import HTTPStatus
from typing import Any

from api.problems import RequestRefused, faults_of
from commandline.foreign_text import shown
from sharing.document import read_document
from sizing.base.errors import InvalidScenario, SizingError
from sizing.base.result import Plan
from sizing.decision.comparison import MOST_COMPARED, Comparison, compare
from sizing.decision.optimised import Optimised, optimised
from sizing.economics.cost import cost
from sizing.economics.results import CostAnswer
from sizing.evidence.point_file import points_in, points_text
from sizing.evidence.points import REQUIRED
from sizing.evidence.predict import predict_points
from sizing.planning.analytic import ALTERNATIVES, analytic_plan
from sizing.planning.plan import plan
from sizing.question.understand import understand
from sizing.scenario.file import parse, scenario_from
from sizing.scenario.schema import Scenario

NAME = "scenario"
"""What sentences call a question that has no file name."""


def planned(content: bytes, *, alternatives: int | None, analytic: bool, second_opinion: bool) -> Plan:
    """The answer of ``python -m sizing plan`` to the text of a scenario file. Raises SizingError."""
    return plan_of(read_document(content, NAME), alternatives, analytic=analytic, second_opinion=second_opinion)


def plan_of(
    scenario: Scenario, alternatives: int | None = None, *, analytic: bool = False, second_opinion: bool = False
) -> Plan:
    """The plan of a scenario, with as many alternatives as pages show where none are asked for. Raises SizingError."""
    planner = analytic_plan if analytic else plan
    shown = ALTERNATIVES if alternatives is None else alternatives
    return planner(scenario, alternatives=shown, second_opinion=second_opinion)


def priced(content: bytes, *, analytic: bool, on: date | None) -> CostAnswer:
    """The answer of ``python -m sizing cost`` to the text of a scenario file. Raises SizingError."""
    return cost(read_document(content, NAME), planner=analytic_plan if analytic else plan, on=on)


def levers_of(content: bytes, *, analytic: bool) -> Optimised:
    """The answer of ``python -m sizing levers`` to the text of a scenario file. Raises SizingError."""
    return optimised(read_document(content, NAME), analytic_plan if analytic else None)


def predicted(content: bytes) -> str:
    """The table that ``python -m sizing predict`` writes for a CSV of configurations. Raises InvalidPoints."""
    return points_text(predict_points(points_in(content, "table", REQUIRED)))


def compared(content: bytes) -> Comparison:
    """The answer of ``python -m sizing compare`` for ``scenarios: []``. Raises SizingError; Refused for one of them."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidScenario([f"{NAME} is not a text file in UTF-8."]) from None
    keys = parse(text, "request", such_as="scenarios")
    given = keys.get("scenarios")
    if not isinstance(given, list):
        raise InvalidScenario.at("scenarios", f"must be a list of two to {MOST_COMPARED} scenarios.")
    unknown = [shown(str(key)) for key in keys if key != "scenarios"]
    if unknown:
        raise InvalidScenario([f"{key}: unknown key. A comparison has scenarios alone." for key in unknown], unknown)
    return comparison_of(given)


def comparison_of(given: Sequence[Any]) -> Comparison:
    """Scenarios, each as the keys of a file, side by side. Raises SizingError, Refused for one of them."""
    return compare([_scenario(raw, f"scenarios.{n}") for n, raw in enumerate(given[: MOST_COMPARED + 1])])


def _scenario(raw: object, path: str) -> Scenario:
    """One of several scenarios, with what is wrong with it said of its place."""
    try:
        if not isinstance(raw, Mapping):
            raise InvalidScenario([f"{NAME} must hold keys such as model and workload."])
        scenario = scenario_from(raw)
        understand(scenario)
    except SizingError as error:
        raise RequestRefused(HTTPStatus.UNPROCESSABLE_ENTITY, *faults_of(error, path)) from None
    return scenario
