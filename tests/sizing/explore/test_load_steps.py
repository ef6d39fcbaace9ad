"""The instances of one deployment over the load are the engine's own answers, close together where they step up."""

from itertools import pairwise

import pytest

from sizing import Scenario, plan
from sizing.base.result import Plan
from sizing.explore.load_steps import ANSWERS, ANSWERS_OF_POOLS, NARROW, SHARES, answers_over_load, at_load
from sizing.explore.pinned import pinned_to
from sizing.planning.answered import Answer
from sizing.question.understand import understand

CHAT = {
    "model": "meta-llama/Llama-3.1-70B-Instruct",
    "workload": {"input_tokens": 1500, "output_tokens": 300, "peak_rps": 20},
    "limits": {"ttft_ms": 1000, "itl_ms": 50},
    "deployment": {"serving": ["aggregated"]},
}


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return Scenario.model_validate(CHAT)


@pytest.fixture(scope="module")
def planned(scenario: Scenario) -> Plan:
    return plan(scenario)


def test_each_row_is_the_engines_answer_for_that_load(scenario: Scenario, planned: Plan) -> None:
    rows = answers_over_load(Answer(understand(scenario), planned))
    assert len(rows) == ANSWERS
    assert next(row.plan for row in rows if row.requests_per_s == planned.sustained_rps) is planned
    for row in rows[::12]:
        again = plan(at_load(pinned_to(planned.deployment, scenario), row.requests_per_s))
        assert row.working == tuple(kind.instances - kind.spare_instances for kind in again.deployment.kinds)


def test_loads_stand_close_where_the_count_steps_up(scenario: Scenario, planned: Plan) -> None:
    rows = answers_over_load(Answer(understand(scenario), planned))
    steps = [(low, high) for low, high in pairwise(rows) if low.working != high.working]
    grid = (SHARES[-1] - SHARES[-2]) * planned.sustained_rps
    assert len(steps) > 8
    assert max(high.requests_per_s - low.requests_per_s for low, high in steps) <= grid / 4


def test_a_load_that_cannot_be_served_is_left_out_and_asked_once(scenario: Scenario, planned: Plan) -> None:
    asked: list[float] = []

    def refuses_much(one: Scenario) -> Plan:
        rps = one.workload.peak_rps or 0.0
        asked.append(rps)
        count = 1 + int(rps / 7.0)
        deployed = planned.deployment.model_copy(update={"instances": count})
        return planned.model_copy(update={"deployment": deployed, "feasible": not 21 < rps < 35})

    rows = answers_over_load(Answer(understand(scenario), planned), planner=refuses_much)
    assert len(asked) == len(set(asked)) <= ANSWERS
    assert not any(21 < row.requests_per_s < 35 for row in rows)
    loads = [row.requests_per_s for row in rows]
    assert loads == sorted(loads)


def test_fewer_loads_are_asked_of_pools() -> None:
    pools = Scenario.model_validate(CHAT | {"deployment": {"gpus": ["h100_sxm"], "serving": ["disaggregated"]}})
    planned = plan(pools)
    rows = answers_over_load(Answer(understand(pools), planned))
    assert len(rows) <= ANSWERS_OF_POOLS < ANSWERS
    assert all(len(row.working) == 2 for row in rows)
    farthest = planned.sustained_rps / 4 * 1.01  # loads are rounded
    for low, high in pairwise(rows):
        assert high.requests_per_s - low.requests_per_s <= farthest or low.working == high.working


def test_however_the_load_was_stated_it_is_replaced() -> None:
    by_users = Scenario.model_validate(
        CHAT | {"workload": {"input_tokens": 1500, "output_tokens": 300, "users": {"daily_users": 10_000}}}
    )
    assert plan(at_load(by_users, 3.0)).sustained_rps == 3.0
    assert NARROW < 0.01


def test_nothing_is_asked_where_nothing_is_planned(scenario: Scenario, planned: Plan) -> None:
    nothing = planned.model_copy(update={"deployment": None, "feasible": False})
    assert answers_over_load(Answer(understand(scenario), nothing)) == ()
