"""config.json: real ones against the catalogue, hand-written families, and everything that is not one."""

import json
from pathlib import Path

import pytest

from calibration.model_row import row
from sizing.base.errors import InvalidModelConfig, UnknownName
from sizing.catalog import model_from_config, models, resolve_model
from sizing.catalog.config_fields import MAX_CONFIG_BYTES
from sizing.catalog.model_rows import model_of_row

LLAMA_3_8B = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "max_position_embeddings": 8192,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}


FAMILIES = json.loads(Path(__file__).with_name("families_by_hand.json").read_text())
"""Configurations by hand, one of each family of tensors, each with the catalogue model that it describes."""


def real_configs() -> list[Path]:
    try:
        import aiconfigurator_core
    except ImportError:
        return []
    folder = Path(aiconfigurator_core.__file__).parent / "model_configs"
    found = sorted(path for path in folder.glob("*_config.json") if not path.name.endswith("hf_quant_config.json"))
    return [path for path in found if path.stat().st_size <= MAX_CONFIG_BYTES]


def test_real_configurations_are_at_hand():
    pytest.importorskip("aiconfigurator_core")
    assert len(real_configs()) > 80


@pytest.mark.parametrize("path", real_configs(), ids=lambda path: path.name.removesuffix("_config.json"))
def test_a_row_of_the_catalogue_made_from_a_configuration_is_the_same_model(path):
    config, name = path.read_bytes(), path.name.removesuffix("_config.json").replace("--", "/")
    read = model_from_config(config, name=name)
    shipped = model_of_row(row(config, name, "a file", "2026-11-22"))
    told = ("family", "developer", "source", "notes", "published_formats", "stored_bytes", "params_vision")
    told += ("latent", "full_kv_heads", "convolution_elements")
    told_otherwise = {fact: getattr(read, fact) for fact in told}
    counts = {"params_total": pytest.approx(read.params_total), "params_active": pytest.approx(read.params_active)}
    assert vars(shipped) | told_otherwise == vars(read) | counts


KV_CORRECTED = {"google/gemma-4-31B-it", "google/gemma-4-26B-A4B"}
"""Models of which the catalogue counts the one projection of key and value once, where engines keep both."""


@pytest.mark.parametrize("path", real_configs(), ids=lambda path: path.name.removesuffix("_config.json"))
def test_real_configurations_give_the_parameters_and_kv_cache_of_the_catalogue(path):
    """Parameters within 0.5 %, cached values and state exactly; a model beyond the catalogue must at least be read."""
    name = path.name.removesuffix("_config.json").replace("--", "/")
    model = model_from_config(path.read_bytes(), name=name)
    assert model.id == name
    try:
        known = resolve_model(name).model
    except UnknownName:
        assert 1e8 < model.params_active <= model.params_total < 5e12
        return
    assert model.params_total == pytest.approx(known.params_total, rel=0.005)
    assert model.params_active == pytest.approx(known.params_active, rel=0.005)
    cached = () if known.id in KV_CORRECTED else ("kv_elements_full",)
    for fact in (
        *cached,
        "layers",
        "hidden_size",
        "heads",
        "kv_heads",
        "head_dim",
        "attention",
        "full_layers",
        "sliding_layers",
        "linear_layers",
        "sliding_window",
        "kv_elements_sliding",
        "state_elements",
        "experts",
        "norm_collectives",
        "parallel_blocks",
        "experts_per_token",
        "shared_experts",
        "moe_layers",
        "tie_embeddings",
    ):
        assert getattr(model, fact) == getattr(known, fact), fact


NAMED_OTHERWISE = {"MiniMaxAI/MiniMax-M3", "stepfun-ai/Step-3.7-Flash"}
"""Models whose copies in aiconfigurator-core name the text model's class, where vLLM lists the whole model's."""


@pytest.mark.parametrize("path", real_configs(), ids=lambda path: path.name.removesuffix("_config.json"))
def test_real_configurations_name_the_class_of_the_catalogue(path):
    name = path.name.removesuffix("_config.json").replace("--", "/")
    read = model_from_config(path.read_bytes(), name=name).hf_architecture
    try:
        known = resolve_model(name).model
    except UnknownName:
        assert read
        return
    assert read == known.hf_architecture or (known.id in NAMED_OTHERWISE and read)


def test_heads_of_no_width_are_those_of_latent_attention():
    """GLM-5.3-Flash: head_dim 0 beside the widths of the latent parts; only layers that attend have an indexer."""
    config = {
        **LLAMA_3_8B,
        "head_dim": 0,
        "kv_lora_rank": 512,
        "qk_nope_head_dim": 256,
        "qk_rope_head_dim": 0,
        "v_head_dim": 256,
        "index_head_dim": 128,
        "index_n_heads": 32,
        "index_topk": 2048,
        "num_hidden_layers": 4,
        "layer_types": ["linear_attention"] * 3 + ["deepseek_sparse_attention"],
        "indexer_types": ["full"] * 4,
        "linear_attn_config": {"num_heads": 64, "head_dim": 128},
    }
    model = model_from_config(config)
    assert (model.head_dim, model.kv_elements_full) == (256, 512 + 128)
    assert (model.sparse.layers, model.sparse.indexer_elements) == (1, 128)
    with pytest.raises(InvalidModelConfig, match="head_dim = 0"):
        model_from_config({**LLAMA_3_8B, "head_dim": 0})


def test_names_that_families_of_2026_give_to_known_facts():
    """Inkling: window and leading dense layers; Muse Spark: experts that run at a width of their own."""
    experts = {"n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 512}
    sliding = {"layer_types": ["sliding_attention", "full_attention"] * 16, "sliding_window_size": 512}
    model = model_from_config({**LLAMA_3_8B, **experts, **sliding, "dense_mlp_idx": 2})
    assert (model.sliding_window, model.moe_layers) == (512, 30)
    narrow = model_from_config({**LLAMA_3_8B, **experts, "moe_hidden_size": 2048})
    wide = model_from_config({**LLAMA_3_8B, **experts})
    fewer = 32 * 8 * 3 * (4096 - 2048) * 512 - 32 * 2 * 4096 * 2048
    assert wide.params_total - narrow.params_total == pytest.approx(fewer)


def test_a_model_that_runs_layers_several_times_is_refused():
    with pytest.raises(InvalidModelConfig, match="several times"):
        model_from_config({**LLAMA_3_8B, "text_config": {**LLAMA_3_8B, "loop_num_passes": 3}})


@pytest.mark.parametrize("listed", [None, [], "LlamaForCausalLM", [7], ["<b>Llama</b>"], ["L" * 101]])
def test_a_class_that_could_be_none_is_unknown(listed):
    assert model_from_config(LLAMA_3_8B | {"architectures": ["LlamaForCausalLM"]}).hf_architecture == "LlamaForCausalLM"
    assert model_from_config(LLAMA_3_8B | {"architectures": listed}).hf_architecture == ""


@pytest.mark.parametrize(
    ("config", "model_id"),
    [(LLAMA_3_8B, "meta-llama/Meta-Llama-3-8B"), *((row["config"], row["model"]) for row in FAMILIES)],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_families_by_hand_give_the_catalogue_model(config, model_id):
    model, known = model_from_config(config), models()[model_id]
    assert model.params_total == pytest.approx(known.params_total, rel=0.02)
    assert model.params_active == pytest.approx(known.params_active, rel=0.03)
    assert model.kv_elements_full == known.kv_elements_full
    assert model.kv_elements_sliding == known.kv_elements_sliding
    assert model.sliding_window == known.sliding_window
    assert model.state_elements == known.state_elements
    assert model.moe_layers == known.moe_layers


def test_the_form_of_the_input_does_not_matter():
    text = json.dumps(LLAMA_3_8B)
    assert model_from_config(LLAMA_3_8B) == model_from_config(text) == model_from_config(text.encode())
    assert model_from_config(text.encode("utf-8-sig")).params_total == model_from_config(text).params_total


def test_llama_3_8b_has_8_billion_parameters_and_65536_kv_values():
    model = model_from_config(LLAMA_3_8B, name="mine")
    assert (model.id, model.attention, model.head_dim, model.max_context) == ("mine", "gqa", 128, 8192)
    assert model.params_total == pytest.approx(8.03e9, rel=0.001)
    assert model.kv_elements_full == 2 * 32 * 8 * 128


@pytest.mark.parametrize(
    ("change", "precision"),
    [
        ({}, "bf16"),
        ({"torch_dtype": "float16"}, "fp16"),
        ({"torch_dtype": "float32"}, "bf16"),
        ({"quantization_config": {"quant_method": "fp8"}}, "fp8"),
        ({"quantization_config": {"quant_method": "mxfp4"}}, "mxfp4"),
        ({"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"}}, "nvfp4"),
        ({"quantization_config": {"quant_method": "modelopt", "quant_algo": "FP8"}}, "fp8"),
        ({"quantization_config": {"quant_method": "awq", "bits": 4}}, "int4_awq"),
        ({"quantization_config": {"quant_method": "gptq", "bits": 4}}, "int4_gptq"),
        (
            {
                "quantization_config": {
                    "quant_method": "compressed-tensors",
                    "config_groups": {
                        "group_0": {"weights": {"num_bits": 8, "type": "int"}, "input_activations": {"num_bits": 8}}
                    },
                }
            },
            "int8_sq",
        ),
        (
            {
                "quantization_config": {
                    "quant_method": "compressed-tensors",
                    "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float"}}},
                }
            },
            "fp8",
        ),
    ],
)
def test_the_format_of_the_checkpoint_is_read(change, precision):
    assert model_from_config({**LLAMA_3_8B, **change}).native_precision == precision


def test_an_unknown_family_is_sized_like_llama_and_says_so():
    model = model_from_config({**LLAMA_3_8B, "model_type": "brandnew"})
    assert model.params_total == model_from_config(LLAMA_3_8B).params_total
    assert any("brandnew" in said for said in model.assumptions)


def test_the_vision_encoder_is_left_out_and_said_so():
    model = model_from_config({"text_config": LLAMA_3_8B, "vision_config": {"hidden_size": 1024}})
    assert any("vision" in said for said in model.assumptions)
