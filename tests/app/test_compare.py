"""Compare without a browser: variants of the scenario, what drives the difference, bad input, the address."""

import re

import plotly.graph_objects as go
import pytest
from streamlit.testing.v1 import AppTest

from sizing import Scenario
from sizing.catalog.precisions import precisions
from sizing.decision.columns import ComparisonColumn
from sizing.decision.comparison import compare
from sizing.decision.outcome import NOTHING
from tests.app.conftest import started
from tests.app.pages_text import problems
from ui.compare.column_text import column_of, column_text
from ui.figures.comparison import (
    answers_table,
    build_measure,
    differences_table,
    measure_alt_text,
    measures,
    named,
    side_by_side,
)

PAGE = "pages/compare.py"


@pytest.fixture
def page(app: AppTest) -> AppTest:
    app.button(key="open_chatbot").click().run()
    return app.switch_page(PAGE).run()


def texts(app: AppTest) -> str:
    return re.sub(r"\\(.)", r"\1", "\n".join(m.value for m in app.markdown))


def test_two_variants_are_compared_before_anything_is_chosen(page: AppTest) -> None:
    assert not page.exception
    assert not problems(page)
    assert len(page.multiselect(key="beside").value) == 2
    assert "2 x the load + same hardware" in texts(page)


def test_a_variant_is_added_and_removed(page: AppTest) -> None:
    page.multiselect(key="beside").set_value(["2 x the load", "Cloud"]).run()
    assert "Cloud: " in texts(page)
    rows = next(frame.value for frame in page.table if "Answer" in frame.value)
    assert list(rows)[2:] == ["2 x the load", "Cloud"]
    page.multiselect(key="beside").set_value([]).run()
    assert any("Choose what to compare" in one.value for one in page.info)


def test_the_address_keeps_the_variants() -> None:
    app = started(goto="compare", isl="3500", beside=["Cloud"])
    assert not app.exception
    assert app.multiselect(key="beside").value == ["Cloud"]


def test_a_variant_that_the_scenario_does_not_have_is_said(app: AppTest) -> None:
    app = started(goto="compare", isl="3500", beside=["gpu-abacus"])
    assert not app.exception
    assert any("gpu-abacus" in one.value for one in app.warning)


def test_numbers_of_the_charts_are_those_of_the_comparison() -> None:
    base = {
        "name": "base",
        "model": "meta-llama/Meta-Llama-3-8B-Instruct",
        "workload": {"input_tokens": 1000, "output_tokens": 100, "peak_rps": 10},
        "deployment": {"gpus": ["h100_sxm"]},
    }
    other = base | {"name": "<b>other</b>", "limits": {"ttft_ms": 1}}
    comparison = compare([Scenario.model_validate(one) for one in (base, other)])
    table = answers_table(comparison)
    assert table["All costs (USD a month)"][0] == pytest.approx(comparison.scenarios[0].outcome.usd_per_month, rel=0.01)
    assert table["Limited by"][1] == "nothing serves it within the limits"
    beside = side_by_side(comparison, at="p95 ").set_index("Answer")
    assert list(beside.index[:3]) == ["All costs (USD a month)", "low to high", "more than the first (USD)"]
    assert {"p95 TTFT (ms)", "p95 ITL (ms)", "p95 E2E (s)"} <= set(beside.index)
    assert beside.loc["Limited by", "<b>other</b>"] == "nothing serves it within the limits"
    assert differences_table(comparison)["Input"].tolist() == ["TTFT limit"]
    for measure in measures():
        bar = build_measure(named(comparison), measure).data[0]
        assert bar.x[0] == measure.of(comparison.scenarios[0].outcome)
        assert bar.x[1] is None
        assert not bar.text[0].endswith(("ms", " s", "kW"))  # the unit stands in the title
        assert "not known" in measure_alt_text(named(comparison), measure)


@pytest.mark.parametrize("dark", [False, True])
def test_plotly_knows_every_property_of_a_chart_that_is_drawn_without_its_check(dark: bool) -> None:
    outcomes = [("base", NOTHING.model_copy(update={"gpu": "h100_sxm", "gpus": 8, "memory_used": 0.5}))]
    for measure in measures():
        drawn = build_measure(outcomes, measure, dark=dark)
        assert go.Figure(drawn.to_dict()).to_plotly_json() == drawn.to_plotly_json()  # raises for one it does not know


@pytest.mark.parametrize(
    ("view", "difference", "sign"), [("Formats", "to the plan (USD)", 1), ("Levers", "saved (USD a month)", -1)]
)
def test_what_is_shown_beside_each_other_adds_up(page: AppTest, view: str, difference: str, sign: int) -> None:
    page.session_state["compare_view"] = view
    page.run()
    assert not page.exception
    rows = next(frame.value for frame in page.table if difference in frame.value).dropna(subset=[difference])
    plans = rows["All costs (USD a month)"] - sign * rows[difference]
    assert len(rows) > 1
    assert plans.round(6).nunique() == 1


@pytest.mark.parametrize("on", ["same", "any"])
def test_formats_stand_side_by_side(page: AppTest, on: str) -> None:
    page.session_state["compare_view"], page.session_state["formats_on"] = "Formats", on
    page.run()
    assert not page.exception
    assert not problems(page)
    rows = next(frame.value for frame in page.table if "Published accuracy loss" in frame.value)
    assert len(rows) == sum(not one.named_only for one in precisions().values())
    assert sum(text == "yes" for text in rows["Fits"]) >= 1


def test_levers_stand_side_by_side_and_follow_their_assumptions(page: AppTest) -> None:
    page.session_state["compare_view"] = "Levers"
    page.run()
    assert not page.exception
    assert not problems(page)
    rows = next(frame.value for frame in page.table if "Lever" in frame.value).set_index("Lever")
    assert rows.loc[r"2\:4 sparsity", "Standing"] in ("simulated", "does not apply")
    page.text_input(key="lever_prompt").set_value("40").run()
    after = next(frame.value for frame in page.table if "Lever" in frame.value).set_index("Lever")
    assert after.loc["Shorter prompts", "Tried"] != rows.loc["Shorter prompts", "Tried"]


def test_a_link_opens_the_view_that_it_names() -> None:
    app = started(goto="compare", isl="3500", compare_view="Formats", formats_on="Any that the scenario allows")
    assert not app.exception
    assert not app.warning
    assert app.session_state["formats_on"] == "any"


def test_a_column_is_put_together_and_is_a_whole_scenario(page: AppTest) -> None:
    page.selectbox(key="column_gpu").set_value("b200_sxm").run()
    page.selectbox(key="column_precision").set_value("nvfp4").run()
    page.button(key="column_add").click().run()
    assert not page.exception
    text = "B200 SXM 180GB (HGX/DGX) + NVFP4 (W4A4)"
    assert page.multiselect(key="beside").value[-1] == text
    last = next(frame.value for frame in page.table if "Answer" in frame.value).set_index("Answer").iloc[:, -1]
    assert (last["GPU"], last["Weights"]) == ("B200 SXM 180GB (HGX/DGX)", "NVFP4 (W4A4)")
    assert int(last["GPUs bought"]) >= int(last["GPUs"])
    page.button(key=f"size_{text}").click().run()
    page.switch_page("pages/size.py").run()
    deployed = page.session_state["last_answer"].plan.deployment
    assert (deployed.gpu, deployed.weight_precision, deployed.gpus) == ("b200_sxm", "nvfp4", int(last["GPUs"]))


def test_a_column_that_says_nothing_and_one_too_many_are_refused_in_a_sentence(page: AppTest) -> None:
    page.button(key="column_add").click().run()
    assert any(text.startswith("Nothing differs") for text in problems(page))
    before = page.multiselect(key="beside").value
    for location, load in (("cloud", 3.0), ("hybrid", 3.0), ("cloud", 5.0)):
        page.selectbox(key="column_location").set_value(location)
        page.select_slider(key="column_load").set_value(load)
        page.button(key="column_add").click().run()
    assert page.multiselect(key="beside").value == [*before, "Cloud + 3 x the load", "Hybrid + 3 x the load"]
    assert any(text.startswith("4 columns stand beside") for text in problems(page))
    assert not page.exception


@pytest.mark.parametrize(
    "column",
    [
        ComparisonColumn(location="cloud", gpu="h100_sxm", precision="fp8", engine="vllm", load=2.5),
        ComparisonColumn(location="cloud", keep_hardware=True),
        ComparisonColumn(load=0.5, keep_hardware=True),
        ComparisonColumn(gpu="vr200"),
    ],
)
def test_a_column_is_found_again_by_its_words(column: ComparisonColumn) -> None:
    assert column_of(column_text(column)) == column


@pytest.mark.parametrize(
    "text", ["", "abacus", "Cloud + Cloud", "0 x the load", "FP8 (W8A8) + same hardware", "Cloud + ", "Own accelerator"]
)
def test_what_is_no_column_is_none(text: str) -> None:
    assert column_of(text) is None


@pytest.mark.parametrize(
    ("text", "called"),
    [
        ("Cloud + H200 SXM 141GB + FP8 (W8A8) + vLLM", "Cloud + H200 SXM 141GB + FP8 (W8A8) + vLLM"),
        ("cloud + h200_sxm", "Cloud + H200 SXM 141GB"),
        ("cloud", "Cloud"),
    ],
)
def test_the_address_keeps_a_column_of_ones_own(text: str, called: str) -> None:
    app = started(goto="compare", isl="3500", beside=[text])
    assert not app.exception
    assert not app.warning
    assert app.multiselect(key="beside").value == [called]


def test_sliders_are_answered_on_the_same_hardware(page: AppTest) -> None:
    page.session_state["compare_view"] = "What if"
    page.run()
    assert not page.exception
    planned = page.session_state["last_answer"].plan.deployment
    page.select_slider(key="what_if_load").set_value(4.0).run()
    assert not page.exception
    assert any(f"instead of {planned.gpus} " in m.value for m in page.markdown)
    assert any(m.value.startswith("**Twice the load.**") for m in page.markdown)


def test_what_cannot_be_is_a_sentence_and_the_last_answer_stays(app: AppTest) -> None:
    app = started(goto="size", rps="400000", gpu="h100_sxm", view="What if")
    app.select_slider(key="what_if_load").set_value(2.0).run()
    good = [m.value for m in app.markdown if "instead of" in m.value or "enough" in m.value]
    assert good
    app.select_slider(key="what_if_load").set_value(4.0).run()
    assert not app.exception
    assert problems(app)
    assert any("The last answer" in one.value for one in app.caption)
    assert good[0] in [m.value for m in app.markdown]


def test_nim_stands_beside_the_engine_inside_it(page: AppTest) -> None:
    page.session_state["compare_view"] = "NIM"
    page.run()
    assert not page.exception
    assert not problems(page)
    rows = next(frame.value for frame in page.dataframe if "Served by" in frame.value).set_index("Served by")
    assert list(rows.index) == ["vLLM", "The same under the licence", "NVIDIA NIM, as planned"]
    assert rows["GPUs"].iloc[0] == rows["GPUs"].iloc[1] <= rows["GPUs"].iloc[2]
    told = next(frame.value for frame in page.table if "Topic" in frame.value)
    assert set(told["Topic"]) >= {"Licence", "To deploy"}
    assert any("NVIDIA AI Enterprise" in one.value for one in page.markdown)
