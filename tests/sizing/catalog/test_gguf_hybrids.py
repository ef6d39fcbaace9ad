"""Metadata of GGUF files of models with recurrent layers: sizes as published, caches by hand from the layers."""

import pytest

from sizing.base.errors import InvalidModelConfig
from sizing.catalog.config_json import model_from_config
from tests.sizing.catalog.test_gguf_metadata import of_published

MAMBA_8B = {"ssm__conv_kernel": 4, "ssm__inner_size": 8192, "ssm__state_size": 128, "ssm__time_step_rank": 128}
DELTA = {"ssm__conv_kernel": 4, "ssm__state_size": 128, "ssm__group_count": 16, "ssm__time_step_rank": 32}
DELTA |= {"ssm__inner_size": 4096, "attention__key_length": 256, "full_attention_interval": 4}
NEMOTRON_H = "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-"
NANO_3 = "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME"


def at(layers: int, places: range | tuple[int, ...], heads: int) -> list[int]:
    """KV heads of each layer, 0 of those that do not attend."""
    return [heads if i in places else 0 for i in range(layers)]


def lists(pattern: str, width: int, kv_heads: int) -> tuple[list[int], list[int]]:
    """Widths of MLPs and KV heads of the blocks of a Nemotron-H."""
    return [width if at in "-E" else 0 for at in pattern], [kv_heads if at == "*" else 0 for at in pattern]


FF_8B, KV_8B = lists(NEMOTRON_H, 21504, 8)
FF_NANO, KV_NANO = lists(NANO_3, 1856, 2)
JAMBA = {"sizes": (32, 4096, 14336, 32, at(32, range(4, 32, 8), 8), 65536), "expert_count": 16}
JAMBA |= {"expert_used_count": 2, "ssm__conv_kernel": 4, "ssm__inner_size": 8192, "ssm__state_size": 16}
SMALL = {"sizes": (40, 4096, 768, 32, at(40, (5, 15, 25, 35), 8), 100352), **MAMBA_8B, "ssm__group_count": 1}
SMALL |= {"expert_count": 72, "expert_used_count": 10, "expert_shared_feed_forward_length": 1536}
MICRO = {"sizes": (40, 2048, 8192, 32, at(40, (5, 15, 25, 35), 8), 100352), **MAMBA_8B, "ssm__inner_size": 4096}
MICRO |= {"ssm__time_step_rank": 64, "expert_shared_feed_forward_length": 8192}
BAMBA = {"sizes": (32, 4096, 14336, 32, at(32, (9, 18, 27), 8), 128256), **MAMBA_8B, "rope__scaling__finetuned": True}
FALCON = {"sizes": (72, 5120, 21504, 20, 4, 261120), **MAMBA_8B, "ssm__inner_size": 4096, "ssm__state_size": 256}
FALCON |= {"ssm__group_count": 2, "ssm__time_step_rank": 32, "attention__key_length": 128}
NEMOTRON = {"sizes": (52, 4096, FF_8B, 32, KV_8B, 131072), **MAMBA_8B, "ssm__group_count": 8}
NANO = {"sizes": (53, 2688, [*FF_NANO, 1856], 32, [*KV_NANO, 2], 131072), **MAMBA_8B, "nextn_predict_layers": 1}
NANO |= {"ssm__inner_size": 4096, "ssm__time_step_rank": 64, "ssm__group_count": 8, "attention__key_length": 128}
NANO |= {"expert_count": 128, "expert_used_count": 6, "expert_feed_forward_length": 1856}
NANO |= {"expert_shared_feed_forward_length": 3712}
LFM2 = {"sizes": (16, 2048, 8192, 32, at(16, (2, 5, 8, 10, 12, 14), 8), 65536), "shortconv__l_cache": 3}
LFM2_MOE = {"sizes": (24, 2048, 7168, 32, at(24, (2, 6, 10, 14, 18, 21), 8), 65536), "shortconv__l_cache": 3}
LFM2_MOE |= {"expert_count": 32, "expert_used_count": 4, "expert_feed_forward_length": 1792}
NEXT = {"sizes": (48, 2048, 5120, 16, 2, 151936), **DELTA, "expert_count": 512, "expert_used_count": 10}
NEXT |= {"expert_feed_forward_length": 512, "expert_shared_feed_forward_length": 512}
KIMI = {"sizes": (27, 2304, 9216, 32, at(27, (3, 7, 11, 15, 19, 23, 26), 1), 163840), "ssm__conv_kernel": 4}
KIMI |= {"kda__head_dim": 128, "rope__dimension_count": 64, "attention__kv_lora_rank": 512, "expert_count": 256}
KIMI |= {"attention__key_length": 576, "attention__key_length_mla": 192, "attention__value_length_mla": 128}
KIMI |= {"expert_used_count": 8, "expert_feed_forward_length": 1024, "expert_shared_count": 1}
FALCON_MAMBA = {"sizes": (64, 4096, 0, 0, None, 65024), "ssm__conv_kernel": 4, "ssm__inner_size": 8192}
FALCON_MAMBA |= {"ssm__state_size": 16, "ssm__time_step_rank": 256, "ssm__dt_b_c_rms": True}
CODESTRAL = {"sizes": (64, 4096, 0, 0, None, 32768), **MAMBA_8B, "ssm__group_count": 8}
RWKV_7 = {"sizes": (32, 2560, 10240, 0, None, 65536), "wkv__head_size": 64, "attention__decay_lora_rank": 96}
RWKV_7 |= {"attention__iclr_lora_rank": 96, "attention__value_residual_mix_lora_rank": 64}
PLAMO = {"sizes": (32, 4096, 16384, at(32, range(1, 32, 2), 32), at(32, range(1, 32, 2), 4), 100032), **MAMBA_8B}
PLAMO |= {"attention__key_length": 128, "ssm__state_size": 64, "ssm__time_step_rank": 64, "ssm__group_count": 0}


@pytest.mark.parametrize(
    ("architecture", "keys", "billions", "active", "kv", "recurrent"),
    [
        ("jamba", JAMBA | {"ssm__time_step_rank": 256}, 51.57, 12.1, 4 * 2048, 28),
        ("granitehybrid", SMALL, 32.2, 8.8, 4 * 2048, 36),
        ("granitehybrid", MICRO, 3.19, 3.19, 4 * 1024, 36),
        ("granitehybrid", BAMBA, 9.78, 9.78, 3 * 2048, 29),
        ("falcon-h1", FALCON, 33.6, 33.6, 72 * 1024, 72),
        ("nemotron_h", NEMOTRON, 8.1, 8.1, 4 * 2048, 24),
        ("nemotron_h_moe", NANO, 31.58, 3.58, 6 * 512, 23),
        ("lfm2", LFM2, 1.17, 1.17, 6 * 1024, 10),
        ("lfm2moe", LFM2_MOE | {"leading_dense_block_count": 2}, 8.34, 1.56, 6 * 1024, 18),
        ("qwen3next", NEXT, 79.67, 3.87, 12 * 1024, 36),
        ("qwen35", {"sizes": (32, 4096, 12288, 16, 4, 248320), **DELTA}, 8.95, 8.95, 8 * 2048, 24),
        ("kimi-linear", KIMI | {"leading_dense_block_count": 1}, 49.1, 3.48, 7 * 576, 20),
        ("mamba", FALCON_MAMBA, 7.27, 7.27, 0, 64),
        ("mamba2", CODESTRAL, 7.29, 7.29, 0, 64),
        ("rwkv6", {"sizes": (32, 4096, 14336, 0, None, 65536), "wkv__head_size": 64}, 7.636, 7.636, 0, 32),
        ("rwkv7", RWKV_7 | {"attention__gate_lora_rank": 320}, 2.948, 2.948, 0, 32),
        ("plamo2", PLAMO, 9.12, 9.12, 16 * 1024, 16),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_architectures_with_recurrent_layers_are_read(architecture, keys, billions, active, kv, recurrent):
    model = model_from_config(of_published(architecture, **keys))
    assert model.params_total == pytest.approx(billions * 1e9, rel=0.005)
    assert model.params_active == pytest.approx(active * 1e9, rel=0.01)
    assert (model.kv_elements_full, model.kv_elements_sliding) == (kv, 0)
    assert model.linear_layers == recurrent


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (JAMBA, "without ssm.time_step_rank"),
        (LFM2 | {"sizes": (16, 2048, 8192, 32, [8] * 15, 65536)}, "of 15 layers for 16"),
        (LFM2 | {"sizes": (16, 2048, 8192, 32, [8, 4] * 8, 65536)}, "layers of different attention.head_count_kv"),
        (NEMOTRON | {"sizes": (52, 4096, 21504, 32, KV_8B, 131072)}, "does not list feed_forward_length"),
        (LFM2 | {"shortconv__l_cache": "three"}, "shortconv.l_cache"),
    ],
)
def test_what_the_keys_leave_out_is_named(keys, said):
    architecture = "jamba" if keys is JAMBA else "lfm2" if "shortconv__l_cache" in keys else "nemotron_h"
    with pytest.raises(InvalidModelConfig, match=said):
        model_from_config(of_published(architecture, **keys))
