"""The whole answer on chosen scenarios."""

import math

import pytest

from sizing import Scenario, plan
from sizing.base.errors import InvalidScenario
from sizing.planning.analytic import analytic_plan
from sizing.planning.answer import bought
from sizing.planning.plan import warm_up
from tests.sizing.asking import ALL, LLAMA_8B, LLAMA_70B, ask, raw

H100 = {"gpus": ["h100_sxm"]}
PCIE_CARD = {"id": "my_card", "memory_gb": 48, "bandwidth_gbs": 900, "fp16_tflops": 180}
LINKED_CARD = {
    "id": "my_card",
    "memory_gb": 128,
    "bandwidth_gbs": 4000,
    "fp16_tflops": 900,
    "fp8_tflops": 1800,
    "int8_tops": 1800,
    "link_gbs": 900,
    "tdp_watts": 900,
    "price_usd": 20_000,
}


def test_the_answer_names_what_is_bought_what_is_sized_load_latency_cost_bound_and_certainty():
    found = ask(deployment={**H100, "spare_instances": 1, "precisions": ["fp8"]})
    d, parts = found.deployment, {sentence.about: sentence.text for sentence in found.sentences}
    assert list(parts) == ["bought", "serves", "format", "redundancy", "cost", "room", "sure"]
    assert f"({d.gpus_bought} x H100 SXM5 80GB) is enough; {d.gpus - 1} of its {d.gpus_bought} GPUs" in parts["bought"]
    assert parts["serves"].startswith(
        "Meta-Llama-3-8B in FP8 on TensorRT-LLM serves 31 requests/s at the peak: 95 % of "
    )
    assert "(limit 2 s), which is p95 TTFT." in parts["serves"]
    assert parts["format"] == "FP8 is quantised from BF16; accuracy effect: very low loss."
    assert parts["cost"].endswith(" a month for the hardware alone, before power and operation.")
    assert found.limited_by in parts["room"]
    assert found.answer == " ".join(parts.values())
    assert found.source
    assert found.how_sure


def test_one_gpu_is_said_in_the_singular():
    found = ask(deployment=H100, workload={"peak_rps": 0.01, "input_tokens": 10, "output_tokens": 10})
    assert "1 of its 4 GPUs carries the load, as one instance of one GPU." in found.answer
    assert found.probability_within_limits == 0.99  # what is more is not told
    assert "The limits hold with a chance of more than 99 %" in found.answer


def test_a_load_far_below_what_the_smallest_unit_carries_is_limited_by_nothing_else():
    small, large = (ask(deployment=H100, workload={"peak_rps": rps}) for rps in (0.1, 100))
    assert small.limited_by == "nothing yet (smallest unit that fits)"
    assert small.headroom == pytest.approx(small.per_instance.max_rps / 0.1)
    assert "is reached first" in small.answer
    assert "limit" in large.limited_by
    assert large.limited_by != small.limited_by
    assert 1 <= large.headroom < small.headroom


def test_what_keeps_a_single_instance_from_being_smaller_binds():
    fp8 = {**H100, "precisions": ["fp8"], "engines": ["vllm"]}
    one = ask(LLAMA_70B, deployment=fp8, workload={"peak_rps": 0.05}, limits={"itl_ms": 15})
    assert one.deployment.instances == 1
    assert one.deployment.gpus > 2
    assert "Limited by: the ITL limit (decode latency) with fewer GPUs per instance. " in one.answer
    assert (
        ask(LLAMA_8B, deployment=fp8, workload={"peak_rps": 0.05}).limited_by == "nothing yet (smallest unit that fits)"
    )


def test_the_only_instance_is_a_single_point_of_failure_whatever_is_idle():
    one = ask(deployment=H100, workload={"peak_rps": 0.1})
    assert one.deployment.single_points == ("instance",)
    assert "single point of failure, and the 3 idle GPUs do not take over." in one.answer
    spared = ask(deployment={**H100, "spare_instances": 1}, workload={"peak_rps": 0.1})
    assert spared.deployment.single_points == ("system",)
    assert "Everything runs in one system" in spared.answer
    many = ask(deployment=H100, workload={"peak_rps": 1000})
    assert many.deployment.systems > 1
    assert "single point of failure" not in many.answer


@pytest.mark.parametrize(
    ("model", "published"), [("openai/gpt-oss-120b", "mxfp4"), ("moonshotai/Kimi-K2.5", "int4_wo")]
)
def test_the_published_format_is_considered_among_wider_ones(model, published):
    wide = {"gpus": ["h200_sxm"], "precisions": ["bf16", "fp16", "fp8"]}
    found = ask(model, deployment=wide, workload={"peak_rps": 1})
    assert found.deployment.weight_precision == published
    assert "quantised" not in found.answer
    assert any("is considered too: the model is published in it" in line for line in found.assumptions)


def test_one_format_alone_is_a_decision():
    found = ask("openai/gpt-oss-20b", deployment={**H100, "precisions": ["bf16"]}, workload={"peak_rps": 1})
    assert found.deployment.weight_precision == "bf16"
    assert "BF16 is converted from MXFP4, the format of the checkpoint." in found.answer


def test_numbers_of_the_answer_hang_together():
    found = ask(LLAMA_70B, workload={"peak_rps": 20}, deployment={**H100, "spare_instances": 2})
    d, one = found.deployment, found.per_instance
    assert d.gpus == d.instances * d.tp * d.pp * d.dp
    assert d.instances == math.ceil(20 / one.max_rps - 1e-9) + 2
    assert one.rps == pytest.approx(20 / (d.instances - 2))
    assert one.rps <= one.max_rps <= one.stable_rps
    assert one.output_tokens_per_s == pytest.approx(one.rps * 500)
    assert one.output_tokens_per_s_per_gpu == pytest.approx(one.output_tokens_per_s / (d.gpus / d.instances))
    assert found.cost.hardware_usd_per_month == pytest.approx(found.cost.usd_per_hour * 730)
    assert one.concurrency <= one.max_concurrency


def test_every_figure_is_explained_with_its_source():
    found = ask(deployment=H100)
    names = {e.name for e in found.explained}
    assert names >= {
        "peak_rps",
        "instances",
        "gpus",
        "systems",
        "max_rps",
        "weights_gb",
        "kv_gb",
        "max_concurrency",
        "ttft_ms",
        "itl_ms",
        "e2e_ms",
        "decode_step_ms",
        "prefill_ms",
        "usd_per_month",
        "power_kw",
        "requests_per_day",
    }
    assert all(e.value and e.formula and e.source for e in found.explained)


def test_the_load_curve_rises_to_the_stability_limit():
    found = ask(deployment={**H100, "confidence": 50})
    curve = found.load_curve
    assert curve[-1].rps == pytest.approx(found.per_instance.stable_rps)
    for name in ("rps", "concurrency", "ttft_ms", "itl_ms", "e2e_ms"):
        values = [getattr(p, name) for p in curve]
        assert values == sorted(values)


@pytest.mark.parametrize("isl", [1, 10, 3500])
@pytest.mark.parametrize("osl", [1, 2])
def test_classification_and_scoring_are_served(isl, osl):
    found = ask(workload={"input_tokens": isl, "output_tokens": osl}, deployment=H100)
    assert found.feasible
    assert found.deployment.gpus <= 8
    assert found.latency.ttft_ms.at_percentile <= 2000


def test_a_single_output_token_has_no_itl_limit():
    tight = ask(workload={"output_tokens": 1}, limits={"itl_ms": 0.001}, deployment=H100)
    assert tight.feasible
    assert tight.latency.e2e_ms.at_percentile == pytest.approx(tight.latency.ttft_ms.at_percentile, rel=0.05)


@pytest.mark.parametrize("peak", [1e-6, 0.001, 1.0, 1e6])
def test_any_rate_has_an_answer(peak):
    found = ask(workload={"peak_rps": peak}, deployment=H100)
    assert found.feasible
    assert found.deployment.instances * found.per_instance.max_rps >= peak * (1 - 1e-9)


@pytest.mark.parametrize("card", [PCIE_CARD, LINKED_CARD], ids=["pcie", "linked"])
def test_a_custom_accelerator_is_sized(card):
    found = ask(deployment={"custom_gpus": [card], "gpus": ["my_card"]})
    assert found.feasible
    assert found.deployment.gpu == "my_card"
    both = ask(deployment={"custom_gpus": [card], "gpus": ["h100_sxm"]}, alternatives=ALL)
    considered = {both.deployment.gpu, *(a.deployment.gpu for a in both.alternatives), *(e.gpu for e in both.excluded)}
    assert considered == {"my_card", "h100_sxm"}


def test_the_price_of_a_custom_accelerator_counts():
    own = {"gpus": ["my_card"]}
    cheap, dear = (ask(deployment={"custom_gpus": [{**LINKED_CARD, "price_usd": p}], **own}) for p in (10_000, 20_000))
    gpus = dear.deployment.gpus_bought
    assert gpus == cheap.deployment.gpus_bought
    assert dear.cost.purchase_usd - cheap.cost.purchase_usd == pytest.approx(gpus * 10_000)  # the rest costs the same


def test_nothing_that_fits_in_memory_is_an_answer_not_an_error():
    found = ask({"name": "giant", "params_b": 20_000}, deployment={"gpus": ["t4"]})
    assert not found.feasible
    assert found.excluded[0].gpu == "t4"
    none = ask(deployment={"gpus": ["h100_sxm"], "tp": [3]})
    assert not none.feasible
    assert "TP" in none.answer


def test_modes_apply_their_limits():
    offline = ask(workload={"mode": "offline"}, limits={"ttft_ms": 1, "itl_ms": 1, "e2e_ms": 1}, deployment=H100)
    assert offline.feasible
    assert "no latency is limited" in offline.answer
    sequential = ask(workload={"mode": "sequential"}, limits={"e2e_ms": 8000}, deployment=H100)
    assert "p95 E2E" in sequential.answer
    assert sequential.latency.e2e_ms.at_percentile <= 8000


def test_burstier_arrivals_are_never_faster():
    one = {**H100, "engines": ["trtllm"], "precisions": ["fp8"], "tp": [1], "pp": [1]}
    smooth, poisson, bursty = (
        ask(workload={"arrivals": {"gamma": {"cv": cv}}}, deployment=one).per_instance.max_rps for cv in (0, 1, 3)
    )
    assert smooth >= poisson >= bursty


def test_a_cached_prefix_never_needs_more():
    one = {**H100, "engines": ["vllm"], "precisions": ["fp8"], "tp": [1], "pp": [1]}
    none, most = (ask(workload={"prefix_cached_tokens": n}, deployment=one) for n in (0, 3000))
    assert most.deployment.gpus <= none.deployment.gpus
    assert most.per_instance.max_rps > none.per_instance.max_rps


def test_lengths_that_vary_are_stated_and_cost_capacity():
    fixed = ask(deployment={**H100, "engines": ["vllm"]})
    varied = ask(
        workload={"input_tokens": {"p50": 2800, "p95": 8000}, "output_tokens": {"p50": 400, "p95": 1300}},
        deployment={**H100, "engines": ["vllm"]},
    )
    assert varied.feasible
    assert any("mean prompt and output length" in a for a in fixed.assumptions)
    assert not any("mean prompt and output length" in a for a in varied.assumptions)


def test_an_answer_on_attention_dp_ranks_says_how_prompts_fall_on_them():
    only = {"gpus": ["b200_sxm"], "engines": ["trtllm"], "tp": [1], "pp": [1]}
    for serving in ("aggregated", "disaggregated"):
        ranked = ask(
            "deepseek-ai/DeepSeek-R1",
            workload={"peak_rps": 4},
            deployment={**only, "serving": [serving]},
            limits={"ttft_ms": 10_000, "itl_ms": 200},
        )
        pool = ranked.deployment.prefill or ranked.deployment
        assert any(f"at random on the {pool.dp} ranks" in a for a in ranked.assumptions)
    assert not any("at random on the" in a for a in ask(deployment=H100).assumptions)


def test_a_spread_of_nothing_is_the_number():
    one = ask(deployment=H100)
    same = ask(
        workload={"input_tokens": {"p50": 3500, "p95": 3500}, "output_tokens": {"p50": 500, "p95": 500}},
        deployment=H100,
    )
    assert one.deployment == same.deployment
    assert one.latency == same.latency


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        (raw("nobody/nothing"), "Unknown model"),
        (raw(deployment={"gpus": ["h1000"]}), "Unknown GPU “h1000”. Did you mean"),
        (raw(deployment={"engines": ["vllmm"]}), "Unknown engine “vllmm”. Did you mean vllm?"),
        (raw(deployment={"precisions": ["fp9"]}), "Unknown precision “fp9”. Did you mean"),
        (raw(deployment={"kv_precisions": ["fp3"]}), "Unknown KV-cache precision “fp3”"),
        (raw({"config": {"model_type": "llama"}}), "has no hidden_size"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(keys, problem):
    with pytest.raises(InvalidScenario) as refused:
        plan(Scenario.model_validate(keys))
    assert len(refused.value.problems) == 1
    assert problem in refused.value.problems[0]


def test_all_unknown_names_are_reported_at_once():
    keys = raw("nobody/nothing", deployment={"gpus": ["h1000", "x"], "engines": ["y"]})
    with pytest.raises(InvalidScenario) as refused:
        plan(Scenario.model_validate(keys))
    assert len(refused.value.problems) == 4


def test_a_second_opinion_never_fails():
    for keys in (raw(deployment=H100), raw(deployment={"gpus": ["l4"]}), raw(limits={"ttft_ms": 0.001})):
        scenario = Scenario.model_validate(keys)
        found = plan(scenario, alternatives=0, second_opinion=True).cross_check
        assert found.message.endswith(".")
        assert (found.max_rps is None) == (found.instances is None)


def test_a_brief_plan_is_the_same_answer_without_what_is_read_beside_it():
    left_out = {"proposals", "trade_off", "load_curve", "explained", "excluded"}
    scenario = Scenario.model_validate(raw(LLAMA_70B, deployment={"gpus": ["h100_sxm", "l4"], "tp": [2]}))
    brief, whole = plan(scenario, brief=True).model_dump(), plan(scenario).model_dump()
    assert {key for key in whole if brief[key] != whole[key]} == left_out


def test_warming_up_changes_no_answer():
    before = ask(deployment=H100).model_dump_json()
    warm_up()
    assert ask(deployment=H100).model_dump_json() == before


def test_the_model_name_of_the_checkpoint_is_noted():
    found = ask("NousResearch/Meta-Llama-3-8B-Instruct", deployment=H100)
    assert found.deployment == ask(LLAMA_8B, deployment=H100).deployment
    assert any("Llama" in a for a in found.assumptions)


@pytest.mark.parametrize(
    ("every", "said"), [(1, "its GPU carries the load"), (2, "both GPUs carry"), (4, "all 4 GPUs carry")]
)
def test_a_server_whose_gpus_all_work_is_said_in_plain_words(every: int, said: str) -> None:
    deployed = analytic_plan(Scenario.model_validate(raw(LLAMA_8B))).deployment
    full = deployed.model_copy(update={"gpus": every, "gpus_bought": every, "systems": 1, "spare_instances": 0})
    assert said in bought(full, "H100 SXM")
