"""A limit that alone more than doubles the cost is a warning with its price, and loosening it helps as it says."""

from typing import Any

import pytest

from sizing import Plan, Scenario, plan
from sizing.base.result import PlanWarning
from tests.sizing.asking import LLAMA_70B, raw

LOAD = {"input_tokens": 1000, "output_tokens": 500, "peak_rps": 20}
COSTLY = {
    "costly_limit_itl": raw(LLAMA_70B, workload=LOAD, limits={"itl_ms": 12}, deployment={"gpus": ["h100_sxm"]}),
    "costly_limit_ttft": raw(
        LLAMA_70B,
        workload={"input_tokens": 6000, "output_tokens": 100, "peak_rps": 4},
        limits={"ttft_ms": 500, "itl_ms": 80},
        deployment={"gpus": ["h100_sxm"], "serving": ["aggregated"], "routing": "random"},
    ),
    "costly_limit_e2e": raw(
        LLAMA_70B,
        workload=LOAD,
        limits={"ttft_ms": None, "itl_ms": None, "e2e_ms": 5500},
        deployment={"gpus": ["h100_sxm"]},
    ),
}


def asked(keys: dict[str, Any], *, brief: bool = False) -> Plan:
    return plan(Scenario.model_validate(keys), brief=brief)


def warning(found: Plan, code: str) -> PlanWarning | None:
    return next((w for w in found.warnings if w.code == code), None)


@pytest.mark.parametrize(("code", "keys"), COSTLY.items(), ids=COSTLY)
def test_a_limit_that_doubles_the_cost_says_its_price(code: str, keys: dict[str, Any]) -> None:
    found = asked(keys)
    said = warning(found, code)
    assert said.severity == "warning"
    assert "$" in said.message
    section, name = said.fix.section.value, said.fix.name
    limit = keys[section][name]
    assert said.fix.value is None or said.fix.value > limit
    eased = asked({**keys, section: {**keys[section], name: said.fix.value}})
    assert eased.cost.hardware_usd_per_month <= 0.7 * found.cost.hardware_usd_per_month


@pytest.mark.parametrize(("code", "keys"), COSTLY.items(), ids=COSTLY)
def test_the_same_limit_is_not_said_twice(code: str, keys: dict[str, Any]) -> None:
    tight = warning(asked(keys), "tight_limit")
    assert tight is None or tight.fix.key != warning(asked(keys), code).fix.key
    assert (alone := warning(asked(keys, brief=True), "tight_limit")) is None or alone.fix.section.value == "limits"


def test_a_limit_that_costs_little_says_nothing() -> None:
    keys = raw(LLAMA_70B, workload=LOAD, limits={"itl_ms": 80}, deployment={"gpus": ["h100_sxm"]})
    assert not [w for w in asked(keys).warnings if w.code.startswith("costly_limit")]


def test_brief_plans_and_other_objectives_do_not_look() -> None:
    keys = COSTLY["costly_limit_itl"]
    assert warning(asked(keys, brief=True), "costly_limit_itl") is None
    by_latency = {**keys, "deployment": {**keys["deployment"], "objective": "latency"}}
    assert warning(asked(by_latency), "costly_limit_itl") is None
