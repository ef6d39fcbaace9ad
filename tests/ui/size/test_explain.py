from sizing.base.result import Plan
from ui.size.explain import explained_table, explanation, field_entry


def test_a_figure_is_followed_to_formula_numbers_and_source(plan: Plan) -> None:
    text = explanation(plan, "instances")
    assert "Formula" in text
    assert "ceil(70.7 / 9.1)" in text
    assert "Source: sizing.plan" in text


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


def test_the_table_uses_labels(plan: Plan) -> None:
    table = explained_table(plan)
    assert list(table.columns) == ["Quantity", "Value", "Formula", "With these numbers", "Source"]
    assert table["Quantity"].tolist() == ["Instances"]


def test_fields_are_found_by_name_and_by_label() -> None:
    assert field_entry("max_rps") == field_entry("Requests/s per instance")
    assert field_entry("") is None
