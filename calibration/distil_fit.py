"""What the fits to kernel tables share: datasheet facts of a system, robust least squares of log times, errors."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy.optimize import least_squares

from sizing.base.arrays import Floats
from sizing.base.errors import UnknownName
from sizing.catalog.gpu import Gpu
from sizing.catalog.gpu_names import resolve_gpu
from sizing.catalog.precisions import compute_flops, precisions, wide_flops
from sizing.steps.hardware import scores_of

SCATTER = 0.2
"""Log error beyond which a measurement pulls less. Chosen: because repeated kernels differ by a tenth, autotuned ones
at the edges of tiles by two."""

FORMATS = {
    "bfloat16": ("bf16", "16"),
    "float16": ("bf16", "16"),
    "sq": ("int8_sq", "8"),
    "fp8": ("fp8", "8"),
    "fp8_block": ("fp8", "8"),
    "nvfp4": ("nvfp4", "4"),
    "w4a8_mxfp4_mxfp8": ("mxfp4", "4"),
    "int4_wo": ("int4_wo", "weight_only"),
    "w4a16_mxfp4": ("int4_awq", "weight_only"),
}
"""Format of a kernel table -> the product's format with its bytes and matrix rate, and which efficiency it informs."""


@dataclass(frozen=True)
class Chip:
    """Datasheet facts of a measured system as the product's catalogue has them."""

    gpu: Gpu

    @property
    def family(self) -> str:
        """The family that its efficiencies belong to."""
        return self.gpu.family

    @property
    def bandwidth(self) -> float:
        """Memory bandwidth in bytes/s."""
        return self.gpu.memory_bandwidth

    def rate(self, kind: str) -> float:
        """Dense matrix rate in FLOP/s of a kernel table's format, 0 where the GPU has none."""
        return compute_flops(self.gpu, precisions()[FORMATS[kind][0]]) or 0.0

    @property
    def wide(self) -> float:
        """Dense 16-bit matrix rate in FLOP/s."""
        return wide_flops(self.gpu)

    @property
    def scores(self) -> float:
        """Scores/s whose softmax it computes."""
        return scores_of(self.gpu)


def chip_of(system: str) -> Chip | None:
    """The catalogue's GPU of a system; None for one it does not know or that is no NVIDIA GPU."""
    try:
        gpu = resolve_gpu(system)
    except UnknownName:
        return None
    return Chip(gpu) if gpu.vendor == "NVIDIA" else None


def weight_bytes(kind: str) -> float:
    """Bytes per weight of a kernel table's format, scales included."""
    return precisions()[FORMATS[kind][0]].bytes


@dataclass(frozen=True)
class Solved:
    """Fitted values by name, and log errors of the measurements."""

    values: dict[str, float]
    errors: Floats


def solved(predict: Callable[[dict[str, float]], Floats], bounds: dict[str, tuple[float, float, float]],
           measured_s: Floats, weight: Floats | None = None) -> Solved:  # fmt: skip
    """Values that predict ``measured_s`` best, in logarithms, errors beyond the scatter pulling less.

    ``bounds``: lowest, starting and highest value by name, all positive.
    """
    names, limits = list(bounds), np.log(np.array(list(bounds.values())))
    target, pull = np.log(measured_s), np.sqrt(np.ones(len(measured_s)) if weight is None else weight)

    def errors(vector: Floats) -> Floats:
        values = dict(zip(names, np.exp(vector), strict=True))
        return np.asarray(np.log(predict(values)) - target)

    def pulls(vector: Floats) -> Floats:
        return np.asarray(pull * errors(vector))

    best = least_squares(pulls, limits[:, 1], bounds=(limits[:, 0], limits[:, 2]), loss="soft_l1", f_scale=SCATTER).x
    return Solved({n: float(v) for n, v in zip(names, np.exp(best), strict=True)}, errors(best))


def even(groups: pd.Series) -> Floats:
    """Weights of mean 1 that give every value of ``groups`` the same total."""
    weight = 1.0 / groups.map(groups.value_counts()).to_numpy(dtype=np.float64)
    return np.asarray(weight / weight.mean())


def fastest(frame: pd.DataFrame, shape: list[str]) -> pd.DataFrame:
    """The lowest latency of every shape."""
    return frame.groupby(shape)[["latency"]].min().reset_index()


def thinned(frame: pd.DataFrame, by: str, most: int = 250) -> pd.DataFrame:
    """At most ``most`` rows for every value of column ``by``, evenly spaced in the table's order of shapes."""
    place = frame.groupby(by).cumcount().to_numpy()
    step = np.maximum(frame[by].map(frame[by].value_counts()).to_numpy(dtype=np.float64) / most, 1.0)
    kept: pd.DataFrame = frame[np.floor(place / step) != np.floor((place - 1) / step)]
    return kept


@dataclass
class SurfaceErrors:
    """Log errors of one surface, collected over systems."""

    parts: list[Floats] = field(default_factory=list)

    def figures(self) -> dict[str, float]:
        """Number of measurements, median and 90th percentile of the error in percent."""
        every = np.abs(np.concatenate(self.parts))
        return {
            "rows": len(every),
            "median_pct": round(100.0 * float(np.expm1(np.median(every))), 1),
            "p90_pct": round(100.0 * float(np.expm1(np.quantile(every, 0.9))), 1),
        }


def geometric_mean(values: Iterable[float]) -> float:
    """exp of the mean logarithm."""
    return float(np.exp(np.mean(np.log(list(values)))))


def median(values: Iterable[float]) -> float:
    """The median of positive numbers, between two in the middle their geometric mean."""
    return float(np.exp(np.median(np.log(list(values)))))
