"""No verdict on another deployment: another model, engine, GPU, parallelism or KV format, and what to do about it."""

import pytest

from collectors.questions.deployments import KvSettings, ObservedDeployment
from collectors.vocabulary import engine_vocabularies
from reality.compare import compare
from reality.identity import check
from sizing.catalog.engines import engines
from sizing.catalog.model import Model
from sizing.question.configuration import Configuration
from tests.reality.truths import SERVED, deployed, observation, planned, scenario, simulated_truth, verdicts

NUMBERS = {"replicas": 4.0, "replicas_lost": 0.0, "gpus": 8.0}


@pytest.fixture(scope="module")
def ours() -> tuple[Model, Configuration]:
    ready = planned(scenario())
    assert ready.row is not None
    return ready.answer.question.model, ready.row


def kv(kind: str) -> tuple[KvSettings, ...]:
    return (KvSettings(block_tokens=16, blocks=100, cache_type=kind, engines=1),)


@pytest.mark.parametrize(
    "name",
    [
        SERVED,
        "Llama-3.3-70B-Instruct",
        "demo/Llama-3.3-70B-Instruct-FP8",
        "RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic",
        "nvidia/Llama-3.3-70B-Instruct-FP8",
        "/models/Llama-3.3-70B-Instruct",
        "meta-llama/Llama-3.1-70B-Instruct",
    ],
)
def test_the_same_architecture_under_other_names(ours: tuple[Model, Configuration], name: str) -> None:
    assert check(*ours, observation(NUMBERS), deployed(model=name)).foreign == ()


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        (deployed(model="Qwen/Qwen3-8B"), "Another model is served: Qwen/Qwen3-8B"),
        (deployed(model="meta-llama/Llama-3.1-8B-Instruct"), "Another model is served"),
        (deployed(model="chat"), "--served-as chat"),
        (deployed(models=(SERVED, "Qwen/Qwen3-8B")), "Several models are served"),
        (deployed(product="NVIDIA A100-SXM4-80GB"), "gpus: [a100_sxm_80g]"),
        (deployed(product="NVIDIA H20"), "Other GPUs are used: NVIDIA H20, planned was H100 SXM5"),
        (deployed(gpu_products=("NVIDIA H100 80GB HBM3", "NVIDIA L4")), "NVIDIA L4"),
        (deployed(kv=kv("fp8_e4m3")), "kv_precisions: [fp8]"),
    ],
)
def test_another_deployment_is_told_with_what_to_do(
    ours: tuple[Model, Configuration], seen: ObservedDeployment, said: str
) -> None:
    found = check(*ours, observation(NUMBERS), seen)
    assert len(found.foreign) == 1
    assert said in found.foreign[0]


def test_another_engine(ours: tuple[Model, Configuration]) -> None:
    (said,) = check(*ours, observation(NUMBERS, engine="sglang"), deployed()).foreign
    assert "Another engine runs: SGLang, planned was vLLM" in said
    assert "engines: [sglang]" in said


@pytest.mark.parametrize(
    ("gpus", "by", "foreign"),
    [
        (8.0, "pod", False),
        (16.0, "pod", True),
        (4.0, "gpu_selector", True),
        (8.0, "host", False),
        (9.0, "host", False),
        (6.0, "pod", False),  # the exporter of a node is missing: no parallelism is a fraction
    ],
)
def test_other_parallelism(ours: tuple[Model, Configuration], gpus: float, by: str, foreign: bool) -> None:
    found = check(*ours, observation(NUMBERS | {"gpus": gpus}), deployed(by=by))
    assert bool(found.foreign) is foreign
    if gpus == 16:
        assert "A replica has 4 GPUs, planned were 2" in found.foreign[0]
        assert "tp: [4]" in found.foreign[0]
    if gpus == 9:
        assert any("GPUs cannot be assigned to replicas" in text for text in found.unknown)


def test_gpus_of_a_lost_replica_still_belong_to_it(ours: tuple[Model, Configuration]) -> None:
    numbers = {"replicas": 3.0, "replicas_lost": 1.0, "gpus": 8.0}
    assert check(*ours, observation(numbers), deployed()).foreign == ()


def test_what_cannot_be_seen_is_said_and_does_not_block(ours: tuple[Model, Configuration]) -> None:
    found = check(*ours, observation({"replicas": 4.0}), ObservedDeployment())
    assert found.foreign == ()
    assert len(found.unknown) == 2
    front = check(*ours, observation(NUMBERS, engine="dynamo"), deployed())
    assert any("dynamo stands before an engine" in text for text in front.unknown)


def test_a_name_of_its_own_can_be_stated(ours: tuple[Model, Configuration]) -> None:
    found = check(*ours, observation(NUMBERS), deployed(model="chat"), served_as="chat")
    assert found.foreign == ()
    assert found.unknown == (f"“chat” is taken to be {SERVED}, as stated.",)


def test_a_foreign_deployment_gets_no_verdict_at_all() -> None:
    observed, _ = simulated_truth(scenario(), rps=6.0, replicas=4)
    found = compare(planned(scenario()), observed, deployed(model="Qwen/Qwen3-8B"))
    assert set(verdicts(found).values()) == {"cannot_judge"}
    assert not found.judged
    assert found.answer.startswith("No verdict: this is not the planned deployment. Another model is served")


def test_a_front_end_is_not_the_engine() -> None:
    observed, seen = simulated_truth(scenario(), rps=6.0, replicas=4)
    found = compare(planned(scenario()), observed.model_copy(update={"engine": "dynamo"}), seen)
    told = verdicts(found)
    assert told["ttft_ms.p95"] == told["e2e_ms.mean"] == told["queue_ms.mean"] == "cannot_judge"
    assert told["tpot_ms.mean"] == "within"
    row = next(r for r in found.performance if r.key == "ttft_ms.p95")
    assert "measured at the front end" in row.reason


def test_metrics_speak_for_an_engine_of_the_catalogue() -> None:
    """Or for none: front ends stand before engines that their metrics do not name, and some engines are read live
    that nobody can plan with."""
    front_ends, not_planned = (
        {"dynamo", "dynamo_worker", "gen_ai", "litellm", "llm_d", "sglang_router", "triton"},
        {"llamacpp", "lmdeploy", "mindie"},
    )
    named = {v.id: v.engine for v in engine_vocabularies().values()}
    assert {v for v, engine in named.items() if not engine} == front_ends | not_planned
    assert {engine for engine in named.values() if engine} <= set(engines())
