"""Stages of a pipeline typed into the form: what a text means, what is written, and what is wrong with one."""

import pytest

from sharing.form.fields import FIELDS
from sharing.form.link import from_parameters, to_parameters
from sharing.form.presets import defaults, presets
from sharing.form.problems import UnreadableInput
from sharing.form.read import to_scenario
from sharing.form.stages import stages_of
from sharing.form.stages_text import stages_text
from sharing.form.write import from_scenario
from sharing.report.content import Facts, Released, Table
from sharing.report.pipeline import pipeline
from sharing.report.subject import subject_of
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer
from sizing.scenario.schema import Scenario
from tests.sizing.asking import LLAMA_8B, raw

FIELD = FIELDS["stages"]


def test_a_text_means_the_stages_of_a_file():
    text = "embed BAAI/bge-m3 tokens=32\nother gpu=l4 measured_items_per_s=1.5k instances_per_gpu=2"
    assert stages_of(text, FIELD) == [
        {"stage": "embed", "model": "BAAI/bge-m3", "tokens": 32},
        {"stage": "other", "gpu": "l4", "measured_items_per_s": 1500, "instances_per_gpu": 2},
    ]


def test_what_is_written_is_read_as_the_same_stages():
    scenario = presets()["rag_pipeline"].scenario
    values = from_scenario(scenario)
    assert values["stages"] == FIELD.example
    assert Scenario.model_validate(to_scenario(values)) == scenario
    opened = from_parameters(to_parameters(values))
    assert not opened.problems
    assert Scenario.model_validate(to_scenario({**defaults(), **opened.values})).pipeline == scenario.pipeline


def test_a_name_with_blanks_stands_in_quotes():
    scenario = presets()["rag_pipeline"].scenario
    stage = scenario.pipeline[0].model_copy(update={"gpu": "H100 SXM"})
    named = scenario.model_copy(update={"pipeline": [stage]})
    assert Scenario.model_validate(to_scenario(from_scenario(named))).pipeline == [stage]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("embed bge-m3 token=32", "“token” is no key of a stage; did you mean tokens?"),
        ("embed bge-m3", "number 1: give tokens, the length of one item"),
        ("embed bge-m3 tokens=many", "tokens “many” is not a number"),
        ("embed bge-m3 tokens=32; rank bge tokens=3", "number 2: stage must be"),
        ("embed 'bge-m3 tokens=32", "a quotation mark is not closed"),
        ("embed bge m3 tokens=32", "model is given twice"),
        ("embed bge-m3 tokens=-1", "tokens must be greater than 0"),
        ("embed bge-m3 tokens=1;" * 9, "9 were entered; a pipeline has at most 8"),
    ],
)
def test_what_is_wrong_with_a_text_is_one_sentence_at_the_field(text, said):
    with pytest.raises(UnreadableInput) as error:
        to_scenario(defaults() | {"stages": text})
    assert said in str(error.value)
    assert error.value.fault.at == "stages"


def chapter(released, **sections):
    scenario = Scenario.model_validate(raw(LLAMA_8B, deployment={"gpus": ["h100_sxm"]}, **sections))
    return pipeline(subject_of(Answer.of(scenario, analytic_plan), released))


def test_the_report_has_a_chapter_with_the_stages_and_no_money_where_none_is_released():
    stages = [{"stage": "embed", "model": "bge-m3", "tokens": 32, "gpu": "l4"}]
    shown = chapter(Released.LIST_PRICES, pipeline=stages)
    (table,) = (block for block in shown.blocks if isinstance(block, Table))
    assert table.rows[0][:2] == ("embed", "BAAI/bge-m3")
    assert len(table.rows[0]) == len(table.columns)
    assert "USD" in "".join(column.unit + column.label for column in table.columns) or any(
        column.holds == "money" for column in table.columns
    )
    bare = chapter(Released.NOTHING, pipeline=stages)
    assert "$" not in bare.model_dump_json()
    assert not any(
        column.holds == "money" for block in bare.blocks if isinstance(block, Table) for column in block.columns
    )
    (facts,) = (block for block in bare.blocks if isinstance(block, Facts))
    assert "TTFT of the whole" in [fact.label for fact in facts.facts]
    assert chapter(Released.LIST_PRICES) is None


def test_a_slice_of_a_stage_is_read_and_written() -> None:
    text = "embed BAAI/bge-m3 tokens=32 gpu=a100_sxm_80g slice=1g.10gb"
    stages = stages_of(text, FIELD)
    assert (stages[0]["gpu"], stages[0]["slice"]) == ("a100_sxm_80g", "1g.10gb")
    again = stages_of(stages_text(stages), FIELD)
    assert again == stages
    with pytest.raises(UnreadableInput, match="slice needs gpu"):
        stages_of("embed BAAI/bge-m3 tokens=32 slice=1g.10gb", FIELD)
