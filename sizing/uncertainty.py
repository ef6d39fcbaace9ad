"""How far reality may lie from a prediction: factors from cross-validated errors, by stratum.

Split-conformal (Vovk et al. 2005; Lei et al. 2018): every published measurement was predicted by a fit that had not
seen its model, and by one that had not seen its GPU; the quantiles of log(measured / predicted) in a stratum are the
ends of its interval. A stratum with few rows falls back to its parent: engine on GPU family, GPU family, all. Without a
single measurement on the family, the interval of all is widened.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

import numpy as np

from sizing.candidates import Configuration, Floats
from sizing.catalog import Model
from sizing.catalog.files import read_yaml

if TYPE_CHECKING:  # pandas, which it needs, would slow down every start
    from sizing.point_table import PointTable

Metric = Literal["ttft", "itl", "e2e", "throughput"]
Level = Literal[80, 95]
MEASURES: Mapping[str, tuple[Metric, str]] = MappingProxyType(
    {
        "decode": ("itl", "fixed_concurrency"),
        "prefill": ("ttft", "static_batch"),
        "throughput": ("throughput", "offline_max_throughput"),
    }
)
"""What the plan asks for, and the protocol whose errors answer: metric and mode."""

METRIC_WORDS = {"ttft": "TTFT", "itl": "ITL", "e2e": "E2E"}
MODE_WORDS = {
    "fixed_concurrency": "closed-loop", "static_batch": "static-batch", "fixed_rate": "open-loop",
    "offline_max_throughput": "offline",
}

WIDENING = 1.5
"""Factor on the log interval when the GPU family has no measurement: the median closed-loop ITL error with the
GPU left out is 1.5 times that of the fit."""


@dataclass(frozen=True, kw_only=True)
class Interval:
    """The value times ``low_factor`` and ``high_factor`` are its ends; ``basis`` says whose errors, how many rows."""

    low_factor: float
    high_factor: float
    basis: str
    rows: int


@dataclass(frozen=True, kw_only=True)
class Stratum:
    """Quantiles of log(measured / predicted) in one stratum, for 80 % and 95 % coverage."""

    rows: int
    low_80: float
    high_80: float
    low_95: float
    high_95: float

    def interval(self, basis: str, level: Level, widening: float = 1.0) -> Interval:
        """The factors at a level; the interval always holds the prediction itself."""
        low, high = (self.low_80, self.high_80) if level == 80 else (self.low_95, self.high_95)
        return Interval(
            low_factor=float(np.exp(min(low, 0.0) * widening)),
            high_factor=float(np.exp(max(high, 0.0) * widening)),
            basis=basis,
            rows=self.rows,
        )


@cache
def strata() -> Mapping[str, Stratum]:
    """The committed strata (``data/intervals.yaml``) by key, see :func:`stratum_keys`."""
    return MappingProxyType({key: Stratum(**row) for key, row in read_yaml("intervals.yaml")["strata"].items()})


def stratum_keys(metric: str, mode: str, kind: str, engine: str, family: str) -> tuple[str, ...]:
    """Keys from the narrowest stratum to the widest; the last always exists."""
    head = f"{metric}, {mode}"
    return (
        f"{head}, {kind}, {engine} on {family}",
        f"{head}, {kind}, {family}",
        f"{head}, {family}",
        f"{head}, {kind}",
        head,
        metric,
    )


@cache
def stratum_interval(metric: str, mode: str, kind: str, engine: str, family: str, level: Level = 80) -> Interval:
    """The interval of the narrowest stratum with enough rows; widened when none of them is of the GPU family."""
    known = strata()
    keys = stratum_keys(metric, mode, kind, engine, family)
    found = next(key for key in keys if key in known)
    measured = family in measured_families()
    basis = f"cross-validated errors of {known[found].rows:,} measurements ({in_words(found)})"
    if measured:
        return known[found].interval(basis, level)
    return known[found].interval(f"{basis}, widened: no measurement on {family}", level, WIDENING)


def in_words(key: str) -> str:
    """A stratum as people call it: "closed-loop ITL, dense, vllm on hopper"."""
    metric, _, rest = key.partition(", ")
    mode, _, rest = rest.partition(", ")
    named = f"{MODE_WORDS.get(mode, mode)} {METRIC_WORDS.get(metric, metric)}".strip()
    return f"{named}, {rest}" if rest else named


@cache
def measured_families() -> frozenset[str]:
    """GPU families with published measurements."""
    return frozenset(read_yaml("intervals.yaml")["families"])


@cache
def measured_gpus() -> frozenset[str]:
    """GPU types with published measurements, by catalogue id."""
    return frozenset(read_yaml("intervals.yaml")["gpus"])


def interval(metric: str, configuration: Configuration, model: Model, level: Level = 80) -> Interval:
    """The interval of ``decode`` or ``prefill`` times or of ``throughput`` for a configuration.

    Factors on the value: measured / predicted. Raises KeyError for another metric (a bug of the caller).
    """
    name, mode = MEASURES[metric]
    kind = "MoE" if model.is_moe else "dense"
    return stratum_interval(name, mode, kind, configuration.engine.runs_as, configuration.gpu.family, level)


OUTPUTS: Mapping[str, Metric] = MappingProxyType(
    {
        "ttft_ms": "ttft",
        "itl_ms": "itl",
        "e2e_ms": "e2e",
        "output_tokens_per_s": "throughput",
        "requests_per_s": "throughput",
    }
)


def point_intervals(points: PointTable, level: Level = 80) -> dict[str, tuple[Floats, Floats]]:
    """(low, high) factors (C,) of every output column of ``predict``."""
    keys = [
        (p.mode, "MoE" if p.model.is_moe else "dense", p.configuration.engine.runs_as, p.configuration.gpu.family)
        for p in points.points
    ]
    factors: dict[str, tuple[Floats, Floats]] = {}
    for column, metric in OUTPUTS.items():
        found = [stratum_interval(metric, *key, level) for key in keys]
        factors[column] = np.array([f.low_factor for f in found]), np.array([f.high_factor for f in found])
    return factors
