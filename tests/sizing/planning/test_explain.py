"""Every explanation adds up: its steps, computed from the numbers they state, give the value that is shown."""

import ast
import math
import operator
import re
from pathlib import Path

import pytest

from sizing import Scenario, plan
from sizing.methodology.example import SCENARIO, example
from sizing.planning.arithmetic import instances_steps, number, systems_steps
from tests.golden import Golden

GOLDEN = Golden(Path(__file__).parents[1] / "golden")
PLANS = sorted(GOLDEN.names())
SCALE = {"k": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
CALLS = {"ceil": math.ceil, "floor": math.floor, "min": min}
GIVEN = {"max_rps", "ttft_ms", "itl_ms"}
"""Figures that a measured record holds: there is nothing to compute."""
OF_ERRORS = {"probability_within_limits"}
"""Figures read from a distribution of errors: no arithmetic leads there."""


def evaluated(expression: str) -> float:
    """An expression of a step, by ordinary arithmetic."""
    text = expression.replace(",", "").replace(";", ",").replace(" x ", " * ").replace("^", "**")
    return float(_value(ast.parse(text, mode="eval").body))


def _value(node: ast.expr) -> float:
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.BinOp(left=left, op=op, right=right):
            return OPERATORS[type(op)](_value(left), _value(right))
        case ast.Call(func=ast.Name(id=name), args=args):
            return CALLS[name](*map(_value, args))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
    raise ValueError(ast.dump(node))


def quantity(text: str) -> float:
    """The number that a text begins with, as a calculator shows it: "p95 2.61 s" is 2.61, "$26.8k" is 26800."""
    match = re.match(r"(?:p[\d.]+ )?\$?(-?[\d,.]+(?:e[+-]?\d+)?)([kMBT](?![a-zA-Z]))?", text)
    assert match, text
    return float(match[1].replace(",", "")) * SCALE.get(match[2] or "", 1.0)


def parts(step: str) -> tuple[str, str]:
    """Expression and result of a step."""
    expression, _, result = step.rpartition(" = ")
    return expression.rpartition(": ")[2], result


def adds_up(explained: dict) -> bool:
    """Whether every step gives its result, and the last the value."""
    for step in explained["steps"]:
        expression, result = parts(step)
        terms = [float(n.replace(",", "")) for n in re.findall(r"[\d,]*\.?\d+", expression)]
        # Results are shown to three digits; of a difference, the terms are known to six.
        room = 0.006 * abs(quantity(result)) + 2e-5 * max(terms)
        if abs(evaluated(expression) - quantity(result)) > room:
            return False
    return quantity(parts(explained["steps"][-1])[1]) == pytest.approx(quantity(explained["value"]), rel=1e-9)


@pytest.mark.parametrize("name", PLANS)
def test_every_explanation_of_a_golden_plan_adds_up(name):
    golden = GOLDEN.answer(name)
    for explained in golden["explained"]:
        if not explained["steps"]:
            unknown = explained["value"] == "unknown"
            given = golden["decided_by"] == "measured" and explained["name"] in GIVEN
            assert unknown or given or explained["name"] in OF_ERRORS, explained
            continue
        assert adds_up(explained), explained
    assert golden["explained"] or not golden["feasible"]


@pytest.mark.parametrize(
    ("model", "deployment"),
    [
        ("deepseek-ai/DeepSeek-R1", {"gpus": ["h200_sxm"]}),
        ("google/gemma-3-27b-it", {"gpus": ["l40s"], "spare_instances": 1}),
        ("openai/gpt-oss-120b", {"gpus": ["h100_sxm"], "location": "cloud"}),
    ],
)
def test_every_explanation_of_other_models_adds_up(model, deployment):
    workload = {"input_tokens": 1500, "output_tokens": 200, "users": {"daily_users": 40_000}, "growth_percent": 20}
    asked = Scenario.model_validate({"model": model, "workload": workload, "deployment": deployment})
    answer = plan(asked)
    assert answer.feasible
    assert {e.name for e in answer.explained if not e.steps} == OF_ERRORS
    for explained in answer.explained:
        if explained.steps:
            assert adds_up(explained.model_dump()), explained
        else:
            assert f"with a chance of {explained.value} (asked: 90 %)" in answer.answer


def test_the_worked_example_of_the_methodology_adds_up():
    text = "\n".join(part.markdown for part in example().prose)
    steps = re.findall(r"^\s+- `(.+)`$", text, re.MULTILINE)
    assert len(steps) > 20
    for one in steps:
        assert adds_up({"value": parts(one)[1], "steps": (one,)}), one
    assert plan(Scenario.model_validate(SCENARIO), alternatives=0).answer.replace("$", "\\$") in text


def test_a_wrong_number_would_be_noticed():
    wrong = {"value": "14", "steps": ("load over rate: 31 / 2.4 = 12.9167", "whole: ceil(12.9167) + 0 = 14")}
    assert not adds_up(wrong)
    assert adds_up({**wrong, "value": "13", "steps": (wrong["steps"][0], "whole: ceil(12.9167) + 0 = 13")})


@pytest.mark.parametrize("instances", [1, 3, 14, 997])
def test_a_load_that_is_exactly_carried_needs_no_instance_more(instances):
    peak = 31.0
    steps = instances_steps("", peak, peak / instances, 2, instances + 2)
    assert adds_up({"value": str(instances + 2), "steps": steps})


@pytest.mark.parametrize(("instances", "each", "size", "systems"), [(14, 2, 8, 4), (3, 16, 8, 6), (1, 1, 1, 1)])
def test_systems_are_those_of_the_packing(instances, each, size, systems):
    assert adds_up({"value": str(systems), "steps": systems_steps(instances, each, size, systems)})


def test_numbers_are_precise_enough():
    assert number(2606) == "2,606"
    assert number(0.000123456) == "0.000123456"
