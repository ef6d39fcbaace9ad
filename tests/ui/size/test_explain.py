from datetime import date
from pathlib import Path

import pytest

from sizing.base.format import usd
from sizing.base.result import Plan
from sizing.methodology import content, sections
from sizing.scenario.schema import Scenario
from tests.golden import Golden
from tests.sizing.asking import put_beside
from ui.format import as_markdown
from ui.size.explain import FORMULAS, explained_table, explanation, field_entry, numbers
from ui.size.key_figures import key_figures

GOLDEN = Golden(Path(__file__).parents[2] / "sizing" / "golden")


def test_a_figure_is_followed_to_formula_numbers_and_source(plan: Plan) -> None:
    text = explanation(plan, "instances")
    assert "Formula" in text
    assert "ceil(70.7 / 9.1)" in text
    assert "Source: sizing.plan" in text


def test_every_amount_on_the_tile_of_the_cost_is_followed() -> None:
    golden = GOLDEN.answer("llama_8b_any_gpu")
    plan = Plan.model_validate({**golden, "engine_version": "", "data_version": ""})
    scenario = Scenario.model_validate(
        {"model": "meta-llama/Meta-Llama-3-8B", "workload": {"input_tokens": 1000, "output_tokens": 100, "peak_rps": 1}}
    )
    tile = next(f for f in key_figures(put_beside(scenario, plan), date(2026, 11, 25)) if f.name == "usd_per_month")
    assert plan.cost.basis not in tile.help, "it stands in the formula below"
    text = "".join([explanation(plan, tile.name), *(numbers(plan, name) for name in tile.also)])
    for amount in (
        plan.cost.hardware_usd_per_month,
        plan.cost.usd_per_million_output_tokens,
        plan.cost.usd_per_million_output_tokens_at_full_load,
    ):
        assert as_markdown(f"= {usd(amount)}") in text


def test_a_field_without_numbers_shows_its_formula(plan: Plan) -> None:
    text = explanation(plan, "kv_gb")
    assert "usable memory - weights" in text
    assert "With these numbers" not in text


def test_nothing_is_said_of_what_is_not_known(plan: Plan) -> None:
    assert explanation(plan, "colour of the rack") == ""


def test_prices_in_an_explanation_are_not_formulas(plan: Plan) -> None:
    priced = plan.explained[0].model_copy(update={"numbers": "$5 x 2 = $10"})
    text = explanation(plan.model_copy(update={"explained": (priced,)}), "Instances")
    assert r"\$5 x 2 = \$10" in text


def test_steps_stand_line_by_line_with_a_link_to_the_formula(plan: Plan) -> None:
    stepwise = plan.explained[0].model_copy(update={"name": "instances", "steps": ("a: 1 + 1 = 2", "b: 2 x 4 = 8")})
    text = explanation(plan.model_copy(update={"explained": (stepwise,)}), "instances")
    assert "With these numbers" in text
    assert text.count("\n- ") == 2
    assert "(methodology?term=Instances%20needed)" in text


@pytest.mark.parametrize("name", FORMULAS)
def test_a_link_leads_to_a_formula_that_is_there(name: str) -> None:
    found = content(sections(), FORMULAS[name])
    formulas = next(section for section in found if section.slug == "formulas")
    assert formulas.entries[0].title == FORMULAS[name]


def test_every_explained_figure_has_a_formula_to_lead_to() -> None:
    for name in GOLDEN.names():
        explained = GOLDEN.answer(name)["explained"]
        assert {one["name"] for one in explained} <= set(FORMULAS)


def test_the_table_uses_labels(plan: Plan) -> None:
    table = explained_table(plan)
    assert list(table.columns) == ["Quantity", "Value", "Formula", "With these numbers", "Source"]
    assert table["Quantity"].tolist() == ["Instances"]


def test_fields_are_found_by_name_and_by_label() -> None:
    assert field_entry("max_rps") == field_entry("Requests/s per instance")
    assert field_entry("") is None
