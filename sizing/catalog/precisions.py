"""Number formats of weights and KV cache: bytes per value, matrix rate used, and who supports them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, assert_never

from sizing.base.errors import UnknownName
from sizing.catalog.facts import quantization
from sizing.catalog.files import read_yaml
from sizing.catalog.gguf_types import gguf_types
from sizing.catalog.gpu import Gpu

Compute = Literal["wide", "fp8", "int8", "fp4", "mxfp4"]
Accuracy = Literal["reference", "very low loss", "low loss", "medium loss", "high loss"]
Kernels = tuple[str | None, str | None]

GRADES: tuple[tuple[float, Accuracy], ...] = ((1.5, "very low loss"), (2.5, "low loss"), (5.0, "medium loss"))
"""Largest loss, in per cent or points of a published test, and what it is called; beyond all of them "high loss".

Chosen: because 1.5 is what FP8 loses at worst, which its vendor grades as none to very low; 2.5 is twice the standard
error of a test of a thousand questions at 80 %, below which chance may have made the difference; 5 is twice that again.
"""

KV_BYTES: Mapping[str, float] = MappingProxyType({"fp16": 2.0, "fp8": 1.0})
"""Bytes of one cached value by KV-cache format."""
BYTE = 1.0
"""Bytes of a weight of 8 bit, without scales; one of 4 bit takes less."""
WIDE_BYTES = 2.0
"""Bytes of a 16-bit number: activations, embeddings, and weights that are not quantised."""

LONGEST_NAME = 200
"""Characters of a format's name that are read."""

KV_CACHE_TYPES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "fp8": ("fp8", "fp8_e4m3", "fp8_e5m2", "fp8_inc", "fp8_ds_mla"),
        "fp16": ("bfloat16", "float16", "half", "fp16", "bf16"),
    }
)
"""KV format -> types of the KV cache as vLLM's metrics name them; "auto" follows the checkpoint and says nothing."""


@dataclass(frozen=True, kw_only=True)
class Precision:
    """One weight format: ``bytes`` per quantised parameter, scales included.

    ``accuracy`` grades the largest loss published of it (:data:`GRADES`), ``published_as`` is its method in
    ``quantization.csv``, "" for 16 bit.
    ``checkpoint_marks`` are words of a checkpoint's name that tell the format, ``checkpoint_methods`` words that tell
    its method, of 4 bits unless the name says 8, ``quant_methods`` its names in config.json. ``from_training`` says
    that a model is trained in it; with ``every_layer`` its method quantises all linear layers of a mixture of experts,
    not the experts alone; ``ends_bytes`` are those of a value of the output head, and of embeddings unless
    ``embedding_bytes`` says other ones of those that are no head as well. ``gguf_type`` is its type in GGUF files;
    ``named_only`` keeps a format out of everything that names no format, ``bits`` are those of its name where its bytes
    do not tell them. ``dense_kernels`` and ``moe_kernels`` are what NVIDIA's kernel tables call its (GEMM, experts),
    best first; None is as the checkpoint says. ``expert_widths`` are the multiples to which kernels pad the experts'
    inner width on a GPU and the model's width, by GPU family and for all "other" ones.
    """

    id: str
    label: str
    bytes: float
    compute: Compute
    needs: str
    accuracy: Accuracy
    published_as: str = ""
    aliases: tuple[str, ...]
    checkpoint_marks: tuple[str, ...] = ()
    checkpoint_methods: tuple[str, ...] = ()
    quant_methods: tuple[str, ...] = ()
    from_training: bool = False
    every_layer: bool = False
    ends_bytes: float = WIDE_BYTES
    embedding_bytes: float = 0.0
    gguf_type: str = ""
    named_only: bool = False
    bits: int = 0
    dense_kernels: tuple[Kernels, ...] = ()
    moe_kernels: tuple[Kernels, ...] = ()
    expert_widths: tuple[tuple[str, int, int], ...] = ()

    @property
    def plain_label(self) -> str:
        """The label without the widths of weights and activations: "FP8" of "FP8 (W8A8)"."""
        return self.label.partition(" (")[0]

    @property
    def keeps_accuracy(self) -> bool:
        """Whether answers are as good as those of the 16-bit model, or as good as measurable."""
        return self.accuracy in ("reference", "very low loss")

    @property
    def experts_alone(self) -> bool:
        """Whether of a mixture of experts it quantises the experts alone: 4 bit, unless its method takes all layers."""
        return self.bytes < BYTE and not self.every_layer

    @property
    def is_narrow(self) -> bool:
        """Whether it multiplies in FP8 or below, beside which engines keep the KV cache in FP8."""
        return self.compute in ("fp8", "fp4")

    def expert_alignment(self, gpu: Gpu) -> tuple[int, int]:
        """Multiples of the experts' inner width and of the model's that kernels of this GPU need; 1 where any will
        do."""
        widths = {family: (inner, outer) for family, inner, outer in self.expert_widths}
        return widths.get(gpu.family) or widths.get("other", (1, 1))

    @property
    def width(self) -> str:
        """Nominal width of a weight: "16 bit", "8 bit", "4 bit", "3 bit" or "2 bit"."""
        of_bytes = 16 if self.bytes >= WIDE_BYTES else 8 if self.bytes >= BYTE else min(4, int(self.bytes * 8))
        return f"{self.bits or of_bytes} bit"


@cache
def precisions() -> Mapping[str, Precision]:
    """All weight formats by id, widest first."""
    rows = {name: _frozen(row) for name, row in read_yaml("precisions.yaml").items()}
    rows = {name: row | _of_gguf(name) for name, row in rows.items()} | {
        kind.precision: _of_gguf(kind.precision) | {"named_only": True}
        for kind in gguf_types().values()
        if kind.precision not in rows
    }
    losses = {name: _worst_loss(row.get("published_as", "")) for name, row in rows.items()}
    graded = {
        name: losses[name]
        if losses[name] is not None
        else max((loss for other, loss in losses.items() if loss and _alike(rows[other], row)), default=None)
        for name, row in rows.items()
    }
    return MappingProxyType(
        {name: Precision(id=name, accuracy=_grade(row, graded[name]), **row) for name, row in rows.items()}
    )


def _worst_loss(method: str) -> float | None:
    """The largest loss published of a method, None where there is none."""
    return max(
        (f.loss_points for f in quantization() if f.method == method and f.loss_points is not None), default=None
    )


def _of_gguf(name: str) -> dict[str, Any]:
    """What the table of GGUF types says of a weight format; nothing of another one."""
    kind = next((kind for kind in gguf_types().values() if kind.precision == name), None)
    if kind is None:
        return {}
    label = f"GGUF {kind.type}"
    aliases = (*kind.names, *(f"gguf_{each}" for each in (name, *kind.names)))
    shared = {"every_layer": True, "compute": "wide", "needs": "fp16", "published_as": label, "aliases": aliases}
    return {"label": label, **shared, **kind.of_precision}


def _alike(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two formats have as many whole bits, both or neither in GGUF files, whose losses are of another test."""
    width, other_width = (row.get("bits") or round(float(row["bytes"]) * 8) for row in (one, other))
    return width == other_width and ("gguf_type" in one) == ("gguf_type" in other)


def _grade(row: dict[str, Any], loss: float | None) -> Accuracy:
    """The word for a loss; a format without a published one is graded as the worst published of its width, because
    nothing says that it is better; of a width without any as the worst."""
    if row["bytes"] >= WIDE_BYTES:
        return "reference"
    if loss is None:
        return "high loss"
    return next((word for most, word in GRADES if loss <= most), "high loss")


def _frozen(value: Any) -> Any:
    """The lists of a parsed file as tuples."""
    if isinstance(value, dict):
        return {key: _frozen(item) for key, item in value.items()}
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


@dataclass(frozen=True, kw_only=True)
class NamedPrecision:
    """The weight format that a text names; ``remark`` is what stood in parentheses and is not counted, "" for none;
    ``instead_of`` the format named where the model has no weights in it."""

    precision: Precision
    remark: str = ""
    instead_of: Precision | None = None

    def of_weights(self, own: Precision) -> NamedPrecision:
        """The same for a model with weights ``own``: those that were trained narrower exist in no other format, and
        "FP8" beside them is what they are multiplied in (TensorRT-LLM's tables of gpt-oss on Hopper)."""
        if not own.from_training or self.precision.compute != "fp8":
            return self
        return NamedPrecision(precision=own, remark=self.remark, instead_of=self.precision)


def resolve_precision(name: str) -> Precision:
    """The weight format called ``name`` (id or alias, any case, a remark in parentheses aside). Raises UnknownName."""
    return named_precision(name).precision


def named_precision(name: str) -> NamedPrecision:
    """Like :func:`resolve_precision`, with the remark: "fp8 (sliding-window layers bf16)". Raises UnknownName."""
    remarks = [text.strip() for text in re.findall(r"\(([^()]*)\)", name[:LONGEST_NAME])]
    precision = precision_names().get(_name_key(name))
    if precision is None:
        raise UnknownName("precision", name, precisions())
    return NamedPrecision(precision=precision, remark="; ".join(filter(None, remarks)))


def _name_key(name: str) -> str:
    """A format's name without remarks in parentheses, in lower case, with "_" between words."""
    return re.sub(r"[-\s]+", "_", re.sub(r"\([^()]*\)", "", name[:LONGEST_NAME]).strip().lower())


@cache
def precision_names() -> Mapping[str, Precision]:
    """Every id and alias, and the format it names."""
    return MappingProxyType({name: p for p in precisions().values() for name in (p.id, *p.aliases)})


def resolve_kv_precision(name: str) -> str:
    """``fp16`` or ``fp8``; BF16 counts as 16 bit, INT8 as FP8, a remark in parentheses not. Raises UnknownName."""
    key = _name_key(name)
    if key in ("16", "auto", *KV_CACHE_TYPES["fp16"]):
        return "fp16"
    if key in ("int8", "8", "e4m3", "e5m2", *KV_CACHE_TYPES["fp8"]):
        return "fp8"
    raise UnknownName("KV-cache precision", name, KV_BYTES)


def gpu_supports(gpu: Gpu, precision: Precision) -> bool:
    """Whether the GPU's matrix units run the format (weight-only formats run wherever 16 bit does)."""
    supported = {
        "bf16": gpu.supports_bf16 and bool(gpu.bf16_flops or gpu.fp16_flops),
        "fp16": bool(gpu.fp16_flops or gpu.bf16_flops),
        "fp8": gpu.supports_fp8 and gpu.fp8_flops is not None,
        "int8": gpu.supports_int8 and gpu.int8_ops is not None and gpu.int8_ops >= wide_flops(gpu),
        "nvfp4": gpu.supports_fp4 and gpu.fp4_flops is not None and gpu.vendor in ("NVIDIA", "custom"),
    }
    return supported[precision.needs]


def wide_flops(gpu: Gpu) -> float:
    """16-bit dense matrix rate in FLOP/s: BF16 where known, else FP16; 0 when neither is known."""
    return gpu.bf16_flops or gpu.fp16_flops or 0.0


def compute_flops(gpu: Gpu, precision: Precision) -> float:
    """Dense matrix rate in FLOP/s that the format reaches on the GPU.

    Weight-only formats multiply at 16 bit. MXFP4 multiplies at 4 bit where the GPU can, else at 16 bit.
    """
    match precision.compute:
        case "fp8":
            return gpu.fp8_flops or 0.0
        case "int8":
            return gpu.int8_ops or 0.0
        case "fp4":
            return gpu.fp4_flops or 0.0
        case "mxfp4" if gpu.supports_fp4:
            # gpt-oss on Blackwell multiplies MXFP4 weights with 8-bit activations
            return gpu.fp8_flops or wide_flops(gpu)
        case "mxfp4" | "wide":
            return wide_flops(gpu)
        case unknown:
            assert_never(unknown)
