"""What an expert prefers where figures are nearly alike: formats, stages, room for the KV cache, no second pool."""

from dataclasses import replace

import numpy as np
import pytest

from sizing import Scenario, plan
from sizing.deployments.candidates import UNKNOWN_COUNTS
from sizing.planning.analytic import analytic_plan
from sizing.prices.system_price import asked_over_asp
from sizing.question.understand import understand
from sizing.search.preferences import (
    APART,
    DOUBTFUL_SPLIT,
    FOR_LITTLE_ROOM,
    LITTLE_ROOM,
    PER_HALVING,
    SPLIT,
    STAGES,
    UNSOLD,
    room,
)
from sizing.search.ranking import Keys
from sizing.search.serving import screened
from tests.sizing.asking import LLAMA_8B, LLAMA_70B, raw

R1 = "deepseek-ai/DeepSeek-R1"


def keys(factor, **columns):
    """Keys that are alike but for their factors and some columns."""
    same = np.ones(len(factor))
    return Keys(**{**dict.fromkeys(Keys.__dataclass_fields__, same), "factor": np.array(factor), **columns})


@pytest.mark.parametrize("objective", ["cost", "gpus", "latency", "energy"])
def test_what_is_preferred_may_take_as_much_more_as_its_factor_says(objective):
    column = {"cost": "cost", "gpus": "bought", "latency": "latency_s", "energy": "power"}[objective]
    for dearer, first in ((1.04, 1), (1.06, 0)):
        values = np.array([100.0, 100.0 * dearer])
        one = keys([1.05, 1.0], **{column: values})
        assert one.first(objective) == first
        assert one.order(objective)[0] == first
        assert one.before(1 - first, objective)[first]


def test_where_no_price_is_known_gpus_are_weighed():
    unknown = np.array([np.inf, np.inf])
    one = keys([1.3, 1.0], cost=unknown, gpus=np.array([8.0, 10.0]))
    assert one.first("cost") == 1
    assert replace(one, gpus=np.array([4.0, 10.0])).first("cost") == 0


def factors(model, **deployment):
    question = understand(Scenario.model_validate(raw(model, workload={"peak_rps": 2}, deployment=deployment)))
    together = screened(question).together
    return question, together


@pytest.mark.parametrize(("precision", "halvings"), [("bf16", 0.0), ("fp8", 1.0), ("int4_awq", 1.9)])
def test_every_halving_of_the_weights_must_save_a_twentieth(precision, halvings):
    _, together = factors(LLAMA_8B, gpus=["h100_sxm"], precisions=[precision], pp=[1], tp=[1])
    assert together.factor == pytest.approx(PER_HALVING**halvings, rel=0.01)


def test_stages_must_save_a_quarter():
    _, together = factors(LLAMA_8B, gpus=["h100_sxm"], precisions=["bf16"], tp=[1], pp=[2], speculation="off")
    assert together.factor.min() == pytest.approx(STAGES)
    assert set(np.round(together.factor, 3)) <= {round(STAGES, 3), round(STAGES * UNKNOWN_COUNTS, 3)}


@pytest.mark.parametrize(
    ("model", "gpu", "precision", "tp"),
    [
        (LLAMA_70B, "h100_sxm", "bf16", 2),
        (LLAMA_70B, "a100_sxm_80g", "bf16", 2),
        ("mistralai/Mixtral-8x22B-Instruct-v0.1", "h100_sxm", "fp8", 2),
    ],
)
def test_an_instance_with_hardly_any_room_is_held_back_and_says_so(model, gpu, precision, tp):
    deployment = {"gpus": [gpu], "precisions": [precision], "tp": [tp, 2 * tp], "pp": [1], "engines": ["vllm"]}
    question, together = factors(model, **deployment, serving=["aggregated"])
    tight = room(together.evaluated, together.index) < LITTLE_ROOM
    assert tight.any()
    assert not tight.all()
    assert (together.factor[tight] >= FOR_LITTLE_ROOM).all()
    assert (together.factor[~tight] < FOR_LITTLE_ROOM).all()
    pinned = question.scenario.deployment.model_copy(update={"tp": [tp]})
    found = analytic_plan(question.scenario.model_copy(update={"deployment": pinned}))
    (warning,) = [w for w in found.warnings if w.code == "little_kv_room"]
    assert "may not start, or hold fewer" in warning.message
    assert "little_kv_room" not in {w.code for w in analytic_plan(question.scenario).warnings}


def test_a_published_deployment_comes_before_half_of_it_that_hardly_fits():
    """DeepSeek-R1 is published on 8 MI300X; 4 hold its weights and 13 sequences, for the same server."""
    workload = {"input_tokens": 1500, "output_tokens": 400, "peak_rps": 1}
    found = plan(Scenario.model_validate(raw(R1, workload=workload, deployment={"gpus": ["mi300x"]})))
    assert found.deployment.gpus == 8
    assert found.per_instance.max_concurrency > 100


def test_pools_must_save_a_tenth_and_over_pcie_come_last():
    asked = {"workload": {"peak_rps": 60}, "limits": {"itl_ms": 30}}
    for gpu, factor in (("h100_sxm", SPLIT), ("l40s", DOUBTFUL_SPLIT)):
        one = {"gpus": [gpu], "precisions": ["bf16"], "tp": [1], "pp": [1]}
        scenario = raw(LLAMA_8B, **asked, deployment=one)
        (pools,) = screened(understand(Scenario.model_validate(scenario))).pools
        assert pools.factor.min() == pytest.approx(factor)


@pytest.mark.parametrize("gpu", ["l40s", "rtx_pro_6000_server", "a100_pcie_80g"])
def test_a_small_load_on_pcie_cards_is_not_split_into_pools(gpu):
    asked = raw(LLAMA_70B, workload={"peak_rps": 2}, deployment={"gpus": [gpu], "confidence": 50})
    found = plan(Scenario.model_validate(asked))
    assert found.deployment.serving == "aggregated"


@pytest.mark.parametrize("rps", [0.1, 2, 40])
def test_pools_that_nobody_asked_for_have_several_instances_of_each_kind(rps):
    scenario = raw(LLAMA_70B, workload={"peak_rps": rps}, limits={"itl_ms": 30}, deployment={"gpus": ["h100_sxm"]})
    (pools,) = screened(understand(Scenario.model_validate(scenario))).pools
    assert min(pools.pools.prefill_instances.min(), pools.pools.decode_instances.min()) >= 2
    asked = {**scenario, "deployment": {"gpus": ["h100_sxm"], "serving": ["disaggregated"]}}
    if rps < 1:
        found = analytic_plan(Scenario.model_validate(asked)).deployment
        assert (found.prefill.instances, found.decode.instances) == (1, 1)


@pytest.mark.parametrize(
    ("model", "gpu", "rps"),
    [(LLAMA_70B, "h100_sxm", 5), ("Qwen/Qwen3-235B-A22B", "h100_sxm", 5), ("deepseek-ai/DeepSeek-V3", "h200_sxm", 5)],
)
def test_by_latency_a_pipeline_is_no_answer_where_the_model_fits_without(model, gpu, rps):
    asked = {"gpus": [gpu], "objective": "latency", "serving": ["aggregated"]}
    workload = {"input_tokens": 1500, "output_tokens": 400, "peak_rps": rps}
    found = plan(Scenario.model_validate(raw(model, workload=workload, deployment=asked)))
    staged = plan(Scenario.model_validate(raw(model, workload=workload, deployment={**asked, "pp": [2, 4]})))
    assert found.deployment.pp == 1
    assert found.latency.itl_ms.at_percentile < staged.latency.itl_ms.at_percentile
    assert found.latency.e2e_ms.at_percentile < staged.latency.e2e_ms.at_percentile * STAGES


def test_the_lowest_latency_is_that_of_what_the_limits_name():
    def first(**limits):
        deployment = {"gpus": ["h100_sxm"], "objective": "latency", "serving": ["aggregated"]}
        asked = raw(LLAMA_70B, workload={"peak_rps": 5}, limits=limits, deployment=deployment)
        seen = screened(understand(Scenario.model_validate(asked)))
        return seen.together

    none = {"ttft_ms": None, "itl_ms": None}
    for limits, column in (
        ({"ttft_ms": 3000, "itl_ms": None}, "ttft_s"),
        ({"ttft_ms": None, "itl_ms": 90}, "itl_s"),
        ({"ttft_ms": 3000, "itl_ms": 90}, "e2e_s"),
        (none, "e2e_s"),
        ({**none, "e2e_ms": 60_000}, "e2e_s"),
    ):
        together = first(**limits)
        assert together.counted() == pytest.approx(getattr(together, column) * together.factor)


def test_a_published_pipeline_is_as_much_slower_as_predicted():
    """Llama 13B on 4 A100 SXM 40 GB at 3 requests/s, p90: TP4 6.4 s, TP2 PP2 10.2 s, PP4 more than either
    (NVIDIA/TensorRT-LLM issue 1144, 2024-02). Its lengths are not said; 500 in, 500 out give 6 s at TP4."""

    def e2e_ms(tp, pp):
        deployment = {
            "gpus": ["a100_sxm_40g"],
            "engines": ["trtllm"],
            "precisions": ["fp16"],
            "tp": [tp],
            "pp": [pp],
            "serving": ["aggregated"],
            "confidence": 50,
        }
        limits = {"ttft_ms": None, "itl_ms": None, "percentile": 90}
        workload = {"input_tokens": 500, "output_tokens": 500, "peak_rps": 3}
        found = plan(
            Scenario.model_validate(
                raw("meta-llama/Llama-2-13b-hf", workload=workload, limits=limits, deployment=deployment)
            )
        )
        assert found.deployment.instances == 1
        return found.latency.e2e_ms.at_percentile

    whole, half, staged = e2e_ms(4, 1), e2e_ms(2, 2), e2e_ms(1, 4)
    assert whole == pytest.approx(6400, rel=0.25)
    assert half / whole == pytest.approx(10.2 / 6.4, rel=0.15)
    assert staged > half


def test_an_average_selling_price_counts_as_much_as_sellers_may_ask() -> None:
    over = asked_over_asp()
    _, at_asp = factors(LLAMA_70B, gpus=["mi355x"], precisions=["bf16"], tp=[1], pp=[1], speculation="off")
    assert at_asp.factor.min() == pytest.approx(over.high / over.ratio)
    _, typed = factors(
        LLAMA_70B, gpus=["mi355x"], precisions=["bf16"], tp=[1], pp=[1], speculation="off", objective="gpus"
    )
    assert typed.factor.min() == pytest.approx(1.0)


def test_experts_over_pcie_are_held_back_as_tensor_parallelism_is() -> None:
    """gpt-oss-120b on four cards without a fast link: two doublings, whether TP4 or DP4 with EP4."""
    least = {}
    for name, layout in {"tp": {"tp": [4], "dp": [1], "ep": [1]}, "dp": {"tp": [1], "dp": [4], "ep": [4]}}.items():
        asked = {"gpus": ["rtx_5090"], "engines": ["vllm"], "pp": [1], "speculation": "off", **layout}
        _, together = factors("openai/gpt-oss-120b", **asked)
        least[name] = together.factor.min()
    assert least["tp"] == pytest.approx(least["dp"])
    assert least["tp"] >= APART**2


@pytest.mark.parametrize(
    ("objective", "location", "unsold"),
    [("energy", "on_prem", "b100"), ("energy", "on_prem", "gh200_144g"), ("gpus", "cloud", "h200_nvl")],
)
def test_what_nobody_sells_comes_first_only_where_it_is_named(objective: str, location: str, unsold: str) -> None:
    """In no list of servers or instances, and without any price: it draws little, and cannot be ordered."""
    asked = raw(R1 if unsold == "b100" else LLAMA_8B, deployment={"objective": objective, "location": location})
    every = screened(understand(Scenario.model_validate(asked))).deployments
    assert every[int(every.order()[0])].kind.option(every[int(every.order()[0])].k).priced
    named = {**asked, "deployment": {**asked["deployment"], "gpus": [unsold, "l4"]}}
    both = screened(understand(Scenario.model_validate(named))).together
    factors = {both.gpu(k): float(both.factor[k]) for k in range(len(both))}
    alone = screened(understand(Scenario.model_validate({**named, "deployment": asked["deployment"]}))).together
    of_unsold = [k for k in range(len(alone)) if alone.gpu(k) == unsold]
    assert of_unsold
    assert min(alone.factor[of_unsold]) >= UNSOLD
    assert factors[unsold] < UNSOLD
