"""Accelerators of the catalogue: ``gpus.csv`` as :class:`Gpu` values in bytes, FLOP/s and watts."""

from collections.abc import Iterator, Mapping
from functools import cache

from sizing.base.constants import constant
from sizing.base.units import GB, GIB, TRILLION
from sizing.catalog.files import Row, cells, count, number, read_rows
from sizing.catalog.gpu import Gpu
from sizing.catalog.slices import BETWEEN, slice_by_id

PCIE_X16_BYTES_PER_S = {3: 16e9, 4: 32e9, 5: 64e9, 6: 128e9}
"""Raw one-direction bandwidth of sixteen PCIe lanes by generation (PCI-SIG; 64 GB/s for generation 5 as in NVIDIA's
H100 datasheet, "128 GB/s" both ways)."""

DRIVER_BYTES = constant("driver_bytes")

PLAIN_FLOP_PER_SCORE = {
    **dict.fromkeys(("7.0", "7.5", "8.0", "10.3", "cdna2"), 15.0),
    "10.0": 19.0,
    "cdna3": 30.0,
    "cdna4": 22.0,
}
USUAL_FLOP_PER_SCORE = 23.0
"""Datasheet FLOP at 32 bit in the time that the softmax of one score takes, by compute capability or family, and of all
others: an exponential on 16 special function units beside 128 lanes of 2 FLOP (16), and scaling, maximum, sum and
conversion, 3.5 instructions on those lanes (7; CUDA C++ Programming Guide 13, "Throughput of Native Arithmetic
Instructions"). Volta, Turing and the A100 have 64 lanes, Blackwell Ultra twice the units (NVIDIA, "Inside NVIDIA
Blackwell Ultra", 2025-08-22); kernels of the B200 compute a quarter of the exponentials on the lanes (FlashAttention-4,
2025). AMD's units take a quarter of the lanes' rate, half in CDNA 4 (white paper, 2025-06), and datasheets count packed
pairs since CDNA 3."""

ASSUMED_PCIE_GENERATION = 4
"""Where a datasheet names no PCIe generation (TPU, Trainium, Inferentia): the slower one in current servers."""


def pcie_bytes_per_s(generation: int | None, lanes: int = 16) -> float:
    """Bandwidth of one PCIe slot in one direction: the x16 figure of the generation times lanes / 16."""
    return PCIE_X16_BYTES_PER_S[generation or ASSUMED_PCIE_GENERATION] * lanes / 16


@cache
def gpus() -> Mapping[str, Gpu]:
    """Every accelerator of the catalogue by id, in file order; after them machines that compute without one."""
    return Catalogue({row["id"]: _gpu(row) for row in read_rows("gpus.csv")} | processors())


class Catalogue(Mapping[str, Gpu]):
    """Cards and machines by id; slices of them are found by theirs (:mod:`sizing.catalog.slices`), and not listed."""

    def __init__(self, whole: Mapping[str, Gpu]) -> None:
        self._whole = dict(whole)
        self._slices: dict[str, Gpu | None] = {}

    def __getitem__(self, gpu_id: str) -> Gpu:
        whole = self._whole.get(gpu_id)
        if whole is not None:
            return whole
        if BETWEEN not in gpu_id:
            raise KeyError(gpu_id)
        if gpu_id not in self._slices:
            self._slices[gpu_id] = slice_by_id(gpu_id, self._whole)
        part = self._slices[gpu_id]
        if part is None:
            raise KeyError(gpu_id)
        return part

    def __iter__(self) -> Iterator[str]:
        return iter(self._whole)

    def __len__(self) -> int:
        return len(self._whole)


def processors() -> dict[str, Gpu]:
    """Machines that compute in CPU memory, alone or shared with a GPU, by id."""
    return {row["id"]: _processor(row) for row in read_rows("processors.csv")}


def _scaled(text: str, unit: float) -> float | None:
    value = number(text)
    return None if value is None else value * unit


def _visible_bytes(row: Row) -> float:
    """Memory that a program sees: as printed by engines, else what the driver shows less what it keeps for itself."""
    printed = _scaled(row["visible_gib"], GIB)
    memory = float(row["memory_bytes"])
    shown_by_driver = "smi" in row["memory_source"]
    return printed or memory - (DRIVER_BYTES if shown_by_driver and row["vendor"] == "NVIDIA" else 0.0)


def _scores_per_flop(row: Row) -> float | None:
    """Scores for each dense 16-bit FLOP; None where the datasheet has no rate at 32 bit."""
    plain, wide = float(row["fp32_tflops"] or 0.0), float(row["bf16_tflops_dense"] or row["fp16_tflops_dense"] or 0.0)
    if not plain or not wide:
        return None
    return plain / PLAIN_FLOP_PER_SCORE.get(row["compute_capability"] or row["family"], USUAL_FLOP_PER_SCORE) / wide


def _gpu(row: Row) -> Gpu:
    """One row; the datasheets' bidirectional link figure is halved, because a collective is bound by one direction."""
    link = _scaled(row["interconnect_gbs_bidir_per_gpu"], GB)
    lanes = count(row["pcie_lanes"]) or 16
    values = cells(row, Gpu, link_name="interconnect", tdp_w="tdp_watts", module_w="module_watts") | {
        "visible_bytes": _visible_bytes(row),
        "scores_per_flop": _scores_per_flop(row),
        "memory_bandwidth": _scaled(row["memory_bandwidth_gbs"], GB),
        "fp16_flops": _scaled(row["fp16_tflops_dense"], TRILLION),
        "bf16_flops": _scaled(row["bf16_tflops_dense"], TRILLION),
        "fp8_flops": _scaled(row["fp8_tflops_dense"], TRILLION),
        "int8_ops": _scaled(row["int8_tops_dense"], TRILLION),
        "fp4_flops": _scaled(row["fp4_tflops_dense"], TRILLION),
        "link_bytes_per_s": None if link is None else link / 2,
        "domain_gpus": count(row["max_scaleup_domain"]) or 1,
        "pcie_bytes_per_s": pcie_bytes_per_s(count(row["pcie_gen"]), lanes),
        "source": "; ".join(part for part in (row["source_primary"], row["source_secondary"]) if part),
    }
    return Gpu(**values)


def _processor(row: Row) -> Gpu:
    """One machine of ``processors.csv``: nothing joins it to others, and it is considered only where it is named."""
    values = cells(row, Gpu, tdp_w="tdp_watts") | {
        "form_factor": "machine",
        "edition": row["architecture"],
        "status": "sold",
        "named_only": True,
        "visible_bytes": _scaled(row["usable_gib"], GIB),
        "memory_bandwidth": _scaled(row["memory_bandwidth_gbs"], GB),
        "fp16_flops": _scaled(row["fp16_tflops"], TRILLION),
        "bf16_flops": _scaled(row["bf16_tflops"], TRILLION),
        "int8_ops": _scaled(row["int8_tops"], TRILLION),
        **dict.fromkeys(("fp8_flops", "fp4_flops", "link_bytes_per_s", "module_w")),
        "link_name": "none",
        "domain_gpus": 1,
        "pcie_bytes_per_s": pcie_bytes_per_s(None),
        "supports_bf16": bool(row["bf16_tflops"]),
        "supports_int8": bool(row["int8_tops"]),
        **dict.fromkeys(("supports_fp8", "supports_fp4"), False),
    }
    return Gpu(**values)
