"""Plans with published drafts stand beside those without, and come first where they decide."""

from typing import Any

import numpy as np
import pytest

from sizing import Plan, Scenario, plan
from sizing.planning.answered import Answer
from sizing.question.speculation import published
from sizing.question.understand import understand
from sizing.search.drafted import with_drafts
from sizing.search.preferences import DRAFTS
from sizing.search.screen import evaluate_all
from tests.sizing.asking import LLAMA_8B, raw

CASES = {
    "DeepSeek-R1, ITL 8 ms on GB200": raw(
        "deepseek-ai/DeepSeek-R1",
        workload={"input_tokens": 1000, "output_tokens": 1000, "peak_rps": 100},
        limits={"itl_ms": 8},
        deployment={"gpus": ["gb200"]},
    ),
    "Llama 3.3 70B with EAGLE-3, ITL 12 ms on H100": raw(
        "meta-llama/Llama-3.3-70B-Instruct",
        workload={"input_tokens": 1000, "output_tokens": 500, "peak_rps": 20},
        limits={"itl_ms": 12},
        deployment={"gpus": ["h100_sxm"], "precisions": ["fp8"], "serving": ["aggregated"]},
    ),
    "Qwen3-Next with its heads, ITL 6 ms on H200": raw(
        "Qwen/Qwen3-Next-80B-A3B-Instruct",
        workload={"input_tokens": 1000, "output_tokens": 500, "peak_rps": 20},
        limits={"itl_ms": 6},
        deployment={"gpus": ["h200_sxm"]},
    ),
    "gpt-oss-120b with EAGLE-3, ITL 6 ms on H100": raw(
        "openai/gpt-oss-120b",
        workload={"input_tokens": 1000, "output_tokens": 500, "peak_rps": 20},
        limits={"itl_ms": 6},
        deployment={"gpus": ["h100_sxm"]},
    ),
}


def planned(keys: dict[str, Any], **deployment: Any) -> Plan:
    return plan(
        Scenario.model_validate({**keys, "deployment": {**keys.get("deployment", {}), **deployment}}), brief=True
    )


def cost(found: Plan) -> float:
    return (
        float(found.cost.hardware_usd_per_month) if found.cost and found.cost.hardware_usd_per_month else float("inf")
    )


@pytest.mark.parametrize("keys", CASES.values(), ids=CASES)
def test_drafts_come_first_where_a_tight_limit_decides_and_the_plan_says_so(keys: dict[str, Any]) -> None:
    found, without = planned(keys), planned(keys, speculation="off")
    assert found.deployment.speculation.source
    assert without.deployment is None or without.deployment.speculation is None
    assert cost(found) * DRAFTS <= cost(without)
    said = next(w for w in found.warnings if w.code == "speculative_decoding")
    assert (said.fix.key, said.fix.value) == ("deployment.speculation", "off")
    assert any("Acceptance of the" in one for one in found.assumptions)
    assert any(one.about == "speculation" for one in found.sentences)


def test_r1_takes_a_fraction_of_the_gpus_with_drafts() -> None:
    """2,528 GPUs without, expected, when this was asked for; 68 with three drafts at an acceptance of 0.7."""
    keys = CASES["DeepSeek-R1, ITL 8 ms on GB200"]
    with_them, without = (planned(keys, confidence=50, speculation=use) for use in ("auto", "off"))
    assert with_them.deployment.gpus < without.deployment.gpus / 10


@pytest.mark.parametrize(
    "changed",
    [
        {"deployment": {"gpus": ["gb200"], "speculation": "off"}},
        {"deployment": {"gpus": ["gb200"], "engines": ["tgi"]}},
        {"workload": {"input_tokens": 60_000, "output_tokens": 1000, "peak_rps": 1}},
        {"workload": {"input_tokens": 1000, "output_tokens": 1, "peak_rps": 1}},
        {"workload": {"input_tokens": 1000, "output_tokens": 1000, "peak_rps": 1, "mode": "offline"}},
    ],
    ids=["switched off", "engine without", "long contexts", "one token", "offline"],
)
def test_no_drafts_where_nobody_waits_or_knows(changed: dict[str, Any]) -> None:
    keys = {**CASES["DeepSeek-R1, ITL 8 ms on GB200"], **changed}
    found = planned(keys)
    assert all(one.deployment.speculation is None for one in found.alternatives)
    assert found.deployment is None or found.deployment.speculation is None


def test_a_loose_limit_is_held_without_drafts() -> None:
    found = planned({**CASES["DeepSeek-R1, ITL 8 ms on GB200"], "limits": {"itl_ms": 100}})
    assert found.deployment.speculation is None


def test_a_model_without_a_draft_has_none() -> None:
    assert published(understand(Scenario.model_validate(raw("google/gemma-2b"))).model) == ()


def test_rows_with_drafts_follow_those_without_and_are_on_engines_that_run_them() -> None:
    question = understand(Scenario.model_validate({**CASES["DeepSeek-R1, ITL 8 ms on GB200"], "deployment": {}}))
    plain = evaluate_all(question)
    both = with_drafts(question, plain)
    more = np.arange(len(plain), len(both))
    assert len(more)
    assert both.candidates.rows[: len(plain)] == plain.candidates.rows
    for i in more:
        row = both.candidates.rows[i]
        assert row.engine.id in row.speculation.draft.engines
        assert row.pp == 1
        assert both.times.tokens_of(np.array([i]))[0] == pytest.approx(row.speculation.tokens_per_step)


def test_a_draft_takes_memory_of_the_instance() -> None:
    question = understand(Scenario.model_validate(CASES["gpt-oss-120b with EAGLE-3, ITL 6 ms on H100"]))
    both = with_drafts(question, evaluate_all(question))
    rows = both.candidates.rows
    for i in np.flatnonzero(both.candidates.draft_tokens):
        alike = next(
            k
            for k, row in enumerate(rows)
            if not row.speculation.draft_tokens
            and (row.gpu, row.engine, row.precision, row.kv_precision, row.parallelism)
            == (rows[i].gpu, rows[i].engine, rows[i].precision, rows[i].kv_precision, rows[i].parallelism)
        )
        added = (both.memory.weights[i] - both.memory.weights[alike]) * rows[i].gpus
        assert added == pytest.approx(rows[i].speculation.weight_bytes, rel=1e-6)
        assert both.memory.max_concurrency[i] <= both.memory.max_concurrency[alike]


def test_what_was_asked_for_overrides_what_was_published() -> None:
    keys = CASES["gpt-oss-120b with EAGLE-3, ITL 6 ms on H100"]
    found = planned(keys, speculative_decoding={"draft_tokens": 2, "acceptance": 0.5})
    assert (found.deployment.speculation.draft_tokens, found.deployment.speculation.source) == (2, "scenario")
    assert not any(w.code == "speculative_decoding" for w in found.warnings)


def test_an_answer_holds_the_chosen_configuration_with_its_drafts() -> None:
    keys = CASES["gpt-oss-120b with EAGLE-3, ITL 6 ms on H100"]
    found = planned(keys)
    (row,) = Answer(understand(Scenario.model_validate(keys)), found).chosen
    assert row.speculation.draft is not None
    assert row.speculation.draft_tokens == found.deployment.speculation.draft_tokens


def test_the_answer_without_drafts_is_untouched_where_no_draft_is_known() -> None:
    keys = raw(LLAMA_8B, limits={"itl_ms": 8})
    assert planned(keys).deployment == planned(keys, speculation="off").deployment
