"""GPUs that cannot serve: a reason for each, and a fix that really helps."""

from collections import defaultdict
from functools import cache

import pytest

from sizing import Scenario, plan
from sizing.catalog import gpus
from sizing.planning.exclusion_reasons import two_digits_up
from tests.sizing.asking import ALL, LLAMA_8B, LLAMA_70B, answer, ask, changed, gpus_that_serve, raw

ASKED = {
    "nothing restricted": raw(),
    "70B at 16 bit": raw(LLAMA_70B, workload={"peak_rps": 5}, deployment={"precisions": ["bf16"]}),
    "70B at 16 bit on one GPU": raw(
        LLAMA_70B, workload={"peak_rps": 5}, deployment={"precisions": ["bf16"], "tp": [1]}
    ),
    "671B MoE": raw("deepseek-ai/DeepSeek-V3", workload={"peak_rps": 2}),
    "long prompt": raw("meta-llama/Llama-3.1-8B-Instruct", workload={"input_tokens": 100_000, "peak_rps": 1}),
    "tight TTFT": raw(limits={"ttft_ms": 50}),
    "two tight limits": raw(limits={"ttft_ms": 20, "itl_ms": 5}),
    "tight ITL": raw(limits={"itl_ms": 2, "ttft_ms": None}),
    "tight E2E": raw(workload={"mode": "sequential"}, limits={"e2e_ms": 1500}),
    "one engine, one format": raw(deployment={"engines": ["tgi"], "precisions": ["nvfp4"]}),
    "one engine": raw(deployment={"engines": ["sglang"]}),
    "8-bit KV": raw(deployment={"kv_precisions": ["fp8"], "tp": [2]}),
    "TP 3": raw(deployment={"tp": [3]}),
    "TP 3 and 8-bit KV": raw(deployment={"tp": [3], "kv_precisions": ["fp8"]}),
    "TP 16": raw(deployment={"tp": [16]}),
    "EP of a dense model": raw(deployment={"ep": [4]}),
    "5000B": raw({"name": "giant", "params_b": 5000}, workload={"peak_rps": 1}),
}


@cache
def answered(case):
    """The answer to a case, over all hardware and with all alternatives."""
    return answer(ASKED[case], ALL)


@pytest.mark.parametrize("case", ASKED)
def test_each_considered_gpu_is_ranked_or_excluded(case):
    found = answered(case)
    excluded = [e.gpu for e in found.excluded]
    assert len(set(excluded)) == len(excluded)
    assert gpus_that_serve(found).isdisjoint(excluded)
    assert gpus_that_serve(found) | set(excluded) == {g.id for g in gpus().values() if not g.named_only}


@pytest.mark.parametrize("case", ASKED)
def test_a_fix_lets_its_gpu_serve(case):
    alike = defaultdict(list)
    for entry in answered(case).excluded:
        assert entry.reason.endswith(".")
        assert entry.relaxation.endswith(".")
        if entry.fix is not None:
            alike[entry.fix.model_dump_json()].append(entry)
    for entries in alike.values():
        named = [entry.gpu for entry in entries]
        fixed = answer(changed(eased(ASKED[case], entries[0].fix), "deployment.gpus", named), ALL)
        assert set(named) <= gpus_that_serve(fixed), entries


def eased(keys, fix):
    """The question with a fix and what is changed with it."""
    for one in (fix, *fix.also):
        keys = changed(keys, one.key, one.value)
    return keys


def only(keys, gpu):
    return answer(changed(keys, "deployment.gpus", [gpu]))


def test_a_model_no_gpu_holds_says_so():
    found = only(raw(LLAMA_70B, deployment={"precisions": ["bf16"]}), "t4")
    assert not found.feasible
    assert found.deployment is found.cost is found.latency is None
    assert "T4" in found.answer or "t4" in found.answer
    assert "BF16" in found.excluded[0].reason


def test_too_small_memory_is_told_in_gb():
    found = only(raw(LLAMA_70B, deployment={"precisions": ["bf16"], "tp": [1], "pp": [1]}), "h100_sxm")
    entry = found.excluded[0]
    assert "Needs" in entry.reason
    assert "of the 79.6 GiB of" in entry.reason
    assert entry.fix is not None


@pytest.mark.parametrize(
    ("confidence", "ends"), [(50, "(limit 5 ms)."), (90, "(limit 5 ms), at step times slow enough to be 90 % sure.")]
)
def test_a_limit_below_the_idle_latency_is_told_with_both(confidence, ends):
    found = only(raw(limits={"ttft_ms": 5}, deployment={"confidence": confidence}), "a100_sxm_80g")
    entry = found.excluded[0]
    assert entry.reason.startswith("Even without load, p95 TTFT is ")
    assert entry.reason.endswith(ends)
    assert entry.fix.key == "limits.ttft_ms"
    assert entry.fix.value > 5
    assert found.answer.count("Smallest relaxation") == 1


def test_an_unknown_datasheet_value_excludes_without_a_guess():
    unknown = [g.id for g in gpus().values() if not g.sizable]
    found = ask(alternatives=ALL)
    for gpu in unknown:
        entry = next(e for e in found.excluded if e.gpu == gpu)
        assert "not known" in entry.reason


def test_a_prompt_is_not_cut_to_nothing():
    for entry in answered("5000B").excluded:
        assert entry.fix is None or entry.fix.key != "workload.input_tokens"


@pytest.mark.parametrize(
    ("value", "up"), [(123.0, 130), (120.0, 120), (0.0123, 0.013), (9.91, 10), (100_001.0, 110_000)]
)
def test_a_relaxed_limit_is_one_a_person_would_write(value, up):
    assert two_digits_up(value) == pytest.approx(up)
    assert two_digits_up(value) >= value * (1 - 1e-9)


def test_infeasible_names_the_number_considered():
    found = ask(LLAMA_8B, limits={"ttft_ms": 0.001})
    assert not found.feasible
    assert f"{sum(not g.named_only for g in gpus().values())} GPU types considered" in found.answer
    assert "Smallest relaxation: " in found.answer
    assert found.gpus_low is None
    assert found.alternatives == found.trade_off == ()


def test_beyond_the_context_window_no_other_change_is_proposed():
    """Nothing meets the limits either, but relaxing them would not make the model read more."""
    keys = raw(
        "meta-llama/Llama-3.3-70B-Instruct",
        workload={"input_tokens": 200_000, "output_tokens": 1000},
        limits={"ttft_ms": 2000},
    )
    found = answer(keys)
    assert not found.feasible
    assert "Relax" not in found.answer
    assert "relaxation" not in found.answer
    assert "longer context" in found.answer
    assert found.excluded
    assert {e.fix.key for e in found.excluded if e.fix} <= {"workload.input_tokens"}
    (warning,) = [w for w in found.warnings if w.code == "context_exceeded"]
    assert warning.fix.key == "workload.input_tokens"


def test_cards_for_workstations_are_bought_only_where_they_are_named():
    unnamed = ask(LLAMA_8B, workload={"peak_rps": 1})
    reasons = {entry.gpu: entry.reason for entry in unnamed.excluded}
    assert "forbids use in a data centre" in reasons["rtx_5090"]
    assert not unnamed.deployment.gpu.startswith("rtx_5090")
    named = ask(LLAMA_8B, workload={"peak_rps": 1}, deployment={"gpus": ["rtx_5090"]})
    assert (named.deployment.gpu, named.deployment.system) == (
        "rtx_5090",
        "1x GeForce RTX 5090 32GB workstation (assumed)",
    )
    rented = ask(LLAMA_8B, workload={"peak_rps": 1}, deployment={"location": "cloud"})
    assert "rtx_5090" in {entry.gpu for entry in rented.excluded}
    asked = ask(LLAMA_8B, workload={"peak_rps": 1}, deployment={"location": "cloud", "gpus": ["rtx_5090"]})
    assert asked.deployment.gpu == "rtx_5090"


def test_a_setting_that_makes_it_fit_is_named():
    """Llama 3.3 70B in FP8 on one H100: 67.7 GiB of weights, 5.1 GiB for 32,000 tokens at 0.95 (start-up log)."""
    question = {
        "model": "meta-llama/Llama-3.3-70B-Instruct",
        "workload": {"input_tokens": 30_000, "output_tokens": 500, "peak_rps": 0.01},
        "limits": {"ttft_ms": None, "itl_ms": None},
        "deployment": {"gpus": ["h100_sxm"], "engines": ["vllm"], "tp": [1], "pp": [1], "precisions": ["fp8"]},
    }
    excluded = plan(Scenario.model_validate(question)).excluded[0]
    assert "95 %" in excluded.relaxation
    assert "2 GPUs are advised" in excluded.relaxation
    told = {**question, "deployment": {**question["deployment"], "memory_fraction": excluded.fix.value}}
    assert plan(Scenario.model_validate(told)).feasible


def test_a_share_of_memory_that_is_too_small_is_to_be_left_open():
    question = {
        "model": LLAMA_8B,
        "workload": {"input_tokens": 1000, "output_tokens": 200, "peak_rps": 1},
        "limits": {"ttft_ms": None, "itl_ms": None},
        "deployment": {
            "gpus": ["l4"],
            "engines": ["vllm"],
            "memory_fraction": 0.5,
            "precisions": ["bf16"],
            "tp": [1],
            "pp": [1],
        },
    }
    excluded = plan(Scenario.model_validate(question)).excluded[0]
    assert (excluded.fix.key, excluded.fix.value) == ("deployment.memory_fraction", None)


def test_what_misses_its_limits_by_least_comes_first_where_two_have_to_be_relaxed():
    found = answered("two tight limits")
    relaxed = [entry for entry in found.excluded if entry.fix and entry.fix.relaxes_a_limit]
    assert any(entry.fix.also for entry in relaxed)
    assert found.excluded[: len(relaxed)] == tuple(relaxed)
    assert relaxed[0].closest in found.answer
    assert "Smallest relaxation" in found.answer
    limits = {"limits.ttft_ms": 20.0, "limits.itl_ms": 5.0}

    def missed(entry):
        return max(one.value / limits[one.key] for one in (entry.fix, *entry.fix.also))

    assert list(map(missed, relaxed)) == sorted(map(missed, relaxed))


@pytest.mark.parametrize(
    ("gpu", "model", "form"),
    [
        ("m3_ultra", "deepseek-ai/DeepSeek-R1", "q4_k_m"),
        ("m4_max", "CohereLabs/c4ai-command-a-03-2025", "q8_0"),
        ("m1_max", "mistralai/Mixtral-8x7B-Instruct-v0.1", "q8_0"),
    ],
)
def test_what_a_setting_of_the_system_makes_room_for_is_told_with_the_setting(gpu: str, model: str, form: str) -> None:
    keys = raw(model, workload={"input_tokens": 500, "output_tokens": 200, "peak_rps": 0.001})
    keys |= {"limits": {"ttft_ms": None, "itl_ms": None}, "deployment": {"gpus": [gpu], "precisions": [form]}}
    (refused,) = answer(keys).excluded
    assert "iogpu.wired_limit_mb" in refused.relaxation
    assert answer(changed(keys, refused.fix.key, refused.fix.value)).deployment is not None
