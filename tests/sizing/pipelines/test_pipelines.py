"""Stages beside the language model: closed forms, what is bought, bad input, and nothing where no stage is asked."""

import json
import math

import pytest
from pydantic import ValidationError

from sizing import InvalidScenario, Scenario
from sizing.base.errors import SizingError
from sizing.catalog import resolve_gpu
from sizing.catalog.encoders import encoders, reject_encoder, stage_model
from sizing.catalog.engines import engines
from sizing.catalog.model_rows import models
from sizing.catalog.slices import profiles_of
from sizing.economics.allowance import Allowance, check
from sizing.economics.cost import cost
from sizing.pipelines.batch_times import batch_times
from sizing.pipelines.loads import HIGHEST_UTILIZATION
from sizing.pipelines.queue import StageService, mixed_wait_s, servers_wait_s, smallest_batches
from sizing.planning.analytic import analytic_plan
from sizing.planning.text import as_text
from sizing.prices.hardware import options
from sizing.scenario.file import load_scenario
from sizing.scenario.prices import Prices
from tests.sizing.asking import LLAMA_8B, answer, raw

EMBED = {"stage": "embed", "model": "BAAI/bge-m3", "tokens": 32}
RERANK = {"stage": "rerank", "model": "BAAI/bge-reranker-v2-m3", "per_request": 50, "tokens": 512}
H100 = {"gpus": ["h100_sxm"]}


def piped(*stages, **sections):
    workload = {"input_tokens": 1000, "output_tokens": 100, "peak_rps": 10}
    return answer(raw(LLAMA_8B, workload=workload, pipeline=list(stages), **{"deployment": H100, **sections}))


def problem(*stages, **sections):
    with pytest.raises(InvalidScenario) as error:
        piped(*stages, **sections)
    assert len(error.value.problems) == 1
    return error.value.problems[0]


@pytest.mark.parametrize("name", encoders())
def test_parameters_are_those_of_the_model_card(name):
    one = encoders()[name]
    assert one.model.params_total == pytest.approx(one.published_params, rel=0.005)


def test_one_stage_alone_waits_as_in_m_d_1():
    (batches,) = smallest_batches([StageService(per_s=5.0, most=8, seconds=lambda n: 0.1)], 0.7)
    assert batches.requests == 1
    assert mixed_wait_s([batches]) == pytest.approx(0.5 * 0.1 / (2 * (1 - 0.5)))
    assert servers_wait_s(0.5, 0.1, 1) == pytest.approx(0.5 * 0.1 / (2 * (1 - 0.5)))
    assert servers_wait_s(0.5, 0.1, 4) < servers_wait_s(0.5, 0.1, 1)


def test_stages_that_share_a_gpu_wait_for_each_other():
    served = [
        StageService(per_s=2.0, most=1, seconds=lambda n: 0.1),
        StageService(per_s=1.0, most=1, seconds=lambda n: 0.3),
    ]
    both = smallest_batches(served, 0.7)
    assert mixed_wait_s(both) == pytest.approx((2 * 0.1**2 + 1 * 0.3**2) / (2 * (1 - 0.2 - 0.3)))
    full = smallest_batches([StageService(per_s=20.0, most=1, seconds=lambda n: 0.1)], 0.7)
    assert mixed_wait_s(full) == math.inf


def test_requests_are_batched_as_far_as_the_load_needs():
    (batches,) = smallest_batches([StageService(per_s=100.0, most=64, seconds=lambda n: 0.02 + 0.001 * n)], 0.7)
    assert batches.requests == 4
    assert batches.load == pytest.approx(100 / 4 * 0.024)
    assert batches.collecting_s == pytest.approx(1.5 / 100)


def test_a_batch_takes_its_arithmetic_and_grows_with_the_parameters():
    gpu, engine = resolve_gpu("h100_sxm"), engines()["vllm"]
    large = batch_times(stage_model("bge-large-en-v1.5"), "embed", 256.0, gpu, engine)
    small = batch_times(stage_model("bge-small-en-v1.5"), "embed", 256.0, gpu, engine)
    least = 2.0 * 0.302e9 * large.full * 256 / gpu.bf16_flops
    assert least < large.seconds(large.full) < 4.0 * least
    assert small.seconds(small.full) < large.seconds(large.full)
    assert large.seconds(1.0) > 0.604e9 / gpu.memory_bandwidth, "weights are read whatever the batch"


def test_whisper_takes_whole_windows_and_its_decoder_counts():
    gpu, engine = resolve_gpu("h100_sxm"), engines()["vllm"]
    models = [stage_model(f"whisper-large-v3{end}") for end in ("", "-turbo")]
    whole, turbo = (batch_times(model, "speech", None, gpu, engine) for model in models)
    assert whole.tokens == turbo.tokens == 1500
    assert (whole.read.layers, whole.write.layers, turbo.write.layers) == (32, 32, 4)
    assert turbo.seconds(8.0) < 0.7 * whole.seconds(8.0)
    assert whole.seconds(2 * whole.full) == pytest.approx(2 * whole.seconds(whole.full))
    short, long = (piped({"stage": "speech", "model": "whisper-large-v3", "per_request": s}) for s in (5, 30))
    assert short.pipeline.stages[0].compute_ms == pytest.approx(long.pipeline.stages[0].compute_ms)


def test_latency_of_the_whole_is_the_sum_of_its_parts():
    plan = piped({**EMBED, "batch_delay_ms": 5}, RERANK)
    stages, whole = plan.pipeline.stages, plan.pipeline
    for one in stages:
        assert one.latency_ms == pytest.approx(one.delay_ms + one.wait_ms + one.compute_ms)
    assert stages[0].delay_ms == 5
    assert whole.latency_ms == pytest.approx(sum(one.latency_ms for one in stages))
    assert whole.ttft_ms == pytest.approx(whole.latency_ms + plan.latency.ttft_ms.at(50))
    assert whole.e2e_ms == pytest.approx(whole.latency_ms + plan.latency.e2e_ms.at(50))
    assert whole.usd_per_month == pytest.approx(sum(one.usd_per_month for one in stages))
    assert whole.usd_per_month_whole == pytest.approx(whole.usd_per_month + plan.cost.hardware_usd_per_month)


def test_power_of_the_whole_counts_the_systems_of_the_stages():
    """Stages on L4s that are bought for them draw what their systems draw; those on idle GPUs draw nothing more."""
    plan = piped({**RERANK, "gpu": "l4"})
    whole = plan.pipeline
    (bought,) = whole.systems
    option = next(one for one in options(resolve_gpu("l4"), "on_prem", Prices()) if one.name == bought.system)
    assert whole.power_kw == pytest.approx(bought.systems * option.power_kw) == bought.power_kw
    assert whole.power_kw_whole == pytest.approx(whole.power_kw + plan.cost.power_kw)
    idle = piped(EMBED).pipeline
    if all(not one.systems for one in idle.systems):
        assert idle.power_kw == 0.0


def test_what_is_allowed_counts_the_stages():
    plan = piped({**RERANK, "gpu": "l4"})
    allowed = Allowance(gpus=plan.deployment.gpus, systems=plan.deployment.systems, power_kw=plan.cost.power_kw)
    checked = check(allowed, plan, None)
    assert not checked.kept
    planned = {line.name: line.planned for line in checked.lines}
    assert planned["gpus"] == plan.deployment.gpus + plan.pipeline.gpus
    assert planned["systems"] == plan.deployment.systems + sum(one.systems for one in plan.pipeline.systems)
    assert planned["power_kw"] == pytest.approx(plan.pipeline.power_kw_whole)
    alone = plan.model_copy(update={"pipeline": None})
    assert check(allowed, alone, None).kept


def test_stages_run_on_slices_of_a_card():
    """A seventh of a card by its SMs has a seventh of the rate where arithmetic binds, and seven of them are a card."""
    whole = piped({**RERANK, "gpu": "a100_sxm_80g"}).pipeline
    cut = piped({**RERANK, "gpu": "a100_sxm_80g", "slice": "1g.10gb"}).pipeline
    profile = profiles_of("a100_sxm_80g")["1g.10gb"]
    share = cut.stages[0].rate.value / whole.stages[0].rate.value
    assert 0.7 * profile.compute_share < share <= 1.05 * profile.compute_share
    (systems,) = cut.systems
    assert systems.gpus == cut.gpus > whole.gpus
    assert systems.systems * 8 * profile.instances >= cut.gpus
    assert any("slice" in one for one in cut.assumptions)
    assert not any("slice" in one for one in whole.assumptions)


@pytest.mark.parametrize(
    ("stage", "said"),
    [
        ({**RERANK, "gpu": "a100_sxm_80g", "slice": "9g.99gb"}, "Did you mean 7g.80gb"),
        ({**RERANK, "gpu": "mi300x", "slice": "1/2"}, "Unknown slice of Instinct MI300X"),
        ({**RERANK, "slice": "1g.10gb"}, "slice needs gpu"),
    ],
)
def test_slices_that_a_card_does_not_have_are_refused(stage, said):
    with pytest.raises((SizingError, ValidationError), match=said):
        piped(stage)


def test_a_cost_says_what_the_stages_take_beside_it():
    scenario = Scenario.model_validate(
        raw(LLAMA_8B, workload={"input_tokens": 1000, "output_tokens": 100, "peak_rps": 10}, deployment=H100)
        | {"pipeline": [{**RERANK, "gpu": "l4"}]}
    )
    whole = cost(scenario, planner=analytic_plan)
    stages = analytic_plan(scenario).pipeline
    assert (whole.stages.gpus, whole.stages.usd_per_month) == (stages.gpus, stages.usd_per_month)
    assert "Not counted: the stages of the pipeline on" in whole.answer
    without = cost(scenario.model_copy(update={"pipeline": ()}), planner=analytic_plan)
    assert without.stages is None
    assert without.usd_per_month == whole.usd_per_month
    assert "Not counted: the stages" not in without.answer


def test_gpus_follow_from_rate_and_utilisation_at_the_asked_confidence():
    sure, even = (piped({**RERANK, "gpu": "l4"}, deployment={**H100, "confidence": c}).pipeline for c in (90, 50))
    (stage,) = even.stages
    assert stage.items_per_s == 500
    assert stage.gpu_share == pytest.approx(500 / (stage.rate.value * HIGHEST_UTILIZATION))
    assert stage.gpus == math.ceil(stage.gpu_share)
    assert sure.stages[0].gpu_share == pytest.approx(2 * stage.gpu_share), "the lower end of the interval is counted on"
    assert stage.utilization <= HIGHEST_UTILIZATION


def test_stages_share_a_gpu_unless_they_are_to_be_alone():
    l4 = {"gpu": "l4", "per_request": 1}
    together = piped({**EMBED, **l4}, {**RERANK, **l4}).pipeline
    apart = piped({**EMBED, **l4}, {**RERANK, **l4, "place": "own"}).pipeline
    assert (together.gpus, apart.gpus) == (1, 2)
    assert together.stages[0].utilization > apart.stages[0].utilization


def test_idle_gpus_of_the_language_model_come_first_and_cost_nothing():
    plan = piped(EMBED)
    (system,) = plan.pipeline.systems
    idle = plan.deployment.idle_gpus
    assert system.gpu == plan.deployment.gpu
    assert idle > 0
    assert (system.idle_used, system.systems, system.usd_per_month) == (1, 0, 0.0)
    rented = piped({**EMBED, "gpu": "l4"}, deployment={**H100, "location": "cloud"}).pipeline.systems[0]
    assert rented.idle_used == 0
    assert rented.usd_per_month > 0


def test_a_record_of_ones_own_is_taken_as_it_is():
    record = {"stage": "other", "gpu": "l4", "measured_items_per_s": 20, "instances_per_gpu": 4, "batch_delay_ms": 3}
    (stage,) = piped(record).pipeline.stages
    assert stage.model == "your record"
    assert piped({**record, "model": "resnet50"}).pipeline.stages[0].model == "resnet50"
    assert (stage.basis, stage.validated, stage.rate.low, stage.rate.high) == ("measured", True, 20, 20)
    assert stage.gpus == 1
    assert stage.gpu_share == pytest.approx(10 / (20 * HIGHEST_UTILIZATION))
    assert stage.compute_ms == pytest.approx(1000 * 4 / 20), "an item on one of four instances"
    assert stage.wait_ms == pytest.approx(1000 * servers_wait_s(0.5, 0.2, 4))


def test_estimates_say_that_they_are_not_validated():
    plan = piped(EMBED, RERANK)
    assert all(not one.validated and one.how_sure.startswith("Not validated") for one in plan.pipeline.stages)
    assert all(one.rate.high / one.rate.low == pytest.approx(4) for one in plan.pipeline.stages)
    assert "not validated" in plan.sentences[-1].text
    assert plan.sentences[-1].about == "pipeline"
    assert plan.answer.endswith(plan.sentences[-1].text)


def test_a_limit_that_the_whole_breaks_is_said():
    plan = piped({**RERANK, "gpu": "t4", "per_request": 500}, limits={"ttft_ms": 500})
    assert "above the limit of 500 ms" in plan.pipeline.notes[0]


def test_nothing_changes_where_no_stage_is_asked():
    asked, bare = piped(EMBED), piped()
    assert bare.pipeline is None
    given = asked.model_dump(exclude={"pipeline", "answer", "sentences"})
    assert given == bare.model_dump(exclude={"pipeline", "answer", "sentences"})


def test_the_plan_holds_the_stages_in_json_and_in_text():
    plan = piped(EMBED, RERANK)
    written = json.loads(plan.model_dump_json())["pipeline"]
    assert [one["stage"] for one in written["stages"]] == ["embed", "rerank"]
    assert {"gpu", "gpus", "rate", "latency_ms", "usd_per_month", "basis", "validated"} <= written["stages"][0].keys()
    text = as_text(plan)
    assert "Pipeline (stages beside the language model)" in text
    assert "BAAI/bge-reranker-v2-m3" in text
    bare = plan.pipeline.without_money()
    assert bare.usd_per_month is bare.usd_per_month_whole is bare.stages[0].usd_per_month is None


@pytest.mark.parametrize(
    ("stages", "said"),
    [
        ([{"stage": "embed", "model": "bge-m4", "tokens": 32}], "Did you mean"),
        ([{**EMBED, "tokens": 9000}], "reads 8,194 tokens at most"),
        ([{**EMBED, "gpu": "h1000"}], "Unknown GPU"),
        ([{"stage": "speech", "model": "bge-m3"}], "does not transcribe"),
        ([{"stage": "embed", "model": "whisper-tiny", "tokens": 9}], "make it a stage “speech”"),
        ([{**EMBED, "per_request": 1e9, "tokens": 5000}], "more than 20,000 GPUs: check its per_request"),
        ([{"stage": "embed", "params_b": 200, "tokens": 100, "gpu": "l4"}], "does not fit"),
    ],
)
def test_a_stage_that_cannot_be_is_one_sentence(stages, said):
    assert said in problem(*stages)


@pytest.mark.parametrize(
    ("stage", "said"),
    [
        ({"stage": "embed", "model": "bge-m3"}, "tokens"),
        ({"stage": "embed", "tokens": 3}, "give model, params_b, or measured_items_per_s"),
        ({**EMBED, "params_b": 1}, "not both"),
        ({"stage": "other", "measured_items_per_s": 5}, "needs gpu"),
        ({**EMBED, "instances_per_gpu": 2}, "instances_per_gpu"),
        ({**EMBED, "stage": "translate"}, "pipeline"),
        ({**EMBED, "per_request": -1}, "per_request"),
        ({**EMBED, "batch": 4}, "batch"),
    ],
)
def test_a_malformed_stage_is_one_sentence(stage, said):
    with pytest.raises(InvalidScenario) as error:
        load_scenario(raw(LLAMA_8B, pipeline=[stage]))
    assert len(error.value.problems) == 1
    assert said in error.value.problems[0]


def test_nine_stages_are_too_many():
    with pytest.raises(InvalidScenario, match="at most 8"):
        load_scenario(raw(LLAMA_8B, pipeline=[EMBED] * 9))


@pytest.mark.parametrize("name", ["BAAI/bge-m3", "whisper-large-v3", "Qwen3-Embedding-0.6B"])
def test_an_encoder_as_language_model_is_told_where_it_belongs(name):
    with pytest.raises(InvalidScenario, match="a stage of the pipeline") as error:
        answer(raw(name))
    assert error.value.paths == ("model",)


def test_every_gpu_of_the_catalogue_gives_a_finite_time():
    scenario = Scenario.model_validate(raw(LLAMA_8B, workload={"peak_rps": 1}, pipeline=[EMBED], deployment={}))
    assert math.isfinite(answer(scenario.model_dump()).pipeline.latency_ms)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Qwen/Qwen3-Embedding-4B", "is an embedder, not a language model"),
        ("Qwen/Qwen3-Embedding-8B", "is an embedder, not a language model"),
        ("Qwen/Qwen3-VL-Embedding-8B", r"\(stage: embed\)"),
        ("Alibaba-NLP/gte-Qwen2-7B-instruct", "is an embedder"),
        ("nvidia/NV-Embed-v2", "stage: embed, by its size as params_b"),
        ("BAAI/bge-reranker-v2-gemma", "is a reranker"),
        ("Qwen3-Reranker-8B", "is a reranker"),
        ("nvidia/parakeet-tdt-0.6b-v2", "is a speech recogniser"),
        ("openai/whisper-large-v2", "stage: speech"),
        ("gpt-4o", "weights of “gpt-4o” are not published"),
        ("anthropic/claude-sonnet-4", "not published"),
        ("o3", "not published"),
        ("google/gemini-2.5-pro", "not published"),
    ],
)
def test_a_model_that_cannot_answer_on_hardware_of_ones_own_is_refused_by_what_it_is(name, said):
    with pytest.raises(InvalidScenario, match=said):
        reject_encoder(name)


@pytest.mark.parametrize(
    "name", ["gpt2", "gpt-oss:20b", "google/gemma-3-27b-it", "Qwen/Qwen3Guard-Gen-8B", "nobody/none"]
)
def test_models_that_answer_are_not_taken_for_encoders(name):
    reject_encoder(name)


def test_no_model_of_the_catalogue_is_refused_by_the_words_of_its_name():
    for name in models():
        reject_encoder(name)
