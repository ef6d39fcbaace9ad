"""The figures below the answer: what is bought or rented, and what a token costs."""

from datetime import date

import pytest

from sizing.base.result import Plan
from sizing.scenario.schema import Scenario
from tests.sizing.asking import put_beside, raw
from ui.size.key_figures import key_figures, whole_systems
from ui.size.tables import USE, alternatives_table, in_order

ON = date(2026, 11, 25)


def scenario(location: str) -> Scenario:
    return Scenario.model_validate(
        {
            "model": "meta-llama/Meta-Llama-3-8B",
            "workload": {"input_tokens": 2000, "output_tokens": 200, "peak_rps": 70.7},
            "deployment": {"location": location},
        }
    )


@pytest.mark.parametrize(("location", "how"), [("cloud", "rented"), ("on_prem", "bought"), ("hybrid", "bought")])
def test_the_count_of_what_is_rented_or_bought_is_visible(plan: Plan, location: str, how: str) -> None:
    two = plan.deployment.model_copy(update={"system": "p5.48xlarge", "systems": 2, "gpus_bought": 16, "gpus": 12})
    assert whole_systems(two, scenario(location)) == f"2 x p5.48xlarge, 16 GPUs {how}, 12 used"
    shown = {figure.name: figure for figure in key_figures(put_beside(scenario(location), plan), ON)}
    assert shown["systems"].note.endswith(f"8 GPUs {how}")
    assert "8 instances" in shown["systems"].help


def test_a_token_costs_what_the_day_makes_of_it_and_full_load_is_named(plan: Plan) -> None:
    assert plan.cost is not None
    cost = next(f for f in key_figures(put_beside(scenario("on_prem"), plan), ON) if f.name == "usd_per_month")
    assert "$0.54 per million output tokens" in cost.help
    assert "at full load" in cost.help
    assert "$0.18" in cost.help
    assert "0.18" not in cost.note


@pytest.mark.parametrize(
    ("dates", "by", "said"),
    [
        (("2026-11-01",), "listed", ""),
        (("2026-05-04",), "listed", "; price older than 90 days"),
        (("2026-11-01", "2026-05-04"), "rule", "; price older than 90 days"),
        (("2026",), "rule", "; price perhaps older than 90 days"),
        (("catalogue v8, date unknown (2025-2026)",), "listed", "; price undated"),
        ((), "asked", ""),
        (("2026-05-04",), "asked", "; price older than 90 days"),
    ],
)
def test_an_old_price_is_flagged_beside_the_cost(plan: Plan, dates: tuple[str, ...], by: str, said: str) -> None:
    dated = plan.model_copy(update={"cost": plan.cost.model_copy(update={"price_dates": dates, "priced_by": by})})
    cost = next(f for f in key_figures(put_beside(scenario("on_prem"), dated), ON) if f.name == "usd_per_month")
    assert cost.note.endswith(said or "$5,000 to $8,000")
    assert ("90 days" in cost.note or "undated" in cost.note) == bool(said)


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
