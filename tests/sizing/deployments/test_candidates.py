"""Which deployments are considered."""

from dataclasses import replace

import numpy as np
import pytest

from sizing import Scenario
from sizing.catalog import gpus
from sizing.deployments.candidates import (
    CONVERTED,
    UNKNOWN_COUNTS,
    enumerate_for,
    support_factor,
    support_of,
    table,
    unknown_support,
)
from sizing.deployments.layouts import MAX_GPUS_PER_INSTANCE, WIDE_DP_SIZES
from sizing.question.configuration import Allowed
from sizing.question.speculation import Speculation
from sizing.question.understand import understand
from tests.sizing.asking import LLAMA_8B, LLAMA_70B, model_named, raw

DRAFTS = Speculation(draft_tokens=3, acceptance=0.7, draft_cost=0.05)
SOME_MODELS = (LLAMA_8B, LLAMA_70B, "deepseek-ai/DeepSeek-V3", "openai/gpt-oss-120b", "tiiuae/falcon-7b")


def rows(model=LLAMA_8B, gpu="h100_sxm", **allowed):
    known = model if not isinstance(model, str) else model_named(model)
    return enumerate_for(known, gpus()[gpu], Allowed(**allowed))


def every_row():
    for name in SOME_MODELS:
        for gpu in gpus().values():
            if gpu.sizable:
                yield from ((model_named(name), row) for row in enumerate_for(model_named(name), gpu, Allowed()))


def test_nothing_is_tried_that_does_not_run():
    for model, row in every_row():
        said = support_of(model, row)
        assert said.status != "no"
        assert not said.unless_named
        assert row.kv_precision == "fp16" or row.gpu.supports_fp8


def test_unasked_formats_exist_or_are_converted_to_while_loading():
    for model, row in every_row():
        online = row.precision.id == "fp8" and row.engine.id in ("vllm", "sglang", "nim")
        cast = row.precision.id == "fp16" and not row.gpu.supports_bf16
        converted = row.precision.id in CONVERTED.get(row.engine.id, ())
        assert row.precision.id in model.published_formats or online or cast or converted
    asked = {r.precision.id for r in rows("openai/gpt-oss-120b", precisions=("w4a8_awq",))}
    assert asked == {"w4a8_awq"}


def test_a_format_to_multiply_in_is_widened_only_where_asked_or_published_so():
    assert "fp8" not in {r.precision.id for r in rows(gpu="a100_sxm_80g")}
    assert {r.precision.id for r in rows(gpu="a100_sxm_80g", precisions=("fp8",))} == {"fp8"}
    assert "fp8" in {r.precision.id for r in rows("MiniMaxAI/MiniMax-M2.7", gpu="a100_sxm_80g")}
    assert {r.kv_precision for r in rows(gpu="h100_sxm", precisions=("nvfp4",))} == {"fp16"}


def test_no_bf16_on_turing():
    assert {r.precision.id for r in rows(gpu="t4")}.isdisjoint({"bf16", "fp8"})
    assert "fp16" in {r.precision.id for r in rows(gpu="t4")}


def test_what_is_archived_or_dropped_takes_naming():
    assert "tgi" not in {r.engine.id for r in rows()}
    assert {r.engine.id for r in rows(engines=("tgi",))} == {"tgi"}
    for gpu in ("v100_sxm", "inf2"):
        assert rows(gpu=gpu) == ()
        assert {r.engine.id for r in rows(gpu=gpu, gpus_named=True)} == {"vllm"}


def test_unknown_support_counts_more():
    some = table([*rows("openai/gpt-oss-120b"), *rows("openai/gpt-oss-120b", gpu="mi250x")])
    model = model_named("openai/gpt-oss-120b")
    unknown = unknown_support(model, some)
    assert unknown.tolist() == [support_of(model, row).status == "unknown" for row in some.rows]
    assert 0 < unknown.sum() < len(some)
    assert support_factor(model, some).tolist() == [UNKNOWN_COUNTS if one else 1.0 for one in unknown]


def test_trtllm_runs_on_nvidia_only():
    for _, row in every_row():
        assert row.engine.id not in ("trtllm", "nim") or row.gpu.vendor == "NVIDIA"


def test_tp_divides_the_heads_and_stays_in_one_domain_or_server():
    for model, row in every_row():
        assert model.heads % row.tp == 0
        assert row.tp <= max(row.gpu.domain_gpus, 8)
        assert row.gpus <= max(MAX_GPUS_PER_INSTANCE, row.gpu.domain_gpus)
    odd = replace(model_named(LLAMA_8B), heads=20, kv_heads=20)
    assert {r.tp for r in rows(odd)} == {1, 2, 4}
    assert {r.tp for r in rows(odd, tp=(5, 10, 8))} == {5, 10}


def test_an_instance_beyond_a_server_needs_a_domain_for_its_tp():
    assert max(r.tp for r in rows(LLAMA_70B)) == 8
    assert max(r.tp for r in rows(LLAMA_70B, "gb200")) == 16


def test_experts_are_spread_only_where_there_are_experts():
    assert {r.ep for r in rows()} == {r.dp for r in rows()} == {1}
    moe = rows("deepseek-ai/DeepSeek-V3")
    assert {r.ep for r in moe} >= {1, 8}
    assert all(256 % r.ep == 0 for r in moe)
    assert all(r.ep == r.dp for r in moe if r.dp > 1)


def test_experts_are_spread_widely_inside_a_rack_or_where_asked():
    assert max(r.dp for r in rows("deepseek-ai/DeepSeek-V3")) == 8
    assert {r.dp for r in rows("deepseek-ai/DeepSeek-V3", "gb200")} >= set(WIDE_DP_SIZES)
    asked = rows("deepseek-ai/DeepSeek-V3", dp=(32,), tp=(1, 2), pp=(1,))
    assert {(r.tp, r.ep) for r in asked} == {(1, 32), (2, 64)}
    assert {(r.tp, r.dp) for r in rows("deepseek-ai/DeepSeek-V3", "gb200", ep=(48,), tp=(1,), pp=(1,))} == {(1, 48)}


@pytest.mark.parametrize(("engine", "found"), [("vllm", set()), ("sglang", {4}), ("trtllm", {4}), ("tgi", set())])
def test_experts_over_a_part_of_the_instance_are_a_matter_of_the_engine(engine, found):
    assert {r.ep for r in rows("deepseek-ai/DeepSeek-V3", engines=(engine,), tp=(8,), ep=(4,), pp=(1,))} == found


@pytest.mark.parametrize(("tp", "pp", "gpus_each"), [(16, 1, 16), (8, 3, 24), (2, 6, 12)])
def test_layouts_that_nobody_would_try_unasked_are_there_where_asked(tp, pp, gpus_each):
    found = rows("deepseek-ai/DeepSeek-V3", "h200_sxm", tp=(tp,), pp=(pp,), engines=("vllm",))
    assert {r.gpus for r in found} == {gpus_each}


def test_speculation_leaves_pipeline_stages_to_engines_that_have_both():
    asked = {"pp": (2,), "engines": ("trtllm", "vllm")}
    assert {r.engine.id for r in rows(LLAMA_70B, **asked)} == {"trtllm", "vllm"}
    assert {r.engine.id for r in rows(LLAMA_70B, **asked, speculation=DRAFTS)} == {"vllm"}


def test_formats_wider_than_the_checkpoint_are_not_offered_unasked():
    assert "bf16" not in {r.precision.id for r in rows("deepseek-ai/DeepSeek-V3")}  # published in FP8
    assert "bf16" in {r.precision.id for r in rows("deepseek-ai/DeepSeek-V3", precisions=("bf16",))}
    assert "mxfp4" not in {r.precision.id for r in rows("google/gemma-3-27b-it")}
    assert "mxfp4" in {r.precision.id for r in rows("openai/gpt-oss-120b")}


def test_kv_cache_is_fp8_beside_fp8_weights_unless_asked_otherwise():
    assert {(r.precision.id, r.kv_precision) for r in rows(precisions=("bf16", "fp8"))} == {
        ("bf16", "fp16"),
        ("fp8", "fp8"),
    }
    assert {r.kv_precision for r in rows(kv_precisions=("fp16",))} == {"fp16"}
    assert {r.engine.id for r in rows(gpu="a100_sxm_80g", kv_precisions=("fp8",))} == {"vllm"}
    assert rows(gpu="t4", kv_precisions=("fp8",)) == ()


@pytest.mark.parametrize(
    ("allowed", "of"),
    [
        ({"engines": ("vllm",)}, "engine"),
        ({"tp": (2, 4)}, "tp"),
        ({"pp": (1,)}, "pp"),
        ({"precisions": ("fp8",)}, "precision"),
    ],
)
def test_restrictions_hold(allowed, of):
    wanted = next(iter(allowed.values()))
    found = {getattr(getattr(r, of), "id", getattr(r, of)) for r in rows(**allowed)}
    assert found == set(wanted)


def test_a_tp_that_no_head_count_allows_gives_nothing():
    assert rows(tp=(3,)) == ()


def test_columns_agree_with_rows():
    some = rows("deepseek-ai/DeepSeek-V3")
    whole = table(some)
    assert len(whole) == len(some)
    assert whole.gpus.tolist() == [r.gpus for r in some]
    assert [whole.units[u].precision.id for u in whole.unit] == [r.precision.id for r in some]
    part = whole.take(np.array([3, 1]))
    assert part.rows == (some[3], some[1])
    assert part.column(lambda r: r.precision.bytes).tolist() == [some[3].precision.bytes, some[1].precision.bytes]


def test_an_empty_table_is_a_table():
    assert len(table([])) == 0
    assert table([]).column(lambda r: 1.0).shape == (0,)


def test_label_names_what_runs_where():
    row = next(r for r in rows(LLAMA_70B) if (r.tp, r.pp, r.engine.id, r.precision.id) == (4, 2, "vllm", "fp8"))
    assert row.label == f"{row.gpu.name}, vLLM, FP8 (W8A8), TP4 PP2"


def test_a_column_that_depends_on_more_than_the_row_is_looked_up_anew():
    some = table(rows())
    narrow = [some.column(lambda r: r.precision.bytes) for _ in range(2)]
    assert narrow[0].tolist() == narrow[1].tolist() == [r.precision.bytes for r in some.rows]
    for factor in (2.0, 3.0):
        assert some.column(_times(factor)).tolist() == (factor * narrow[0]).tolist()
        assert some.column(lambda r, by=factor: by * r.precision.bytes).tolist() == (factor * narrow[0]).tolist()


def test_what_was_looked_up_for_a_table_serves_its_parts():
    some = table(rows())
    some.column(_bytes)
    part = some.take(np.array([3, 1]))
    assert part.column(_bytes).tolist() == [some.rows[3].precision.bytes, some.rows[1].precision.bytes]


def _times(factor):
    return lambda row: factor * row.precision.bytes


def _bytes(row):
    return row.precision.bytes


def test_gpu_numbers_tell_gpu_types_apart_in_every_part_of_a_table():
    some = table([*rows(), *rows(gpu="b200_sxm")])
    part = some.take(np.array([len(some) - 1, 0]))
    assert part.gpu_number.tolist() == [some.gpu_number[-1], some.gpu_number[0]]
    assert len(set(some.gpu_number.tolist())) == 2


def engines_tried(model: str, gpu: str) -> set[str]:
    scenario = Scenario.model_validate(raw(model, deployment={"gpus": [gpu]}))
    question = understand(scenario)
    return {row.engine.id for row in enumerate_for(question.model, question.gpus[0], question.allowed)}


@pytest.mark.parametrize(
    ("model", "gpu"),
    [
        ("qwen3:8b-q4_K_M", "rtx_4090"),
        ("bartowski/Llama-3.3-70B-Instruct-GGUF:Q8_0", "a100_sxm_80g"),
        ("unsloth/Qwen3-30B-A3B-GGUF:Q4_K_M", "mi300x"),
    ],
)
def test_weights_in_the_files_of_an_engine_have_it_considered_on_every_gpu(model: str, gpu: str) -> None:
    assert "llamacpp" in engines_tried(model, gpu)


@pytest.mark.parametrize("model", ["Qwen/Qwen3-8B", "Qwen/Qwen3-8B-FP8", "Qwen/Qwen3-8B-AWQ"])
def test_other_weights_do_not(model: str) -> None:
    assert "llamacpp" not in engines_tried(model, "rtx_4090")


def test_layers_are_split_over_any_number_of_the_gpus_of_a_server_by_an_engine_that_does_so() -> None:
    def stages(engine: str) -> set[int]:
        return {row.pp for row in rows(LLAMA_70B, "l4", engines=(engine,)) if row.tp == 1}

    assert stages("llamacpp") == set(range(1, 9))
    assert stages("vllm") == {1, 2, 4}
    assert {row.pp for row in rows(LLAMA_70B, "l4", engines=("llamacpp",), pp=(3,))} == {3}
