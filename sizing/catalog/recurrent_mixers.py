"""Layers with a constant state instead of a KV cache: Gated DeltaNet, KDA, Mamba 1 and 2, lightning attention, short
convolutions, RWKV, xLSTM, gated linear recurrence; and what of a constant state stands beside attention (Hymba, ZAYA).

State = recurrent matrix + convolution window, in values per layer and sequence. Shapes as in the modelling code of
transformers 5.23 (qwen3_next, nemotron_h, jamba), moonshotai Kimi-Linear and MiniMax-Text-01.
"""

import math
from dataclasses import replace

from sizing.base.errors import InvalidModelConfig
from sizing.catalog.config_fields import ConfigFields, checked_number, checked_whole, reject
from sizing.catalog.model_families import family
from sizing.catalog.parameter_count import Recurrent

WIDE = 10**6
"""Largest width read from a config.json. Chosen: because it is far above any model's."""


def recurrent_mixer(fields: ConfigFields, hidden: int, heads: int, kinds: frozenset[str]) -> Recurrent:
    """The recurrent layer that this configuration describes, the first that fits; ``kinds``: mixers of its plan."""
    kind = family(fields)
    if "conv" in kinds:
        return _short_convolution(fields, hidden)
    if kind == "rwkv7":
        return _rwkv7(fields, hidden)
    if kind.startswith("rwkv"):
        return _rwkv(fields, hidden, kind)
    if kind == "xlstm":
        return _xlstm(fields, hidden)
    if kind == "zaya":
        return _compressed_convolution(fields, hidden, heads)
    if fields.given("lru_width") or kind == "recurrent_gemma":
        return _gated_linear_recurrence(fields, hidden, heads)
    if fields.whole("linear_num_value_heads"):
        return _gated_delta_net(fields, hidden)
    if fields.section("linear_attn_config") or fields.given("kda_lower_bound"):
        return _kimi_delta_attention(fields, hidden, heads)
    if kind == "plamo2":
        return _plamo(fields, hidden)
    if _is_second(fields, kind):
        return _mamba2(fields, hidden)
    if kind in _FIRST_MAMBA or fields.whole("mamba_d_state") or "ssm_cfg" in fields.inner:
        mamba = _mamba1(fields, hidden)
        # In Hymba attention and Mamba are as wide and have one output projection, which is counted with attention.
        shared = inner_width(fields, hidden) * hidden if kind == "hymba" else 0
        return replace(mamba, params=mamba.params - shared)
    if "mamba" in kinds:
        raise InvalidModelConfig(
            "config.json has Mamba layers but not the size of their state: looked for mamba_d_state, ssm_state_size, "
            "state_size, and mamba_num_heads of Mamba 2."
        )
    dim = fields.whole("head_dim", high=WIDE) or max(1, hidden // heads)
    return Recurrent(params=float(5 * hidden * heads * dim), state=float(heads * dim * dim))


_FIRST_MAMBA = frozenset({"mamba", "falcon_mamba", "zamba", "jamba", "phi4flash"})


def _is_second(fields: ConfigFields, kind: str) -> bool:
    """Whether the Mamba layers are of the second version, which has heads."""
    if kind in _FIRST_MAMBA:
        return False
    named = str(fields.section("ssm_cfg").get("layer", "")).lower() == "mamba2"
    heads = ("mamba_num_heads", "mamba_n_heads", "n_mamba_heads")
    return named or kind == "mamba2" or any(fields.whole(key) for key in heads)


def state_heads(fields: ConfigFields, hidden: int) -> tuple[int, int]:
    """Heads of a model without attention and their width, by which engines split its layers: those of Mamba 2 or RWKV,
    of Mamba 1 its channels in groups of 64 (chosen: the width of a head of Mamba 2)."""
    width = fields.whole("head_dim", high=WIDE) or fields.whole("headdim", high=WIDE) or 64
    inner = hidden if family(fields).startswith("rwkv") else inner_width(fields, hidden)
    return fields.whole("num_heads", high=WIDE) or max(1, inner // width), width


def _short_convolution(fields: ConfigFields, hidden: int) -> Recurrent:
    """LFM2: two gates and a value in one projection, a convolution over the last ``conv_L_cache`` tokens, an output
    projection; an engine keeps one token less than the width (vLLM, short_conv_state_shape)."""
    kernel = fields.whole("conv_L_cache", high=1000) or 3
    width = fields.whole("conv_dim", high=WIDE) or hidden
    window = float(width * (kernel - 1))
    return Recurrent(
        params=float(hidden * 3 * width + width * kernel + width * hidden), state=window, convolution=window
    )


def _rwkv(fields: ConfigFields, hidden: int, kind: str) -> Recurrent:
    """RWKV 4 to 6: receptance, key, value and output, a gate from version 5 on, and channel mixing in place of an MLP.

    Version 4 keeps five vectors a layer, later ones a matrix a head and two shifted tokens (modelling code of
    BlinkDL/RWKV-LM).
    """
    first = kind == "rwkv"
    width = fields.whole("attention_hidden_size", high=WIDE) or hidden
    inner = fields.whole("intermediate_size") or (4 * hidden if first else int(3.5 * hidden) // 32 * 32)
    mixing = (4 if first else 5) * hidden * width + 2 * hidden * inner + hidden * hidden
    if kind == "rwkv6":  # low-rank shifts of five vectors and of decay, wider in the 7B model
        mixing += 2 * hidden * (5 * 64 + 128 if hidden == 4096 else 5 * 32 + 64)
    head = fields.whole("head_size", high=WIDE) or 64
    state = 5 * hidden if first else hidden * head + 2 * hidden
    return Recurrent(params=float(mixing), state=float(state), convolution=0.0 if first else 2.0 * hidden)


def _rwkv7(fields: ConfigFields, hidden: int) -> Recurrent:
    """RWKV 7: four square projections, low-rank ones of decay, gate, learning rate and, behind the first layer, of the
    value; channel mixing of two matrices. A matrix a head and two shifted tokens are kept.

    Source: RWKV7Attention and RWKV7FeedForward of flash-linear-attention 0.6.0; ranks that a file leaves out are those
    of conversion/rwkv.py of llama.cpp.
    """
    if fields.section("attn"):
        reject("attn", fields.section("attn"), "null, since RWKV 7 with layers of attention is not understood")
    unlike = [width for width in fields.items("value_dim") if width != hidden]
    if unlike:
        reject("value_dim", unlike[0], f"the width of the model, {hidden:,}, for every layer")
    root, steep = math.sqrt(hidden), hidden**0.8
    unsaid = {"decay": 1.8 * root, "a": 1.8 * root, "v": 1.3 * root, "gate": 0.6 * steep}
    ranks = {
        name: fields.whole(f"{name}_low_rank_dim", high=WIDE) or 32 * max(1, round(rank / 32))
        for name, rank in unsaid.items()
    }
    inner = fields.whole("intermediate_size") or 32 * math.ceil((fields.whole("hidden_ratio") or 4) * hidden / 32)
    layers = fields.needed("layers")
    low = sum(ranks.values()) - ranks["v"] / layers
    head = fields.whole("head_dim", high=WIDE) or fields.whole("head_size", high=WIDE) or 64
    return Recurrent(
        params=4 * hidden**2 + 2 * hidden * (low + inner), state=hidden * head + 2.0 * hidden, convolution=2.0 * hidden
    )


def _xlstm(fields: ConfigFields, hidden: int) -> Recurrent:
    """xLSTM 7B: query, key, value, output gate and output, two gates a head, and a gated MLP; a matrix, a vector and a
    number a head are kept (xLSTMLayer, xLSTMFeedForward and xLSTMCache of transformers 5.24.0)."""
    heads = fields.needed("heads", high=WIDE)

    def wide(key: str, unsaid: float) -> float:
        given = fields.raw(key)
        return hidden * checked_number(key, unsaid if given is None else given, 0.01, 100)

    keys, values = int(wide("qk_dim_factor", 0.5)), int(wide("v_dim_factor", 1.0))
    multiple = fields.whole("ffn_round_up_to_multiple_of", high=WIDE) or 64
    inner = int((wide("ffn_proj_factor", 2.667) + multiple - 1) // multiple * multiple)
    params = hidden * (2 * keys + 3 * values + 2 * heads + 3 * inner)
    return Recurrent(params=float(params), state=float(keys * values // heads + keys + heads))


def _compressed_convolution(fields: ConfigFields, hidden: int, heads: int) -> Recurrent:
    """ZAYA (CCA, arXiv 2510.04476): queries and keys pass a convolution of each channel and one within each head; the
    last of them are kept beside the KV cache, and the last token, of which half of every value is made.

    Source: ZayaCCAProjection of transformers 5.24.0; what an engine keeps: src/models/zaya.cpp for llama.cpp.
    """
    dim, kv_heads = fields.needed("head_dim", high=WIDE), fields.whole("kv_heads", high=WIDE) or heads
    channels = (heads + kv_heads) * dim
    each, grouped = (fields.whole(key, high=1000) or 2 for key in ("cca_time0", "cca_time1"))
    window = float(channels * (each + grouped - 2) + hidden)
    return Recurrent(params=float(channels * (each + dim * grouped)), state=window, convolution=window)


def _gated_linear_recurrence(fields: ConfigFields, hidden: int, heads: int) -> Recurrent:
    """RecurrentGemma (Griffin, De et al. 2024): two branches of ``lru_width`` and an output, a convolution, and two
    block-diagonal gates of one block a head."""
    width = fields.whole("lru_width", high=WIDE) or hidden
    kernel = fields.whole("conv1d_width", high=1000) or 4
    gates = 2 * width * (width // max(1, heads))
    window = float(width * (kernel - 1))
    return Recurrent(
        params=float(3 * hidden * width + kernel * width + gates), state=width + window, convolution=window
    )


def _plamo(fields: ConfigFields, hidden: int) -> Recurrent:
    """PLaMo 2: Mamba 2 whose B, C and step width are projected from the inner width (its modelling code)."""
    count = fields.whole("mamba_num_heads", high=WIDE) or 1
    dim = fields.whole("hidden_size_per_head", high=WIDE) or 128
    size, kernel = fields.whole("mamba_d_state", high=WIDE) or 64, fields.whole("mamba_d_conv", high=1000) or 4
    inner, steps = count * dim, max(64, hidden // 16)
    params = 3 * hidden * inner + inner * (steps + 2 * size) + steps * count + inner * kernel
    window = float(inner * (kernel - 1))
    return Recurrent(params=float(params), state=inner * size + window, convolution=window)


def inner_width(fields: ConfigFields, hidden: int) -> int:
    """Inner width of a Mamba mixer: as given, else a multiple of the model's."""
    given = fields.whole("mamba_d_ssm", high=WIDE) or fields.whole("d_inner", high=WIDE)
    given = given or _of_state_space(fields, "d_inner", 0) or None
    if family(fields) in ("mamba", "falcon_mamba") and fields.given("intermediate_size"):
        given = fields.whole("intermediate_size")  # which Falcon Mamba publishes beside another ``expand``
    factors = (fields.whole(key, high=100) for key in ("mamba_expand", "expand"))
    return given or hidden * (next(filter(None, factors), None) or _of_state_space(fields, "expand", 2))


def _of_state_space(fields: ConfigFields, key: str, unsaid: int) -> int:
    """A number of ``ssm_cfg``, the section of the first published Mamba models."""
    value = fields.section("ssm_cfg").get(key, unsaid)
    return checked_whole(f"ssm_cfg.{key}", value, min(1, unsaid), WIDE)


def _gated_delta_net(fields: ConfigFields, hidden: int) -> Recurrent:
    """Qwen3-Next, Qwen3.5: state of one key x value matrix per value head."""
    value_heads = fields.whole("linear_num_value_heads", high=WIDE) or 1
    key_heads = fields.whole("linear_num_key_heads", high=WIDE) or value_heads
    key_dim = fields.whole("linear_key_head_dim", high=WIDE) or 128
    value_dim = fields.whole("linear_value_head_dim", high=WIDE) or 128
    kernel = fields.whole("linear_conv_kernel_dim", high=1000) or 4
    keys, values = key_heads * key_dim, value_heads * value_dim
    channels = 2 * keys + values
    params = hidden * (channels + values + 2 * value_heads) + channels * kernel + values * hidden
    window = float(channels * (kernel - 1))
    state = value_heads * key_dim * value_dim + window
    return Recurrent(params=float(params), state=state, convolution=window)


def _kimi_delta_attention(fields: ConfigFields, hidden: int, heads: int) -> Recurrent:
    """Kimi Linear and Ling 3 (KDA): query, key, value, output, and two gates that are full rank or of head width."""
    section = fields.section("linear_attn_config") or {
        "num_heads": fields.raw("linear_num_heads") or heads,
        "head_dim": fields.raw("linear_head_dim") or fields.raw("head_dim") or 128,
        "short_conv_kernel_size": fields.raw("short_conv_kernel_size") or fields.raw("linear_conv_kernel_dim") or 4,
    }
    count = checked_whole("linear_attn_config.num_heads", section.get("num_heads", heads), 1, WIDE)
    dim = checked_whole("linear_attn_config.head_dim", section.get("head_dim", 128), 1, WIDE)
    kernel = checked_whole("short_conv_kernel_size", section.get("short_conv_kernel_size", 4), 1, 1000)
    width = count * dim
    low_rank, full = hidden * dim + dim * width, hidden * width
    both_full = fields.flag("no_kda_lora") or fields.flag("kda_use_full_proj")
    gates = (full if both_full else low_rank) + (
        full if both_full or section.get("use_full_rank_gate") is True else low_rank
    )
    params = 4 * hidden * width + gates + hidden * count + 3 * width * kernel
    window = float(3 * width * (kernel - 1))
    return Recurrent(params=float(params), state=count * dim * dim + window, convolution=window)


def _mamba2(fields: ConfigFields, hidden: int) -> Recurrent:
    """Mamba 2 (Nemotron-H, Falcon-H1, Bamba, Zamba 2): heads x head width x state size, groups share B and C."""
    dim = _first(fields, ("mamba_head_dim", "mamba_d_head", "mamba_headdim"))
    count = _first(fields, ("mamba_num_heads", "mamba_n_heads", "n_mamba_heads"))
    if family(fields) == "mamba2" or "ssm_cfg" in fields.inner:
        dim = fields.whole("head_dim", high=WIDE) or _of_state_space(fields, "headdim", 64)
        count = fields.whole("num_heads", high=WIDE) or inner_width(fields, hidden) // dim
    given = fields.whole("mamba_d_ssm", high=WIDE)
    count = count or max(1, inner_width(fields, hidden) // (dim or 64))
    dim = dim or max(1, (given or inner_width(fields, hidden)) // count)
    size = _first(fields, ("ssm_state_size", "mamba_d_state", "state_size")) or _of_state_space(fields, "d_state", 128)
    groups = _first(fields, ("mamba_n_groups", "mamba_ngroups", "n_groups")) or _of_state_space(fields, "ngroups", 1)
    kernel = _first(fields, ("conv_kernel", "mamba_d_conv")) or 4
    inner, channels = count * dim, count * dim + 2 * groups * size
    params = hidden * (inner + channels + count) + channels * kernel + inner * hidden
    window = float(channels * (kernel - 1))
    return Recurrent(params=float(params), state=count * dim * size + window, convolution=window)


def _mamba1(fields: ConfigFields, hidden: int) -> Recurrent:
    """Mamba 1 (Mamba, Falcon Mamba, Jamba, Zamba): expanded width x state size."""
    inner = inner_width(fields, hidden)
    size = _first(fields, ("mamba_d_state", "state_size")) or _of_state_space(fields, "d_state", 16)
    kernel = _first(fields, ("mamba_d_conv", "conv_kernel")) or 4
    # "auto" stands for the sixteenth part of the model's width.
    ranks = [fields.raw(key) for key in ("mamba_dt_rank", "time_step_rank")]
    rank = next(
        (checked_whole("time_step_rank", r, 1, WIDE) for r in ranks if r not in (None, "auto")), -(-hidden // 16)
    )
    params = 2 * hidden * inner + inner * (rank + 2 * size) + rank * inner + inner * size + inner * hidden
    window = float(inner * (kernel - 1))
    return Recurrent(params=float(params + inner * kernel), state=inner * size + window, convolution=window)


def _first(fields: ConfigFields, keys: tuple[str, ...]) -> int | None:
    """The first of several numbers that the file gives, or else the class; "auto" is none."""
    stated = [key for key in keys if fields.given(key) and fields.raw(key) != "auto"]
    silent = [key for key in keys if not fields.given(key)]
    return next((n for key in (*stated, *silent) if (n := fields.whole(key, high=WIDE)) is not None), None)
