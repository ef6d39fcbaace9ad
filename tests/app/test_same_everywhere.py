"""Size, Compare, the mark on Explore, a report and what a frozen link computes show one plan, column by column."""

from typing import Any, get_args

import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from sharing.document import whole_document
from sharing.form.presets import presets
from sharing.report.answer import answer as answer_chapter
from sharing.report.content import Facts, Released, Table
from sharing.report.subject import subject_of
from sizing import Scenario
from sizing.base.choices import Location
from sizing.base.errors import SizingError
from sizing.base.format import count, ms, significant
from sizing.base.result import Plan
from sizing.decision.columns import ComparisonColumn, columns
from sizing.decision.comparison import Compared
from sizing.planning.answered import Answer
from sizing.scenario.file import scenario_from
from tests.app.test_same_plan import GPUS, query_of, reopened, scenarios
from ui.compare.beside import as_offered, compared, keeping_hardware
from ui.compare.column_text import column_text
from ui.explore.computed import points_of
from ui.state import answer_of, plan_of

COLUMNS = st.builds(
    ComparisonColumn,
    location=st.sampled_from([None, *get_args(Location)]),
    gpu=st.sampled_from(["", *GPUS]),
    precision=st.sampled_from(["", "bf16", "fp8", "int4_awq", "nvfp4"]),
    engine=st.sampled_from(["", "vllm", "trtllm"]),
    load=st.sampled_from([1.0, 2.0]),
) | st.builds(
    ComparisonColumn, location=st.sampled_from([None, "cloud"]), load=st.just(2.0), keep_hardware=st.just(True)
)


def bought(plan: Plan) -> dict[str, Any]:
    """What Size says is to be bought, and the latencies to expect."""
    one, latency = plan.deployment, plan.latency
    if one is None or not plan.feasible:  # one that no simulation confirms is stated, and not called enough
        return {"feasible": False}
    return {
        "feasible": True,
        "gpu": one.gpu,
        "engine": one.engine,
        "precision": one.weight_precision,
        "gpus": one.gpus,
        "gpus_bought": one.gpus_bought,
        "system": one.system,
        "systems": one.systems,
        "limited_by": plan.limited_by,
        "ttft_ms": latency and latency.ttft_ms.at_percentile,
        "itl_ms": latency and latency.itl_ms.at_percentile,
        "e2e_ms": latency and latency.e2e_ms.at_percentile,
    }


def compare_shows_it(column: Compared, plan: Plan) -> None:
    shown = bought(plan)
    assert column.outcome.model_dump(include=set(shown)) == shown


def explore_marks_it(scenario: Scenario, plan: Plan) -> None:
    one, each, latency = plan.deployment, plan.per_instance, plan.latency
    mark = points_of(scenario.model_dump_json(), "ttft_ms", "output_tokens_per_s_per_gpu", (one.gpu,), "none").planned
    identity = ("gpu", "engine", "weight_precision", "kv_precision", "tp", "pp", "ep", "dp")
    assert [getattr(mark, name) for name in identity] == [getattr(one, name) for name in identity]
    assert mark.rps == pytest.approx(each.rps)
    at = mark.expected
    assert at.output_tokens_per_s_per_gpu == pytest.approx(each.output_tokens_per_s_per_gpu)
    assert (at.ttft_ms, at.e2e_ms) == (latency.ttft_ms.at_percentile, latency.e2e_ms.at_percentile)
    if plan.cost and plan.cost.usd_per_million_output_tokens is not None:
        assert at.usd_per_million_output_tokens == plan.cost.usd_per_million_output_tokens


def a_report_says_it(scenario: Scenario, plan: Plan) -> None:
    """As the library keeps the scenario, and as a frozen link plans it anew."""
    kept = scenario_from(whole_document(scenario))
    subject = subject_of(Answer.of(kept, lambda one: plan_of(one.model_dump_json())), Released.LIST_PRICES)
    blocks = answer_chapter(subject).blocks
    facts = {one.label: one.value for block in blocks if isinstance(block, Facts) for one in block.facts}
    assert plan.latency is not None
    assert facts["GPUs"] == count(plan.deployment.gpus)
    assert facts["Systems"] == count(plan.deployment.systems)
    assert facts["Output tokens/s per GPU"] == significant(plan.per_instance.output_tokens_per_s_per_gpu)
    if plan.latency.ttft_ms.at_percentile is not None:
        assert facts[f"{subject.at} TTFT"] == ms(plan.latency.ttft_ms.at_percentile)
    assert any(isinstance(block, Table) for block in blocks)


def is_one_plan_everywhere(base: Scenario, column: ComparisonColumn) -> bool:
    """Whether there is something to compare: otherwise the page says why there is not."""
    try:
        answer = answer_of(base.model_dump_json())
        other = as_offered(column_text(column), answer)
        if answer.plan.deployment is None or other is None:
            return False
        others = ((other.name, other.scenario.model_dump_json()),)
        comparison = compared(base.model_dump_json(), others, "base", keeping_hardware([other]))
    except SizingError:
        return False
    for scenario, shown in zip((base, other.scenario), comparison.scenarios, strict=True):
        plan = plan_of(scenario.model_dump_json())
        assert reopened(query_of(scenario)) == scenario, "Size asks it in the form"
        compare_shows_it(shown, plan)
        if plan.deployment is not None:
            explore_marks_it(scenario, plan)
            a_report_says_it(scenario, plan)
    return True


@settings(max_examples=6, phases=[Phase.generate])
@given(base=scenarios(), column=COLUMNS)
def test_a_column_is_one_plan_everywhere(base: Scenario, column: ComparisonColumn) -> None:
    assume(is_one_plan_everywhere(base, column))


@pytest.mark.slow
@settings(max_examples=100, phases=[Phase.generate])
@given(base=scenarios(), column=COLUMNS)
def test_a_hundred_columns_are_one_plan_everywhere(base: Scenario, column: ComparisonColumn) -> None:
    assume(is_one_plan_everywhere(base, column))


@pytest.mark.parametrize("preset", ["chatbot", "agent"])
def test_what_one_click_adds_is_one_plan_everywhere(preset: str) -> None:
    base = presets()[preset].scenario
    offered = [one for one in columns(answer_of(base.model_dump_json())) if one.keep_hardware or one.gpu == "b200_sxm"]
    assert len(offered) >= 2
    for column in offered:
        assert is_one_plan_everywhere(base, column)
