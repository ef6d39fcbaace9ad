"""What ``quantization_config`` says: in which format weights are stored, and which modules are not.

A method is read from its own fields, never taken for 16 bit: one that is not known and says no bits is refused.
Sources: transformers.utils.quantization_config 5.24, vLLM 0.33.0 (model_executor/layers/quantization), AMD Quark,
NVIDIA ModelOpt and AutoRound, as their checkpoints write it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from commandline.foreign_text import shown
from sizing.base.errors import InvalidModelConfig
from sizing.catalog.codebook_methods import aqlm, exllama, spqr, vptq
from sizing.catalog.torchao_methods import torchao
from sizing.catalog.weight_schemes import (
    BITS_KEYS,
    FP8,
    INT8,
    INT8_WO,
    MXFP4,
    MXFP8,
    NVFP4,
    WIDE,
    Quantisation,
    Scheme,
    Section,
    bitnet,
    bits_of,
    fixed,
    four_over_six,
    fp_quant,
    gguf,
    group_of,
    of_bits,
    weights_of_bits,
)

_LEFT_KEYS = (
    "modules_to_not_convert",
    "ignore",
    "ignored_layers",
    "exclude_modules",
    "exclude",
    "exclude_layers",
    "skip_modules",
    "llm_int8_skip_modules",
    "modules_to_not_quantize",
)
"""What methods call the list of modules that stay in 16 bit."""
_MODES = {"mxfp4": MXFP4, "nvfp4": NVFP4, "mxfp8": MXFP8}
"""What MLX calls its floating-point formats; without a mode its weights are whole numbers."""
_MLX_ENDS = {
    "head": ("lm_head", "language_model.lm_head"),
    "embeddings": ("model.embed_tokens", "language_model.model.embed_tokens"),
}
_MOST_PATTERNS = 50_000
_OF_EXPRESSIONS = frozenset("*+?^$()[]{}|\\")
"""Characters by which vLLM 0.33 knows an expression among AutoRound's names (quantization/inc)."""
_NEARLY_A_BYTE = 0.97
_SPARSE = "weights are stored sparsely: counted as if they were not, which is too many"


def quantisation(section: Section) -> Quantisation | None:
    """What a ``quantization_config`` says; None for an empty one. Raises InvalidModelConfig where it says no format."""
    nested = section.get("quantization")
    if isinstance(nested, Mapping) and "quant_algo" in nested:
        section = {**section, **nested}
    method = _method(section)
    if method in ("compressed-tensors", "modelopt", "") and _cache_alone(section):
        return Quantisation(main=WIDE, notes=("quantization_config is about the KV cache alone: 16-bit weights",))
    if method == "compressed-tensors" and not section.get("config_groups") and section.get("sparsity_config"):
        return Quantisation(main=WIDE, notes=(_SPARSE,))
    if not section or (method in ("", "none") and not section.keys() - {"quant_method"}):
        return None
    if isinstance(section.get("config_groups"), Mapping) and section["config_groups"] and method != "quark":
        read = _grouped(section)
    else:
        reader = _READERS.get(method) or (_modelopt if "quant_algo" in section else None)
        read = reader(section) if reader else _by_bits(section, method)
    odd = read.main.precision == "int8_wo" and read.main.bytes < _NEARLY_A_BYTE
    nearest = (
        f"weights of {read.main.bytes * 8:.3g} bit, scales included, count as INT8 weight-only, the next wider format"
    )
    notes = (*read.notes, *([nearest] if odd else []), *_of_cache(section))
    return replace(read, left=tuple(_left(section)[:_MOST_PATTERNS]), notes=notes)


def _of_cache(section: Section) -> tuple[str, ...]:
    """That keys and values have scales of their own, which vLLM then keeps in 8 bit or less unless told otherwise
    (0.33: Attention of compressed-tensors, resolve_kv_cache_dtype_string of ModelOpt)."""
    algorithm, scheme = section.get("kv_cache_quant_algo"), section.get("kv_cache_scheme")
    bits = bits_of(scheme) if isinstance(scheme, Mapping) else None
    kind = algorithm if isinstance(algorithm, str) else {8.0: "FP8", 4.0: "NVFP4"}.get(bits or 0.0)
    if not kind:
        return ()
    return (f"the checkpoint scales its KV cache for {shown(kind)}, in which vLLM keeps it: choose that KV format",)


def _cache_alone(section: Section) -> bool:
    """Whether only keys and values are quantised."""
    weights = any(section.get(key) for key in ("config_groups", "quant_algo", "quantized_layers", *BITS_KEYS))
    return not weights and any(section.get(key) for key in ("kv_cache_scheme", "kv_cache_quant_algo"))


def _method(section: Section) -> str:
    name = section.get("quant_method")
    if name is None and {"load_in_4bit", "load_in_8bit"} & section.keys():
        return "bitsandbytes"  # which wrote no method until 2023
    return name.lower().rpartition("/")[2].replace("_", "-") if isinstance(name, str) else ""


def _left(section: Section) -> list[str]:
    lists = (section.get(key) for key in _LEFT_KEYS)
    return [str(name) for names in lists if isinstance(names, list) for name in names[:_MOST_PATTERNS]]


def _by_bits(section: Section, method: str) -> Quantisation:
    """A method that is not known: what its bits say. Raises InvalidModelConfig where it says none."""
    bits = bits_of(section)
    if bits is None:
        raise InvalidModelConfig(
            f"config.json is quantised by “{shown(method or 'no quant_method')}”, not known and without bits: "
            f"add the bits of a weight to quantization_config ({', '.join(BITS_KEYS[:3])})."
        )
    if bits > 8:
        return Quantisation(main=WIDE, notes=(f"quantization_config says {bits:g} bits: 16-bit weights",))
    if method in ("", "mlx"):
        return _mlx(section)
    known = method in ("rtn", "bitblas", "ipex", "marlin", "inc", "moe-wna16", "sinq", "metal")
    note = () if known else (f"quantisation “{shown(method)}” is not known: {bits:g}-bit weights as its bits say",)
    return Quantisation(main=weights_of_bits(bits, group_of(section)), notes=note)


def _mlx(section: Section) -> Quantisation:
    """MLX, which names no method: embeddings and head are quantised, too, and modules may have numbers of their own.

    A module beside ``bits`` has a section with other numbers, or ``false`` where it stays in 16 bit.
    """
    main = _mlx_scheme(section)
    listed = tuple(
        (name, _mlx_scheme({**section, **one} if "mode" not in one else one) if isinstance(one, Mapping) else WIDE)
        for name, one in list(section.items())[:_MOST_PATTERNS]
        if one is False or (isinstance(one, Mapping) and bits_of(one) is not None)
    )
    named = dict(listed)
    ends = {part: next((named[name] for name in names if name in named), main) for part, names in _MLX_ENDS.items()}
    return Quantisation(main=main, listed=listed, head=ends["head"], embeddings=ends["embeddings"])


def _mlx_scheme(section: Section) -> Scheme:
    """Floating-point formats by their mode, whole numbers with a scale and a bias of 16 bit for each group."""
    mode = section.get("mode")
    if isinstance(mode, str) and mode in _MODES:
        return _MODES[mode]
    bits, group = bits_of(section) or 4.0, group_of(section)
    scheme = weights_of_bits(bits, group)
    return replace(scheme, bytes=bits / 8 + 4 / group) if group > 0 else scheme


def _integer(method: str) -> Callable[[Section], Quantisation]:
    """GPTQ, AWQ and their kin: bits of 2, 3, 4 or 8 with scales by group, and lists of exceptions."""

    def read(section: Section) -> Quantisation:
        bits, group = bits_of(section) or 4.0, group_of(section)
        main = weights_of_bits(bits, group, method=method)
        head = main if section.get("lm_head") is True or section.get("quant_lm_head") is True else None
        unsaid = bits_of(section) is None
        notes = (f"quantization_config says {method.upper()} without bits: taken as 4-bit weights",) if unsaid else ()
        listed = _exceptions(section, main, group, method)
        only = section.get("modules_in_block_to_quantize")
        parts = only if isinstance(only, list) else []
        names = [str(name) for part in parts for name in (part if isinstance(part, list) else [part])]
        return Quantisation(
            main=main,
            holds="listed" if names else "all",
            listed=(*listed, *((name, main) for name in names)),
            head=head,
            notes=notes,
        )

    return read


def _exceptions(section: Section, main: Scheme, group: int, method: str) -> tuple[tuple[str, Scheme], ...]:
    """``dynamic`` of GPTQModel ("-:" leaves, "+:" changes modules by expression), ``extra_config`` of AutoRound.

    AutoRound writes names, or expressions that are searched for.
    """
    listed: list[tuple[str, Scheme]] = []
    for key, is_regex in (("dynamic", True), ("extra_config", False)):
        entries = section.get(key)
        for pattern, change in entries.items() if isinstance(entries, Mapping) else ():
            bits = bits_of(change) if isinstance(change, Mapping) else None
            own = group_of(change) or group if isinstance(change, Mapping) else group
            scheme = main if bits is None else WIDE if bits > 8 else weights_of_bits(bits, own, method=method)
            sign, _, rest = str(pattern).partition(":")
            bare = rest if sign in ("+", "-") else str(pattern)
            if not is_regex and set(bare) & _OF_EXPRESSIONS:
                bare = f"re:.*(?:{bare.removeprefix('.*')})"
            listed.append((f"re:{bare}" if is_regex else bare, WIDE if sign == "-" else scheme))
    return tuple(listed)


def _auto_round(section: Section) -> Quantisation:
    """AutoRound and Intel's Neural Compressor: integers, or ``data_type`` mx_fp, nv_fp, fp8."""
    data = str(section.get("data_type", "int")).lower()
    bits = bits_of(section) or 4.0
    if data.startswith("nv_fp"):
        return Quantisation(main=NVFP4)
    if data.startswith("mx_fp"):
        return Quantisation(main=MXFP4 if bits <= 4 else MXFP8)
    if data.startswith("fp"):
        return Quantisation(main=FP8)
    awq = "awq" in str(section.get("packing_format", "")).lower()
    return _integer("awq" if awq else "gptq")(section)


def _bitsandbytes(section: Section) -> Quantisation:
    """NF4 or FP4 in blocks of 64 with scales in 32 bit, or in 8 bit where they are quantised again; or LLM.int8()."""
    if section.get("load_in_8bit") is True and section.get("load_in_4bit") is not True:
        return Quantisation(main=INT8_WO)
    if section.get("load_in_8bit") is False and section.get("load_in_4bit") is False:
        return Quantisation(main=WIDE, notes=("bitsandbytes is told to quantise nothing: 16-bit weights",))
    scale = 1 if section.get("bnb_4bit_use_double_quant") is True else 4
    return Quantisation(main=Scheme(precision="int4_wo", bytes=0.5 + scale / 64))


def _hqq(section: Section) -> Quantisation:
    """HQQ: ``weight_quant_params`` for all layers, or one for each kind of layer."""
    config = section.get("quant_config")
    config = config if isinstance(config, Mapping) else section
    overall = _hqq_scheme(config)
    if overall:
        return Quantisation(main=overall)
    listed = tuple((str(name), scheme) for name, one in config.items() if (scheme := _hqq_scheme(one)))
    if not listed:
        return _by_bits(section, "hqq")
    return Quantisation(main=listed[0][1], holds="listed", listed=listed)


def _hqq_scheme(holder: object) -> Scheme | None:
    params = holder.get("weight_quant_params", holder) if isinstance(holder, Mapping) else None
    bits = bits_of(params) if isinstance(params, Mapping) else None
    return None if bits is None or not isinstance(params, Mapping) else weights_of_bits(min(bits, 8), group_of(params))


def _quanto(section: Section) -> Quantisation:
    named = str(section.get("weights", "int8")).lower()
    if "float8" in named:
        return Quantisation(main=FP8)
    return Quantisation(
        main=weights_of_bits(float(named[-1]) if named[-1:].isdigit() else 8.0, 128 if named != "int8" else 0)
    )


def _quark(section: Section) -> Quantisation:
    """AMD Quark: ``global_quant_config.weight`` and exceptions by pattern in ``layer_quant_config``."""
    overall = section.get("global_quant_config")
    main = _quark_scheme(overall if isinstance(overall, Mapping) else section)
    by_type = section.get("layer_type_quant_config")
    for kind, one in by_type.items() if isinstance(by_type, Mapping) else ():
        main = _quark_scheme(one) if "linear" in str(kind).lower() and isinstance(one, Mapping) else main
    listed = section.get("layer_quant_config")
    by_layer = listed.items() if isinstance(listed, Mapping) else ()
    return Quantisation(
        main=main, listed=tuple((str(name), _quark_scheme(one)) for name, one in by_layer if isinstance(one, Mapping))
    )


def _quark_scheme(config: Section) -> Scheme:
    weight = config.get("weight")
    weight = weight[-1] if isinstance(weight, list) and weight else weight  # the last of several stages is stored
    inputs = config.get("input_tensors")
    if not isinstance(weight, Mapping):
        return WIDE
    kind, group = str(weight.get("dtype", "")).lower(), group_of(weight)
    if kind.startswith("fp8"):
        return MXFP8 if weight.get("scale_format") == "e8m0" else FP8
    if kind.startswith(("fp4", "mx")):
        return MXFP4 if group != 16 else NVFP4
    if kind.startswith("fp6"):
        return Scheme(precision="int8_wo", bytes=0.75 + 1 / 32)
    if kind.startswith(("int", "uint")) and kind[-1:].isdigit():
        if kind.endswith("8") and isinstance(inputs, Mapping):
            return INT8
        scheme = weights_of_bits(float(kind[-1]), group)
        return replace(scheme, precision="w4a8_awq") if kind.endswith("4") and isinstance(inputs, Mapping) else scheme
    return WIDE if "float16" in kind else _by_bits(weight, f"quark {kind}").main


def _deepspeed(section: Section) -> Quantisation:
    bits = bits_of(section) or 8.0
    return Quantisation(main=replace(FP8 if bits >= 8 else INT8_WO, bytes=bits / 8))


_USUAL_GROUP = 128
"""Weights that share a scale in INT4 of ModelOpt (INT4_AWQ_CFG)."""
_ALGORITHMS = (
    ("w4a16_nvfp4", NVFP4),
    ("nvfp4", NVFP4),
    ("w4a8_mxfp4", MXFP4),
    ("mxfp4", MXFP4),
    ("mxfp8", MXFP8),
    ("w4a8_nvfp4", NVFP4),
    ("w4a8", Scheme(precision="w4a8_awq", bytes=0.5 + 2.5 / _USUAL_GROUP)),
    ("w4a16", Scheme(precision="int4_awq", bytes=0.5 + 2.5 / _USUAL_GROUP)),
    ("int4", Scheme(precision="int4_awq", bytes=0.5 + 2.5 / _USUAL_GROUP)),
    ("w8a16", INT8_WO),
    ("w8a8_sq", INT8),
    ("int8", INT8),
    ("fp8", FP8),
    ("fp4", NVFP4),
)
"""Algorithms of ModelOpt by how their names begin, the longer first."""


def algorithm(name: str) -> Scheme | None:
    """The format of an algorithm of ModelOpt (``quant_algo``); None for one that is not known."""
    lower = name.lower()
    return next((scheme for mark, scheme in _ALGORITHMS if lower.startswith(mark)), None)


def _grouped_algorithm(name: str, section: Section) -> Scheme | None:
    """The format of an algorithm with the group that the file says where it is one of INT4, whose usual one is 128."""
    scheme, group = algorithm(name), group_of(section)
    if scheme is None or group in (0, _USUAL_GROUP) or scheme.precision not in ("int4_awq", "w4a8_awq"):
        return scheme
    return replace(scheme, bytes=0.5 + 2.5 / group)


def _modelopt(section: Section) -> Quantisation:
    """ModelOpt: one algorithm for all layers, or MIXED_PRECISION with one for each of ``quantized_layers``."""
    name = str(section.get("quant_algo") or "")
    layers = section.get("quantized_layers")
    if isinstance(layers, Mapping) and layers:
        listed = tuple(
            (str(module), _grouped_algorithm(str(one.get("quant_algo", "")), one) or WIDE)
            for module, one in list(layers.items())[:_MOST_PATTERNS]
            if isinstance(one, Mapping)
        )
        return Quantisation(main=listed[0][1] if listed else WIDE, holds="listed", listed=listed)
    scheme = _grouped_algorithm(name, section) or ({"modelopt-fp4": NVFP4}.get(_method(section)) if not name else None)
    if scheme is None:
        raise InvalidModelConfig(
            f"config.json is quantised by ModelOpt with quant_algo “{shown(name)}”, which tells no format: looked "
            "for quantized_layers (it may stand in hf_quant_config.json: add it under quantization_config)."
        )
    return Quantisation(main=scheme)


def _grouped(section: Section) -> Quantisation:
    """compressed-tensors, and ModelOpt in its form: groups of layers, each with the numbers of its weights."""
    groups = [group for group in section["config_groups"].values() if isinstance(group, Mapping)]
    named = ((group.get("targets"), _group_scheme(group)) for group in groups)
    schemes = [(targets if isinstance(targets, list) and targets else ["Linear"], scheme) for targets, scheme in named]
    everywhere = next((scheme for targets, scheme in schemes if "Linear" in targets), None)
    listed = tuple((str(target), scheme) for targets, scheme in schemes for target in targets if target != "Linear")
    if everywhere is None and not listed:
        raise InvalidModelConfig("config.json has config_groups without weights and targets: use the unchanged file.")
    sparse = section.get("sparsity_config")
    packed = isinstance(sparse, Mapping) and "sparse" in str(sparse.get("format", "")).lower()
    return Quantisation(
        main=everywhere or listed[0][1],
        holds="all" if everywhere else "listed",
        listed=listed[:_MOST_PATTERNS],
        head=_end(schemes, "lm_head") or (everywhere if section.get("ignore") == [] else None),
        embeddings=_end(schemes, "embed_tokens") or next((s for targets, s in schemes if "Embedding" in targets), None),
        notes=(_SPARSE,) if packed else (),
    )


def _end(schemes: Sequence[tuple[list[Any], Scheme]], name: str) -> Scheme | None:
    """The format of the head or the embeddings where a group of layers names them, unless to leave them out."""
    named = ((scheme, str(target)) for targets, scheme in schemes for target in targets)
    return next((scheme for scheme, target in named if name in target and "(?!" not in target), None)


def _group_scheme(group: Section) -> Scheme:
    weights, activations = group.get("weights"), group.get("input_activations")
    if not isinstance(weights, Mapping):
        return WIDE
    bits, size = bits_of(weights) or 16.0, group_of(weights)
    narrow = isinstance(activations, Mapping) and (bits_of(activations) or 16.0) <= 8
    if weights.get("type") == "float":
        packed = str(group.get("format", "")).lower()
        if bits >= 8:
            return MXFP8 if size == 32 else FP8
        return MXFP4 if size == 32 or packed.startswith("mxfp4") else NVFP4
    zeros = weights.get("symmetric") is False
    if bits >= 8:
        return WIDE if bits > 8 else INT8 if narrow else weights_of_bits(8, size, zeros=zeros)
    scheme = weights_of_bits(bits, size, zeros=zeros)
    return replace(scheme, precision="w4a8_awq") if narrow and scheme.precision == "int4_wo" else scheme


_READERS: Mapping[str, Callable[[Section], Quantisation]] = {
    **dict.fromkeys(("gptq", "gptq-marlin", "gptq-marlin-24", "gptqmodel", "gptq-bitblas"), _integer("gptq")),
    **dict.fromkeys(("awq", "awq-marlin", "auto-awq", "autoawq"), _integer("awq")),
    **dict.fromkeys(("auto-round", "autoround", "inc"), _auto_round),
    "gguf": gguf,
    **dict.fromkeys(("bitsandbytes", "bnb"), _bitsandbytes),
    **dict.fromkeys(("hqq", "hqq-marlin"), _hqq),
    **dict.fromkeys(("fp8", "fbgemm-fp8", "finegrained-fp8", "ptpc-fp8", "w8a8-fp8"), fixed(FP8)),
    **dict.fromkeys(("exl2", "exl3"), exllama),
    **dict.fromkeys(("eetq", "tpu-int8"), fixed(INT8_WO)),
    **dict.fromkeys(("w8a8-int8", "blockwise-int8"), fixed(INT8)),
    **dict.fromkeys(("w4afp8", "qoq", "qserve"), fixed(Scheme(precision="w4a8_awq", bytes=0.5 + 2 / 128))),
    **dict.fromkeys(("modelopt", "modelopt-fp4", "modelopt-mixed", "modelopt-mxfp8"), _modelopt),
    "quip": of_bits(2),
    "vptq": vptq,
    "aqlm": aqlm,
    "quark": _quark,
    "torchao": torchao,
    "quanto": _quanto,
    "bitnet": bitnet,
    "mxfp4": fixed(MXFP4, "experts"),
    "mxfp8": fixed(MXFP8),
    "fp-quant": fp_quant,
    "deepspeedfp": _deepspeed,
    "petit-nvfp4": fixed(NVFP4),
    "experts-int8": fixed(INT8_WO, "experts"),
    "higgs": of_bits(4),
    "spqr": spqr,
    "fouroversix": four_over_six,
}
