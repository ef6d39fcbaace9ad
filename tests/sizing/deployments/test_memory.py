"""Memory by hand: weights, KV cache, sharding and blocks."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sizing.base.constants import constant
from sizing.catalog import gpus
from sizing.catalog.engines import engines
from sizing.catalog.precisions import precisions
from sizing.catalog.weights import dense_parameters, embedding_parameters, weight_bytes
from sizing.deployments.candidates import table
from sizing.deployments.memory import activation_bytes, kv_bytes_per_sequence, kv_share, memory_fit
from sizing.question.configuration import Configuration
from tests.sizing.asking import LLAMA_8B, LLAMA_70B, a_gpu, ask, model_named

ONE_TOKEN = np.array([1.0])


def configuration(gpu="h100_sxm", precision="bf16", kv="fp16", engine="vllm", **parallelism):
    known = gpus()[gpu] if isinstance(gpu, str) else gpu
    return Configuration(
        gpu=known, engine=engines()[engine], precision=precisions()[precision], kv_precision=kv, **parallelism
    )


def fit(model, *rows, tokens=4000.0):
    return memory_fit(model, table(rows), tokens)


@pytest.mark.parametrize(
    ("model", "kv_bytes", "expected", "by_hand"),
    [
        (LLAMA_8B, 2.0, 131_072, "2 x 32 layers x 8 KV heads x 128 x 2 bytes (config.json)"),
        (LLAMA_8B, 1.0, 65_536, "half of it at 8 bit"),
        (LLAMA_70B, 2.0, 327_680, "2 x 80 layers x 8 KV heads x 128 x 2 bytes (config.json)"),
        ("deepseek-ai/DeepSeek-V3", 2.0, 576 * 61 * 2, "(512 latent + 64 rotary) x 61 layers x 2 bytes (config.json)"),
        ("meta-llama/Llama-2-7b-hf", 2.0, 524_288, "2 x 32 layers x 32 heads x 128 x 2 bytes: no grouping"),
        ("tiiuae/falcon-7b", 2.0, 2 * 32 * 64 * 2, "2 x 32 layers x 1 KV head x 64 x 2 bytes: multi-query"),
    ],
)
def test_kv_bytes_of_one_token(model, kv_bytes, expected, by_hand):
    found = kv_bytes_per_sequence(model_named(model), 1, kv_bytes, ONE_TOKEN)
    assert found[0] == pytest.approx(expected), by_hand


def test_kv_grows_with_whole_blocks():
    model = model_named(LLAMA_8B)
    blocks = np.array([16.0])
    sizes = [float(kv_bytes_per_sequence(model, n, 2.0, blocks)[0]) / 131_072 for n in (1, 16, 17, 32, 33)]
    assert sizes == [16, 16, 32, 32, 48]


def test_sliding_layers_stop_growing_at_their_window():
    model = model_named("google/gemma-3-27b-it")
    assert model.sliding_window == 1024  # 5 of 6 layers are local (Gemma 3 technical report)
    below, at, above = (float(kv_bytes_per_sequence(model, n, 2.0, ONE_TOKEN)[0]) for n in (512, 1024, 101_024))
    assert at == pytest.approx(2 * below)
    assert above - at == pytest.approx(100_000 * model.kv_elements_full * 2)
    everything = (model.kv_elements_full + model.kv_elements_sliding) * 2
    assert above < everything * 101_024 / 4


def test_weights_take_2_gb_per_billion_parameters_at_16_bit():
    for name in (LLAMA_8B, LLAMA_70B, "mistralai/Mixtral-8x7B-Instruct-v0.1"):
        model = model_named(name)
        assert weight_bytes(model, 2.0) == pytest.approx(2 * model.params_total)


def test_quantised_weights_keep_embeddings_at_16_bit():
    model = model_named(LLAMA_8B)
    wide = 2 * 128_256 * 4096  # input embedding and output head, not tied
    assert weight_bytes(model, 1.0) == pytest.approx((model.params_total - wide) + 2 * wide)


@pytest.mark.parametrize(("name", "published_gib"), [("openai/gpt-oss-120b", 60.8), ("openai/gpt-oss-20b", 12.8)])
def test_beside_4_bit_experts_all_else_keeps_its_native_width(name, published_gib):
    """Checkpoints as the gpt-oss model card (arXiv 2508.10925, table 1) has them: of 116.83 billion parameters 114.71
    in experts, so 114.71 x 0.53125 + 2.12 x 2 = 65.2 GB = 60.7 GiB."""
    assert float(weight_bytes(model_named(name), 0.53125)) / 2**30 == pytest.approx(published_gib, rel=0.005)


def test_beside_4_bit_experts_a_model_trained_in_fp8_keeps_fp8():
    model = model_named("deepseek-ai/DeepSeek-V3")
    rest = dense_parameters(model)
    assert float(weight_bytes(model, 0.5625)) == pytest.approx(
        model.params_experts * 0.5625 + rest * 1.0 + embedding_parameters(model) * 2.0
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
    assert two.weights[0] == pytest.approx(one.weights[0] / 2)
    assert eight.weights[0] == pytest.approx(one.weights[0] / 8)
    assert two.kv_per_sequence[0] == pytest.approx(one.kv_per_sequence[0] / 2)


def test_kv_heads_are_copied_when_tp_exceeds_them():
    model = model_named(LLAMA_70B)  # 8 KV heads
    shares = kv_share(model, np.array([1.0, 2.0, 4.0, 8.0, 16.0]))
    assert shares.tolist() == [1, 0.5, 0.25, 0.125, 0.125]


def test_tp_not_dividing_the_kv_heads_gives_the_fullest_gpu_one_more():
    model = replace(model_named(LLAMA_70B), kv_heads=10, heads=40)
    assert kv_share(model, np.array([4.0]))[0] == pytest.approx(3 / 10)


def test_the_latent_vector_of_mla_is_held_by_every_gpu():
    assert kv_share(model_named("deepseek-ai/DeepSeek-V3"), np.array([1.0, 8.0])).tolist() == [1, 1]


def test_pipeline_stages_hold_their_own_layers():
    model = model_named(LLAMA_70B)
    one, staged = fit(model, configuration(tp=4)), fit(model, configuration(tp=4, pp=2))
    assert staged.weights[0] == pytest.approx(one.weights[0] / 2)
    assert staged.kv_per_sequence[0] == pytest.approx(one.kv_per_sequence[0] / 2)


def test_attention_dp_copies_attention_and_spreads_experts():
    model = model_named("deepseek-ai/DeepSeek-V3")
    alone = fit(model, configuration(precision="fp8"))
    spread = fit(model, configuration(precision="fp8", ep=8, dp=8))
    rest = weight_bytes(replace(model, params_total=model.params_total - model.params_experts), 1.0)
    assert alone.weights[0] - spread.weights[0] == pytest.approx(model.params_experts * 7 / 8)
    assert spread.weights[0] > float(rest)


def test_activations_match_what_vllm_reports_for_16384_tokens():
    """4.8 to 5.6 GiB for dense models (llm-d-planner's capacity planner, measured)."""
    for name in (LLAMA_8B, "Qwen/Qwen2.5-14B-Instruct"):
        found = activation_bytes(model_named(name), np.array([16_384.0]), np.array([1.0]))[0]
        assert 3.5 < found / 2**30 < 7.5


def test_an_instance_on_several_gpus_keeps_communication_buffers():
    model = model_named(LLAMA_8B)
    assert fit(model, configuration(tp=2)).overhead[0] - fit(model, configuration()).overhead[0] == pytest.approx(
        constant("communication_bytes")
    )


def test_concurrency_by_hand():
    """Llama 3 8B BF16 on one H100 80 GB, whose driver shows 81,559 MiB: what is left of 90 % of the memory, in
    sequences of 4,000 tokens."""
    found = fit(model_named(LLAMA_8B), configuration(), tokens=4000)
    left = 0.9 * 85_520_809_984 - found.weights[0] - found.activations[0] - found.overhead[0]
    assert found.kv_available[0] == pytest.approx(left)
    assert found.max_concurrency[0] == left // (4000 * 131_072)
    assert 80 < found.max_concurrency[0] < 120


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
@example(small=75.1e9, more=0.1e9, tokens=4000.0, model=LLAMA_8B, engine="vllm", tp=1)  # engines take larger steps
@example(small=75.1e9, more=0.1e9, tokens=4000.0, model="google/gemma-3-27b-it", engine="sglang", tp=1)
def test_more_memory_never_lowers_concurrency(small, more, tokens, model, engine, tp):
    known = model_named(model)
    rows = [configuration(a_gpu(memory_bytes=m), engine=engine, tp=tp) for m in (small, small + more)]
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
