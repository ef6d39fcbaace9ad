"""The roofline's matrix products fitted to measured GEMM and fused mixture-of-experts kernels."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from calibration.distil_fit import FORMATS, Chip, Solved, chip_of, even, fastest, solved, thinned, weight_bytes
from calibration.kernel_tables import newest
from sizing.base.arrays import Floats
from sizing.catalog.precisions import WIDE_BYTES
from sizing.steps.attention import bound

LEAST_EDGE, LEAST_SIZE, LARGEST_SIZE, MOST_ROWS = 512, 2**20, 2**29, 16384
"""Shapes that serving uses: both edges of a weight matrix, its size, and tokens per step."""

LEAST_MEASURED = 150
"""Rows below which a table is not fitted."""

GEMM_ROWS, MOE_ROWS = 60, 40
"""Measurements per number of tokens that are fitted. Chosen: because more move no share by a hundredth."""

Predicted = Callable[[pd.DataFrame, Chip, str, Mapping[str, float]], Floats]
Bounds = dict[str, tuple[float, float, float]]
SHARES = {"matrix": (0.02, 0.5, 1.2), "memory": (0.05, 0.7, 1.2)}
EXPOSED, START = (0.005, 0.3, 1.0), (1e-6, 1e-5, 1e-3)
EVENNESS = (0.05, 1.0, 30.0)
PASSES = (1.0, 5.0, 60.0)

ACTIVATION_PASSES = 2.0
"""Reads and writes of a value between two products: written by one, read by the next. The prior of the fit, too."""


@dataclass(frozen=True)
class Product:
    """Fitted matrix products of one system, framework and format."""

    chip: Chip
    framework: str
    version: str
    kind: str
    fit: Solved

    @property
    def width(self) -> str:
        """Which efficiency it informs: "16", "8", "4" or "weight_only"."""
        return FORMATS[self.kind][1]


def gemm_s(rows: pd.DataFrame, chip: Chip, kind: str, values: Mapping[str, float]) -> Floats:
    """Seconds of dense products: weights streamed once under arithmetic, then reading and writing activations, which
    the roofline counts apart (:func:`sizing.steps.roofline.activations_s`)."""
    m, n, k = (rows[c].to_numpy(dtype=np.float64) for c in "mnk")
    flop = 2.0 * m * n * k / (chip.rate(kind) * values["matrix"])
    byte = n * k * weight_bytes(kind) / (chip.bandwidth * values["memory"])
    moved = m * (n + k) * WIDE_BYTES / (chip.bandwidth * values["memory"])
    return np.asarray(values["start"] + bound(flop, byte, values["exposed"]) + moved)


@dataclass(frozen=True)
class MeasuredMatrices:
    """Measurements of one system, framework and format, thinned."""

    chip: Chip
    framework: str
    version: str
    kind: str
    rows: pd.DataFrame

    def fitted(self, predict: Predicted, given: Mapping[str, float], free: Bounds, by: str) -> "Product":
        """The product whose free values explain the measurements, every value of column ``by`` counting alike."""
        measured = self.rows["latency"].to_numpy(dtype=np.float64) * 1e-3
        bounds = {name: limits for name, limits in free.items() if name not in given}
        fit = solved(
            lambda x: predict(self.rows, self.chip, self.kind, {**given, **x}), bounds, measured, even(self.rows[by])
        )
        return Product(self.chip, self.framework, self.version, self.kind, fit)


def dense_tables(wheel: Path) -> list[MeasuredMatrices]:
    """Measured dense products of the shapes that serving uses."""
    out = []
    for table in newest(wheel, "gemm/gemm_perf", ("gemm_dtype", "m", "n", "k", "latency")):
        chip, frame = chip_of(table.system), table.frame
        size = frame["n"] * frame["k"]
        edges = (frame["n"] >= LEAST_EDGE) & (frame["k"] >= LEAST_EDGE)
        frame = frame[edges & (size >= LEAST_SIZE) & (size <= LARGEST_SIZE) & (frame["m"] <= MOST_ROWS)]
        best = fastest(frame, ["gemm_dtype", "m", "n", "k"])
        for kind in FORMATS:
            rows = best[best["gemm_dtype"] == kind]
            if chip and _is_fitted(chip, kind, rows):
                out.append(MeasuredMatrices(chip, table.framework, table.version, kind, thinned(rows, "m", GEMM_ROWS)))
    return out


def dense_products(tables: Sequence[MeasuredMatrices], exposed: Mapping[str, float] | None = None) -> list[Product]:
    """Fitted dense products; ``exposed`` by width of the numbers holds that share fixed."""
    free = {**SHARES, "start": START, "exposed": EXPOSED}
    return [
        t.fitted(gemm_s, {} if exposed is None else {"exposed": exposed[number_width(t.kind)]}, free, "m")
        for t in tables
    ]


def _is_fitted(chip: Chip, kind: str, rows: pd.DataFrame) -> bool:
    return kind in FORMATS and chip.rate(kind) > 0.0 and len(rows) >= LEAST_MEASURED


def number_width(kind: str) -> str:
    """Width of the numbers multiplied: weight-only formats widen to 16 bit, MXFP4 meets 8-bit activations."""
    width = FORMATS[kind][1]
    return "8" if kind == "w4a8_mxfp4_mxfp8" else "16" if width == "weight_only" else width


def moe_s(rows: pd.DataFrame, chip: Chip, kind: str, values: Mapping[str, float]) -> Floats:
    """Seconds of the routed experts of one layer on one GPU, as the roofline counts them."""
    n, h, k = (rows[c].to_numpy(dtype=np.float64) for c in ("num_tokens", "hidden_size", "topk"))
    experts, tp = rows["num_experts"].to_numpy(dtype=np.float64), rows["moe_tp_size"].to_numpy(dtype=np.float64)
    each = 3.0 * h * rows["inter_size"].to_numpy(dtype=np.float64) / tp
    touched = -np.expm1(-values["evenness"] * np.log1p(n * k / experts / values["evenness"]))
    flop = 2.0 * each * n * k / (chip.rate(kind) * values["matrix"])
    byte = experts * touched * each * weight_bytes(kind) / (chip.bandwidth * values["memory"])
    values_moved = k * (values["expert_passes"] * h + ACTIVATION_PASSES * each / h)
    moved = values_moved * WIDE_BYTES * n / (chip.bandwidth * values["wide_memory"])
    return np.asarray(values["start"] + bound(flop, byte, values["exposed"]) + moved)


SKEWED, BALANCED = "power_law_1.2", "balanced"
MOE_SHAPE = ["num_tokens", "hidden_size", "inter_size", "topk", "num_experts", "moe_tp_size", "moe_ep_size"]


def expert_tables(wheel: Path) -> list[MeasuredMatrices]:
    """Measured experts: the lowest latency of every shape and distribution."""
    out = []
    for table in newest(wheel, "moe/moe_perf", ("moe_dtype", *MOE_SHAPE, "distribution", "latency")):
        chip, frame = chip_of(table.system), table.frame
        frame = frame[frame["distribution"].isin([SKEWED, BALANCED]) & (frame["num_tokens"] <= MOST_ROWS)]
        best = fastest(frame, ["moe_dtype", "distribution", *MOE_SHAPE])
        for kind in FORMATS:
            rows = best[best["moe_dtype"] == kind]
            if chip and _is_fitted(chip, kind, rows):
                out.append(MeasuredMatrices(chip, table.framework, table.version, kind, rows))
    return out


def expert_products(
    tables: Sequence[MeasuredMatrices], wide_memory: float, exposed: Mapping[str, float] | None = None, **known: float
) -> list[Product]:
    """Experts with skewed popularity on one GPU or under tensor parallelism, fitted like the dense products; what is
    given is held fixed."""
    out = []
    free = {**SHARES, "start": START, "exposed": EXPOSED, "evenness": EVENNESS, "expert_passes": PASSES}
    for table in tables:
        rows = table.rows
        rows = rows[(rows["distribution"] == SKEWED) & (rows["moe_ep_size"] == 1) & (rows["moe_tp_size"] <= 8)]
        if len(rows) < LEAST_MEASURED:
            continue
        thin = replace(table, rows=thinned(rows.sort_values(MOE_SHAPE), "num_tokens", MOE_ROWS))
        given = {"wide_memory": wide_memory, **known}
        given |= {} if exposed is None else {"exposed": exposed[number_width(table.kind)]}
        out.append(thin.fitted(moe_s, given, free, "num_tokens"))
    return out


LARGE_STEP, MOST_RANKS = 4096, 8
"""Tokens per step from which experts are bound by arithmetic, so that the busiest GPU's share of it shows."""


def imbalance(tables: Sequence[MeasuredMatrices]) -> Floats:
    """Slow-down of skewed routing against balanced routing by shape, over GPUs relative to on one GPU, large steps."""
    out = []
    for table in tables:
        rows = table.rows[table.rows["num_tokens"] >= LARGE_STEP]
        times = rows.pivot_table(index=MOE_SHAPE, columns="distribution", values="latency").dropna()
        if {SKEWED, BALANCED} <= set(times.columns):
            slower = (times[SKEWED] / times[BALANCED]).to_numpy(dtype=np.float64)
            ranks = times.index.get_level_values("moe_ep_size").to_numpy()
            apart, alone = slower[(ranks > 1) & (ranks <= MOST_RANKS)], slower[ranks == 1]
            if len(apart) and len(alone):
                out.append(apart / np.median(alone))
    return np.concatenate(out)
