"""A plan with adapters: memory, slower steps, what waits, and nothing of it where there are none."""

from typing import Any

import numpy as np
import pytest

from sizing import Scenario, plan
from sizing.base.errors import InvalidScenario
from sizing.catalog.adapters import adapter_bytes
from sizing.deployments.candidates import table
from sizing.deployments.memory import adapter_bytes_per_gpu, memory_fit, weights_per_gpu
from sizing.question.adapters import NO_ADAPTERS
from sizing.question.configuration import Configuration
from sizing.question.understand import understand
from sizing.search.replicas import as_replica
from sizing.search.screen import all_configurations, evaluate
from tests.sizing.asking import LLAMA_8B, raw

H100 = {"gpus": ["h100_sxm"], "engines": ["vllm"], "precisions": ["bf16"]}


def asked(adapters: Any, **more: Any) -> Scenario:
    workload = {"input_tokens": 1500, "output_tokens": 200, "peak_rps": 10}
    return Scenario.model_validate({**raw(LLAMA_8B, workload=workload, deployment=H100, **more), "adapters": adapters})


def row_of(scenario: Scenario, tp: int = 1) -> tuple[Any, Configuration]:
    question = understand(scenario)
    row = next(r for r in all_configurations(question).rows if (r.tp, r.pp, r.kv_precision) == (tp, 1, "fp16"))
    return question, row


def test_slots_are_reserved_at_the_largest_rank_and_leave_less_for_the_kv_cache():
    question, with_slots = row_of(asked({"number": 50, "rank": 16, "resident": 20}))
    _, without = row_of(asked(None))
    reserved = 20 * adapter_bytes(question.model, 16, "all")
    assert float(adapter_bytes_per_gpu(question.model, table([with_slots]))[0]) == pytest.approx(reserved)
    fits = [memory_fit(question.model, table([row]), 1700.0) for row in (without, with_slots)]
    assert float(fits[0].kv_available[0] - fits[1].kv_available[0]) == pytest.approx(reserved)


def test_tensor_parallelism_splits_one_of_the_two_thin_matrices():
    question, whole = row_of(asked({"number": 8, "rank": 16}))
    _, halves = row_of(asked({"number": 8, "rank": 16}), tp=2)
    one, two = (float(adapter_bytes_per_gpu(question.model, table([row]))[0]) for row in (whole, halves))
    assert one / 2 < two < one


def test_without_adapters_nothing_is_reserved():
    question, row = row_of(asked(None))
    assert row.adapters == NO_ADAPTERS
    assert not adapter_bytes_per_gpu(question.model, table([row])).any()
    assert weights_per_gpu(question.model, table([row])) > 0


def test_every_step_is_longer_by_what_was_published_and_the_simulation_knows_it():
    scenarios = asked(None), asked({"number": 4, "rank": 16, "resident": 4})
    questions = [understand(one).as_expected() for one in scenarios]
    (plain, slower), rows = (
        [evaluate(q, table([row_of(s)[1]])) for q, s in zip(questions, scenarios, strict=True)],
        [row_of(s)[1] for s in scenarios],
    )
    at = np.array([1.0])
    decode = [float(np.interp(at, one.state.concurrency[0], one.times.decode_s[0])[0]) for one in (plain, slower)]
    assert decode[1] / decode[0] == pytest.approx(1.25, rel=0.01)
    assert float(slower.times.prefill_s[0] / plain.times.prefill_s[0]) == pytest.approx(1.25)
    grids = [as_replica(q, row).grid for q, row in zip(questions, rows, strict=True)]
    assert float(grids[1].decode_s[5, 3] / grids[0].decode_s[5, 3]) == pytest.approx(1.25)


def test_an_adapter_that_is_not_resident_is_loaded_before_the_first_token():
    few, network = {"number": 400, "rank": 64, "resident": 4}, {"load_gbs": 0.5}
    near, far = (plan(asked({**few, **more})) for more in ({}, network))
    load_s = adapter_bytes(understand(asked(few)).model, 64, "all") / 0.5e9
    assert far.deployment.adapters.load_ms == pytest.approx(load_s * 1000)
    assert far.latency.ttft_ms.at(50.0) > near.latency.ttft_ms.at(50.0) + 0.8 * load_s * 1000
    assert far.deployment.gpus >= near.deployment.gpus


def test_the_answer_says_what_it_counts_on():
    found = plan(asked({"number": 50, "rank": 16, "resident": 8}))
    one = found.deployment.adapters
    assert (one.number, one.rank, one.resident) == (50, 16, 8)
    assert 0.0 < one.hit_share <= one.hit_share_routed <= 1.0
    sentence = next(s.text for s in found.sentences if s.about == "inputs")
    assert sentence.startswith("50 adapters of rank 16, 8 of them in the memory of each instance")
    assert any("Zipf law of exponent 1" in text for text in found.assumptions)
    plain = plan(asked(None))
    assert '"adapters"' not in plain.model_dump_json()
    assert found.deployment.gpus >= plain.deployment.gpus


def test_more_adapters_in_use_than_slots_are_warned_of_with_a_number_that_ends_it():
    found = plan(asked({"number": 50, "rank": 8, "resident": 1}))
    warning = next(w for w in found.warnings if w.code == "adapters_wait")
    assert warning.fix.key == "adapters.resident"
    more = plan(asked({"number": 50, "rank": 8, "resident": warning.fix.value}))
    assert "adapters_wait" not in {w.code for w in more.warnings}


def test_experts_on_an_engine_that_no_source_says_to_adapt_them():
    moe = {"model": "Qwen/Qwen3-30B-A3B", "adapters": {"number": 4, "rank": 8}}
    scenario = {**asked(None).model_dump(), **moe, "deployment": {"gpus": ["h100_sxm"], "engines": ["trtllm"]}}
    codes = {w.code for w in plan(Scenario.model_validate(scenario)).warnings}
    assert "adapters_unknown" in codes
    scenario["adapters"]["targets"] = "attention"
    codes = {w.code for w in plan(Scenario.model_validate(scenario)).warnings}
    assert not codes & {"adapters_unknown", "adapters_of_experts"}


def test_a_record_says_that_adapters_have_no_effect():
    record = {"system": "dgx_h100", "rps_per_system": 40, "ttft_ms": 300}
    found = plan(asked({"number": 4}, measured=record))
    assert any(text.startswith("adapters has no effect") for text in found.assumptions)


@pytest.mark.parametrize("bad", [{"number": 0}, {"number": 4, "rank": 1000}, {"number": 4, "resident": 9}, {"rank": 8}])
def test_bad_adapters_are_one_sentence(bad):
    with pytest.raises((InvalidScenario, ValueError)):
        asked(bad)


@pytest.mark.parametrize(("number", "published"), [(100, 0.993), (1000, 0.949), (2000, 0.945)])
def test_the_number_of_adapters_costs_as_little_as_published(number, published):
    """S-LoRA (LMSYS blog, 2023-11-15), Llama-7B on one A100 80GB, rank 8: requests/s of so many over those of 5."""
    place = {"gpus": ["a100_sxm_80gb"], "engines": ["vllm"], "precisions": ["bf16"], "tp": [1], "pp": [1]}

    def carried(adapters: dict[str, int]) -> float:
        workload = {"input_tokens": 256, "output_tokens": 256, "peak_rps": 1}
        keys = raw("meta-llama/Llama-2-7b-hf", workload=workload, deployment=place) | {"adapters": adapters}
        question = understand(Scenario.model_validate(keys)).as_expected()
        return float(evaluate(question, all_configurations(question)).capacity.stable_rps[0])

    few = carried({"number": 5, "rank": 8})
    many = carried({"number": number, "rank": 8, "resident": min(number, 100)})
    assert many / few == pytest.approx(published, abs=0.06)
