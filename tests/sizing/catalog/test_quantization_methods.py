"""What ``quantization_config`` says: every method with its bits, and modules that are left in 16 bit."""

import pytest

from sizing.base.errors import InvalidModelConfig
from sizing.catalog import model_from_config
from tests.sizing.catalog.test_config_json import LLAMA_3_8B


def groups(*entries: dict, **section) -> dict:
    named = {f"group_{i}": entry for i, entry in enumerate(entries)}
    return {"quant_method": "compressed-tensors", "config_groups": named, **section}


def group(bits: int, kind: str, size: int | None = None, activations: int | None = None, **entry) -> dict:
    inputs = {"num_bits": activations, "type": kind} if activations else None
    return {"weights": {"num_bits": bits, "type": kind, "group_size": size}, "input_activations": inputs, **entry}


OF_STAGES = {"weight": [{"dtype": "fp8_e4m3"}, {"dtype": "int4"}], "input_tensors": {"dtype": "fp8_e4m3"}}
INTX = {"_type": "Int8DynamicActivationIntxWeightConfig", "_data": {"weight_dtype": {"_data": "int4"}}}
BY_MODULE = {"_type": "ModuleFqnToConfig", "_data": {"module_fqn_to_config": {"_default": INTX}}}


def ao(kind: str, **data) -> dict:
    return {"quant_method": "torchao", "quant_type": {"default": {"_type": kind, "_data": data}}}


ALL_PARTS = [f"self_attn.{part}_proj" for part in "qkvo"] + [f"mlp.{part}_proj" for part in ("gate", "up", "down")]
VPTQ_3_BIT = {"vector_lens": [-1, 8], "num_centroids": [-1, 65536], "num_res_centroids": [-1, 256]}
METHODS = [
    ({"quant_method": "quark", "global_quant_config": OF_STAGES}, "w4a8_awq"),
    ({"quant_method": "torchao", "quant_type": {"default": INTX}}, "w4a8_awq"),
    ({"quant_method": "torchao", "quant_type": {"default": BY_MODULE}}, "w4a8_awq"),
    (ao("MXDynamicActivationMXWeightConfig", weight_dtype={"_data": "float8_e4m3fn"}), "fp8"),
    (ao("MXFPInferenceConfig", weight_dtype={"_data": "float4_e2m1fn_x2"}), "mxfp4"),
    (ao("NVFP4DynamicActivationNVFP4WeightConfig"), "nvfp4"),
    (ao("GemliteUIntXWeightOnlyConfig", bit_width=4, group_size=64), "int4_wo"),
    ({"quant_method": "vptq", "shared_layer_config": dict.fromkeys(ALL_PARTS, VPTQ_3_BIT)}, "int3_wo"),
    ({"quant_method": "bitnet", "quantization_mode": "online"}, "bf16"),
    ({"quant_method": "fp_quant", "forward_dtype": "nvfp4", "pseudoquantization": True}, "bf16"),
    ({"quant_method": "fouroversix", "dtype": "nvfp4", "scale_rule": "mse"}, "nvfp4"),
    ({"quant_method": "metal", "bits": 4, "group_size": 64}, "int4_wo"),
    ({"quant_method": "quark", "layer_type_quant_config": {"nn.Linear": {"weight": {"dtype": "fp8_e4m3"}}}}, "fp8"),
    ({"load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}, "int4_wo"),
    ({"quant_method": "bitsandbytes", "load_in_4bit": False, "load_in_8bit": False}, "bf16"),
    ({"quant_method": "compressed-tensors", "config_groups": {}, "sparsity_config": {"format": "sparse-24"}}, "bf16"),
    ({"quant_method": "gptq", "bits": 8, "group_size": 32}, "int8_wo"),
    ({"quant_method": "gptq", "bits": 4}, "int4_gptq"),
    ({"quant_method": "gptq", "bits": 3, "group_size": 128}, "int3_wo"),
    ({"quant_method": "gptq", "bits": 2}, "int2_wo"),
    ({"quant_method": "awq", "bits": 4}, "int4_awq"),
    ({"quant_method": "awq", "w_bit": 8, "q_group_size": 64}, "int8_wo"),
    ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "int4_wo"),
    ({"quant_method": "bitsandbytes", "load_in_8bit": True, "load_in_4bit": False}, "int8_wo"),
    ({"quant_method": "auto-round", "bits": 4, "packing_format": "auto_round:auto_gptq"}, "int4_gptq"),
    ({"quant_method": "intel/auto-round", "bits": 2, "group_size": 64}, "int2_wo"),
    ({"quant_method": "auto-round", "bits": 4, "data_type": "mx_fp"}, "mxfp4"),
    ({"quant_method": "auto-round", "bits": 8, "data_type": "mx_fp"}, "fp8"),
    ({"quant_method": "inc", "bits": 4}, "int4_gptq"),
    ({"quant_method": "hqq", "quant_config": {"weight_quant_params": {"nbits": 4, "group_size": 64}}}, "int4_wo"),
    ({"quant_method": "hqq", "quant_config": {"mlp": {"weight_quant_params": {"nbits": 3}}}}, "int3_wo"),
    ({"quant_method": "aqlm", "nbits_per_codebook": 16, "num_codebooks": 1, "in_group_size": 8}, "int2_wo"),
    ({"quant_method": "aqlm", "nbits_per_codebook": 16, "num_codebooks": 2, "in_group_size": 8}, "int4_wo"),
    ({"quant_method": "vptq"}, "int2_wo"),
    ({"quant_method": "spqr", "bits": 3}, "int3_wo"),
    ({"quant_method": "higgs", "bits": 4}, "int4_wo"),
    ({"quant_method": "exl3", "bits": 4.0, "head_bits": 6}, "int4_wo"),
    ({"quant_method": "exl2", "bits": 6.0}, "int8_wo"),
    ({"quant_method": "eetq"}, "int8_wo"),
    ({"quant_method": "quanto", "weights": "int4"}, "int4_wo"),
    ({"quant_method": "quanto", "weights": "float8"}, "fp8"),
    ({"quant_method": "bitnet", "linear_class": "autobitlinear"}, "ternary"),
    ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8"),
    ({"quant_method": "fbgemm_fp8"}, "fp8"),
    ({"quant_method": "deepspeedfp", "bits": 8}, "fp8"),
    ({"quant_method": "mxfp4"}, "mxfp4"),
    ({"quant_method": "fp_quant", "forward_dtype": "nvfp4"}, "nvfp4"),
    ({"quant_method": "petit_nvfp4"}, "nvfp4"),
    ({"quant_method": "experts_int8"}, "int8_wo"),
    ({"quant_method": "moe_wna16", "bits": 4, "group_size": 128}, "int4_wo"),
    ({"group_size": 64, "bits": 4}, "int4_wo"),
    ({"quant_method": "quark", "global_quant_config": {"weight": {"dtype": "fp8_e4m3"}}}, "fp8"),
    ({"quant_method": "quark", "global_quant_config": {"weight": {"dtype": "fp4", "group_size": 32}}}, "mxfp4"),
    ({"quant_method": "quark", "global_quant_config": {"weight": {"dtype": "int4", "group_size": 128}}}, "int4_wo"),
    ({"quant_method": "modelopt", "quant_algo": "FP8"}, "fp8"),
    ({"quant_method": "modelopt", "quant_algo": "MXFP8"}, "fp8"),
    ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "nvfp4"),
    ({"quant_method": "modelopt", "quant_algo": "W4A8_AWQ"}, "w4a8_awq"),
    ({"quant_method": "modelopt", "quant_algo": "W4A16_AWQ"}, "int4_awq"),
    ({"quant_method": "modelopt", "quantization": {"quant_algo": "FP8"}}, "fp8"),
    ({"quant_method": "torchao", "quant_type": {"default": {"_type": "Int4WeightOnlyConfig"}}}, "int4_wo"),
    ({"quant_method": "torchao", "quant_type": "int8_weight_only"}, "int8_wo"),
    ({"quant_method": "torchao", "quant_type": {"default": {"_type": "Float8WeightOnlyConfig"}}}, "fp8"),
    (groups(group(4, "int", 128)), "int4_wo"),
    (groups(group(8, "int", activations=8)), "int8_sq"),
    (groups(group(8, "int")), "int8_wo"),
    (groups(group(4, "int", 128, activations=8)), "w4a8_awq"),
    (groups(group(4, "float", 16)), "nvfp4"),
    (groups(group(4, "float", 32)), "mxfp4"),
    (groups(group(8, "float")), "fp8"),
    ({"quant_method": "compressed-tensors", "config_groups": {}, "kv_cache_scheme": {"num_bits": 8}}, "bf16"),
]


@pytest.mark.parametrize(("section", "precision"), METHODS, ids=lambda value: value if isinstance(value, str) else "")
def test_every_method_is_read_with_its_bits(section, precision):
    model = model_from_config(LLAMA_3_8B | {"quantization_config": section})
    assert model.native_precision == precision
    assert [name for name, _ in model.stored_bytes] == [precision]


@pytest.mark.parametrize(
    "section",
    [
        {"quant_method": "brandnew"},
        {"quant_method": "gguf"},
        {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"},
        {"quant_method": "torchao", "quant_type": "autoquant"},
    ],
)
def test_a_method_without_bits_is_refused_and_never_taken_for_16_bit(section):
    with pytest.raises(InvalidModelConfig, match="is quantised by"):
        model_from_config(LLAMA_3_8B | {"quantization_config": section})


def test_what_is_taken_of_a_checkpoint_is_said():
    unsaid = model_from_config(LLAMA_3_8B | {"quantization_config": {"quant_method": "gptq"}})
    assert any("GPTQ without bits" in said for said in unsaid.assumptions)
    sparse = groups(group(8, "float"), sparsity_config={"format": "sparse-24-bitmask"})
    model = model_from_config(LLAMA_3_8B | {"quantization_config": sparse})
    assert any("sparsely" in said for said in model.assumptions)


@pytest.mark.parametrize(
    ("section", "kind"),
    [
        ({"quant_method": "modelopt", "quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"}, "FP8"),
        (groups(group(4, "float", 16), kv_cache_scheme={"num_bits": 8, "type": "float"}), "FP8"),
        (groups(group(4, "float", 16), kv_cache_scheme={"num_bits": 4, "type": "float"}), "NVFP4"),
        (groups(group(4, "float", 16), kv_cache_scheme=None), None),
    ],
)
def test_a_cache_with_scales_of_its_own_is_said(section, kind):
    said = [
        note for note in model_from_config(LLAMA_3_8B | {"quantization_config": section}).assumptions if "KV" in note
    ]
    assert said == ([] if kind is None else [next(note for note in said if f"for {kind}," in note)])


def test_an_unknown_method_with_bits_is_said():
    model = model_from_config(LLAMA_3_8B | {"quantization_config": {"quant_method": "brandnew", "bits": 4}})
    assert model.native_precision == "int4_wo"
    assert any("brandnew" in said for said in model.assumptions)


def test_mixed_formats_are_the_one_of_most_weights_and_said():
    section = groups(
        group(8, "float", targets=["re:.*self_attn.*"]),
        group(4, "float", 16, targets=["re:.*mlp.*"]),
        format="mixed-precision",
    )
    model = model_from_config(LLAMA_3_8B | {"quantization_config": section})
    assert model.native_precision == "nvfp4"
    assert any("NVFP4" in said and "FP8" in said for said in model.assumptions)


FP8_ATTENTION = {"re:.*self_attn.*": {"_type": "Float8WeightOnlyConfig"}, "model.layers.0.mlp.up_proj": None}
OF_8_BIT = {"model.embed_tokens": {"_type": "Int8WeightOnlyConfig"}}
EMBEDDINGS = 2 * 128256 * 4096 * 2.0
ATTENTION, MLP = 32 * 4096 * (4096 + 1024) * 2, 32 * 3 * 4096 * 14336


@pytest.mark.parametrize(
    ("section", "layers"),
    [
        ({"quant_method": "fp8"}, ATTENTION + MLP),
        ({"quant_method": "fp8", "modules_to_not_convert": ["lm_head"]}, ATTENTION + MLP),
        ({"quant_method": "fp8", "ignored_layers": ["self_attn"]}, 2 * ATTENTION + MLP),
        ({"quant_method": "fp8", "modules_to_not_convert": ["mlp.gate"]}, ATTENTION + MLP),
        (groups(group(8, "float", targets=["Linear"]), ignore=["re:.*self_attn.*"]), 2 * ATTENTION + MLP),
        ({"quant_method": "modelopt", "quant_algo": "FP8", "exclude_modules": ["*self_attn*"]}, 2 * ATTENTION + MLP),
        ({"quant_method": "fp8", "modules_to_not_convert": ["model.layers.*.self_attn"]}, 2 * ATTENTION + MLP),
        (
            {
                "quant_method": "modelopt",
                "quant_algo": "FP8",
                "exclude_modules": ["model.layers.0*", "model.layers.1.mlp"],
            },
            ATTENTION + MLP + (ATTENTION + MLP) / 32 + MLP / 32,
        ),
        (
            {
                "quant_method": "quark",
                "global_quant_config": {"weight": {"dtype": "fp8_e4m3"}},
                "exclude": ["re:.*down_proj"],
            },
            ATTENTION + MLP + MLP / 3,
        ),
        ({"quant_method": "gptq", "bits": 8, "dynamic": {"-:.*self_attn.*": {}}}, 2 * ATTENTION + MLP),
        ({"quant_method": "gptq", "bits": 8, "dynamic": {r"+:.*\.mlp\..*": {"bits": 4}}}, ATTENTION + MLP / 2),
        (
            {"quant_method": "auto-round", "bits": 8, "extra_config": {"model.layers.0.mlp.up_proj": {"bits": 16}}},
            ATTENTION + MLP + MLP / 96,
        ),
        (
            {
                "quant_method": "modelopt",
                "quant_algo": "MIXED_PRECISION",
                "quantized_layers": {f"model.layers.{i}.mlp.up_proj": {"quant_algo": "FP8"} for i in range(32)},
            },
            2 * (ATTENTION + MLP) - MLP / 3,
        ),
        (ao("ModuleFqnToConfig", module_fqn_to_config=FP8_ATTENTION), ATTENTION + 2 * MLP),
        (
            ao("FqnToConfig", fqn_to_config={"_default": {"_type": "Int8WeightOnlyConfig"}} | FP8_ATTENTION | OF_8_BIT),
            ATTENTION + MLP + MLP / 96 - EMBEDDINGS / 4,
        ),
        (
            {"quant_method": "auto-round", "bits": 8, "extra_config": {".*self_attn.*": {"bits": 4, "group_size": 32}}},
            ATTENTION * (0.5 + 2.5 / 32) + MLP,
        ),
        (
            {"quant_method": "gptq", "bits": 8, "modules_in_block_to_quantize": [["mlp.gate_proj"], ["mlp.up_proj"]]},
            2 * ATTENTION + MLP * 4 / 3,
        ),
        ({"quant_method": "modelopt", "quant_algo": "W4A16_AWQ", "group_size": 32}, (ATTENTION + MLP) * 0.578125),
        (groups(group(8, "int", targets=["Linear"]), ignore=[]), ATTENTION + MLP - EMBEDDINGS / 4),
        (groups(group(8, "int"), group(8, "int", targets=["Embedding"])), ATTENTION + MLP - EMBEDDINGS / 4),
        ({"bits": 4, "group_size": 64}, (ATTENTION + MLP + EMBEDDINGS / 2) * 0.5625 - EMBEDDINGS),
        (
            {"bits": 4, "group_size": 64}
            | {f"model.layers.{i}.self_attn.{part}_proj": {"bits": 8} for i in range(32) for part in "qkvo"}
            | {f"model.layers.{i}.mlp.up_proj": False for i in range(32)},
            ATTENTION * 1.0625 + MLP * (2 / 3 * 0.5625 + 2 / 3) + EMBEDDINGS / 2 * 0.5625 - EMBEDDINGS,
        ),
        (
            {"quant_method": "spqr", "bits": 3, "shapes": {"model.layers.0.self_attn.q_proj.dense_weights.shape": 64}},
            (ATTENTION + MLP) / 2,
        ),
    ],
    ids=lambda value: "" if isinstance(value, float | int) else str(value)[:60],
)
def test_modules_that_are_left_in_16_bit_are_counted_as_such(section, layers):
    stored = dict(model_from_config(LLAMA_3_8B | {"quantization_config": section}).stored_bytes)
    assert sum(stored.values()) == pytest.approx(EMBEDDINGS + layers, rel=1e-6)


def test_llama_405b_of_meta_in_fp8_takes_what_vllm_printed():
    """57.75 GiB a GPU on 8 (vLLM issue 6746), of the first release, whose KV heads are stored twice."""
    left = [f"model.layers.{i}.self_attn.{part}_proj" for i in range(126) for part in "qkvo"]
    left += [f"model.layers.{i}.mlp.{part}_proj" for i in (0, 125) for part in ("gate", "up", "down")]
    config = LLAMA_3_8B | {"hidden_size": 16384, "intermediate_size": 53248, "num_hidden_layers": 126}
    config |= {"num_attention_heads": 128, "num_key_value_heads": 16}
    section = {"quant_method": "fbgemm_fp8", "modules_to_not_convert": ["lm_head", *left]}
    model = model_from_config(config | {"quantization_config": section})
    assert model.stored_bytes[0][1] / 8 / 2**30 == pytest.approx(57.75, rel=0.002)


@pytest.mark.parametrize(("experts", "layers", "checkpoint_gb"), [(128, 36, 65.25), (32, 24, 13.76)])
def test_gpt_oss_quantises_its_experts_alone(experts, layers, checkpoint_gb):
    """Sizes of the published checkpoints: 65.25 and 13.76 GB."""
    config = {
        "model_type": "gpt_oss",
        "hidden_size": 2880,
        "intermediate_size": 2880,
        "num_hidden_layers": layers,
        "num_attention_heads": 64,
        "num_key_value_heads": 8,
        "head_dim": 64,
        "vocab_size": 201088,
        "num_local_experts": experts,
        "num_experts_per_tok": 4,
        "sliding_window": 128,
        "tie_word_embeddings": False,
        "quantization_config": {
            "quant_method": "mxfp4",
            "modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router", "lm_head"],
        },
    }
    assert model_from_config(config).stored_bytes[0][1] / 1e9 == pytest.approx(checkpoint_gb, rel=0.005)


def test_an_intricate_expression_is_said_and_not_tried():
    section = {"quant_method": "fp8", "ignore": ["re:(a+)+$", "re:" + ".*" * 20 + "x"]}
    model = model_from_config(LLAMA_3_8B | {"quantization_config": section})
    assert any("2 patterns" in said for said in model.assumptions)


def stored(config: dict, section: dict) -> float:
    return dict(model_from_config(config | {"quantization_config": section}).stored_bytes).popitem()[1]


@pytest.mark.parametrize(
    "beside",
    [
        "vision_tower.transformer.layers",
        "model.visual.encoder.layers",
        "audio_tower.layers",
        "mtp.layers",
        "talker.layers",
    ],
)
def test_layers_of_an_encoder_left_in_16_bit_are_none_of_the_language_model(beside):
    """Tools write every module of a vision tower into ``ignore``; its layers have the numbers of layers here."""
    section = groups(group(4, "int", 128, targets=["Linear"]))
    parts = ("self_attn.q_proj", "mlp.gate_proj", "attention.o_proj", "mlp.down_proj")
    names = [f"{beside}.{i}.{part}" for i in range(24) for part in parts]
    alone = stored(LLAMA_3_8B, section | {"ignore": ["lm_head"]})
    assert stored(LLAMA_3_8B, section | {"ignore": ["lm_head", *names]}) == alone
    assert stored(LLAMA_3_8B, section | {"ignore": ["lm_head", f"{beside}.*"]}) == alone
    assert stored(LLAMA_3_8B, section | {"ignore": ["lm_head", f"model.{names[0].removeprefix(beside[:-6])}"]}) > alone


@pytest.mark.parametrize("matrices", [("w1", "w2", "w3"), ("gate_proj", "down_proj", "up_proj"), ("w13", "w2")])
def test_experts_are_found_by_the_names_that_their_family_gives_them(matrices):
    """MiniMax-M3-NVFP4 of NVIDIA lists w1, w2 and w3 of every expert; all else is listed in MXFP8 or stays."""
    mixtral = LLAMA_3_8B | {"model_type": "mixtral", "num_local_experts": 8, "num_experts_per_tok": 2}
    listed = {
        f"model.layers.{i}.block_sparse_moe.experts.{e}.{name}": {"quant_algo": "NVFP4"}
        for i in range(32)
        for e in range(8)
        for name in matrices
    }
    section = {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": listed}
    experts = 32 * 8 * 3 * 4096 * 14336
    rest = model_from_config(mixtral).params_total - experts
    assert stored(mixtral, section) == pytest.approx(experts * 0.5625 + rest * 2, rel=1e-6)


@pytest.mark.parametrize(
    "names",
    [
        ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj"),
        ("attention.wqkv", "attention.wo"),
        ("self_attention.query_key_value", "self_attention.dense"),
        ("attn.c_attn", "attn.c_proj"),
    ],
)
def test_attention_is_found_by_the_names_that_its_family_gives_it(names):
    section = groups(group(4, "int", 128, targets=["Linear"]))
    left = [f"model.layers.{i}.{name}" for i in range(32) for name in names]
    attention = 32 * 4096 * (4096 + 2 * 1024 + 4096)
    narrow = 0.5 + 2 / 128
    wider = stored(LLAMA_3_8B, section | {"ignore": left}) - stored(LLAMA_3_8B, section)
    assert wider == pytest.approx(attention * (2 - narrow), rel=0.001)


@pytest.mark.parametrize("name", ["shared_experts", "shared_expert", "shared_mlp"])
def test_shared_experts_are_one_thing_by_whatever_name(name):
    moe = LLAMA_3_8B | {
        "num_experts": 8,
        "num_experts_per_tok": 2,
        "n_shared_experts": 2,
        "moe_intermediate_size": 1024,
    }
    section = groups(group(4, "int", 128, targets=["Linear"]))
    wider = stored(moe, section | {"ignore": [f"re:.*mlp.{name}.*"]}) - stored(moe, section)
    assert wider == pytest.approx(32 * 3 * 4096 * 2048 * (2 - 0.5 - 2 / 128), rel=0.001)
