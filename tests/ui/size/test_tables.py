"""The table of alternatives: the plan first, what each of the others costs against it, what has no price last."""

import pytest

from sizing.base.result import Plan
from sizing.scenario.schema import Scenario
from tests.sizing.asking import put_beside, raw
from ui.size.tables import USE, alternatives_table, in_order


@pytest.fixture
def table(plan: Plan):
    return alternatives_table(put_beside(Scenario.model_validate(raw()), plan))


def test_the_plan_is_the_first_row_and_cannot_be_used(plan: Plan, table) -> None:
    assert table["gpu"][0].startswith(f"Plan: {plan.deployment.gpus} x ")
    assert table["usd"][0] == pytest.approx(plan.cost.hardware_usd_per_month, rel=0.01)
    assert table["ttft"][0] == pytest.approx(plan.latency.ttft_ms.at_percentile, rel=0.01)
    assert table["difference"][0] == "this plan"
    assert table[USE].isna().tolist() == [True, False, False]


def test_what_has_no_price_is_last_and_has_no_difference(plan: Plan, table) -> None:
    assert [c.hardware_usd_per_month is None for c in in_order(plan.alternatives)] == [False, True]
    assert table["usd"].isna().tolist() == [False, False, True]
    assert table["difference"].isna().tolist() == [False, False, True]
    assert table["difference"][1] == "+35 %"


def test_gpus_format_and_engine_have_columns_of_their_own(table) -> None:
    assert list(table.columns)[:9] == [USE, "gpu", "split", "format", "engine", "ttft", "itl", "usd", "origin"]
