"""How weights are stored: a format with its bytes, and which modules of a checkpoint have it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sizing.catalog.config_fields import checked_number, reject

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
    fits; ``head`` is the format of the output head where that is quantised, too.
    """

    main: Scheme
    holds: Holds = "all"
    left: tuple[str, ...] = ()
    listed: tuple[tuple[str, Scheme], ...] = ()
    head: Scheme | None = None
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


def group_of(section: Section) -> int:
    """Weights that share a scale; 0 where a section says none."""
    size = next((section[key] for key in ("group_size", "q_group_size") if section.get(key) is not None), 0)
    return int(size) if isinstance(size, int | float) and math.isfinite(size) else 0


def fixed(main: Scheme, holds: Holds = "all") -> Callable[[Section], Quantisation]:
    """A method that has one format."""
    return lambda section: Quantisation(main=main, holds=holds)


def of_bits(bits: float) -> Callable[[Section], Quantisation]:
    """A method of whole numbers with a usual width, unless the section says another."""
    return lambda section: Quantisation(main=weights_of_bits(min(8.0, bits_of(section) or bits), group_of(section)))


def bitnet(section: Section) -> Quantisation:
    """BitNet: three values a weight, four weights in a byte (transformers, integrations.bitnet)."""
    return Quantisation(main=Scheme(precision="ternary", bytes=0.25))


def fp_quant(section: Section) -> Quantisation:
    """The quantisation of a checkpoint of FP-Quant: NVFP4 where ``forward_dtype`` says so, MXFP4 otherwise."""
    named = str(section.get("forward_dtype", "mxfp4")).lower()
    return Quantisation(main=NVFP4 if "nv" in named else MXFP4)
