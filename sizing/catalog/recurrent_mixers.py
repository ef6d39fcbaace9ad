"""Layers with a constant state instead of a KV cache: Gated DeltaNet, KDA, Mamba 1 and 2, lightning attention.

State = recurrent matrix + convolution window, in values per layer and sequence. Shapes as in the modelling code of
transformers 5.23 (qwen3_next, nemotron_h, jamba), moonshotai Kimi-Linear and MiniMax-Text-01.
"""

from __future__ import annotations

from sizing.catalog.config_fields import Fields, checked_whole
from sizing.catalog.parameter_count import Recurrent

WIDE = 10**6
"""Largest width read from a config.json. Chosen: because it is far above any model's."""


def recurrent_mixer(fields: Fields, hidden: int, heads: int) -> Recurrent:
    """The recurrent layer that this configuration describes, the first that fits."""
    if fields.whole("linear_num_value_heads"):
        return _gated_delta_net(fields, hidden)
    if fields.section("linear_attn_config"):
        return _kimi_delta_attention(fields, hidden, heads)
    if fields.whole("mamba_num_heads") or fields.whole("mamba_n_heads"):
        return _mamba2(fields, hidden)
    if fields.whole("mamba_d_state"):
        return _mamba1(fields, hidden)
    dim = fields.whole("head_dim", high=WIDE) or max(1, hidden // heads)
    return Recurrent(params=float(5 * hidden * heads * dim), state=float(heads * dim * dim))


def _gated_delta_net(fields: Fields, hidden: int) -> Recurrent:
    """Qwen3-Next, Qwen3.5: state of one key x value matrix per value head."""
    value_heads = fields.whole("linear_num_value_heads", high=WIDE) or 1
    key_heads = fields.whole("linear_num_key_heads", high=WIDE) or value_heads
    key_dim = fields.whole("linear_key_head_dim", high=WIDE) or 128
    value_dim = fields.whole("linear_value_head_dim", high=WIDE) or 128
    kernel = fields.whole("linear_conv_kernel_dim", high=1000) or 4
    keys, values = key_heads * key_dim, value_heads * value_dim
    channels = 2 * keys + values
    params = hidden * (channels + values + 2 * value_heads) + channels * kernel + values * hidden
    return Recurrent(params=float(params), state=float(value_heads * key_dim * value_dim + channels * (kernel - 1)))


def _kimi_delta_attention(fields: Fields, hidden: int, heads: int) -> Recurrent:
    """Kimi Linear (KDA): query, key, value, output, and two gates that are full rank or of head width."""
    section = fields.section("linear_attn_config")
    count = checked_whole("linear_attn_config.num_heads", section.get("num_heads", heads), 1, WIDE)
    dim = checked_whole("linear_attn_config.head_dim", section.get("head_dim", 128), 1, WIDE)
    kernel = checked_whole("short_conv_kernel_size", section.get("short_conv_kernel_size", 4), 1, 1000)
    width = count * dim
    low_rank_gate = hidden * dim + dim * width
    output_gate = hidden * width if section.get("use_full_rank_gate") is True else low_rank_gate
    params = 4 * hidden * width + low_rank_gate + output_gate + hidden * count + 3 * width * kernel
    return Recurrent(params=float(params), state=float(count * dim * dim + 3 * width * (kernel - 1)))


def _mamba2(fields: Fields, hidden: int) -> Recurrent:
    """Mamba 2 (Nemotron-H, Falcon-H1, Bamba): heads x head width x state size, groups share B and C."""
    count = fields.whole("mamba_num_heads", high=WIDE) or fields.whole("mamba_n_heads", high=WIDE) or 1
    dim = fields.whole("mamba_head_dim", high=WIDE) or fields.whole("mamba_d_head", high=WIDE) or 64
    size = fields.whole("ssm_state_size", high=WIDE) or fields.whole("mamba_d_state", high=WIDE) or 128
    groups = fields.whole("n_groups", high=WIDE) or fields.whole("mamba_n_groups", high=WIDE) or 1
    kernel = fields.whole("conv_kernel", high=1000) or fields.whole("mamba_d_conv", high=1000) or 4
    inner, channels = count * dim, count * dim + 2 * groups * size
    params = hidden * (inner + channels + count) + channels * kernel + inner * hidden
    return Recurrent(params=float(params), state=float(count * dim * size + channels * (kernel - 1)))


def _mamba1(fields: Fields, hidden: int) -> Recurrent:
    """Mamba 1 (Jamba): expanded width x state size."""
    inner = hidden * (fields.whole("mamba_expand", high=100) or 2)
    size = fields.whole("mamba_d_state", high=WIDE) or 16
    kernel = fields.whole("mamba_d_conv", high=1000) or 4
    rank = fields.whole("mamba_dt_rank", high=WIDE) or -(-hidden // 16)
    params = 2 * hidden * inner + inner * (rank + 2 * size) + rank * inner + inner * size + inner * hidden
    return Recurrent(params=float(params), state=float(inner * size + inner * (kernel - 1)))
