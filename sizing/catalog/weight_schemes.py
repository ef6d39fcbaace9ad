"""How weights are stored: a format with its bytes, and which modules of a checkpoint have it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from commandline.foreign_text import shown
from sizing.base.errors import InvalidModelConfig
from sizing.catalog.config_fields import checked_number, reject
from sizing.catalog.gguf_types import gguf_types, type_named

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


_BESIDE_EXPERTS = r"re:.*(self_attn|shared_expert|mlp\.(gate|up|down)_proj).*"


def gguf(section: Section) -> Quantisation:
    """Weights of a GGUF file by its type; beside experts in MXFP4 everything is Q8_0."""
    kind = str(section.get("gguf_type", "")).upper()
    if kind.startswith("MXFP4"):
        wide = _ends(gguf_types()["Q8_0"].head_bits, "q8_0")
        listed = ((_BESIDE_EXPERTS, wide),)
        return Quantisation(main=MXFP4, holds="experts", listed=listed, head=wide, embeddings=wide)
    if not kind:
        raise InvalidModelConfig(
            "config.json is quantised by “gguf” without a type: add gguf_type (Q4_K_M) to quantization_config."
        )
    known = type_named(kind)
    if known is None:
        raise InvalidModelConfig(
            f"The type “{shown(kind)}” of GGUF is not known: name one such as Q4_K_M or Q8_0, or use config.json."
        )
    return Quantisation(
        main=Scheme(precision=known.precision, bytes=known.layer_bits / 8),
        head=_ends(known.head_bits, known.precision),
        embeddings=_ends(known.embedding_bits, known.precision),
    )


def _ends(bits: float, precision: str) -> Scheme:
    """How embeddings or the head of a GGUF file are stored, which count as of its weight format."""
    return Scheme(precision=precision, bytes=bits / 8)


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
