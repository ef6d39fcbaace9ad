"""How weights are stored: a format with its bytes, and which modules of a checkpoint have it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from commandline.foreign_text import shown
from sizing.base.errors import InvalidModelConfig
from sizing.catalog.config_fields import checked_number, reject
from sizing.catalog.precisions import precisions

Section = Mapping[str, Any]
Holds = Literal["all", "experts", "listed"]


@dataclass(frozen=True, kw_only=True)
class Scheme:
    """How a module is stored: ``precision`` is a format's id, ``bytes`` those per weight, scales included."""

    precision: str
    bytes: float


@dataclass(frozen=True, kw_only=True)
class Quantisation:
    """``main`` is the format of all linear layers, of ``experts`` alone, or of the ``listed`` modules.

    ``left`` are patterns of modules in 16 bit, ``listed`` patterns of those with a format of their own, the first that
    fits; ``head`` and ``embeddings`` are the formats of both where they are quantised, too.
    """

    main: Scheme
    holds: Holds = "all"
    left: tuple[str, ...] = ()
    listed: tuple[tuple[str, Scheme], ...] = ()
    head: Scheme | None = None
    embeddings: Scheme | None = None
    notes: tuple[str, ...] = ()


FP8 = Scheme(precision="fp8", bytes=1.0)
MXFP8 = Scheme(precision="fp8", bytes=1.0 + 1 / 32)
NVFP4 = Scheme(precision="nvfp4", bytes=0.5 + 1 / 16)
MXFP4 = Scheme(precision="mxfp4", bytes=0.5 + 1 / 32)
WIDE = Scheme(precision="bf16", bytes=2.0)
INT8 = Scheme(precision="int8_sq", bytes=1.0)
INT8_WO = Scheme(precision="int8_wo", bytes=1.0)

BITS_KEYS = ("bits", "w_bit", "nbits", "num_bits", "weight_bits", "q_bits", "wbits")
"""What methods call the bits of a weight."""


def weights_of_bits(bits: float, group: int = 0, *, method: str = "wo", zeros: bool = True) -> Scheme:
    """Whole numbers of ``bits`` with a 16-bit scale and, if they have ``zeros``, a zero point for each ``group``.

    Five to seven bits are computed as the 8-bit format, which is the next that engines have; their bytes are their own.
    """
    if not 1 <= bits <= 8:
        reject("bits", bits, "a number of bits from 1 to 8")
    each = bits / 8 + ((2 + (bits / 8 if zeros else 0)) / group if group > 0 else 0.0)
    if bits > 4.5:
        return Scheme(precision="int8_wo", bytes=each)
    if bits > 3.5:
        return Scheme(precision=f"int4_{method}", bytes=each)
    return Scheme(precision="int3_wo" if bits > 2.5 else "int2_wo" if bits > 1.7 else "ternary", bytes=each)


def bits_of(section: Section) -> float | None:
    """The bits of a weight by any of their names."""
    key = next((key for key in BITS_KEYS if section.get(key) is not None), None)
    return None if key is None else checked_number(key, section[key], 1, 16)


_LARGEST_GROUP = 1 << 20
"""Weights that share a scale, at most. Chosen: more than a row of any model has."""


def group_of(section: Section) -> int:
    """Weights that share a scale; 0 where a section says none."""
    size = next((section[key] for key in ("group_size", "q_group_size") if section.get(key) is not None), 0)
    return int(size) if isinstance(size, int | float) and abs(size) <= _LARGEST_GROUP else 0


def fixed(main: Scheme, holds: Holds = "all") -> Callable[[Section], Quantisation]:
    """A method that has one format."""
    return lambda section: Quantisation(main=main, holds=holds)


GGUF_BITS = {
    "Q8_0": 8.5,
    "Q6_K": 6.5625,
    "Q5_K": 5.5,
    "Q5_1": 6.0,
    "Q5_0": 5.5,
    "Q4_1": 5.0,
    "Q4_K": 4.5,
    "Q4_0": 4.5,
    "IQ4_NL": 4.5,
    "IQ4_XS": 4.25,
    "Q3_K": 3.4375,
    "IQ3_S": 3.4375,
    "IQ3_M": 3.4375,
    "IQ3_XS": 3.3,
    "IQ3_XXS": 3.0625,
    "Q2_K": 2.625,
    "IQ2_M": 2.5625,
    "IQ2_S": 2.5625,
    "IQ2_XS": 2.3125,
    "IQ2_XXS": 2.0625,
    "IQ1_M": 1.75,
    "IQ1_S": 1.5625,
    "TQ2_0": 2.0625,
    "TQ1_0": 1.6875,
}
"""Bits of a weight in the blocks of ggml (ggml-common.h: bytes of a block over its 32 or 256 weights); those that mix
types (IQ3_XS, the endings _S, _M and _L of K-quants) by the type of most tensors."""
_BESIDE_EXPERTS = r"re:.*(self_attn|shared_expert|mlp\.(gate|up|down)_proj).*"
BITS_OF_Q4 = 4.9
"""Bits of a weight of Q4_K_M with its mixture, up to which a file counts as one."""
_GGUF_FORMATS = {"Q4_K_M": "q4_k_m", "Q4_K": "q4_k_m", "Q8_0": "q8_0"}
"""GGUF formats that the catalogue has as formats of their own, with the bytes that published files take."""


def gguf(section: Section) -> Quantisation:
    """Weights of a GGUF file by the type of most tensors, which is a format of the catalogue or computes as one.

    Embeddings and head are of that type or of Q6_K, if that is wider; beside experts in MXFP4 everything is Q8_0.
    """
    kind = str(section.get("gguf_type", "")).upper()
    if kind.startswith("MXFP4"):
        wide = Scheme(precision="q8_0", bytes=GGUF_BITS["Q8_0"] / 8)
        listed = ((_BESIDE_EXPERTS, wide),)
        return Quantisation(main=MXFP4, holds="experts", listed=listed, head=wide, embeddings=wide)
    if kind in _GGUF_FORMATS:
        precision = precisions()[_GGUF_FORMATS[kind]]
        ends = Scheme(precision=precision.id, bytes=precision.ends_bytes)
        return Quantisation(main=Scheme(precision=precision.id, bytes=precision.bytes), head=ends, embeddings=ends)
    bits = GGUF_BITS.get(kind) or GGUF_BITS.get(kind.rpartition("_")[0])
    if not kind:
        raise InvalidModelConfig(
            "config.json is quantised by “gguf” without a type: add gguf_type (Q4_K_M) to quantization_config."
        )
    if bits is None:
        raise InvalidModelConfig(
            f"The type “{shown(kind)}” of GGUF is not known: name one such as Q4_K_M or Q8_0, or use config.json."
        )
    computed = "q4_k_m" if bits <= BITS_OF_Q4 else "q8_0"
    note = f"GGUF {kind} takes {bits:.3g} bit a weight in most tensors; it computes like GGUF {computed.upper()}"
    ends = Scheme(precision=computed, bytes=max(bits, GGUF_BITS["Q6_K"]) / 8)
    return Quantisation(main=Scheme(precision=computed, bytes=bits / 8), head=ends, embeddings=ends, notes=(note,))


def of_bits(bits: float) -> Callable[[Section], Quantisation]:
    """A method of whole numbers with a usual width, unless the section says another."""
    return lambda section: Quantisation(main=weights_of_bits(min(8.0, bits_of(section) or bits), group_of(section)))


def bitnet(section: Section) -> Quantisation:
    """BitNet: three values a weight, four weights in a byte (transformers, integrations.bitnet).

    ``online`` quantises 16-bit weights whenever they are used.
    """
    if section.get("quantization_mode") == "online":
        return Quantisation(main=WIDE, notes=("BitNet quantises online: the weights are stored in 16 bit",))
    return Quantisation(main=Scheme(precision="ternary", bytes=0.25))


def fp_quant(section: Section) -> Quantisation:
    """The quantisation of a checkpoint of FP-Quant: NVFP4 where ``forward_dtype`` says so, MXFP4 otherwise."""
    if section.get("pseudoquantization") is True or section.get("store_master_weights") is True:
        return Quantisation(main=WIDE, notes=("FP-Quant keeps the weights in 16 bit, as it is told to",))
    return _of_four_bits(section, "forward_dtype", "mxfp4")


def four_over_six(section: Section) -> Quantisation:
    """Four Over Six: NVFP4 with scales of its own, or MXFP4."""
    if section.get("keep_master_weights") is True:
        return Quantisation(main=WIDE, notes=("Four Over Six keeps the weights in 16 bit, as it is told to",))
    return _of_four_bits(section, "dtype" if section.get("weight_dtype") is None else "weight_dtype", "nvfp4")


def _of_four_bits(section: Section, key: str, unsaid: str) -> Quantisation:
    return Quantisation(main=NVFP4 if "nv" in str(section.get(key, unsaid)).lower() else MXFP4)
