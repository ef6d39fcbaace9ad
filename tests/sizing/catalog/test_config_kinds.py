"""Kinds of models by published configurations: encoders, encoder-decoders, params.json, constant states, layer lists,
language models nested in others. Sizes are those that the publishers state, KV elements follow from the layers."""

import json
from pathlib import Path

import pytest

from sizing.base.errors import InvalidModelConfig
from sizing.catalog import model_from_config
from sizing.catalog.config_json import generating
from tests.sizing.catalog.test_config_json import LLAMA_3_8B

CONFIGS = json.loads(Path(__file__).with_name("configs_by_kind.json").read_text())
"""One published configuration a line, reduced to what is read."""


@pytest.mark.parametrize("row", CONFIGS, ids=lambda row: row["model"])
def test_published_configurations_have_their_size_and_their_cache(row):
    model = model_from_config(row["config"])
    assert model.kind == row["kind"]
    assert model.params_total == pytest.approx(row["params_b"] * 1e9, rel=0.02)
    assert (model.kv_elements_full, model.kv_elements_sliding) == (row["kv_full"], row["kv_windowed"])
    if "params_active_b" in row:
        assert model.params_active == pytest.approx(row["params_active_b"] * 1e9, rel=0.08)
    if "state" in row:
        assert model.state_elements == row["state"]
    if "params_vision_b" in row:
        assert model.params_vision == pytest.approx(row["params_vision_b"] * 1e9, rel=0.1)
        assert any("16 bit" in said for said in model.assumptions)


def of(name: str):
    return model_from_config(next(row["config"] for row in CONFIGS if row["model"].startswith(name)))


@pytest.mark.parametrize(
    ("name", "state", "convolution"),
    [
        ("mistralai/Mamba-Codestral-7B-v0.1", 64 * (8192 * 128 + 10240 * 3), 64 * 10240 * 3),
        ("LiquidAI/LFM2-1.2B", 10 * 2048 * 2, 10 * 2048 * 2),
        ("inclusionAI/Ring-mini-linear-2.0", 16 * 16 * 128 * 128, 0),
        ("Zyphra/Zamba2-7B", 81 * (7168 * 64 + 7424 * 3), 81 * 7424 * 3),
        ("tiiuae/falcon-mamba-7b", 64 * 8192 * (16 + 3), 64 * 8192 * 3),
        ("google/recurrentgemma-2b", 18 * 2560 * (1 + 3), 18 * 2560 * 3),
        ("tiiuae/Falcon-H1-34B-Instruct", 72 * (4096 * 256 + 5120 * 3), 72 * 5120 * 3),
    ],
)
def test_the_convolution_is_the_part_of_the_state_that_is_kept_in_16_bit(name, state, convolution):
    assert (of(name).state_elements, of(name).convolution_elements) == (state, convolution)


def test_what_a_file_leaves_out_is_said_with_the_class_it_is_taken_from():
    said = next(said for said in of("google/gemma-3-12b-it").assumptions if "transformers" in said)
    assert "head_dim 256" in said
    assert "gemma3_text" in said


def test_null_in_a_file_is_no_default_and_a_file_of_its_own_says_width_and_layers():
    section = {"model_type": "gemma3_text", "hidden_size": 3840, "num_hidden_layers": 48}
    assert model_from_config({"text_config": section}).sliding_window == 4096
    assert model_from_config({"text_config": section | {"sliding_window": None}}).sliding_window is None
    with pytest.raises(InvalidModelConfig, match="hidden_size"):
        model_from_config({"model_type": "llama", "num_hidden_layers": 32})


@pytest.mark.parametrize(
    "name", ["BAAI/bge-reranker-v2-m3", "google/flan-t5-xxl", "openai/whisper", "google/embeddinggemma"]
)
def test_what_generates_nothing_token_by_token_is_described_and_not_planned(name):
    with pytest.raises(InvalidModelConfig, match="choose a decoder model"):
        generating(of(name))


@pytest.mark.parametrize("name", ["Qwen/Qwen3-Reranker", "Skywork/Skywork-Reward"])
def test_what_scores_with_a_decoder_is_computed_like_one_and_not_planned(name):
    model = of(name)
    assert any("nothing is generated" in said for said in model.assumptions)
    with pytest.raises(InvalidModelConfig, match="reranker"):
        generating(model)


def test_the_first_qwen_counts_both_halves_of_its_mlp():
    """Qwen-7B: 7.72 billion parameters (its model card)."""
    config = LLAMA_3_8B | {"model_type": "qwen", "architectures": ["QWenLMHeadModel"], "intermediate_size": 22016}
    config |= {"num_key_value_heads": 32, "vocab_size": 151936, "kv_channels": 128}
    assert model_from_config(config).params_total == pytest.approx(7.72e9, rel=0.005)


@pytest.mark.parametrize(
    "path", ["llm", "llm_cfg", "language_model", "a.b.text_config", "model.language_model", "thinker_config.llm"]
)
def test_the_language_model_is_found_wherever_it_is_nested(path):
    config: dict = LLAMA_3_8B
    for key in reversed(path.split(".")):
        config = {key: config, "vision_config": {"hidden_size": 1152, "num_hidden_layers": 27}}
    assert model_from_config(config).params_total == model_from_config(LLAMA_3_8B).params_total


def test_layers_with_heads_of_their_own():
    model = model_from_config(LLAMA_3_8B | {"num_key_value_heads": [8] * 16 + [4] * 16})
    assert model.kv_elements_full == 2 * 128 * 16 * (8 + 4)
    assert model_from_config(LLAMA_3_8B | {"num_key_value_heads": [8] * 32}).kv_elements_full == 2 * 128 * 32 * 8
    blocks = [{"attention": {"num_key_value_heads": 2}, "ffn": {"intermediate_size": 8192}}] * 31
    searched = model_from_config(
        LLAMA_3_8B | {"block_configs": [*blocks, {"attention": {"no_op": True}, "ffn": {"no_op": True}}]}
    )
    assert (searched.kv_elements_full, searched.full_layers) == (2 * 128 * 31 * 2, 31)


@pytest.mark.parametrize(
    ("change", "full"),
    [
        ({"attn_layer_idxs": [3, 9], "mamba_d_state": 16}, 2),
        ({"layers_block_type": ["mamba", "attention"] * 16, "mamba_n_heads": 64, "mamba_d_head": 64}, 16),
        ({"layer_types": ["linear_attention", "full_attention"] * 16}, 16),
        ({"sliding_window": 1024, "sliding_window_pattern": "LLLG"}, 8),
        ({"sliding_window": 1024, "sliding_window_pattern": [1, 0] * 16}, 16),
        ({"sliding_window": [4096, None]}, 16),
        ({"cross_attention_layers": [0, 31]}, 30),
        ({"use_cla": True, "cla_share_factor": 4}, 32),
    ],
)
def test_spellings_of_what_a_layer_attends_to(change, full):
    assert model_from_config({**LLAMA_3_8B, **change}).full_layers == full


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"retention_layer_ids": [1, 2]}, "retention_layer_ids"),
        ({"linear_attn_config": {"num_heads": 32, "head_dim": 128}}, "linear_attn_config, of layers with a constant"),
        ({"zaya_layers": ["a", 16] * 16}, "a list zaya_layers"),
        ({"num_loops": 2}, "several times .num_loops"),
        ({"loop_num": 2}, "several times .loop_num"),
        ({"total_ut_steps": 4}, "several times .total_ut_steps"),
        ({"model_type": "Motif", "attention_cls": "gdla"}, "motif”, whose layers are not understood"),
        ({"model_type": "hymba", "layer_type": ["h", "m"] * 16}, "lists layers that are mamba alone"),
        ({"model_type": "rwkv7", "attn": {"layers": [3]}}, "RWKV 7 with layers of attention is not understood"),
        ({"model_type": "dory", "layer_types": ["sliding_attention", "mlp"]}, "dory"),
        ({"block_configs": [{"attention": {"window_size": 128}, "ffn": {"moe": {}}}] * 32}, "neither ffn_mult"),
        ({"layers_block_type": ["mamba", "quantum"] * 16}, "layers_block_type = .quantum"),
        ({"attn_layer_indices": [64]}, "attn_layer_indices"),
        ({"layers_block_type": ["mamba"] * 32}, "mamba_d_state"),
        ({"num_key_value_heads_per_layer": [4] * 31}, "num_key_value_heads_per_layer for 32 layers"),
        ({"sliding_window": 1024, "sliding_window_pattern": "XY"}, "sliding_window_pattern"),
        ({"vocab_size": None}, "vocab_size = null"),
    ],
)
def test_what_is_not_understood_is_named_in_the_words_of_the_file(change, words):
    with pytest.raises(InvalidModelConfig, match=words):
        model_from_config({**LLAMA_3_8B, **change})


@pytest.mark.parametrize("name", ["Llama-70B", "mistral-24b", "org/model-1.5B", "x-400M"])
def test_another_size_than_the_name_says_is_asked_about(name):
    with pytest.raises(InvalidModelConfig, match=r"8\.03 billion parameters"):
        model_from_config(LLAMA_3_8B, name=name)


@pytest.mark.parametrize(
    "name", ["Llama-3.1-8B-FP8", "llama-7b", "x-Eagle3-70B", "mine", "DeepSeek-R1-Distill-Llama-8B"]
)
def test_a_name_that_agrees_or_tells_no_size_is_taken(name):
    assert model_from_config(LLAMA_3_8B, name=name).id == name


@pytest.mark.parametrize(
    "config",
    [
        {"do_sample": True, "temperature": 0.6},
        {"image_processor_type": "Qwen2VLImageProcessor"},
        {"weight_map": {"a": "b"}},
        {"bits": 4, "group_size": 128},
        {"general.architecture": "llama"},
        {"model_type": "vit", "hidden_size": 768, "num_hidden_layers": 12},
        {"model_type": "clip", "text_config": LLAMA_3_8B},
        {"architectures": ["XForCTC"], **LLAMA_3_8B},
    ],
)
def test_files_that_are_no_language_model_are_named(config):
    with pytest.raises(InvalidModelConfig, match=r"This is|no language model"):
        model_from_config(config)


def test_key_and_value_of_one_projection_are_both_cached():
    """Gemma 4: engines keep both for global layers (vLLM issue 43308), and parameters are those of one projection."""
    gemma = LLAMA_3_8B | {"global_head_dim": 512, "num_global_key_value_heads": 4, "sliding_window": 1024}
    gemma |= {"layer_types": ["sliding_attention", "full_attention"] * 16}
    apart, shared = model_from_config(gemma), model_from_config(gemma | {"attention_k_eq_v": True})
    assert shared.kv_elements_full == apart.kv_elements_full == 16 * 4 * 2 * 512
    assert apart.params_total - shared.params_total == 16 * 4096 * 4 * 512
    assert (shared.kv_heads, shared.full_kv_heads) == (8, 4)


def test_layers_may_differ_by_their_number():
    """``per_layer_config`` of transformers 5.24, in which Gemma 4 writes its global layers."""
    gemma = LLAMA_3_8B | {"sliding_window": 1024, "layer_types": ["sliding_attention", "full_attention"] * 16}
    wide = {f"{i:02}": {"head_dim": 512, "num_key_value_heads": 4} for i in range(1, 32, 2)}
    model = model_from_config(gemma | {"per_layer_config": wide})
    assert (model.kv_elements_full, model.kv_elements_sliding) == (16 * 4 * 2 * 512, 16 * 8 * 2 * 128)
    assert (model.kv_heads, model.full_kv_heads) == (8, 4)


def test_latent_attention_inside_windows_has_widths_of_its_own():
    """dots3-note: 33 layers keep 1,088 values inside the window, and 13 of 46 keep 576 and the indexer's 128."""
    said = next(row["config"] for row in CONFIGS if row["model"].endswith("dots3-note-prev"))
    silent = {key: value for key, value in said.items() if key != "swa_kv_lora_rank"}
    by_layer = {"per_layer_config": {"02": {"kv_lora_rank": 1024}}}
    for config in (silent, silent | by_layer, said | {"model_type": "kimi_k2", "swa_kv_lora_rank": None} | by_layer):
        with pytest.raises(InvalidModelConfig, match="swa_kv_lora_rank"):
            model_from_config(config)
    model = model_from_config(said)
    assert (model.kv_elements_full, model.kv_elements_sliding) == (13 * (512 + 64 + 128), 33 * (1024 + 64))
    assert model.params_total == pytest.approx(279.55e9, rel=0.001)


def test_experts_stand_where_the_file_lists_them_before_its_class_is_asked():
    """MiniMax-M3: the class routes in every layer, the file says of the first three that they do not."""
    m3 = {"model_type": "minimax_m3_vl_text", "hidden_size": 6144, "intermediate_size": 3072, "num_hidden_layers": 60}
    m3 |= {"num_attention_heads": 64, "num_key_value_heads": 4, "head_dim": 128, "vocab_size": 200064}
    m3 |= {"dense_intermediate_size": 12288, "num_local_experts": 128, "num_experts_per_tok": 4, "n_shared_experts": 1}
    m3 |= {"shared_intermediate_size": 3072, "moe_layer_freq": [0] * 3 + [1] * 57}
    assert model_from_config(m3).moe_layers == 57


def test_layers_that_a_search_replaced_by_one_matrix_are_counted():
    """Llama-3_1-Nemotron-51B: ``replace_with_linear`` of attention and MLP."""
    full = {"attention": {"n_heads_in_group": 8}, "ffn": {"ffn_mult": 5.25}}
    searched = {"model_type": "nemotron-nas", "hidden_size": 8192, "num_attention_heads": 64, "vocab_size": 128256}
    one, gone = {"replace_with_linear": True}, {"no_op": True}
    linear = searched | {"block_configs": [full, {"attention": one, "ffn": one}]}
    empty = searched | {"block_configs": [full, {"attention": gone, "ffn": gone}]}
    assert model_from_config(linear).params_total - model_from_config(empty).params_total == 2 * 8192**2


def test_names_of_layers_in_transformers_mean_what_the_first_files_mean():
    """DeepSeek-V4 by ``compress_ratios`` or by names of layers; Inkling's hybrid layers are attention."""
    v4 = {"model_type": "deepseek_v4", "hidden_size": 4096, "num_hidden_layers": 4, "num_attention_heads": 64}
    v4 |= {"head_dim": 512, "moe_intermediate_size": 2048, "vocab_size": 129280}
    named = ["heavily_compressed_attention", "compressed_sparse_attention", "sliding_attention"]
    by_name = model_from_config(v4 | {"layer_types": [*named, named[0]], "mlp_layer_types": ["hash_moe", *["moe"] * 3]})
    by_ratio = model_from_config(v4 | {"compress_ratios": [128, 4, 0, 128]})
    assert by_name.kv_elements_full == by_ratio.kv_elements_full > 0
    assert by_name.params_total == by_ratio.params_total
    inkling = model_from_config({"model_type": "inkling_text", "hidden_size": 6144, "num_hidden_layers": 66})
    assert (inkling.full_layers, inkling.sliding_layers, inkling.state_elements) == (11, 55, 0)


def test_a_window_that_no_layer_has_is_said():
    solar = LLAMA_3_8B | {"model_type": "solar", "sliding_window": 2047, "max_position_embeddings": 4096}
    assert any("sliding_window of the file is not used" in said for said in model_from_config(solar).assumptions)
    for change in ({"use_sliding_window": False}, {"sliding_window": 4096}, {"model_type": "phimoe"}):
        assert not any("not used" in said for said in model_from_config(solar | change).assumptions)


def test_a_width_beside_the_language_model_is_not_taken_for_it():
    """NVILA repeats the width of ``llm_cfg`` outside, where no layers are."""
    nvila = {"model_type": "llava_llama", "hidden_size": 4096, "llm_cfg": LLAMA_3_8B, "vision_tower_cfg": {"x": 1}}
    model = model_from_config(nvila)
    assert model.params_total == model_from_config(LLAMA_3_8B).params_total
    assert any("encoder is not counted" in said for said in model.assumptions)
    llava = model_from_config(LLAMA_3_8B | {"model_type": "llava", "mm_vision_tower": "openai/clip-vit-large-patch14"})
    assert any("encoder is not counted" in said for said in llava.assumptions)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("layer_types", ["full_attention"] * 34),
        ("num_key_value_heads_per_layer", [8] * 34),
        ("layer_types", ["full_attention"] * 33),
    ],
)
def test_lists_may_hold_the_layers_that_predict_further_tokens(key, value):
    """Step-3.5-Flash lists 48 layers, three of which are no part of its 45."""
    config = LLAMA_3_8B | {key: value}
    assert model_from_config(config | {"num_nextn_predict_layers": len(value) - 32}).full_layers == 32
    with pytest.raises(InvalidModelConfig, match=r"make (them|it) and"):
        model_from_config(config)


def test_the_last_layer_of_gemma_4_attends_to_everything():
    gemma = {"model_type": "gemma4_text", "hidden_size": 2560, "num_hidden_layers": 13, "sliding_window": 512}
    assert model_from_config(gemma).full_layers == 3


def test_latent_attention_keeps_the_widths_of_its_parts():
    latent = of("mistralai/Mistral-Large-3").latent
    assert (latent.kv_rank, latent.rope_dim, latent.v_dim) == (512, 64, 128)


STEP_3 = {"hidden_size": 7168, "intermediate_size": 18432, "num_attention_heads": 64, "num_attention_groups": 1}
STEP_3 |= {"head_dim": 256, "share_q_dim": 2048, "num_hidden_layers": 61, "moe_intermediate_size": 5120}
STEP_3 |= {"moe_num_experts": 48, "moe_top_k": 3, "share_expert_dim": 5120, "vocab_size": 128815}
STEP_3 |= {"moe_layers_enum": ",".join(map(str, range(4, 60)))}
GROK_2 = {"model_type": "git", "hidden_size": 8192, "intermediate_size": 32768, "moe_intermediate_size": 16384}
GROK_2 |= {"residual_moe": True, "num_local_experts": 8, "num_experts_per_tok": 2, "num_attention_heads": 64}
GROK_2 |= {"num_key_value_heads": 8, "head_dim": 128, "num_hidden_layers": 64, "vocab_size": 131072}
ARCTIC = {"model_type": "arctic", "hidden_size": 7168, "intermediate_size": 4864, "num_local_experts": 128}
ARCTIC |= {"num_experts_per_tok": 2, "num_hidden_layers": 35, "num_attention_heads": 56, "num_key_value_heads": 8}
ARCTIC |= {"vocab_size": 32000, "parallel_attn_mlp_res": True}
MOLMO = {"model_type": "molmo", "hidden_size": 3584, "intermediate_size": 37888, "num_attention_heads": 28}
MOLMO |= {"num_key_value_heads": 4, "num_hidden_layers": 28, "vocab_size": 152064, "embedding_size": 152064}
OLMO = {"model_type": "hf_olmo", "d_model": 4096, "n_heads": 32, "n_layers": 32, "mlp_hidden_size": 22016}
OLMO |= {"embedding_size": 50304, "vocab_size": 50280, "weight_tying": False, "max_sequence_length": 2048}
GLM_1 = {"model_type": "chatglm", "hidden_size": 4096, "inner_hidden_size": 16384, "num_layers": 28}
GLM_1 |= {"num_attention_heads": 32, "vocab_size": 130528, "position_encoding_2d": True}
CODESHELL = {"model_type": "codeshell", "n_embd": 4096, "n_inner": 16384, "n_layer": 42, "n_head": 32}
CODESHELL |= {"num_query_groups": 8, "vocab_size": 70144}
MINICPM = {"model_type": "minicpm", "hidden_size": 2304, "intermediate_size": 5760, "num_attention_heads": 36}
MINICPM |= {"num_hidden_layers": 40, "vocab_size": 122753, "num_key_value_heads": 36}
OCR = {"use_mla": False, "kv_lora_rank": None, "qk_nope_head_dim": 0, "qk_rope_head_dim": 0, "v_head_dim": 0}
OCR |= {"hidden_size": 1280, "intermediate_size": 6848, "num_attention_heads": 10, "num_key_value_heads": 10}
OCR |= {"num_hidden_layers": 12, "vocab_size": 129280}


@pytest.mark.parametrize(
    ("config", "billions", "active", "kv"),
    [
        ({"text_config": STEP_3}, 316, 38, 31_232),
        (GROK_2, 269.5, 115, 131_072),
        (ARCTIC, 478.6, 17.3, 71_680),
        (MOLMO, 7.6, 7.6, 28_672),
        (OLMO, 6.89, 6.89, 262_144),
        (GLM_1, 6.17, 6.17, 229_376),
        (CODESHELL, 7.98, 7.98, 86_016),
        (MINICPM, 2.72, 2.72, 184_320),
        ({"language_config": OCR}, 0.725, 0.725, 30_720),
    ],
    ids=["Step-3", "Grok-2", "Arctic", "Molmo-7B-D", "OLMo-7B", "ChatGLM-6B", "CodeShell-7B", "MiniCPM-2B", "OCR"],
)
def test_families_with_words_of_their_own(config, billions, active, kv):
    """Sizes as their publishers state them; of the language model of DeepSeek-OCR without experts by hand."""
    model = model_from_config(config)
    assert model.params_total == pytest.approx(billions * 1e9, rel=0.01)
    assert model.params_active == pytest.approx(active * 1e9, rel=0.03)
    assert model.kv_elements_full == kv
