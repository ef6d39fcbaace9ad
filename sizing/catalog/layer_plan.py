"""Which kind of layer stands where: attention (full, sliding, linear, Mamba, none) and MLP (dense, routed, none).

The spellings of lists over layers: :mod:`sizing.catalog.layer_lists`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal

from sizing.base.errors import InvalidModelConfig
from sizing.catalog.config_fields import ConfigFields, checked_number, checked_whole, field_names, reject
from sizing.catalog.layer_lists import (
    MAX_LAYERS,
    MIXER_READERS,
    Mixer,
    named,
    placed,
    refuse_unknown_lists,
    refuse_unplaced_state,
    state_alone,
)
from sizing.catalog.model_families import family, model_families

Mlp = Literal["dense", "moe", "none"]


@dataclass(frozen=True, kw_only=True)
class Layer:
    """One layer; numbers of heads, their width and that of the MLP are set where layers differ (search, OpenELM).

    ``square_matrices`` stand in place of attention or MLP that a search replaced by one matrix of the model's width.
    ``reuses_kv`` says that it attends to the keys and values of an earlier layer and caches none (Gemma 4 E2B, E4B,
    Hunyuan-Large). ``mamba_beside`` is a Mamba mixer in a layer that attends, too (Falcon-H1, Zamba); with
    ``shared_weights`` attention and MLP are those of a block that several layers apply, each with a cache of its own.
    """

    mixer: Mixer = "full"
    mlp: Mlp = "dense"
    heads: int | None = None
    head_dim: int | None = None
    kv_heads: int | None = None
    mlp_width: int | None = None
    compress_ratio: int | None = None
    square_matrices: int = 0
    reuses_kv: bool = False
    mamba_beside: bool = False
    shared_weights: bool = False


BLOCK_LETTERS: dict[str, Layer] = {
    "M": Layer(mixer="mamba", mlp="none"),
    "*": Layer(mixer="full", mlp="none"),
    "-": Layer(mixer="none", mlp="dense"),
    "E": Layer(mixer="none", mlp="moe"),
}
"""Nemotron-H writes one letter per block: Mamba, attention, MLP, experts (its ``hybrid_override_pattern``)."""
BLOCK_NAMES = {"mamba": "M", "linear_attention": "M", "attention": "*", "full_attention": "*", "mlp": "-", "moe": "E"}


def layer_plan(fields: ConfigFields) -> tuple[Layer, ...]:
    """All layers of the model in order; raises InvalidModelConfig when the file contradicts itself."""
    blocks = _from_blocks(fields)
    if blocks is not None:
        return blocks
    count = fields.needed("layers", high=MAX_LAYERS)
    refuse_unknown_lists(fields)
    mixers = _mixers(fields, count)
    if len(mixers) - count in _predicting(fields):
        mixers = mixers[:count]
    if len(mixers) != count:
        raise InvalidModelConfig(
            f"config.json lists {len(mixers)} layer types for {count} layers: make them and num_hidden_layers agree."
        )
    layers = [_layer(fields, mixer, mlp) for mixer, mlp in zip(mixers, _mlps(fields, count), strict=True)]
    if family(fields) in model_families().doubled_layers:
        layers = [half for layer in layers for half in (layer, replace(layer, mlp="dense"))]
    return _reusing_kv(fields, _differing(fields, layers))


_PREDICTING = ("num_nextn_predict_layers", "num_mtp_modules", "mtp_num_hidden_layers", "num_mtp_layers")


def _predicting(fields: ConfigFields) -> set[int]:
    """How many layers that predict further tokens a list may hold behind those of the model (Step 3.5: 48 for 45)."""
    return {number for key in _PREDICTING if (number := fields.whole(key, low=0, high=100))}


def _mixers(fields: ConfigFields, count: int) -> list[Mixer]:
    """What mixes tokens in each layer, by the first spelling that the file uses."""
    kind = family(fields)
    if kind in model_families().attention_free or state_alone(fields):
        return ["linear" if kind.startswith("rwkv") else "mamba"] * count
    if kind in model_families().parallel_mamba:
        return _beside_state(fields, count)
    if kind == "zamba" and not any(fields.items(key) for key in ("layers_block_type", "layer_types")):
        period = fields.whole("attn_layer_period", high=MAX_LAYERS) or 6
        offset = fields.whole("attn_layer_offset", low=0, high=MAX_LAYERS) or 0
        # ZambaConfig._layers_block_type: the third layer, then by period.
        return ["hybrid" if i == 2 or (i > 2 and (i - 3) % period == offset) else "mamba" for i in range(count)]
    mixers = next((listed for reader in MIXER_READERS if (listed := reader(fields, count)) is not None), None)
    if mixers is None:
        refuse_unplaced_state(fields)
        mixers = ["full"] * count
    if kind in model_families().last_full:
        mixers[-1:] = ["full"]
    crossing = fields.items("cross_attention_layers") or fields.class_list("cross_attention_layers", count)
    return ["cross" if i in crossing else mixer for i, mixer in enumerate(mixers)]


def _beside_state(fields: ConfigFields, count: int) -> list[Mixer]:
    """What attends in layers that all keep a constant state, too: everything, or a window where the file says it."""
    listed = named(fields, count) or ["hybrid"] * count
    strange = next((mixer for mixer in listed if mixer not in ("full", "sliding", "hybrid")), None)
    if strange:
        raise InvalidModelConfig(
            f"config.json lists layers that are {strange} alone among those with attention and a constant state side "
            "by side, which is not understood: give the size of the model instead."
        )
    places = placed(fields, count) or ["full"] * count
    return [at if mixer == "hybrid" else mixer for mixer, at in zip(listed, places, strict=False)]


def _layer(fields: ConfigFields, mixer: Mixer, mlp: Mlp) -> Layer:
    """A layer of this kind: in Zamba only layers that apply the shared block have attention and an MLP."""
    zamba = family(fields) in model_families().shared_blocks
    if mixer == "hybrid":
        return Layer(mixer="full", mlp=mlp, mamba_beside=True, shared_weights=zamba)
    if family(fields) in model_families().parallel_mamba:
        return Layer(mixer=mixer, mlp=mlp, mamba_beside=True)
    alone = zamba or family(fields) in model_families().attention_free or state_alone(fields)
    return Layer(mixer=mixer, mlp="none" if alone else mlp)


def _differing(fields: ConfigFields, plan: list[Layer]) -> list[Layer]:
    """The layers with the heads and MLP widths that the file lists for each."""
    kv_heads = _listed(fields, ("num_key_value_heads_per_layer", *field_names()["kv_heads"]), plan)
    heads = _listed(fields, ("num_attention_heads_per_layer", *field_names()["heads"]), plan)
    widths = _listed(fields, field_names()["intermediate_size"], plan) or _multiplied(fields, len(plan))
    differing = [
        replace(
            layer,
            heads=heads[i] if heads else None,
            kv_heads=kv_heads[i] if kv_heads else None,
            mlp_width=widths[i] if widths else None,
        )
        for i, layer in enumerate(plan)
    ]
    of_windows = _heads_in_windows(fields)
    if of_windows and not heads:
        differing = [replace(at, heads=of_windows) if at.mixer == "sliding" else at for at in differing]
    overrides = {str(key): one for key, one in fields.section("per_layer_config").items() if isinstance(one, Mapping)}
    return [_overridden(layer, overrides.get(str(i), overrides.get(f"{i:02}"))) for i, layer in enumerate(differing)]


def _heads_in_windows(fields: ConfigFields) -> int | None:
    """Heads of layers inside a window where the file says them apart (Step 3.5, Baichuan-M1, MiMo-V2)."""
    other = fields.section("attention_other_setting")
    if other.get("attention_type") == "sliding_attention" and other.get("num_attention_heads") is not None:
        return checked_whole("attention_other_setting.num_attention_heads", other["num_attention_heads"], 1, 10**5)
    return fields.whole("swa_num_attention_heads", high=10**5)


_OVERRIDES = {
    "num_attention_heads": "heads",
    "num_key_value_heads": "kv_heads",
    "head_dim": "head_dim",
    "intermediate_size": "mlp_width",
}


def _overridden(layer: Layer, override: Mapping[str, Any] | None) -> Layer:
    """The layer with what ``per_layer_config`` says of it (transformers since 5.20), by its number."""
    given = {name: (override or {}).get(key) for key, name in _OVERRIDES.items()}
    numbers: dict[str, Any] = {name: checked_whole(name, n, 1, 10**7) for name, n in given.items() if n is not None}
    return replace(layer, **numbers)


def _listed(fields: ConfigFields, names: Sequence[str], plan: list[Layer]) -> list[int]:
    """Numbers that the file gives one per layer; empty where it gives none."""
    for key in names:
        numbers = fields.items(key)
        if numbers:
            if len(numbers) - len(plan) in _predicting(fields):
                numbers = numbers[: len(plan)]
            if len(numbers) != len(plan):
                raise InvalidModelConfig(
                    f"config.json lists {len(numbers)} {key} for {len(plan)} layers: make it and the layers agree."
                )
            return [checked_whole(key, value, 1, 10**7) for value in numbers]
    return []


def _multiplied(fields: ConfigFields, count: int) -> list[int]:
    """OpenELM: ``ffn_multipliers`` of the width, each made divisible by ``ffn_dim_divisor`` as in its own code."""
    factors = fields.items("ffn_multipliers")[:count]
    if not factors:
        return []
    hidden, divisor = fields.needed("hidden_size", low=16, high=10**6), fields.whole("ffn_dim_divisor") or 256
    widths = []
    for factor in factors + factors[-1:] * (count - len(factors)):
        wanted = checked_number("ffn_multipliers", factor, 0, 100) * hidden
        width = max(divisor, int(wanted + divisor / 2) // divisor * divisor)
        widths.append(width + divisor if width < 0.9 * wanted else width)
    return widths


def _reusing_kv(fields: ConfigFields, plan: list[Layer]) -> tuple[Layer, ...]:
    """The last ``num_kv_shared_layers`` layers reuse earlier keys and values; with ``use_double_wide_mlp`` their MLP is
    twice as wide (Gemma4TextMLP of transformers). With ``use_cla`` all but every ``cla_share_factor``-th layer reuse
    those of the layer before (cross-layer attention of Hunyuan-Large). In a decoder-decoder (SambaY) the second half
    attends to the one full layer between both."""
    shared = fields.whole("num_kv_shared_layers", low=0, high=MAX_LAYERS) or 0
    first = len(plan) // 2 + 2 if family(fields) in model_families().decoder_decoder else len(plan) - shared
    wide = 2 * (fields.whole("intermediate_size") or 0) if fields.flag("use_double_wide_mlp") else None
    followers = _followers(fields, len(plan))
    factor = fields.whole("cla_share_factor", high=MAX_LAYERS) or 1
    if not fields.flag("use_cla", default=fields.raw("use_cla") is None):
        factor = 1
    return tuple(
        replace(layer, reuses_kv=True, mlp_width=(wide if i >= first else None) or layer.mlp_width)
        if i >= first or i % factor or i in followers
        else layer
        for i, layer in enumerate(plan)
    )


def _followers(fields: ConfigFields, count: int) -> set[int]:
    """Layers that use keys and values of the first of their ``kv_reuse_group`` (HymbaModel of its own code)."""
    groups, every = fields.items("kv_reuse_group"), fields.whole("kv_reuse_every_i_layer", low=-1, high=MAX_LAYERS) or 0
    if any(not isinstance(group, list) or not all(isinstance(i, int) for i in group) for group in groups):
        reject("kv_reuse_group", groups, "lists of places of layers, from 0")
    if every > 0 and not groups:
        return {i for i in range(count) if i % every}
    return {i for group in groups for i in group[1:]}


def _from_blocks(fields: ConfigFields) -> tuple[Layer, ...] | None:
    """Nemotron-H (one letter or name per block), NAS models (``block_configs``), DeepSeek-V4 (``compress_ratios``)."""
    letters = fields.raw("hybrid_override_pattern")
    for key in ("layers_block_type", "layer_types"):
        names = [str(name) for name in fields.items(key)[:MAX_LAYERS]]
        if not letters and {"mlp", "moe"} & set(names):
            strange = [name for name in names if name not in BLOCK_NAMES]
            if strange:
                reject(key, strange[0], f"one of {', '.join(BLOCK_NAMES)}")
            letters = "".join(BLOCK_NAMES[name] for name in names)
    if isinstance(letters, str) and letters:
        unknown = sorted(set(letters) - set(BLOCK_LETTERS))
        if unknown or len(letters) > MAX_LAYERS:
            reject("hybrid_override_pattern", letters, "letters M, *, - and E, one per block")
        return tuple(BLOCK_LETTERS[letter] for letter in letters)
    if fields.items("block_configs"):
        return tuple(_searched_block(fields, block) for block in fields.items("block_configs")[:MAX_LAYERS])
    if compressed := _compress_ratios(fields):
        count = fields.needed("layers", high=MAX_LAYERS)
        ratios = [checked_whole("compress_ratios", r, 0, 1 << 20) for r in compressed[:count]]
        mlps = _mlps(fields, len(ratios))
        return tuple(
            Layer(mixer="full" if ratio else "sliding", mlp=mlp, compress_ratio=ratio)
            for ratio, mlp in zip(ratios, mlps, strict=True)
        )
    return None


_COMPRESSION = {"compressed_sparse_attention": 4, "heavily_compressed_attention": 128}
"""What transformers calls the two ratios of DeepSeek-V4, which ``compress_rates`` may change."""


def _compress_ratios(fields: ConfigFields) -> list[Any]:
    """Tokens that share a cached entry in each layer, 0 for a window alone; empty where nothing is compressed."""
    names = fields.items("layer_types")
    if fields.items("compress_ratios") or not any(isinstance(name, str) and name in _COMPRESSION for name in names):
        return fields.items("compress_ratios")
    rates = {**_COMPRESSION, **fields.section("compress_rates"), "sliding_attention": 0}
    strange = next((name for name in names if name not in rates), None)
    if strange is not None:
        reject("layer_types", strange, f"one of {', '.join(rates)}")
    return [rates[name] for name in names]


def _searched_block(fields: ConfigFields, block: Any) -> Layer:
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
    elif attention.get("num_key_value_heads") is not None:
        kv_heads = checked_whole("num_key_value_heads", attention["num_key_value_heads"], 1, 10**5)
    mult = ffn.get("ffn_mult")
    # The factor counts two thirds of a 4x wide MLP, rounded up to a multiple of 256 (DeciLM modelling code).
    width = None if mult is None else -(-int(2 * checked_number("ffn_mult", mult, 0, 100) * hidden / 3) // 256) * 256
    if ffn.get("intermediate_size") is not None:
        width = checked_whole("intermediate_size", ffn["intermediate_size"], 1, 10**7)
    matrices = sum(part.get("replace_with_linear") is True for part in (attention, ffn))
    if width is None and not (ffn.get("no_op") or ffn.get("replace_with_linear")):
        raise InvalidModelConfig(
            "config.json has a block_configs entry whose ffn says neither ffn_mult nor intermediate_size: such blocks "
            "are not understood; give the size of the model instead."
        )
    return Layer(
        mixer="none" if attention.get("no_op") or kv_heads is None else "full",
        mlp="none" if ffn.get("no_op") or width is None else "dense",
        kv_heads=kv_heads,
        mlp_width=width,
        square_matrices=matrices,
    )


def _mlps(fields: ConfigFields, count: int) -> list[Mlp]:
    """Which layers route tokens to experts; all dense when the file names no experts."""
    ffn = fields.section("ffn_config")
    has_experts = (fields.whole("experts", low=0, high=10**5) or 0) > 1 or ffn.get("moe_num_experts")
    if not has_experts or fields.raw("is_moe") is False:
        return ["dense"] * count
    return _listed_mlps(fields, count) or _mlps_by_rule(fields, count)


_MLP_LISTS: tuple[tuple[str, tuple[str | int, ...]], ...] = (
    ("mlp_layer_types", ("sparse", "moe", "hash_moe")),
    ("moe_layer_freq", (1, True)),
    ("is_moe_layer", (1, True)),
)
"""Fields with one entry per layer, and those that mean experts."""


def _listed_mlps(fields: ConfigFields, count: int) -> list[Mlp] | None:
    """Which layers have experts where a list says it: first of the file, under any name, then of its class."""
    places = fields.text("moe_layers_enum").replace(" ", "")
    if places and re.fullmatch(
        r"\d{1,4}(,\d{1,4})*", places
    ):  # Step-3 writes the places of its routed layers as a text
        routed_at = {int(place) for place in places.split(",")}
        return ["moe" if i in routed_at else "dense" for i in range(count)]
    of_file = ((fields.items(key), routed) for key, routed in _MLP_LISTS)
    of_class = ((fields.class_list(key, count), routed) for key, routed in _MLP_LISTS)  # notes what counted: asked last
    return next((mlps for listed, routed in chain(of_file, of_class) if (mlps := _routed(listed, routed, count))), None)


def _routed(listed: list[Any], routed: tuple[str | int, ...], count: int) -> list[Mlp] | None:
    """Experts where a list has one of the ``routed`` entries; None where it says something else."""
    if len(listed) < count or not set(map(str, listed)) <= {*map(str, routed), "dense", "0", "False"}:
        return None
    return ["moe" if kind in routed else "dense" for kind in listed[:count]]


def _mlps_by_rule(fields: ConfigFields, count: int) -> list[Mlp]:
    """Which layers have experts by place: behind the dense ones, every so many, within a range."""
    first = fields.whole("leading_dense_layers", low=0, high=MAX_LAYERS) or 0
    start = fields.whole("moe_layer_start_index", low=0, high=MAX_LAYERS) or 0
    end = fields.whole("moe_layer_end_index", low=-1, high=MAX_LAYERS)
    last = count - 1 if end is None or end < 0 else end
    steps = ("interleave_moe_layer_step", "decoder_sparse_step", "moe_layer_interval", "moe_every_n_layers")
    step = next((n for key in steps if (n := fields.whole(key, high=MAX_LAYERS))), 1)
    # DeepSeek counts from the first layer; a list is read already.
    every = fields.whole("moe_layer_freq", low=0, high=MAX_LAYERS) if type(fields.raw("moe_layer_freq")) is int else 1
    period = fields.whole("expert_layer_period", high=MAX_LAYERS) or 1
    offset = fields.whole("expert_layer_offset", low=0, high=MAX_LAYERS) or 0
    dense_only = fields.items("mlp_only_layers")
    return [
        "moe"
        if max(first, start) <= i <= last
        and (i + 1) % step == 0
        and i % (every or 1) == 0
        and (period == 1 or i % period == offset)
        and i not in dense_only
        else "dense"
        for i in range(count)
    ]
