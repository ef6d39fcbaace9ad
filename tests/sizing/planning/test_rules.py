"""Warnings: when they are given, and that their fix makes them go away."""

import pytest

from sizing.catalog import gpus, resolve_gpu, resolve_model
from sizing.catalog.engines import resolve_engine
from sizing.catalog.measured import measurements
from sizing.catalog.precisions import resolve_precision
from sizing.planning.rules_evidence import about_evidence
from sizing.prices.hardware import options
from sizing.question.configuration import Configuration
from sizing.scenario.prices import Prices
from tests.sizing.asking import LLAMA_8B, LLAMA_70B, answer, ask, changed, raw

L4 = {"gpus": ["l4"]}
ASKED = {
    "8B anywhere": raw(),
    "8B on T4": raw(deployment={"gpus": ["t4"]}),
    "8B on L4": raw(deployment=L4, limits={"itl_ms": 400}),
    "8B, slow reader": raw(deployment={"gpus": ["a10"]}, limits={"itl_ms": None, "ttft_ms": 60_000}),
    "8B on H100 with spare": raw(deployment={"gpus": ["h100_sxm"], "spare_instances": 1}),
    "8B, prompt beyond the window": raw(workload={"input_tokens": 8000, "peak_rps": 2}),
    "70B on PCIe cards": raw(
        LLAMA_70B, workload={"peak_rps": 5}, limits={"ttft_ms": 4000}, deployment={"gpus": ["l40s"], "tp": [4, 8]}
    ),
    "70B across bridges": raw(LLAMA_70B, workload={"peak_rps": 5}, deployment={"gpus": ["h100_nvl"], "tp": [4, 8]}),
    "multi-query, TP2": raw(
        "tiiuae/falcon-40b", workload={"input_tokens": 1500, "peak_rps": 1}, deployment={"tp": [1, 4, 16]}
    ),
    "TP16": raw(LLAMA_70B, deployment={"gpus": ["gb200"], "tp": [16]}),
    "MoE": raw("Qwen/Qwen3-235B-A22B", workload={"peak_rps": 2}),
    "gpt-oss": raw("openai/gpt-oss-120b", workload={"peak_rps": 5}),
    "size only": raw({"name": "NeMo 43B GPT", "params_b": 43}),
    "cloud": raw(deployment={"location": "cloud"}, workload={"peak_rps": 2}),
    "tight": raw(limits={"ttft_ms": 60, "itl_ms": 7}),
    "long prompt": raw("meta-llama/Llama-3.1-70B-Instruct", workload={"input_tokens": 60_000, "peak_rps": 1}),
}

LLAMA = resolve_model("meta-llama/Llama-3.3-70B-Instruct").model


def codes(found):
    return [w.code for w in found.warnings]


def the(found, code):
    return next(w for w in found.warnings if w.code == code)


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_a_fix_makes_its_warning_go_away(asked):
    found = answer(asked)
    beyond = "context_exceeded" in codes(found)
    assert found.feasible is not beyond
    for warning in found.warnings:
        if warning.fix is None or (beyond and warning.code != "context_exceeded"):
            continue
        fixed = answer(changed(asked, warning.fix.key, warning.fix.value))
        assert fixed.feasible, warning
        if warning.code == "idle_gpus":  # another deployment may now win, but the spares come at no cost
            assert fixed.deployment.spare_instances == warning.fix.value
            assert fixed.cost.hardware_usd_per_month == found.cost.hardware_usd_per_month
        else:
            assert warning.code not in codes(fixed), warning


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_warnings_come_once_and_the_worst_first(asked):
    found = answer(asked)
    assert len(set(codes(found))) == len(found.warnings)
    order = ["error", "warning", "info"]
    severities = [order.index(w.severity) for w in found.warnings]
    assert severities == sorted(severities)
    assert all(w.message.endswith(".") and w.source for w in found.warnings)


def test_prompt_beyond_the_context_window_is_an_error():
    found = answer(ASKED["8B, prompt beyond the window"])
    assert the(found, "context_exceeded").severity == "error"
    assert the(found, "context_exceeded").fix.value == 8192 - 500


def test_a_prompt_that_just_fits_the_window_is_none():
    assert "context_exceeded" not in codes(ask(workload={"input_tokens": 8192 - 500, "peak_rps": 2}))
    assert "context_exceeded" in codes(ask(workload={"input_tokens": 8192 - 499, "peak_rps": 2}))


def test_an_unknown_window_is_said():
    assert "context_unknown" in codes(answer(ASKED["size only"]))


def test_tp_beyond_an_nvlink_bridge():
    assert gpus()["h100_nvl"].domain_gpus < 8
    found = answer(ASKED["70B across bridges"])
    assert "tp_beyond_bridge" in codes(found)
    assert "tp_without_nvlink" not in codes(found)


def test_tp_not_dividing_the_kv_heads_wastes_memory():
    assert "tp_not_dividing_kv_heads" in codes(answer(ASKED["TP16"]))
    alone = ask(
        {"name": "multi-query", "params_b": 7, "layers": 32, "heads": 64, "kv_heads": 1},
        deployment={"gpus": ["h100_sxm"], "tp": [2]},
    )
    (said,) = (w.message for w in alone.warnings if w.code == "tp_not_dividing_kv_heads")
    assert said.startswith("The model has a single KV head, of which each of the 2 GPUs")
    assert "tp_not_dividing_kv_heads" not in codes(ask(LLAMA_70B, deployment={"gpus": ["h100_sxm"], "tp": [8]}))
    mla = ask("deepseek-ai/DeepSeek-V3", workload={"peak_rps": 2}, deployment={"gpus": ["h200_sxm"], "tp": [8]})
    assert "tp_not_dividing_kv_heads" not in codes(mla)


def test_an_instance_over_two_servers():
    found = ask(LLAMA_70B, workload={"peak_rps": 1}, deployment={"gpus": ["h100_sxm"], "tp": [8], "pp": [2]})
    assert "instance_spans_servers" in codes(found)
    assert "instance_spans_servers" not in codes(ask(LLAMA_70B, deployment={"gpus": ["gb200"], "tp": [16]}))


@pytest.mark.parametrize("gpu", ["gh200", "h100_nvl", "b200_sxm"])
def test_no_instance_spans_rented_machines_without_a_fabric(gpu):
    """GH200 is rented one GPU at a time, others with more; none of the largest of theirs joins several of them."""
    asked = {"gpus": [gpu], "location": "cloud", "tp": [2], "pp": [8]}
    found = ask(LLAMA_70B, workload={"peak_rps": 1}, deployment=asked)
    fabric = any(o.fabric for o in options(gpus()[gpu], "cloud", Prices()))
    assert (found.deployment is not None) == fabric
    if not fabric:
        (entry,) = found.excluded
        assert "no RDMA network between several is known" in entry.reason


@pytest.mark.parametrize("mode", ["sequential", "offline"])
def test_nobody_reads_along_unless_streaming(mode):
    asked = changed(ASKED["8B, slow reader"], "workload.mode", mode)
    assert not set(codes(answer(asked))) & {"slower_than_reading", "slower_than_fast_reading"}


def test_quantised_weights_name_what_they_cost():
    found = ask(deployment={"gpus": ["a10"], "precisions": ["int4_awq"]}, workload={"peak_rps": 1})
    assert "quantized_weights" in codes(found)
    assert the(found, "quantized_weights").fix is None  # nothing else was allowed
    fp8 = ask(deployment={"gpus": ["h100_sxm"], "precisions": ["fp8"]})
    assert "quantized_weights" not in codes(fp8)


def test_a_format_the_model_was_trained_in_costs_nothing():
    found = ask("openai/gpt-oss-120b", workload={"peak_rps": 2}, deployment={"gpus": ["h100_sxm"]})
    assert found.deployment.weight_precision == "mxfp4"
    assert "quantized_weights" not in codes(found)


def test_idle_gpus_are_counted_in_whole_instances():
    one = {"gpus": ["b200_sxm"], "tp": [4], "pp": [1]}
    found = ask(LLAMA_8B, workload={"peak_rps": 0.1}, deployment=one)
    assert found.deployment.gpus == 4
    assert the(found, "idle_gpus").message.count("1 more instance would") == 1


def test_gpus_left_over_in_every_rack_are_no_instance():
    """TP16 x PP4 takes 64 of the 72 GPUs of a rack; the 8 left in each hold no further instance."""
    found = ask(
        "meta-llama/Llama-3.1-70B-Instruct",
        workload={"input_tokens": 100_000, "output_tokens": 100, "peak_rps": 40},
        limits={"ttft_ms": 8000},
        deployment={"gpus": ["gb200"], "tp": [16], "pp": [4]},
    )
    assert found.deployment.systems == found.deployment.instances > 8
    assert "idle_gpus" not in codes(found)


def test_a_missing_spare_is_said_until_there_is_one():
    full = {"gpus": ["h100_sxm"], "tp": [8], "pp": [1]}
    several, alone = {"peak_rps": 100}, {"peak_rps": 1}
    assert "no_spare" in codes(ask(deployment=full, workload=several))
    assert "no_spare" not in codes(ask(deployment={**full, "spare_instances": 1}, workload=several))
    assert "no_spare" not in codes(ask(deployment=full, workload=alone))  # the answer says so, once


def test_an_unknown_price_is_said():
    found = ask(LLAMA_8B, deployment={"gpus": ["a10"]}, workload={"peak_rps": 1})
    assert found.cost.hardware_usd_per_month is None
    assert "price_unknown" in codes(found)
    assert "No list price is known." in found.answer


def said(gpu, engine="vllm", **parallelism):
    row = Configuration(
        gpu=resolve_gpu(gpu),
        engine=resolve_engine(engine),
        precision=resolve_precision("fp8"),
        kv_precision="fp16",
        **({"tp": 4} | parallelism),
    )
    return {warning.code: warning for warning in about_evidence(LLAMA, row)}


@pytest.mark.parametrize(
    ("asked", "codes"),
    [
        (("h100_sxm",), set()),
        (("gaudi3",), {"no_evidence"}),
        (("a10g",), {"no_evidence", "layout_unmeasured"}),
        (("rtx_pro_6000_server",), {"engine_unmeasured", "layout_unmeasured"}),
        (("rtx_5090",), {"no_evidence", "layout_unmeasured"}),
        (("h20_3e",), {"no_evidence"}),
        (("h100_sxm", "tgi"), {"engine_unmeasured"}),
        (("l40s", "sglang"), {"engine_unmeasured", "layout_unmeasured"}),
        (("l40s", "trtllm"), set()),
    ],
)
def test_evidence_of_another_product_or_engine_is_not_its_own(asked, codes):
    assert set(said(*asked)) == codes


def test_pipeline_stages_say_what_is_assumed_of_them():
    warning = said("h100_sxm", pp=4)["pipeline_unmeasured"]
    assert "10 %" in warning.message
    assert "H100 SXM5" in warning.message


def test_what_stands_in_is_named():
    assert "step times of vLLM are used" in said("h100_sxm", "tgi")["engine_unmeasured"].message
    few = said("h20_3e")["no_evidence"].message
    assert f"Only {measurements('gpus')['h20_3e']} published measurements" in few
    assert "others of its generation" in few
    assert "or its generation" in said("gaudi3")["no_evidence"].message
