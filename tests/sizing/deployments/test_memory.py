"""Memory by hand: weights, KV cache, sharding and blocks."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sizing.catalog import gpus
from sizing.catalog.engine_memory import memory_rule
from sizing.catalog.engines import engines
from sizing.catalog.precisions import precisions
from sizing.catalog.weights import dense_parameters, embedding_parameters, rotary_bytes, weight_bytes
from sizing.deployments.candidates import table
from sizing.deployments.kv_cache import head_share, sequence_bytes, state_bytes
from sizing.deployments.memory import kv_of_sequence, memory_fit
from sizing.deployments.working_memory import activation_bytes
from sizing.question.configuration import Configuration
from tests.sizing.asking import LLAMA_8B, LLAMA_70B, a_gpu, ask, model_named

GIB = 2**30


def configuration(gpu="h100_sxm", precision="bf16", kv="fp16", engine="vllm", **parallelism):
    known = gpus()[gpu] if isinstance(gpu, str) else gpu
    return Configuration(
        gpu=known, engine=engines()[engine], precision=precisions()[precision], kv_precision=kv, **parallelism
    )


def fit(model, *rows, tokens=4000.0):
    return memory_fit(model, table(rows), tokens)


def held(model, tokens, kv="fp16", beside=0.0, **row):
    """Bytes of one sequence on a GPU."""
    return float(sequence_bytes(model_named(model), table([configuration(kv=kv, **row)]), tokens, beside)[0])


@pytest.mark.parametrize(
    ("model", "kv", "expected", "by_hand"),
    [
        (LLAMA_8B, "fp16", 131_072, "2 x 32 layers x 8 KV heads x 128 x 2 bytes (config.json)"),
        (LLAMA_8B, "fp8", 65_536, "half of it at 8 bit"),
        (LLAMA_70B, "fp16", 327_680, "2 x 80 layers x 8 KV heads x 128 x 2 bytes (config.json)"),
        (
            "deepseek-ai/DeepSeek-V3",
            "fp16",
            576 * 61 * 2,
            "(512 latent + 64 rotary) x 61 layers x 2 bytes (config.json)",
        ),
        ("meta-llama/Llama-2-7b-hf", "fp16", 524_288, "2 x 32 layers x 32 heads x 128 x 2 bytes: no grouping"),
        ("tiiuae/falcon-7b", "fp16", 2 * 32 * 64 * 2, "2 x 32 layers x 1 KV head x 64 x 2 bytes: multi-query"),
    ],
)
def test_kv_bytes_of_one_token(model, kv, expected, by_hand):
    assert held(model, 16, kv) == pytest.approx(16 * expected), by_hand


def test_kv_grows_with_whole_blocks():
    sizes = [held(LLAMA_8B, n) / 131_072 for n in (1, 16, 17, 32, 33)]
    assert sizes == [16, 16, 32, 32, 48]


def test_sliding_layers_stop_growing_at_their_window():
    model = "google/gemma-3-27b-it"
    assert model_named(model).sliding_window == 1024  # 5 of 6 layers are local (Gemma 3 technical report)
    assert held(model, 1024) == pytest.approx(2 * held(model, 512))
    grown = held(model, 101_024) - held(model, 11_024)
    assert grown == pytest.approx(90_000 * 10 * 8192, rel=0.001)  # ten layers of 16 heads x 128, keys and values


@pytest.mark.parametrize(
    ("model", "row", "tokens", "beside", "printed_gib"),
    [
        ("google/gemma-3-27b-it", {}, 8192, 8192, 19.53 / 4.46),
        ("google/gemma-2-9b-it", {}, 8192, 8192, 54.12 / 20.60),
        ("openai/gpt-oss-20b", {"precision": "mxfp4"}, 8192, 8192, 58.47 / 155.75),
        ("openai/gpt-oss-20b", {"precision": "mxfp4", "tp": 2}, 8192, 8192, 63.28 / 337.17),
        ("google/gemma-4-31B-it", {"gpu": "h200_sxm"}, 8192, 8192, 69.75 / 10.13),
        ("deepseek-ai/DeepSeek-V3.2", {"gpu": "b200_sxm", "tp": 8}, 10_000, 8192, 78.86 / 107.59),
        ("deepseek-ai/DeepSeek-V3.2", {"gpu": "b200_sxm", "tp": 8, "kv": "fp8"}, 10_000, 8192, 110.95 / 274.52),
        ("zai-org/GLM-5.1", {"gpu": "rtx_pro_6000_server", "tp": 8, "kv": "fp8"}, 202_752, 8192, 19.55 / 1.68),
        ("deepseek-ai/DeepSeek-R1-0528", {"gpu": "h200_sxm", "tp": 8}, 10_000, 8192, 43.09 / 65.52),
    ],
)
def test_a_sequence_is_as_large_as_vllm_prints(model, row, tokens, beside, printed_gib):
    """GiB of the pool over the printed concurrency (start-up logs of vLLM 0.18 and 0.19,
    calibration/memory_runs.csv)."""
    assert held(model, tokens, beside=beside, **row) / GIB == pytest.approx(printed_gib, rel=0.015)


@pytest.mark.parametrize(
    ("model", "row", "tokens", "version", "printed_gib"),
    [
        ("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", {"kv": "fp8"}, 8192, "0.19", 95.04 / 1325.83),
        ("nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16", {"kv": "fp8", "tp": 2}, 10_000, "0.18", 64.70 / 582.43),
        ("Qwen/Qwen3-Next-80B-A3B-Instruct", {}, 10_000, "0.18", 49.29 / 179.91),
        ("Qwen/Qwen3.6-35B-A3B", {"kv": "fp8"}, 131_072, "0.24", 5.98 / 4.33),
    ],
)
def test_states_take_whole_pages(model, row, tokens, version, printed_gib):
    """A state is as large as a block of attention; since 0.21 a sequence has two of them."""
    engine = engines()["vllm"].with_memory(memory_rule("vllm", version))
    one = replace(configuration(**row), engine=engine)
    found = float(sequence_bytes(model_named(model), table([one]), tokens, 8192.0)[0])
    assert found / GIB == pytest.approx(printed_gib, rel=0.01)


def test_deepseek_v4_keeps_what_its_compressors_need_of_tokens_in_flight():
    """6.66 GiB for 30,000 tokens with steps of 8,192, two of them in flight (error message of vLLM 0.22 on GH200)."""
    found = held("deepseek-ai/DeepSeek-V4-Flash", 30_000, "fp8", 16_384, precision="mxfp4", tp=2)
    assert found / GIB == pytest.approx(6.66, rel=0.06)
    assert held("deepseek-ai/DeepSeek-V4-Flash", 30_000, "fp8", precision="mxfp4", tp=2) < found / 20


def test_recurrent_state_is_split_over_tensor_parallel_ranks():
    model = "moonshotai/Kimi-K3"
    one, eight = (float(state_bytes(model_named(model), table([configuration(tp=n)]))[0]) for n in (1, 8))
    assert eight == pytest.approx(one / 8)


def test_weights_take_2_gb_per_billion_parameters_at_16_bit():
    for name in (LLAMA_8B, LLAMA_70B, "mistralai/Mixtral-8x7B-Instruct-v0.1"):
        model = model_named(name)
        assert weight_bytes(model, precisions()["bf16"]) == pytest.approx(2 * model.params_total)


def test_quantised_weights_keep_embeddings_at_16_bit():
    model = model_named(LLAMA_8B)
    wide = 2 * 128_256 * 4096  # input embedding and output head, not tied
    assert weight_bytes(model, precisions()["fp8"]) == pytest.approx((model.params_total - wide) + 2 * wide)


@pytest.mark.parametrize(("name", "published_gib"), [("openai/gpt-oss-120b", 60.8), ("openai/gpt-oss-20b", 12.8)])
def test_beside_4_bit_experts_all_else_keeps_its_native_width(name, published_gib):
    """Checkpoints as the gpt-oss model card (arXiv 2508.10925, table 1) has them: of 116.83 billion parameters 114.71
    in experts, so 114.71 x 0.53125 + 2.12 x 2 = 65.2 GB = 60.7 GiB."""
    assert weight_bytes(model_named(name), precisions()["mxfp4"]) / 2**30 == pytest.approx(published_gib, rel=0.005)


def test_beside_4_bit_experts_a_model_trained_in_fp8_keeps_fp8():
    model = model_named("deepseek-ai/DeepSeek-V3")
    rest = dense_parameters(model)
    routers = model.moe_layers * model.experts * model.hidden_size  # 16 bit
    assert weight_bytes(replace(model, stored_bytes=()), precisions()["nvfp4"]) == pytest.approx(
        model.params_experts * 0.5625 + rest * 1.0 + routers + embedding_parameters(model) * 2.0
    )


@pytest.mark.parametrize("precision", ["fp8", "int8_sq", "int8_wo", "int4_awq", "nvfp4"])
@pytest.mark.parametrize("model", [LLAMA_8B, "deepseek-ai/DeepSeek-V3", "google/gemma-3-27b-it"])
def test_quantised_weights_never_take_more_than_bf16(model, precision):
    known = model_named(model)
    narrow, wide = (fit(known, configuration(precision=p, tp=8)).weights[0] for p in (precision, "bf16"))
    assert narrow < wide


def test_tensor_parallelism_shards_weights_and_kv():
    model = model_named(LLAMA_70B)
    one, two, eight = (fit(model, configuration(tp=n)) for n in (1, 2, 8))
    tables = rotary_bytes(model)  # whole on each
    assert two.weights[0] - tables == pytest.approx((one.weights[0] - tables) / 2)
    assert eight.weights[0] - tables == pytest.approx((one.weights[0] - tables) / 8)
    assert two.kv_per_sequence[0] == pytest.approx(one.kv_per_sequence[0] / 2)


def test_kv_heads_are_copied_when_tp_exceeds_them():
    shares = head_share(8, np.array([1.0, 2.0, 4.0, 8.0, 16.0]))
    assert shares.tolist() == [1, 0.5, 0.25, 0.125, 0.125]


def test_tp_not_dividing_the_kv_heads_gives_the_fullest_gpu_one_more():
    assert head_share(10, np.array([4.0]))[0] == pytest.approx(3 / 10)


def test_the_latent_vector_of_mla_is_held_by_every_gpu():
    assert held("deepseek-ai/DeepSeek-V3", 1600, tp=8) == held("deepseek-ai/DeepSeek-V3", 1600)


def test_pipeline_stages_hold_their_own_layers_and_one_end():
    """Llama 3.1 8B on one, two and four stages: 14.99, 7.51 and 4.26 GiB (vLLM 0.19 on H100)."""
    weights = [fit(model_named(LLAMA_8B), configuration(pp=n)).weights[0] / GIB for n in (1, 2, 4)]
    assert weights == pytest.approx([14.99, 7.51, 4.26], rel=0.01)
    assert held(LLAMA_70B, 1600, pp=2) == pytest.approx(held(LLAMA_70B, 1600) / 2)


def test_attention_dp_copies_attention_and_spreads_experts():
    model = model_named("deepseek-ai/DeepSeek-V3")
    alone = fit(model, configuration(precision="fp8"))
    spread = fit(model, configuration(precision="fp8", ep=8, dp=8))
    rest = weight_bytes(model, precisions()["fp8"]) - model.params_experts
    assert alone.weights[0] - spread.weights[0] == pytest.approx(model.params_experts * 7 / 8, rel=1e-3)
    assert spread.weights[0] > rest


@pytest.mark.parametrize(
    ("model", "row", "printed_gib"),
    [
        (LLAMA_8B, {"precision": "int4_gptq"}, 5.38),
        ("Qwen/Qwen3-235B-A22B-Instruct-2507", {"gpu": "h200_sxm", "tp": 4}, 109.61),
        ("deepseek-ai/DeepSeek-R1-0528", {"gpu": "h200_sxm", "precision": "fp8", "tp": 8}, 79.74),
        ("MiniMaxAI/MiniMax-M2.5", {"precision": "fp8", "tp": 8, "ep": 8}, 27.01),
        ("zai-org/GLM-5.1", {"gpu": "h200_sxm", "precision": "fp8", "tp": 8}, 89.34),
        ("openai/gpt-oss-120b", {"precision": "mxfp4"}, 64.38),
        ("openai/gpt-oss-120b", {"gpu": "a100_sxm_80g", "precision": "mxfp4", "tp": 4}, 17.22),
        ("openai/gpt-oss-20b", {"gpu": "a100_sxm_80g", "precision": "mxfp4"}, 13.72),
    ],
)
def test_weights_are_as_large_as_vllm_loads_them(model, row, printed_gib):
    """ "Model loading took" in start-up logs (calibration/memory_runs.csv): what is copied, padded and wide counts."""
    assert fit(model_named(model), configuration(**row)).weights[0] / GIB == pytest.approx(printed_gib, rel=0.01)


def test_the_bytes_of_a_checkpoint_count_where_they_are_known():
    model = model_named(LLAMA_8B)
    stored = replace(model, stored_bytes=(("fp8", 9.5e9),))
    assert weight_bytes(stored, precisions()["fp8"]) == pytest.approx(9.5e9)
    assert weight_bytes(stored, precisions()["int8_wo"]) == weight_bytes(model, precisions()["int8_wo"])
    assert fit(stored, configuration(precision="fp8")).weights[0] == pytest.approx(9.5e9 + rotary_bytes(model))


@pytest.mark.parametrize(
    ("architecture", "of_eight"), [("Qwen3VLForConditionalGeneration", 1e8), ("Mistral3ForConditionalGeneration", 8e8)]
)
def test_a_vision_tower_is_split_unless_its_class_keeps_it_whole(architecture, of_eight):
    model = replace(model_named(LLAMA_8B), params_vision=4e8, hf_architecture=architecture)
    alone, eight = (fit(model, configuration(tp=n)).weights[0] - rotary_bytes(model) for n in (1, 8))
    plain = weight_bytes(model, precisions()["bf16"])
    assert (alone, eight) == (pytest.approx(plain + 8e8), pytest.approx(plain / 8 + of_eight))


@pytest.mark.parametrize(
    ("model", "gib"),
    [
        ("google/gemma-3-4b-it", 0.5625),  # (131,072 x 8 + 131,072) x 256 x 2 B
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", 2.5),  # 10,485,760 x 128 x 2 B
        ("meta-llama/Llama-3.1-8B-Instruct", 0.03125),  # 131,072 x 128 x 2 B
    ],
)
def test_sines_and_cosines_of_every_position_are_held(model, gib):
    assert rotary_bytes(model_named(model)) / GIB == pytest.approx(gib)


def test_sglang_has_a_pool_for_windows_of_some_classes_alone():
    """Gemma 3 27B keeps all tokens in its 62 layers of 16 heads of 128: 507,904 B each (hybrid_swa_archs)."""
    row = replace(configuration(), engine=engines()["sglang"])
    assert kv_of_sequence(model_named("google/gemma-3-27b-it"), table([row]), 10_000.0)[0] == 10_000 * 507_904
    whole = 36 * 2 * 8 * 64 * 2 * 10_000  # gpt-oss-120b: every second layer has a window
    assert kv_of_sequence(model_named("openai/gpt-oss-120b"), table([row]), 10_000.0)[0] < whole


@pytest.mark.parametrize(
    ("model", "version", "printed_gib"),
    [(LLAMA_8B, "0.19", 1.89), ("Qwen/Qwen3-32B", "0.11", 5.64), ("google/gemma-2-9b-it", "0.19", 3.65)],
)
def test_activations_are_those_of_the_profile_run(model, version, printed_gib):
    """Peak of the first step in debug logs of vLLM on H100: sampling 1,024 sequences takes most of it."""
    engine = engines()["vllm"].with_memory(memory_rule("vllm", version))
    found = activation_bytes(model_named(model), table([replace(configuration(), engine=engine)]))[0]
    assert found / GIB == pytest.approx(printed_gib, rel=0.02)


def test_several_gpus_take_more_outside_the_allocator():
    one, four = (fit(model_named(LLAMA_8B), configuration(tp=n)).outside[0] / GIB for n in (1, 4))
    assert (one, four) == (pytest.approx(0.25), pytest.approx(1.9))


def test_the_pool_by_hand():
    """Llama 3 8B BF16 on one H100, of which programs see 79.19 GiB: what 92 % leave beside all else."""
    found = fit(model_named(LLAMA_8B), configuration(), tokens=4000)
    taken = found.weights[0] + found.activations[0] + found.graphs[0] + found.outside[0]
    assert found.usable[0] == pytest.approx(0.92 * 79.19 * GIB)
    assert found.kv_available[0] == pytest.approx(0.92 * 79.19 * GIB - taken)
    assert found.kv_available[0] / GIB == pytest.approx(56.21, rel=0.02)  # vLLM 0.30 prints it


def test_sglang_reserves_by_step_and_graphs_and_tensorrt_llm_takes_of_what_is_free():
    model, h100 = model_named(LLAMA_8B), gpus()["h100_sxm"]
    sglang, trtllm = (fit(model, configuration(engine=e)) for e in ("sglang", "trtllm"))
    fraction = 1 - (512 + 1.5 * 8192 + 128 + 2 * 256) / (h100.memory_bytes / 2**20)
    pool = fraction * (79.19 - 0.5) * GIB - sglang.weights[0]
    assert sglang.kv_available[0] == pytest.approx(pool, rel=0.001)
    free = 79.19 * GIB - trtllm.weights[0] - trtllm.activations[0] - trtllm.overhead[0]
    assert trtllm.kv_available[0] == pytest.approx(0.9 * free)


def test_the_engine_caps_the_sequences_in_flight():
    found = fit(model_named(LLAMA_8B), configuration(), tokens=16)
    assert found.max_concurrency[0] == engines()["vllm"].sequences(gpus()["h100_sxm"])


def test_weights_beyond_the_memory_hold_no_sequence():
    found = fit(model_named(LLAMA_70B), configuration())
    assert found.kv_available[0] == 0
    assert found.max_concurrency[0] == 0
    assert not found.fits[0]


@given(
    small=st.floats(16e9, 200e9),
    more=st.floats(0, 100e9),
    tokens=st.floats(1, 200_000),
    model=st.sampled_from([LLAMA_8B, "google/gemma-3-27b-it", "Qwen/Qwen3-30B-A3B"]),
    engine=st.sampled_from(["vllm", "trtllm", "sglang", "tgi"]),
    tp=st.sampled_from([1, 2, 4]),
)
def test_more_memory_never_lowers_concurrency(small, more, tokens, model, engine, tp):
    """Beside equal steps: from 70 and 160 GiB on engines take larger ones by default, and keep more for them."""
    known = model_named(model)
    rows = [configuration(a_gpu(memory_bytes=m), engine=engine, tp=tp) for m in (small, small + more)]
    assume(len({(row.engine.budget(row.gpu), row.engine.sequences(row.gpu)) for row in rows}) == 1)
    assume(engine != "sglang" or not small < 60 * GIB <= small + more)  # where it begins to keep 10 GiB at least
    less, roomier = (fit(known, row, tokens=tokens).max_concurrency[0] for row in rows)
    assert less <= roomier


@given(tokens=st.floats(1, 1e6), more=st.floats(0, 1e5), model=st.sampled_from([LLAMA_8B, "google/gemma-3-27b-it"]))
def test_longer_sequences_never_raise_concurrency(tokens, more, model):
    known = model_named(model)
    short, long = (fit(known, configuration(), tokens=n).max_concurrency[0] for n in (tokens, tokens + more))
    assert long <= short


def test_parts_of_the_memory_of_a_plan_add_up():
    found = ask(deployment={"gpus": ["h100_sxm"]})
    one, gpus_each = found.per_instance, found.deployment.tp * found.deployment.pp * found.deployment.dp
    parts = one.weights_gb + one.kv_gb + one.activations_gb + one.overhead_gb
    assert parts <= one.memory_per_gpu_gb * gpus_each
    assert one.kv_used_gb + one.free_gb == pytest.approx(one.kv_gb)
