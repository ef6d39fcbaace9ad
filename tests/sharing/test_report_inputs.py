"""What a report says of images and adapters: what was asked, what runs, what is taken for granted."""

from functools import cache

from sharing.formats.markdown import write
from sharing.formats.source import source_of
from sharing.report.content import Released, Table
from sizing import Scenario
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer
from tests.sharing.report_cases import MADE_AT

KEYS = {
    "model": "Qwen/Qwen3-VL-8B-Instruct",
    "workload": {"input_tokens": 400, "output_tokens": 200, "pages": 3, "peak_rps": 2},
    "adapters": {"number": 20, "rank": 8, "resident": 5},
    "deployment": {"gpus": ["h100_sxm"], "engines": ["vllm"]},
}


@cache
def written():
    answer = Answer.of(Scenario.model_validate(KEYS), analytic_plan)
    return source_of(answer, released=Released.LIST_PRICES, made_at=MADE_AT)


def rows(title: str) -> dict[str, str]:
    tables = [b for s in written().report.sections for b in s.blocks if isinstance(b, Table) and b.title == title]
    return {str(row[0]): str(row[1]) for table in tables for row in table.rows}


def test_what_was_asked_and_what_runs():
    asked = rows("What it has to do")
    assert asked["Beside the text"] == "3 pages of 2,145 tokens each"
    assert asked["Adapters"] == "20 of rank 8 at most"
    assert rows("What runs on it")["Adapters"] == "5 of 20 in the memory of each instance, rank 8 at most"


def test_inputs_are_stated_by_the_customer_in_words():
    stated = rows("What was stated")
    assert stated["Scanned pages per request"].startswith("3")
    assert stated["Rank of the adapters"].startswith("8")


def test_the_text_says_what_is_taken_for_granted():
    text = write(written()).decode()
    assert "Zipf law of exponent 1" in text
    assert "1,240 x 1,754 pixels" in text
