"""torchao: the class of a configuration, as a text or as ``_type``, for all modules or for those that it names.

Sources: torchao 0.15 (quantization/quant_api.py, prototype/mx_formats) and transformers' TorchAoConfig 5.24, which
writes its classes as ``{"_type": ..., "_data": {...}}``.
"""

import re
from collections.abc import Mapping
from typing import Any

from commandline.foreign_text import shown
from sizing.base.errors import InvalidModelConfig
from sizing.catalog.weight_schemes import (
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
    group_of,
    weights_of_bits,
)

_BY_MODULE = ("fqn_to_config", "module_fqn_to_config")
"""Where a configuration names modules, since 0.15 and before."""
_MOST_MODULES = 50_000


def torchao(section: Section) -> Quantisation:
    """The format of all modules, or of ``_default`` and of those that stand beside it by name or "re:" expression.

    Raises InvalidModelConfig where a class tells no format.
    """
    kind = section.get("quant_type")
    default = kind.get("default", kind) if isinstance(kind, Mapping) else kind
    if not isinstance(default, Mapping):
        default = {"_type": default, "_data": section.get("quant_type_kwargs")}
    modules = next((_data(default)[key] for key in _BY_MODULE if isinstance(_data(default).get(key), Mapping)), None)
    if modules is None:
        return Quantisation(main=_scheme(default))
    named = [(str(name), _scheme(one)) for name, one in list(modules.items())[:_MOST_MODULES] if name != "_default"]
    named.sort(key=lambda item: item[0].startswith("re:"))  # a name goes before an expression
    overall = _scheme(modules["_default"]) if "_default" in modules else None
    if overall is None and not named:
        raise InvalidModelConfig("config.json is quantised by torchao and names no module: use the unchanged file.")
    return Quantisation(
        main=overall or named[0][1],
        holds="all" if overall else "listed",
        listed=tuple(named),
        head=_end(named, "lm_head"),
        embeddings=_end(named, "embed_tokens"),
    )


def _end(named: list[tuple[str, Scheme]], part: str) -> Scheme | None:
    return next((scheme for name, scheme in named if part in name and not name.startswith("re:")), None)


def _data(config: Section) -> Section:
    data = config.get("_data")
    return data if isinstance(data, Mapping) else {}


def _scheme(config: Any) -> Scheme:
    """The format of one class; none leaves 16 bit."""
    if config is None:
        return WIDE
    config = config if isinstance(config, Mapping) else {"_type": config}
    named, data = str(config.get("_type") or "").lower().replace("_", ""), _data(config)
    granularity = next((data[key] for key in ("weight_granularity", "granularity") if key in data), None)
    group = group_of(data) or group_of(_data(granularity) if isinstance(granularity, Mapping) else {})
    typed = next((data[key] for key in ("weight_dtype", "dtype") if data.get(key) is not None), "")
    dtype = str(typed.get("_data", "")) if isinstance(typed, Mapping) else str(typed)
    width = re.search(r"int(\d)", dtype)
    bits = float(width[1]) if width else float(data.get("bit_width") or 0)
    w4a8 = Scheme(precision="w4a8_awq", bytes=0.5 + 2 / max(group, 32))
    narrow = weights_of_bits(bits, group or 64) if 1 <= bits <= 8 else None
    for mark, scheme in (
        ("nvfp4", NVFP4),
        ("mx", MXFP4 if "float4" in dtype or "mxfp4" in named else MXFP8),  # float8_e4m3fn unless it is said
        ("float8dynamicactivationint4", Scheme(precision="w4a8_awq", bytes=0.5 + 2 / max(group, 128))),
        ("int8dynamicactivationint4", w4a8),
        ("int8dynamicactivationintx", w4a8 if bits == 4 else None),
        ("int8dynamicactivation", INT8),
        ("float8", FP8),
        ("int8", INT8_WO),
        ("int4", weights_of_bits(4, group or 128)),
        ("uintx", narrow),
        ("intx", narrow),
        ("gemliteuintx", narrow or weights_of_bits(4, group or 128)),
    ):
        if scheme and (named.startswith(mark) or (mark == "mx" and "mx" in named)):
            return scheme
    raise InvalidModelConfig(
        f"config.json is quantised by torchao's “{shown(named or 'no class')}”, which tells no format: name a class "
        "such as Int4WeightOnlyConfig in quant_type of quantization_config."
    )
