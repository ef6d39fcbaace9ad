"""Weight formats and levers: each is a plan of its own, published facts stand beside it, and what cannot be is said."""

from dataclasses import replace
from typing import Any, get_args

import pytest

from sizing.base.errors import InvalidScenario
from sizing.catalog import models, quantization
from sizing.catalog.derived import Derivation, derived_scores, smaller_versions
from sizing.catalog.precisions import precisions
from sizing.catalog.resolve import resolve_model
from sizing.decision.formats import formats, generations
from sizing.decision.lever_changes import SMALLER, LeverName, ScenarioChange, change, default_settings, next_smaller
from sizing.decision.lever_text import kept_accuracy, losses, runs_on, tried, why_not
from sizing.decision.levers import LeverRow, levers
from sizing.decision.outcome import Answers
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer
from sizing.question.understand import model_of
from sizing.scenario import Scenario
from sizing.scenario.schema import SpeculativeDecoding

LLAMA = "meta-llama/Meta-Llama-3-8B-Instruct"
DEFAULT = default_settings()


def asked(model: Any = LLAMA, **more: Any) -> Scenario:
    """31 requests/s of 3,500 and 500 tokens on H100s."""
    base = {
        "model": model,
        "workload": {"input_tokens": 3500, "output_tokens": 500, "peak_rps": 31},
        "limits": {"ttft_ms": 3000, "itl_ms": 50},
        "deployment": {"gpus": ["h100_sxm"]},
    }
    return Scenario.model_validate(base | more)


def analytic(scenario: Scenario) -> Any:
    return analytic_plan(scenario, alternatives=0)


def of_levers(scenario: Scenario, **settings: Any) -> dict[LeverName, LeverRow]:
    rows = levers(scenario, replace(DEFAULT, **settings), Answers(analytic))
    return {row.name: row for row in rows}


def test_every_format_is_the_plan_of_the_scenario_with_that_format() -> None:
    answers = Answers(analytic)
    rows = formats(asked(), answers, same_gpu=True).rows
    assert [row.precision for row in rows] == [one.id for one in precisions().values() if not one.named_only]
    gguf = formats(asked(deployment={"gpus": ["h100_sxm"], "precisions": ["Q5_K_M"]}), answers, same_gpu=True).rows
    assert [row.precision for row in gguf if row.precision not in {one.precision for one in rows}] == ["q5_k_m"]
    by_name = {row.precision: row for row in rows}
    fp8 = asked(deployment={"gpus": ["h100_sxm"], "precisions": ["fp8"]})
    plan = analytic_plan(fp8, alternatives=0)
    assert plan.deployment is not None
    assert by_name["fp8"].outcome == answers.outcome(fp8)
    assert by_name["fp8"].weights_gb == plan.per_instance.weights_gb
    assert by_name["bf16"].native
    assert by_name["fp8"].weights_gb < (by_name["bf16"].weights_gb or 0.0)


def test_a_format_that_the_gpu_does_not_run_says_so() -> None:
    volta = asked(deployment={"gpus": ["v100_sxm"]})
    rows = {row.precision: row for row in formats(volta, Answers(analytic), same_gpu=True).rows}
    assert not rows["nvfp4"].outcome.feasible
    assert rows["nvfp4"].outcome.gpus is None
    assert why_not(rows["nvfp4"]).startswith("vLLM 0.33.0 is not declared to run NVFP4 (W4A4) on V100")
    assert why_not(rows["fp16"]) == ""


def test_another_gpu_serves_a_format_only_where_that_is_asked() -> None:
    both = asked(deployment={"gpus": ["h100_sxm", "b200_sxm"], "precisions": ["bf16"]})
    answers = Answers(analytic)
    own = answers.outcome(both).gpu
    same = formats(both, answers, same_gpu=True)
    assert same.gpu == own
    assert {row.outcome.gpu for row in same.rows} <= {own, ""}
    free = {row.precision: row for row in formats(both, answers, same_gpu=False).rows}
    assert free["nvfp4"].outcome.gpu == "b200_sxm"


def test_published_facts_are_those_of_the_catalogue() -> None:
    rows = {row.precision: row for row in formats(asked(), Answers(analytic), same_gpu=True).rows}
    methods = {precisions()[name].published_as for name in rows}
    published = [fact for fact in quantization() if fact.record_type == "accuracy" and fact.method in methods]
    assert sum(len(row.losses) for row in rows.values()) == len(published)
    awq = rows["int4_awq"]
    assert losses(awq).startswith("5.66 % (Llama3.1-8B (instruct), MMLU loss vs BF16)")
    assert [(one.model, one.batch_1, one.batch_64) for one in awq.speeds] == [
        ("Llama3.1-8B", 1.33, 0.83),
        ("Llama3.1-70B", 1.93, 0.88),
    ]
    assert (awq.guide.small_batch, awq.guide.large_batch, awq.guide.calibration) == ("High", "None", "O(10min)")
    assert losses(rows["int4_gptq"]) == "none published"
    assert rows["mxfp4"].guide is None


def test_generations_follow_gpus_and_engines() -> None:
    fp8 = {one.family: one.multiplies for one in generations(precisions()["fp8"])}
    assert fp8["Hopper"]
    assert not fp8["Ampere"]  # weights of 8 bit, multiplied at 16
    assert "Volta" not in fp8
    nvfp4 = {one.family: one.multiplies for one in generations(precisions()["nvfp4"])}
    assert nvfp4["Blackwell 10.x"]
    assert not nvfp4["Hopper"]
    row = next(row for row in formats(asked(), Answers(analytic), same_gpu=True).rows if row.precision == "mxfp4")
    multiplied, _, stored = runs_on(row).partition("; stored only: ")
    assert multiplied.startswith("Blackwell 10.x, ")
    assert "Ampere" in stored.split(", ")


def test_a_measured_record_is_refused_in_one_sentence() -> None:
    measured = asked(measured={"system": "dgx_h100", "rps_per_system": 2.4})
    with pytest.raises(InvalidScenario, match="holds for its own deployment alone"):
        formats(measured, Answers(analytic), same_gpu=True)
    with pytest.raises(InvalidScenario, match="holds for its own deployment alone"):
        levers(measured, DEFAULT, Answers(analytic))


def test_every_lever_has_a_row_with_assumption_source_and_date() -> None:
    rows = of_levers(asked())
    assert list(rows) == list(get_args(LeverName))
    for row in rows.values():
        assert row.basis
        assert row.source
        assert row.date
        assert tried(row)


def test_a_lever_is_the_plan_of_the_changed_scenario() -> None:
    rows = of_levers(asked(), cached_share=0.4, prompt_share=0.5)
    load = asked().workload
    cached = asked(workload=load.model_copy(update={"prefix_cached_tokens": 1400.0}).model_dump())
    shorter = asked(workload=load.model_copy(update={"input_tokens": 1750.0}).model_dump())
    answers = Answers(analytic)
    assert rows["prefix_caching"].outcome == answers.outcome(cached)
    assert rows["shorter_prompts"].outcome == answers.outcome(shorter)
    base = answers.outcome(asked())
    then = rows["shorter_prompts"].outcome
    assert rows["shorter_prompts"].gpus_saved == base.gpus - then.gpus > 0


def test_what_is_in_use_is_tried_without() -> None:
    load = {"input_tokens": 3500, "output_tokens": 500, "peak_rps": 31, "prefix_cached_tokens": 2000}
    drafts = SpeculativeDecoding(draft_tokens=3, acceptance=0.7).model_dump()
    used = asked(workload=load, deployment={"gpus": ["h100_sxm"], "speculative_decoding": drafts})
    rows = of_levers(used)
    assert rows["prefix_caching"].standing == rows["speculative_decoding"].standing == "undone"
    assert (rows["prefix_caching"].gpus_saved or 0) <= 0
    pools = asked(deployment={"gpus": ["h100_sxm"], "serving": ["disaggregated"]})
    assert of_levers(pools)["disaggregation"].standing == "undone"
    assert of_levers(pools)["static_batching"].obstacle == "not_simulated"


@pytest.mark.parametrize(
    ("asked_for", "tried_instead", "standing"),
    [("least_loaded", "random", "undone"), ("random", "least_loaded", "planned")],
)
def test_what_routing_costs_is_a_lever(asked_for: str, tried_instead: str, standing: str) -> None:
    deployment = {"gpus": ["h100_sxm"], "precisions": ["fp8"]}
    load = {"input_tokens": 2000, "output_tokens": 200, "peak_rps": 120}
    tight = {"ttft_ms": 400, "itl_ms": 100}
    now, then = (
        asked(deployment={**deployment, "routing": one}, workload=load, limits=tight)
        for one in (asked_for, tried_instead)
    )
    answers = Answers()
    row = levers(now, DEFAULT, answers)[list(get_args(LeverName)).index("routing")]
    assert (row.standing, tried(row)) == (standing, f"routing {tried_instead.replace('_', ' ')}")
    assert row.outcome == answers.outcome(then)
    assert row.gpus_saved * (1 if tried_instead == "least_loaded" else -1) >= 0


def test_a_published_smaller_model_is_planned_with_its_scores() -> None:
    llama = asked("meta-llama/Llama-3.1-8B-Instruct")
    best, second, *_ = smaller_versions(model_of(llama).id)  # 92 % and 89 % of their scores are kept
    assert (best, second) == ("meta-llama/Llama-3.2-3B-Instruct", "nvidia/Llama-3.1-Minitron-4B-Width-Base")
    assert of_levers(llama)["derived"].changes[0].value == best
    row = of_levers(llama, derived=second)["derived"]
    assert (row.standing, row.changes[0].value) == ("planned", second)
    assert row.outcome == Answers(analytic).outcome(asked(second))
    mmlu = row.accuracy[0]
    assert (mmlu.score, mmlu.derived_score) == (65.28, 60.5)
    assert mmlu.kept == pytest.approx(60.5 / 65.28)
    assert "MMLU, 5-shot 60.5 of 65.28 (93 %)" in kept_accuracy(row)
    narrow = asked(
        "meta-llama/Llama-3.1-8B-Instruct",
        workload={"input_tokens": 3500, "output_tokens": 500, "peak_rps": 40},
        deployment={"gpus": ["h100_sxm"], "precisions": ["bf16"], "tp": [1]},
    )
    small = of_levers(narrow, derived="meta-llama/Llama-3.2-1B-Instruct")["derived"]
    assert (small.gpus_saved or 0) > (of_levers(narrow, derived=second)["derived"].gpus_saved or 0) > 0
    assert "49.3 of 69.4" in kept_accuracy(small)


def test_a_model_that_nothing_was_made_of_says_so() -> None:
    row = of_levers(asked())["derived"]
    assert (row.standing, row.obstacle, row.outcome, row.accuracy) == ("not_applicable", "none_published", None, ())


def test_every_derived_model_is_known_and_smaller_than_what_it_was_made_of() -> None:
    assert {one.method for one in derived_scores()} == set(get_args(Derivation))
    for one in derived_scores():
        whole = models()[one.model]
        assert one.score > 0
        assert one.derived_score > 0
        if one.method != "sparse_2_4":
            assert resolve_model(one.derived).model.params_total < SMALLER * whole.params_total, one.derived
    assert smaller_versions("deepseek-ai/DeepSeek-R1")[0] == "deepseek-ai/DeepSeek-R1-Distill-Llama-70B"
    assert smaller_versions("Qwen/Qwen3-8B") == ()


def test_static_batching_is_simulated_and_never_needs_fewer_instances() -> None:
    row = of_levers(asked())["static_batching"]
    assert row.standing == "simulated"
    assert row.outcome.feasible
    assert (row.gpus_saved or 0) < 0
    assert row.outcome.ttft_ms <= 3000


def test_static_batching_is_sized_as_surely_as_the_plan() -> None:
    likely, sure = (
        of_levers(asked(deployment={"gpus": ["h100_sxm"], "precisions": ["fp8"], "tp": [1], "confidence": confidence}))
        for confidence in (50, 80)
    )
    few, many = (one["static_batching"].outcome for one in (likely, sure))
    assert many.gpus > 1.2 * few.gpus


def test_static_batching_that_no_number_of_instances_rescues() -> None:
    row = of_levers(asked(limits={"ttft_ms": 140, "itl_ms": 50}))["static_batching"]
    assert not row.outcome.feasible


def test_a_smaller_model_is_a_relative() -> None:
    assert next_smaller(model_of(asked("Qwen/Qwen2.5-32B-Instruct"))) == "Qwen/Qwen2.5-14B-Instruct"
    smaller = next_smaller(model_of(asked()))
    assert smaller == "meta-llama/Llama-3.2-3B-Instruct"
    own = asked({"name": "own", "params_b": 8})
    assert of_levers(own)["smaller_model"].obstacle == "no_smaller_model"
    assert of_levers(own, smaller_model=LLAMA)["smaller_model"].standing == "planned"


def test_a_pruned_model_has_the_asked_size_and_keeps_layers_and_heads() -> None:
    moved = change("pruned", Answer.of(asked(), analytic_plan), replace(DEFAULT, size_b=4.5))
    assert isinstance(moved, ScenarioChange)
    model, whole = model_of(asked(moved.values["model"])), model_of(asked())
    assert model.params_total == 4.5e9
    assert (model.layers, model.heads, model.kv_heads) == (whole.layers, whole.heads, whole.kv_heads)
    assert model.hidden_size == 3072  # as Llama 3.1 8B was pruned to 4.5 billion, arXiv 2408.11796


@pytest.mark.parametrize(
    ("model", "size_b", "obstacle"),
    [(LLAMA, 9.0, "size"), (LLAMA, 0.06, "size"), ("mistralai/Mixtral-8x7B-v0.1", 20.0, "architecture")],
)
def test_what_cannot_be_pruned_says_why(model: str, size_b: float, obstacle: str) -> None:
    moved = change("pruned", Answer.of(asked(model), analytic_plan), replace(DEFAULT, size_b=size_b))
    assert moved == obstacle
