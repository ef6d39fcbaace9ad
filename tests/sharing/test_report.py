"""What a report says: every figure is the plan's, and no money is in it that was not released."""

import json
import re
from collections.abc import Iterator
from datetime import date
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from sharing.form.cost_words import COST_CHOICES
from sharing.form.presets import defaults, presets
from sharing.form.read import to_scenario
from sharing.report.addresses import cleared
from sharing.report.answer import answer
from sharing.report.asked import limits_text
from sharing.report.assumptions import CUSTOMER, assumptions
from sharing.report.build import build_report
from sharing.report.content import Chart, Facts, Paragraph, Released, Report, Table
from sharing.report.names import titled
from sharing.report.prices import as_released, at_list_prices, has_own_prices
from sharing.report.sensitivity import MOST_LOOKS, NEAR
from sharing.report.subject import subject_of
from sizing.base.choices import Mode
from sizing.base.format import count, ms, usd
from sizing.catalog.files import DATA_DATE
from sizing.decision.flips import flips
from sizing.decision.keys import WHOLE
from sizing.decision.outcome import Answers, Outcome
from sizing.decision.text import GPU_CHANGE, MORE_FOR_LESS, name_of
from sizing.decision.tornado import tornado
from sizing.economics.cost import cost
from sizing.planning.answered import Answer
from sizing.planning.text import why_no_alternatives
from sizing.question.understand import understand
from sizing.scenario import Scenario
from sizing.scenario.bounds import MAX_USD
from sizing.scenario.costs import Costs
from sizing.scenario.schema import Limits
from tests.sharing.report_cases import CASES, MADE_AT, OWN_PRICE, answered, planned, report, scenario
from tests.sizing.asking import put_beside
from ui.currency import Currency, rates

CHAPTERS = (
    "answer",
    "proposals",
    "materials",
    "questions",
    "latency",
    "alternatives",
    "cost",
    "sensitivity",
    "risks",
    "assumptions",
    "evidence",
    "excluded",
    "sources",
    "formulas",
)


def facts(shown: Report) -> dict[str, str]:
    return {
        fact.label: fact.value for s in shown.sections for b in s.blocks if isinstance(b, Facts) for fact in b.facts
    }


def tables(shown: Report) -> dict[str, Table]:
    return {block.title: block for section in shown.sections for block in section.blocks if isinstance(block, Table)}


def charts(shown: Report) -> dict[str, Chart]:
    return {block.title: block for section in shown.sections for block in section.blocks if isinstance(block, Chart)}


@pytest.mark.parametrize(
    ("name", "released"), [*((name, Released.OWN_PRICES) for name in CASES), *(("chat", r) for r in [*Released][:2])]
)
def test_a_report_survives_being_stored(name: str, released: Released) -> None:
    shown = report(name, released)
    assert Report.model_validate_json(shown.model_dump_json()) == shown
    assert all(len(row) == len(table.columns) for table in tables(shown).values() for row in table.rows)
    assert all(len(series.values) == len(chart.x) for chart in charts(shown).values() for series in chart.series)


def test_what_the_form_sets_by_itself_is_no_input_of_the_customer() -> None:
    """What an untouched form holds beside model and load is the default, and nobody asked for it."""
    asked = Scenario.model_validate(
        to_scenario({**defaults(), "isl": "3000", "ttft": "900"}) | {"name": "As the form has it"}
    )
    chapter = assumptions(subject_of(put_beside(asked, planned("chat")), Released.LIST_PRICES))
    stated, others = (block for block in chapter.blocks if isinstance(block, Table))
    assert {"Percentile", "Routing", "ITL limit"} <= {row[0] for row in others.rows}
    stated_by = {row[0]: row[-1] for row in stated.rows}
    assert {stated_by[name] for name in ("Model", "Prompt length", "TTFT limit")} == {CUSTOMER}
    assert len(stated.rows) + len(others.rows) == len({row[0] for row in (*stated.rows, *others.rows)})


def _stated_by(asked: dict[str, Any]) -> dict[object, object]:
    scenario = Scenario.model_validate(asked)
    chapter = assumptions(subject_of(put_beside(scenario, planned("chat")), Released.LIST_PRICES))
    stated = next(block for block in chapter.blocks if isinstance(block, Table))
    return {row[0]: row[-1] for row in stated.rows}


def test_what_a_file_names_is_the_customers_though_it_is_the_default() -> None:
    default = Scenario.model_fields["limits"].default.ttft_ms
    assert "TTFT limit" not in _stated_by(CASES["chat"] | {"limits": {"itl_ms": 60}})
    assert _stated_by(CASES["chat"] | {"limits": {"ttft_ms": default}})["TTFT limit"] == CUSTOMER


def test_what_a_preset_brought_is_the_presets() -> None:
    preset = presets()["rag"]
    asked = preset.scenario.model_dump(mode="json", exclude_defaults=True)
    asked["limits"] = {"ttft_ms": 1500, "percentile": 99}
    stated_by = _stated_by(asked)
    assert stated_by["Prompt length"] == stated_by["Percentile"] == f"Preset: {preset.title}"
    assert stated_by["TTFT limit"] == CUSTOMER


def test_chapters_come_in_the_order_in_which_they_are_read() -> None:
    absent = () if planned("chat").excluded else ("excluded",)
    expected = tuple(key for key in (*CHAPTERS, "glossary") if key not in absent)
    assert tuple(section.key for section in report("chat").sections) == expected


def test_figures_are_those_of_the_plan_and_of_its_cost() -> None:
    plan, shown = planned("chat"), facts(report("chat"))
    money = cost(Answer(understand(scenario("chat")), plan))
    assert shown["GPUs"] == count(plan.deployment.gpus)
    assert shown["Systems"] == count(plan.deployment.systems)
    assert shown["p95 TTFT"] == ms(plan.latency.ttft_ms.at_percentile)
    assert shown["Hardware a month"] == usd(plan.cost.hardware_usd_per_month)
    assert shown["All costs a month"] == usd(money.usd_per_month)
    parts = next(table for title, table in tables(report("chat")).items() if title.startswith("A month"))
    *each, (_, total) = parts.rows
    assert sum(row[1] for row in each) == pytest.approx(total)
    assert total == money.usd_per_month


def test_36_months_add_up_to_what_the_cost_answer_says() -> None:
    money = cost(answered("chat"))
    table = tables(report("chat"))["Cost over 36 months"]
    place = [column.label for column in table.columns].index("Own systems")
    years, whole = table.rows[:-1], table.rows[-1]
    assert whole[place] == pytest.approx(sum(money.cash))
    assert sum(row[place] for row in years) == pytest.approx(whole[place])


def test_the_tornado_is_that_of_the_cost_page() -> None:
    answers = Answers()
    answers.knows(answered("chat"))
    moved = tornado(scenario("chat"), answers, keep_hardware=True)
    chart = charts(report("chat"))["Inputs by how far they move the answer"]
    assert chart.base == moved.base.usd_per_month
    low = {titled(bar.key): bar.at_low and bar.at_low.usd_per_month for bar in moved.bars}
    assert list(chart.series[0].values) == [low[str(name)] for name in chart.x]


def test_a_promise_that_needs_more_gpus_for_less_money_is_worded_so() -> None:
    class Cheaper(Answers):
        """Without the TTFT limit twice the GPUs for half the money."""

        def outcome(self, scenario: Scenario) -> Outcome:
            now = Answers.outcome(self, scenario)
            if scenario.limits.ttft_ms is not None or now.gpus is None or now.usd_per_month is None:
                return now
            return now.model_copy(update={"gpus": now.gpus * 2, "usd_per_month": now.usd_per_month / 2})

    def promised(released: Released) -> Table | None:
        subject = subject_of(answered("chat"), released)
        return tables(build_report(subject, made_at=MADE_AT, answers=Cheaper())).get("What each promise costs")

    table, gpus = promised(Released.LIST_PRICES), planned("chat").deployment
    place = [column.label for column in table.columns].index(GPU_CHANGE)
    assert (table.rows[0][2], table.rows[0][place]) == ("not promised", f"{gpus.gpus} more")
    assert MORE_FOR_LESS in table.note
    unpriced = promised(Released.NOTHING)
    assert unpriced is None or all("more" not in str(row[place]) for row in unpriced.rows)


def test_what_flips_the_answer_has_the_values_around_it_and_what_would_be_ordered() -> None:
    answers = Answers()
    answers.knows(answered("chat"))
    searched = flips(scenario("chat"), answers, most=MOST_LOOKS, near=NEAR)
    table = tables(report("chat"))["What flips the answer"]
    assert [row[0] for row in table.rows] == [titled(one.key) for one in searched.nearest]
    assert [row[-1] for row in table.rows] == [one.after.usd_per_month for one in searched.nearest]
    assert all(one.after.choice != one.before.choice for one in searched.nearest)
    assert all(
        f"{one.after.systems} system" in str(row[3]) for row, one in zip(table.rows, searched.nearest, strict=True)
    )
    assert [one.key for one in searched.unmoved if name_of(one.key) not in table.note] == []
    assert "not searched" in table.note
    flips(scenario("chat"), answers)  # all of it is known now, and the report stays the same
    subject = subject_of(answered("chat"), Released.LIST_PRICES)
    again = build_report(subject, made_at=MADE_AT, answers=answers)
    assert tables(again)["What flips the answer"] == table


def test_a_plan_without_alternatives_says_what_it_knows_of_others() -> None:
    assert not planned("measured").alternatives
    (section,) = (s for s in report("measured").sections if s.key == "alternatives")
    assert "No other deployment was looked for" in section.model_dump_json()
    pools = planned("pools")
    assert pools.alternatives
    alone = why_no_alternatives(pools.model_copy(update={"alternatives": ()}))
    assert alone == "No other deployment is listed: those that only an estimate ranks above these pools are left out."


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("released", Released)
def test_the_glossary_holds_the_words_of_the_document_and_no_others(name: str, released: Released) -> None:
    shown = report(name, released)
    read = [section for section in shown.sections if section.key not in ("glossary", "formulas")]
    text = json.dumps([section.model_dump(mode="json") for section in read], ensure_ascii=False).casefold()
    (terms,) = shown.sections[-1].blocks
    assert isinstance(terms, Table)
    names = [str(term).removesuffix(")").rpartition(" (")[-1] for term, _ in terms.rows]
    assert [name for name in names if name.casefold() not in text] == []
    assert ("List price" in names) == ("list price" in text)
    assert {"TTFT", "Percentile"} <= set(names)


@pytest.mark.parametrize("name", CASES)
def test_nothing_released_means_no_money_anywhere(name: str) -> None:
    shown = report(name, Released.NOTHING)
    text = json.dumps([section.model_dump(mode="json") for section in shown.sections if section.key != "glossary"])
    assert not re.search(r"\$|USD|EUR|€|\bprice of\b|a month\b", text + shown.answer)
    assert "cost" not in {section.key for section in shown.sections}
    assert not any(column.holds == "money" for table in tables(shown).values() for column in table.columns)


def test_a_chart_without_money_counts_gpus() -> None:
    chart = charts(report("pools", Released.NOTHING))["Inputs by how far they move the answer"]
    deployed = planned("pools").deployment
    assert (chart.y_label, chart.base) == ("GPUs", deployed.gpus)


@pytest.mark.parametrize("released", [Released.NOTHING, Released.LIST_PRICES])
def test_prices_of_ones_own_are_in_no_report_that_does_not_release_them(released: Released) -> None:
    text = report("own prices", released).model_dump_json()
    assert not OWN_PRICE.search(text)


def test_a_report_without_prices_says_that_others_chose_the_deployment() -> None:
    hint = "chosen with prices that are not shown"
    assert hint in report("own prices", Released.NOTHING).model_dump_json()
    assert hint not in report("chat", Released.NOTHING).model_dump_json()


def test_list_prices_are_planned_again_and_said() -> None:
    own = scenario("own prices")
    listed = as_released(Answer(understand(own), planned("own prices")), Released.LIST_PRICES)
    assert listed.plan.cost != planned("own prices").cost
    assert "list prices" in report("own prices").sections[0].model_dump_json()
    mine = report("own prices", Released.OWN_PRICES)
    assert facts(mine)["Hardware a month"] != facts(report("own prices"))["Hardware a month"]


def test_a_discount_is_in_no_report() -> None:
    assert not re.search(r"(?<![\d.])41\.[12]", report("own prices", Released.OWN_PRICES).model_dump_json())


def test_own_prices_are_seen_wherever_they_were_typed() -> None:
    assert not has_own_prices(scenario("chat"))
    assert has_own_prices(scenario("own prices"))
    assert not has_own_prices(at_list_prices(scenario("own prices")))
    gpu = {"id": "mine", "memory_gb": 80, "bandwidth_gbs": 3000, "fp16_tflops": 900, "price_usd": 9}
    own = scenario("chat").model_copy(deep=True)
    priced = type(own).model_validate(own.model_dump() | {"deployment": {"custom_gpus": [gpu]}})
    assert has_own_prices(priced)
    assert at_list_prices(priced).deployment.custom_gpus[0].price_usd is None


def test_a_plan_without_an_answer_says_why() -> None:
    shown = report("impossible")
    assert shown.answer == planned("impossible").answer
    assert {"answer", "questions", "risks", "evidence"} <= {section.key for section in shown.sections}
    assert "cost" not in {section.key for section in shown.sections}
    assert tables(shown)["GPU types that were ruled out"].rows


def test_amounts_are_in_the_currency_that_is_handed_in() -> None:
    euros = Currency(code="EUR", per_usd=0.5, locale="de_DE")
    subject = subject_of(answered("chat"), Released.LIST_PRICES, money=euros)
    shown = build_report(subject, made_at=MADE_AT)
    assert shown.currency == "EUR"
    title = next(title for title in tables(shown) if title.startswith("A month"))
    in_usd = tables(report("chat"))[title].rows[-1][1]
    assert tables(shown)[title].rows[-1][1] == pytest.approx(in_usd * 0.5)
    money = [s.model_dump_json() for s in shown.sections if s.key in ("answer", "alternatives", "sensitivity")]
    assert not any("$" in text for text in money)


@pytest.mark.parametrize("code", ["EUR", "GBP", "JPY"])
def test_a_report_in_another_currency_says_at_which_rate_of_which_day(code: str) -> None:
    listed = rates()[code]
    said = last_of_the_summary(Currency(code=code, per_usd=listed.per_usd), Released.LIST_PRICES)
    assert f"converted at {code} {listed.per_usd:.4g} for 1 USD ({listed.source}, {listed.on})" in said
    assert ("older than 90 days: take the rate of the day" in said) == listed.is_old(date.fromisoformat(DATA_DATE))
    typed = last_of_the_summary(Currency(code=code, per_usd=listed.per_usd * 1.1), Released.LIST_PRICES)
    assert f"{listed.per_usd * 1.1:.4g} for 1 USD, as typed." in typed
    assert "older than" not in typed
    assert "converted" not in last_of_the_summary(Currency(), Released.LIST_PRICES)
    assert "converted" not in last_of_the_summary(Currency(code=code, per_usd=2.0), Released.NOTHING)


def last_of_the_summary(money: Currency, released: Released) -> str:
    block = answer(subject_of(answered("chat"), released, money=money)).blocks[-1]
    assert isinstance(block, Paragraph)
    return block.text


def test_every_input_of_a_scenario_that_a_report_shows_has_a_name() -> None:
    hidden = ("name", "schema_version", "benchmark", "measured", "pipeline", "deployment.custom_gpus", "prices.listed.")
    keys = [key for key in leaves(Scenario) if not key.startswith((*hidden, "prices.negotiated."))]
    assert {"deployment.slice", "deployment.kv_offload.tier", "costs.api.output_usd_per_mtok"} <= set(keys)
    assert [key for key in keys if name_of(key) == key and key not in ("model",)] == []


def leaves(part: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """Dotted keys of a section of a scenario, sections within it opened."""
    for name, field in part.model_fields.items():
        kinds = [one for one in (field.annotation, *get_args(field.annotation)) if isinstance(one, type)]
        inner = [one for one in kinds if issubclass(one, BaseModel)]
        if inner and f"{prefix}{name}" not in WHOLE:
            yield from (key for one in inner for key in leaves(one, f"{prefix}{name}."))
        else:
            yield f"{prefix}{name}"


@pytest.mark.parametrize(
    "text",
    [
        "http://gpu-box:8000/v1", "10.0.3.7:9090", "https://user:secret@example.com/x", "prometheus.corp/api",
        "localhost:8501", "db.prod.internal", "http://192.168.1.4/metrics",
    ],
)  # fmt: skip
def test_internal_addresses_are_replaced(text: str) -> None:
    assert cleared(f"measured at {text} in May") == "measured at [internal address] in May"


@pytest.mark.parametrize("text", ["https://example.com/page", "module sizing.prices.packing", "0.12.0 (PyPI)"])
def test_public_addresses_stay(text: str) -> None:
    assert cleared(text) == text


def test_no_choice_of_the_cost_page_says_what_something_costs() -> None:
    assert set(COST_CHOICES.values()) <= set(Costs.model_fields)
    for name in {*COST_CHOICES.values()} - {"api"}:  # of which the provider alone is kept
        said = str(Costs.model_fields[name])
        assert not re.search(r"usd|price|discount", name), name
        assert f"le={MAX_USD}" not in said, name


@pytest.mark.parametrize(
    ("mode", "said"),
    [("streaming", "TTFT 2 s, E2E 30 s at p95"), ("sequential", "E2E 30 s at p95"), ("offline", "no limit")],
)
def test_a_report_states_the_limits_that_the_mode_of_use_has(mode: Mode, said: str) -> None:
    assert limits_text(Limits(ttft_ms=2000, itl_ms=None, e2e_ms=30_000), mode) == said
