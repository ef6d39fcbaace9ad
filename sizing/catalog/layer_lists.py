"""How model families write down which layer attends, and to what: lists of names, of places, of letters, or a rule.

Each reader knows one spelling and returns None where the file does not use it. A list that looks like one of these and
is none of them is refused: layers that are taken for others change memory by a factor.
"""

import re
from collections.abc import Callable
from typing import Any, Literal

from sizing.base.errors import InvalidModelConfig
from sizing.catalog.config_fields import ConfigFields, reject
from sizing.catalog.model_families import family, model_families

Mixer = Literal["full", "sliding", "linear", "mamba", "conv", "cross", "hybrid", "none"]
"""What mixes tokens in a layer; ``conv`` is a short convolution alone, ``cross`` attends to another modality,
``hybrid`` is Mamba with attention beside or behind it."""

MAX_LAYERS = 2_000
"""Most layers read from a config.json. Chosen: because it is more than ten times the deepest model of the catalogue."""

_NAMES: dict[Mixer, str] = {
    "full": "full_attention attention global full a t deepseek_sparse_attention sparse_attention sparse "
    "global_attention indexed_attention minimax_m3_sparse softmax_attention attn self_attention gqa mla "
    "reference_sliding_attention",
    "sliding": "sliding_attention chunked_attention local sliding swa local_attention window_attention",
    "linear": "linear_attention kda gdn gated_deltanet lightning_attention recurrent r linear gla",
    "mamba": "mamba mamba2 m2 m2d m mamba1 ssm",
    "conv": "conv short_conv convolution",
    "cross": "cross_attention",
    "hybrid": "hybrid g",
}
MIXER_NAMES: dict[str, Mixer] = {name: mixer for mixer, names in _NAMES.items() for name in names.split()}

NAME_LISTS = (
    "layer_types",
    "layer_type",
    "layer_type_list",
    "layers_block_type",
    "attention_layers",
    "mixer_types",
    "layers_type",
)
"""Fields with one name per layer; transformers uses the first since 4.53."""
CYCLES = ("block_types", "_block_types", "hybrid_block_layout")
"""Fields with the names of a period that repeats over the layers (RecurrentGemma)."""
ATTENDING = (
    "attn_layer_indices",
    "full_attn_idxs",
    "attn_layer_idxs",
    "attn_layer_idx",
    "full_attention_idx",
    "full_attn_idx",
    "attention_layer_indices",
    "attention_layer_idxs",
    "full_attention_layers",
    "full_attn_layers",
    "global_attn_idx",
    "hybrid_layer_ids",
    "gqa_layers",
)
"""Fields with the places of the layers that attend to everything, from 0; the others do what ``_others`` says."""

_LIKE_A_LAYER_LIST = re.compile(
    r"(attn|attention|mixer|mamba|recurrent|linear|hybrid|window|swa|block|layers?)s?_?.*"
    r"(idx|idxs|ids|indices|index|indexes|types?|pattern|layers|list|layout|map)$"
)
_OTHER_LISTS = re.compile(
    r"rope|mtp|nextn|moe|mlp|aux|deepstack|dense|draft|eagle|target|lora|skip|visual|vision|image|audio"
)
_OTHERWISE_READ = frozenset(
    {
        *NAME_LISTS,
        *CYCLES,
        *ATTENDING,
        "attn_type_list",
        "hybrid_layer_pattern",
        "sliding_window_layout",
        "gating_types",
        "sliding_window_layers",
        "cross_attention_layers",
        "mamba_layers",
    }
    | {
        "sliding_window_pattern",
        "layer_group_size",
        "attention_types",
        "indexer_types",
        "compress_ratios",
        "kda_layers",
    }
    | {"block_configs", "hybrid_override_pattern", "num_key_value_heads_per_layer", "mlp_layer_types"}
)


def refuse_unknown_lists(fields: ConfigFields) -> None:
    """Raise InvalidModelConfig for a list over layers whose meaning is not known, by its name in the file."""
    count = fields.whole("layers", high=MAX_LAYERS)
    for key, value in fields.inner.items():
        listed = isinstance(value, list) and len(value) > 1 and all(isinstance(v, str | int) for v in value)
        # Names, one per layer, say what the layers are, whatever the list is called.
        names = listed and len(value) == count and any(isinstance(v, str) for v in value)
        unknown = (names or _LIKE_A_LAYER_LIST.search(str(key))) and not _OTHER_LISTS.search(str(key))
        if listed and unknown and key not in _OTHERWISE_READ:
            raise InvalidModelConfig(
                f"config.json has a list {str(key)[:60]}, which is not understood: looked for layers in layer_types, "
                "layers_block_type, block_types, attn_layer_indices and the like. State the layers as layer_types."
            )


_SIZES_OF_STATE = (
    "mamba_d_state",
    "ssm_state_size",
    "mamba_n_heads",
    "mamba_num_heads",
    "linear_num_value_heads",
    "linear_attn_config",
    "linear_num_heads",
    "lru_width",
    "conv_L_cache",
)
"""Fields that only models with layers of constant state have."""


def refuse_unplaced_state(fields: ConfigFields) -> None:
    """Raise InvalidModelConfig for a file with the widths of Mamba layers that does not say which layers they are."""
    given = next((key for key in _SIZES_OF_STATE if key in fields.inner and fields.given(key)), None)
    if given:
        raise InvalidModelConfig(
            f"config.json has {given}, of layers with a constant state, but does not say which layers: looked for "
            "layer_types, layers_block_type, attn_layer_indices, attn_layer_period, full_attention_interval."
        )


def named(fields: ConfigFields, count: int) -> list[Mixer] | None:
    """One name per layer, or the names of a period."""
    for key in NAME_LISTS:
        if (names := fields.items(key)) and not fields.items("hybrid_layer_ids"):
            return _all_named(fields, key, names[:MAX_LAYERS])
    for key in CYCLES:
        if names := fields.items(key):
            period = [_mixer(key, name) for name in names[:MAX_LAYERS]]
            # Griffin's attention is local, whatever the file calls it (RecurrentGemmaSdpaAttention).
            local = fields.given("lru_width") or family(fields) == "recurrent_gemma"
            return [
                "sliding" if local and at == "full" else at for at in (period[i % len(period)] for i in range(count))
            ]
    return _typed(fields)


_BESIDE_CONVOLUTIONS = {"hybrid_sliding": "sliding", "hybrid": "full"}
"""What Inkling and ZAYA call attention, beside which their layers have convolutions: no Mamba stands in them."""


def _all_named(fields: ConfigFields, key: str, names: list[Any]) -> list[Mixer]:
    own = _BESIDE_CONVOLUTIONS if family(fields).startswith(("inkling", "zaya")) else {}
    own = {"h": "hybrid"} if family(fields) == "hymba" else own
    return [_mixer(key, own.get(name, name) if isinstance(name, str) else name) for name in names]


def _mixer(key: str, name: Any) -> Mixer:
    mixer = MIXER_NAMES.get(name.lower()) if isinstance(name, str) else None
    if mixer is None:
        reject(key, name, "full_attention, sliding_attention, linear_attention, mamba, conv or hybrid, one per layer")
    return mixer


def _typed(fields: ConfigFields) -> list[Mixer] | None:
    """GPT-Neo: ``attention_types`` as [[["global", "local"], 12]], a period and how often it repeats."""
    mixers: list[Mixer] = []
    for entry in fields.items("attention_types"):
        names, times = entry if isinstance(entry, list) and len(entry) == 2 else (None, None)
        if not isinstance(names, list) or not isinstance(times, int) or not 0 < times <= MAX_LAYERS:
            reject("attention_types", entry, "a list of names and how often it repeats")
        mixers.extend([_mixer("attention_types", name) for name in names] * times)
    return mixers or None


def placed(fields: ConfigFields, count: int) -> list[Mixer] | None:
    """Places of the layers that attend; the others keep a constant state."""
    for key in ATTENDING:
        if key in fields.inner and fields.items(key):
            places = fields.items(key)
            if any(not isinstance(place, int) or not 0 <= place < count for place in places):
                reject(key, places, f"places of layers, from 0 to {count - 1}")
            attends: Mixer = "hybrid" if key == "hybrid_layer_ids" else "full"
            return [attends if i in places else _others(fields) for i in range(count)]
    return None


def _others(fields: ConfigFields) -> Mixer:
    """What the layers do that a list of attending layers leaves out."""
    if family(fields) in model_families().parallel_mamba:
        return "sliding" if fields.given("sliding_window") else "full"
    if fields.given("conv_L_cache"):
        return "conv"
    if any(fields.given(key) for key in ("mamba_d_state", "ssm_state_size", "mamba_n_heads", "mamba_num_heads")):
        return "mamba"
    return "sliding" if fields.given("sliding_window") else "linear"


def state_alone(fields: ConfigFields) -> bool:
    """Whether a file of the first Mamba models (``ssm_cfg``) has no list of layers that attend, too."""
    return "ssm_cfg" in fields.inner and not any(fields.items(key) for key in (*NAME_LISTS, *CYCLES, *ATTENDING))


def by_rule(fields: ConfigFields, count: int) -> list[Mixer] | None:
    """Linear-attention and Mamba models: by interval, by period, or by 0/1 per layer."""
    interval = fields.whole("full_attention_interval", high=MAX_LAYERS)
    interval = interval or model_families().full_interval.get(family(fields))
    if interval:
        return ["linear" if (i + 1) % interval else "full" for i in range(count)]
    group = fields.whole("layer_group_size", high=MAX_LAYERS)
    if group:
        # The layers behind the last whole group attend, too (modelling code of Ring-mini-linear-2.0).
        return ["full" if (i + 1) % group == 0 or i >= count // group * group else "linear" for i in range(count)]
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
    if fields.items("sliding_window_layers"):
        return ["sliding" if i in fields.items("sliding_window_layers") else "full" for i in range(count)]
    flags = fields.items("hybrid_layer_pattern") or fields.items("sliding_window_layout")
    if flags:
        return ["sliding" if kind else "full" for kind in flags]
    step = fields.whole("mamba_step", high=MAX_LAYERS)
    if step:
        return _plamo(fields, count, step)
    if family(fields) in model_families().decoder_decoder:
        return _sambay(fields, count)
    return None


def _sambay(fields: ConfigFields, count: int) -> list[Mixer]:
    """SambaY (Phi-4-mini-flash): Mamba and windows in turn, one full layer behind the middle, then layers that attend
    to its keys and values, with gated memory units, which keep nothing, in place of Mamba (SambaYCache of its code)."""
    step, half = fields.whole("mb_per_layer", high=MAX_LAYERS) or 2, count // 2
    memory: tuple[Mixer, Mixer] = ("mamba", "none")
    attends: tuple[Mixer, Mixer] = ("sliding", "full")
    return [attends[i >= half] if i % step else memory[i > half] for i in range(count)]


def _plamo(fields: ConfigFields, count: int, step: int) -> list[Mixer]:
    """PLaMo 2: every ``mamba_step``-th layer attends (``is_mamba`` of its modelling code), inside a window where it has
    one and the layer is none of ``full_attention_idx``."""
    attends: Mixer = "sliding" if fields.given("sliding_window") else "full"
    half = step // 2
    at = [i == count - 1 for i in range(count)] if count <= half else [i % step == half for i in range(count)]
    return [attends if here else "mamba" for here in at]


def windows(fields: ConfigFields, count: int) -> list[Mixer] | None:
    """Sliding-window models without layer types: by pattern, by family, or by chunk size (Llama 4)."""
    kind, families = family(fields), model_families()
    if fields.whole("attention_chunk_size", high=10**8) and kind.startswith("llama4"):
        step = 4  # every fourth layer has no rotary embedding and attends to everything (Llama 4 reference)
        return ["sliding" if (i + 1) % step else "full" for i in range(count)]
    every = fields.whole("global_attn_every_n_layers", high=MAX_LAYERS) or families.full_first.get(kind)
    if every:
        first = 0 if kind in families.full_first else every - 1
        return ["full" if i % every == first else "sliding" for i in range(count)]
    cycle = _window_cycle(fields)
    if cycle:
        return [cycle[i % len(cycle)] for i in range(count)]
    window = fields.raw("sliding_window")
    nested = len(fields.sections) > 1  # what a section leaves out is its class's
    if window is None and (kind in families.sliding_pattern or (nested and kind in families.always_sliding)):
        window = fields.default("sliding_window")
    if window is None or window is False or window == 0 or fields.raw("use_sliding_window") is False:
        return None
    pattern = fields.whole("sliding_window_pattern", high=MAX_LAYERS) or fields.whole("_sliding_window_pattern")
    pattern = pattern or families.sliding_pattern.get(kind)
    if pattern:
        return ["sliding" if (i + 1) % pattern else "full" for i in range(count)]
    if fields.raw("use_sliding_window") is True:
        first = fields.whole("max_window_layers", low=0, high=MAX_LAYERS) or 0
        return ["sliding" if i >= first else "full" for i in range(count)]
    return ["sliding"] * count if kind in families.always_sliding else None


def _window_cycle(fields: ConfigFields) -> list[Mixer]:
    """A period of windows: letters (EXAONE 4: "LLLG"), flags (1 is a window), or a window per layer, null for none."""
    pattern, window = fields.raw("sliding_window_pattern"), fields.raw("sliding_window")
    if isinstance(pattern, str) and fields.given("sliding_window"):
        if set(pattern.upper()) - set("LSGF") or not pattern:
            reject("sliding_window_pattern", pattern, "letters L for local and G for global layers, or a number")
        return ["sliding" if letter in "LS" else "full" for letter in pattern.upper()]
    if isinstance(pattern, list) and pattern:
        local = (1, True, "local", "sliding_attention", "sliding", "L")
        return ["sliding" if kind in local else "full" for kind in pattern]
    if isinstance(window, list) and window:
        return ["sliding" if size else "full" for size in window]
    return []


def by_class(fields: ConfigFields, count: int) -> list[Mixer] | None:
    """The layers as the class of transformers lays them out where the file is silent, last of all."""
    for key in ("layer_types", "layers_block_type"):
        if names := fields.class_list(key, count):
            mixers = _all_named(fields, key, names)
            # A window that the file sets to null is none, whatever the class lays out.
            return ["full" if mixer == "sliding" and not _has_window(fields) else mixer for mixer in mixers]
    return None


def _has_window(fields: ConfigFields) -> bool:
    return any(fields.whole(fact, high=10**8) for fact in ("sliding_window", "attention_chunk_size"))


MIXER_READERS: tuple[Callable[[ConfigFields, int], list[Mixer] | None], ...] = (
    named,
    placed,
    by_rule,
    windows,
    by_class,
)
