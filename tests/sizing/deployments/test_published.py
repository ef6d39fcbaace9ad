"""Deployments that vendors and projects test, recommend, sell or report as failing: accepted and refused as they say.

``published.csv``: a row each with source and date; ``expect`` is works, fails or dispute (sources contradict each
other). The counts are asked of all rows together, so that a row whose source errs does not decide.
"""

import csv
from pathlib import Path

import pytest

from sizing import Scenario, plan
from sizing.deployments.memory import memory_fit
from sizing.question.understand import understand
from sizing.search.screen import all_configurations

ROWS = list(csv.DictReader(Path(__file__).with_name("published.csv").read_text("utf-8").splitlines()))
OUTPUT_TOKENS, SHORT_CONTEXT = 256, 2048
DEGREES = ("tp", "pp", "ep", "dp")
KNOWN_TO_DIFFER = {
    "242": "an issue of 2025-07 on SGLang; its 0.5.23 widens FP8 weights on Ampere (modelopt and Marlin, min 80)"
}


def scenario_of(row: dict[str, str]) -> Scenario:
    """The deployment as a scenario: everything pinned, no limit, hardly any load."""
    context = int(row["max_context"] or SHORT_CONTEXT)
    pinned = {name: [int(row[name])] if row[name] else [] for name in DEGREES}
    return Scenario.model_validate(
        {
            "model": row["model"],
            "workload": {"input_tokens": context - OUTPUT_TOKENS, "output_tokens": OUTPUT_TOKENS, "peak_rps": 0.001},
            "limits": {"ttft_ms": None, "itl_ms": None, "e2e_ms": None},
            "deployment": {
                "gpus": [row["gpu"]],
                "engines": [row["engine"]],
                "precisions": [row["format"]] if row["format"] else [],
                "kv_precisions": [row["kv"]] if row["kv"] else [],
                "location": "cloud",
                "serving": ["aggregated"],
                **pinned,
                "dp": pinned["dp"] or [1],
            },
        }
    )


def accepted(row: dict[str, str]) -> bool:
    """Whether a configuration runs and holds a sequence of that context, by what plans choose from."""
    question = understand(scenario_of(row))
    candidates = all_configurations(question)
    if not len(candidates):
        return False
    return bool(memory_fit(question.model, candidates, question.traffic.resident_kv_tokens).fits.any())


def share(expected: str) -> float:
    rows = [row for row in ROWS if row["expect"] == expected]
    right = [row for row in rows if accepted(row) == (expected == "works")]
    return len(right) / len(rows)


def test_what_is_published_as_working_is_accepted() -> None:
    assert share("works") >= 0.97


def test_what_is_published_as_failing_is_refused() -> None:
    failing = [row for row in ROWS if row["expect"] == "fails"]
    wrong = {row["id"] for row in failing if accepted(row)}
    assert wrong <= set(KNOWN_TO_DIFFER)
    assert len(wrong) <= 0.07 * len(failing)  # 1 of 16


@pytest.mark.parametrize("row", ROWS[::12], ids=lambda row: f"{row['id']} {row['expect']}")
def test_a_plan_says_the_same(row: dict[str, str]) -> None:
    answer = plan(scenario_of(row))
    assert (answer.deployment is not None) == accepted(row)
    assert answer.deployment is not None or answer.excluded[0].reason
