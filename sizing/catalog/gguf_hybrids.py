"""GGUF metadata of models with recurrent layers or short convolutions, in the words of a config.json.

Source: what conversion/ of llama.cpp writes for each architecture (2026-11): layers without attention have no KV heads,
in Nemotron-H those without an MLP a feed-forward length of 0.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from commandline.foreign_text import shown
from sizing.base.errors import InvalidModelConfig
from sizing.catalog.config_fields import checked_whole

Own = Mapping[str, Any]
"""Keys of a file behind the name of its architecture."""

KV_HEADS, HEADS, FEED_FORWARD = "attention.head_count_kv", "attention.head_count", "feed_forward_length"
_MOST_LAYERS = 2_000


def is_hybrid(architecture: str) -> bool:
    """Whether an architecture of llama.cpp has layers with a constant state that its keys describe."""
    return architecture in _HYBRIDS


def in_words_of_config(architecture: str, own: Own) -> tuple[dict[str, Any], dict[str, Any]]:
    """Keys of the file with one number for all layers, and what else a config.json says of such layers, its
    ``model_type`` included. Raises InvalidModelConfig for a key that is missing or contradictory."""
    kind, rule = _HYBRIDS[architecture]
    listed = {key: own[key] for key in (KV_HEADS, HEADS, FEED_FORWARD) if isinstance(own.get(key), list)}
    plain = dict(own) | {key: _most(key, value) for key, value in listed.items()}
    unused = {
        key for key in (KV_HEADS, HEADS, FEED_FORWARD) if plain.get(key) == 0
    }  # which loaders ask for all the same
    return {key: value for key, value in plain.items() if key not in unused}, {"model_type": kind} | rule(own)


def _most(key: str, value: list[Any]) -> int:
    """The one number above 0 of a list over layers."""
    given = {checked_whole(key, each, 0, 10**7) for each in value if each != 0}
    if len(given) > 1:
        raise InvalidModelConfig(
            f"The GGUF file has layers of different {shown(key)}: use config.json of the model itself."
        )
    return given.pop() if given else 0


def _number(own: Own, key: str) -> int:
    if own.get(key) is None:
        raise InvalidModelConfig(
            f"This is the metadata of a GGUF file without {shown(key)}: use config.json of the model itself."
        )
    return checked_whole(key, own[key], 0, 10**8)


def _attends(own: Own) -> list[bool]:
    """Which layers attend: those with KV heads, or the last of every ``full_attention_interval``."""
    count, heads = checked_whole("block_count", own.get("block_count"), 1, _MOST_LAYERS), own.get(KV_HEADS)
    if isinstance(heads, list):
        if len(heads) < count:
            raise InvalidModelConfig(
                f"The GGUF file lists {KV_HEADS} of {len(heads)} layers for {count}: use config.json of the model."
            )
        return [each != 0 for each in heads[:count]]
    interval = _number(own, "full_attention_interval") or 1
    return [(i + 1) % interval == 0 for i in range(count)]


def _named(own: Own, attends: str, keeps: str) -> list[str]:
    return [attends if here else keeps for here in _attends(own)]


def _of_heads(own: Own) -> dict[str, Any]:
    """Mamba 2: the rank of steps is the number of its heads."""
    heads, inner = _number(own, "ssm.time_step_rank"), _number(own, "ssm.inner_size")
    return {"heads": heads, "dim": inner // max(1, heads), "state": _number(own, "ssm.state_size")} | {
        "groups": own.get("ssm.group_count") or 1,
        "kernel": _number(own, "ssm.conv_kernel"),
        "inner": inner,
    }


def _second_mamba(own: Own) -> dict[str, Any]:
    """Mamba 2 beside attention or between its layers, in the words of Granite 4 and Falcon-H1."""
    m = _of_heads(own)
    widths = {"mamba_n_heads": m["heads"], "mamba_d_head": m["dim"], "mamba_d_ssm": m["inner"]}
    return widths | {"mamba_d_state": m["state"], "mamba_n_groups": m["groups"], "mamba_d_conv": m["kernel"]}


def _granite(own: Own) -> dict[str, Any]:
    # Bamba, whose positions rotate, has an output head of its own; Granite 4 has none.
    shares = own.get("rope.scaling.finetuned") is not True
    experts = own.get("expert_count") or 0  # 0 and the width are said, since the class has others
    shared = own.get("expert_shared_feed_forward_length") or (0 if experts else own.get(FEED_FORWARD))
    routed = {"num_local_experts": experts, "shared_intermediate_size": shared}
    layers = {"layer_types": _named(own, "attention", "mamba"), "tie_word_embeddings": shares}
    return _second_mamba(own) | layers | routed


def _jamba(own: Own) -> dict[str, Any]:
    layers = {"layers_block_type": _named(own, "attention", "mamba")}
    return _first_mamba(own) | layers | {"num_experts": own.get("expert_count") or 1}


def _first_mamba(own: Own) -> dict[str, Any]:
    return {
        "d_inner": _number(own, "ssm.inner_size"),
        "mamba_d_state": _number(own, "ssm.state_size"),
        "mamba_d_conv": _number(own, "ssm.conv_kernel"),
        "mamba_dt_rank": _number(own, "ssm.time_step_rank"),
    }


def _mamba(own: Own) -> dict[str, Any]:
    # Falcon Mamba alone normalises steps, B and C, and has an output head of its own.
    falcon = {"model_type": "falcon_mamba", "tie_word_embeddings": False} if own.get("ssm.dt_b_c_rms") is True else {}
    return _first_mamba(own) | {"intermediate_size": _number(own, "ssm.inner_size")} | falcon


def _mamba2(own: Own) -> dict[str, Any]:
    m = _of_heads(own)
    widths = {"num_heads": m["heads"], "head_dim": m["dim"], "d_inner": m["inner"]}
    return widths | {"state_size": m["state"], "n_groups": m["groups"], "conv_kernel": m["kernel"]}


def _nemotron(own: Own) -> dict[str, Any]:
    attends, widths = _attends(own), own.get(FEED_FORWARD)
    if not isinstance(widths, list) or len(widths) < len(attends):
        raise InvalidModelConfig(
            f"The GGUF file does not list {FEED_FORWARD} of its {len(attends)} layers: use config.json of the model."
        )
    expert = own.get("expert_feed_forward_length")
    mlp = "E" if own.get("expert_count") else "-"
    letters = ["*" if here else mlp if wide else "M" for here, wide in zip(attends, widths, strict=False)]
    m = _of_heads(own)
    routed = {"n_routed_experts": own["expert_count"], "moe_intermediate_size": expert} if mlp == "E" else {}
    if own.get("moe_latent_size"):
        routed["moe_latent_size"] = own["moe_latent_size"]
    state = {"mamba_num_heads": m["heads"], "mamba_head_dim": m["dim"], "ssm_state_size": m["state"]}
    state |= {"n_groups": m["groups"], "conv_kernel": m["kernel"]}
    return state | routed | {"hybrid_override_pattern": "".join(letters)}


def _plamo(own: Own) -> dict[str, Any]:
    m = _of_heads(own)
    state = {"mamba_num_heads": m["heads"], "hidden_size_per_head": m["dim"], "mamba_d_state": m["state"]}
    layers = {"layer_types": _named(own, "attention", "mamba"), "tie_word_embeddings": True}
    return state | layers | {"mamba_d_conv": m["kernel"]}


def _short_convolutions(own: Own) -> dict[str, Any]:
    layers = {"layer_types": _named(own, "full_attention", "conv"), "block_auto_adjust_ff_dim": False}
    routed = {"num_experts": own["expert_count"]} if own.get("expert_count") else {}
    return layers | routed | {"conv_L_cache": _number(own, "shortconv.l_cache")}


def _delta_net(own: Own) -> dict[str, Any]:
    heads = _number(own, "ssm.time_step_rank")
    state = {"linear_num_value_heads": heads, "linear_num_key_heads": _number(own, "ssm.group_count")}
    state |= {"linear_key_head_dim": _number(own, "ssm.state_size")}
    state |= {"linear_value_head_dim": _number(own, "ssm.inner_size") // max(1, heads)}
    layers = {"layer_types": _named(own, "full_attention", "linear_attention")}
    routed = {"num_experts": own["expert_count"]} if own.get("expert_count") else {}
    return state | layers | routed | {"linear_conv_kernel_dim": _number(own, "ssm.conv_kernel")}


def _kimi(own: Own) -> dict[str, Any]:
    rope, key = _number(own, "rope.dimension_count"), _number(own, "attention.key_length_mla")
    attends = [i + 1 for i, here in enumerate(_attends(own)) if here]  # counted from 1
    state: dict[str, Any] = {"num_heads": _number(own, HEADS), "head_dim": _number(own, "kda.head_dim")}
    state |= {"short_conv_kernel_size": _number(own, "ssm.conv_kernel"), "full_attn_layers": attends}
    latent = {"kv_lora_rank": _number(own, "attention.kv_lora_rank"), "q_lora_rank": own.get("attention.q_lora_rank")}
    latent |= {"qk_rope_head_dim": rope, "qk_nope_head_dim": key - rope}
    latent |= {"v_head_dim": _number(own, "attention.value_length_mla"), "num_key_value_heads": _number(own, HEADS)}
    return latent | {"linear_attn_config": state, "num_experts": own.get("expert_count")}


def _rwkv6(own: Own) -> dict[str, Any]:
    return {"head_size": _number(own, "wkv.head_size"), "tie_word_embeddings": False}


def _rwkv7(own: Own) -> dict[str, Any]:
    names = {"decay": "decay", "a": "iclr", "v": "value_residual_mix", "gate": "gate"}
    ranks = {f"{ours}_low_rank_dim": _number(own, f"attention.{theirs}_lora_rank") for ours, theirs in names.items()}
    return _rwkv6(own) | {"head_dim": _number(own, "wkv.head_size")} | ranks


_HYBRIDS: Mapping[str, tuple[str, Callable[[Own], dict[str, Any]]]] = MappingProxyType(
    {
        "jamba": ("jamba", _jamba),
        "granitehybrid": ("granitemoehybrid", _granite),
        "falcon-h1": ("falcon_h1", _second_mamba),
        "nemotron_h": ("nemotron_h", _nemotron),
        "nemotron_h_moe": ("nemotron_h", _nemotron),
        "plamo2": ("plamo2", _plamo),
        "lfm2": ("lfm2", _short_convolutions),
        "lfm2moe": ("lfm2_moe", _short_convolutions),
        "qwen3next": ("qwen3_next", _delta_net),
        "qwen35": ("qwen3_5_text", _delta_net),
        "qwen35moe": ("qwen3_5_moe_text", _delta_net),
        "kimi-linear": ("kimi_linear", _kimi),
        "mamba": ("mamba", _mamba),
        "mamba2": ("mamba2", _mamba2),
        "rwkv6": ("rwkv6", _rwkv6),
        "rwkv7": ("rwkv7", _rwkv7),
    }
)
"""Architectures of llama.cpp: ``model_type`` of transformers, and how their keys are read."""
