"""Which kind of layer stands where: attention (full, sliding, linear, Mamba, none) and MLP (dense, routed, none).

Families write this down in a dozen ways; each reader below knows one and returns None when the file does not use it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from sizing.base.errors import InvalidModelConfig
from sizing.catalog.config_fields import Fields, checked_number, checked_whole, reject
from sizing.catalog.model_families import family, model_families

Mixer = Literal["full", "sliding", "linear", "mamba", "none"]
Mlp = Literal["dense", "moe", "none"]

MAX_LAYERS = 2_000
"""Most layers read from a config.json. Chosen: because it is more than ten times the deepest model of the catalogue."""


@dataclass(frozen=True, kw_only=True)
class Layer:
    """One layer; ``kv_heads`` and ``mlp_width`` are set only where layers differ (neural architecture search).

    ``reuses_kv`` says that it attends to the keys and values of an earlier layer and caches none (Gemma 4 E2B, E4B).
    """

    mixer: Mixer = "full"
    mlp: Mlp = "dense"
    kv_heads: int | None = None
    mlp_width: int | None = None
    compress_ratio: int | None = None
    reuses_kv: bool = False


MIXER_NAMES: dict[str, Mixer] = {
    "full_attention": "full",
    "attention": "full",
    "global": "full",
    "full": "full",
    "sliding_attention": "sliding",
    "chunked_attention": "sliding",
    "local": "sliding",
    "sliding": "sliding",
    "deepseek_sparse_attention": "full",
    "sparse_attention": "full",
    "sparse": "full",
    "linear_attention": "linear",
    "kda": "linear",
    "mamba": "mamba",
    "mamba2": "mamba",
}
BLOCK_LETTERS: dict[str, Layer] = {
    "M": Layer(mixer="mamba", mlp="none"),
    "*": Layer(mixer="full", mlp="none"),
    "-": Layer(mixer="none", mlp="dense"),
    "E": Layer(mixer="none", mlp="moe"),
}
"""Nemotron-H writes one letter per block: Mamba, attention, MLP, experts (its ``hybrid_override_pattern``)."""
BLOCK_NAMES = {"mamba": "M", "attention": "*", "mlp": "-", "moe": "E"}


def layer_plan(fields: Fields) -> tuple[Layer, ...]:
    """All layers of the model in order; raises InvalidModelConfig when the file contradicts itself."""
    blocks = _from_blocks(fields)
    if blocks is not None:
        return blocks
    count = fields.needed("layers", high=MAX_LAYERS)
    mixers = next((per_layer for reader in _MIXER_READERS if (per_layer := reader(fields, count)) is not None), None)
    if mixers is None:
        mixers = ["full"] * count
    if len(mixers) != count:
        raise InvalidModelConfig(
            f"config.json lists {len(mixers)} layer types for {count} layers: make them and num_hidden_layers agree."
        )
    plan = [Layer(mixer=mixer) for mixer in mixers]
    return _reusing_kv(fields, [replace(layer, mlp=mlp) for layer, mlp in zip(plan, _mlps(fields, count), strict=True)])


def _reusing_kv(fields: Fields, plan: list[Layer]) -> tuple[Layer, ...]:
    """The last ``num_kv_shared_layers`` layers reuse earlier keys and values; with ``use_double_wide_mlp`` their MLP is
    twice as wide (Gemma4TextMLP of transformers)."""
    shared = fields.whole("num_kv_shared_layers", low=0, high=MAX_LAYERS) or 0
    first = len(plan) - shared
    wide = 2 * (fields.whole("intermediate_size") or 0) if fields.flag("use_double_wide_mlp") else None
    return tuple(
        replace(layer, reuses_kv=True, mlp_width=wide or layer.mlp_width) if i >= first else layer
        for i, layer in enumerate(plan)
    )


def _from_blocks(fields: Fields) -> tuple[Layer, ...] | None:
    """Nemotron-H (one letter or name per block), NAS models (``block_configs``), DeepSeek-V4 (``compress_ratios``)."""
    letters = fields.raw("hybrid_override_pattern")
    if not letters and fields.items("layers_block_type"):
        letters = "".join(BLOCK_NAMES.get(str(name), "?") for name in fields.items("layers_block_type"))
    if isinstance(letters, str) and letters:
        unknown = sorted(set(letters) - set(BLOCK_LETTERS))
        if unknown or len(letters) > MAX_LAYERS:
            reject("hybrid_override_pattern", letters, "letters M, *, - and E, one per block")
        return tuple(BLOCK_LETTERS[letter] for letter in letters)
    if fields.items("block_configs"):
        return tuple(_searched_block(fields, block) for block in fields.items("block_configs")[:MAX_LAYERS])
    if fields.items("compress_ratios"):
        count = fields.needed("layers", high=MAX_LAYERS)
        ratios = [checked_whole("compress_ratios", r, 0, 1 << 20) for r in fields.items("compress_ratios")[:count]]
        mlps = _mlps(fields, len(ratios))
        return tuple(
            Layer(mixer="full" if ratio else "sliding", mlp=mlp, compress_ratio=ratio)
            for ratio, mlp in zip(ratios, mlps, strict=True)
        )
    return None


def _searched_block(fields: Fields, block: Any) -> Layer:
    """One block of a model found by architecture search: its own KV heads and MLP width, or none."""
    attention = block.get("attention") if isinstance(block, dict) else None
    ffn = block.get("ffn") if isinstance(block, dict) else None
    if not isinstance(attention, dict) or not isinstance(ffn, dict):
        raise InvalidModelConfig("config.json has a block_configs entry without attention or ffn: use the full file.")
    hidden = fields.needed("hidden_size", low=16, high=10**6)
    group = attention.get("n_heads_in_group")
    kv_heads = None
    if group is not None:
        heads = fields.needed("heads", high=10**5)
        kv_heads = max(1, heads // checked_whole("n_heads_in_group", group, 1, 10**5))
    mult = ffn.get("ffn_mult")
    # The factor counts two thirds of a 4x wide MLP, rounded up to a multiple of 256 (DeciLM modelling code).
    width = None if mult is None else -(-int(2 * checked_number("ffn_mult", mult, 0, 100) * hidden / 3) // 256) * 256
    return Layer(
        mixer="none" if attention.get("no_op") or kv_heads is None else "full",
        mlp="none" if ffn.get("no_op") or width is None else "dense",
        kv_heads=kv_heads,
        mlp_width=width,
    )


def _named(fields: Fields, count: int) -> list[Mixer] | None:
    """``layer_types``: one name per layer (the form of transformers since 4.53)."""
    names = fields.items("layer_types") or fields.items("layer_type_list")
    if not names:
        return None
    mixers: list[Mixer] = []
    for name in names[:count]:
        mixer = MIXER_NAMES.get(name) if isinstance(name, str) else None
        if mixer is None:
            reject("layer_types", name, "full_attention, sliding_attention, linear_attention or mamba")
        mixers.append(mixer)
    return mixers


def _hybrid(fields: Fields, count: int) -> list[Mixer] | None:
    """Linear-attention and Mamba models: by interval, by index list, or by 0/1 per layer."""
    interval = fields.whole("full_attention_interval", high=MAX_LAYERS)
    if interval:
        return ["linear" if (i + 1) % interval else "full" for i in range(count)]
    period = fields.whole("attn_layer_period", high=MAX_LAYERS)
    if period:
        offset = fields.whole("attn_layer_offset", low=0, high=MAX_LAYERS) or 0
        return ["full" if i % period == offset else "mamba" for i in range(count)]
    full = fields.section("linear_attn_config").get("full_attn_layers")
    if isinstance(full, list):
        # Kimi numbers its layers from 1.
        return ["full" if i + 1 in full else "linear" for i in range(count)]
    if fields.items("attn_type_list"):
        return ["full" if kind else "linear" for kind in fields.items("attn_type_list")]
    if fields.items("hybrid_layer_pattern"):
        return ["sliding" if kind else "full" for kind in fields.items("hybrid_layer_pattern")]
    return None


def _sliding(fields: Fields, count: int) -> list[Mixer] | None:
    """Sliding-window models without layer types: by pattern, by family, or by chunk size (Llama 4)."""
    if fields.whole("attention_chunk_size", high=10**8) and family(fields).startswith("llama4"):
        step = 4  # every fourth layer has no rotary embedding and attends to everything (Llama 4 reference)
        return ["sliding" if (i + 1) % step else "full" for i in range(count)]
    window = fields.raw("sliding_window")
    kind, families = family(fields), model_families()
    if window is None or window is False or fields.raw("use_sliding_window") is False:
        return None
    pattern = fields.whole("sliding_window_pattern", high=MAX_LAYERS) or fields.whole("_sliding_window_pattern")
    pattern = pattern or families.sliding_pattern.get(kind)
    if pattern:
        return ["sliding" if (i + 1) % pattern else "full" for i in range(count)]
    if fields.raw("use_sliding_window") is True:
        first = fields.whole("max_window_layers", low=0, high=MAX_LAYERS) or 0
        return ["sliding" if i >= first else "full" for i in range(count)]
    return ["sliding"] * count if kind in families.always_sliding else None


_MIXER_READERS: tuple[Callable[[Fields, int], list[Mixer] | None], ...] = (_named, _hybrid, _sliding)


def _mlps(fields: Fields, count: int) -> list[Mlp]:
    """Which layers route tokens to experts; all dense when the file names no experts."""
    ffn = fields.section("ffn_config")
    if not fields.whole("experts", low=0, high=10**5) and not ffn.get("moe_num_experts"):
        return ["dense"] * count
    for key, routed in (("mlp_layer_types", ("sparse", "moe")), ("moe_layer_freq", (1, True))):
        listed = fields.items(key)
        if len(listed) >= count:
            return ["moe" if kind in routed else "dense" for kind in listed[:count]]
    moe = [i >= (fields.whole("leading_dense_layers", low=0, high=MAX_LAYERS) or 0) for i in range(count)]
    start = fields.whole("moe_layer_start_index", low=0, high=MAX_LAYERS) or 0
    step = fields.whole("interleave_moe_layer_step", high=MAX_LAYERS)
    step = step or fields.whole("decoder_sparse_step", high=MAX_LAYERS)
    period = fields.whole("expert_layer_period", high=MAX_LAYERS)
    offset = fields.whole("expert_layer_offset", low=0, high=MAX_LAYERS) or 0
    dense_only = fields.items("mlp_only_layers")
    return [
        "moe"
        if moe[i]
        and i >= start
        and (step is None or (i + 1) % step == 0)
        and (period is None or i % period == offset)
        and i not in dense_only
        else "dense"
        for i in range(count)
    ]
