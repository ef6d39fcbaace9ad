"""How far reality may lie from a prediction: factors from cross-validated errors, by stratum and difficulty.

Normalised split-conformal intervals (Vovk et al. 2005; Lei et al. 2018): every published measurement was predicted by
fits that had not seen its model, its GPU, its configuration or its source. The errors are divided by a scale, how hard
the case was, and their quantiles in a stratum are the ends of its interval. Strata are metric, protocol and whether
kernel tables took part; finer ones (engine, GPU family, kind of model) held less often on groups they had not seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

import numpy as np

from sizing.base.arrays import Floats
from sizing.base.units import BILLION
from sizing.catalog import Model
from sizing.catalog.files import read_yaml
from sizing.catalog.measured import measured
from sizing.question.configuration import Configuration

if TYPE_CHECKING:  # pandas, which it needs, would slow down every start
    from sizing.evidence.point_table import PointTable

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
BASIS_WORDS = {"tables": "kernel tables and roofline", "roofline": "roofline alone"}
MODE_WORDS = {
    "fixed_concurrency": "closed-loop",
    "static_batch": "static-batch",
    "fixed_rate": "open-loop",
    "offline_max_throughput": "offline",
}

TABLES, ROOFLINE = "tables", "roofline"
"""Where step times came from: kernel tables with the roofline, or the roofline alone."""

DIFFICULTIES: Mapping[str, str] = MappingProxyType(
    {
        "new_model": "no measurement of a model of this shape",
        "new_gpu": "no measurement on this GPU type",
        "new_family": "no measurement on this GPU family",
        "new_platform": "no measurement of this engine on this GPU family",
        "apart": "kernel tables and roofline disagree",
        "beyond": "load or lengths outside those measured",
    }
)
"""What makes a prediction harder, by name of its weight in ``intervals.yaml``: each 0 or 1, but ``apart``, the log
ratio of decode steps, and ``beyond``, the doublings between the case and the measured range."""

TOLD_FROM = 1.05
"""Widening from which its reason is told. Chosen: because less cannot be seen in a rounded range."""


Key = tuple[str, ...]
"""A stratum: metric, mode and basis, or only the first of them where errors are too few."""


@dataclass(frozen=True, kw_only=True)
class ErrorFactors:
    """How far reality may lie from a predicted value: that value times each factor is an end of its interval.

    ``basis`` says whose errors the factors come from, ``rows`` how many there are. Not an
    :class:`sizing.base.quantity.Estimate`: it holds no value, and widens any.
    """

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

    def interval(self, basis: str, level: Level, scale: float = 1.0) -> ErrorFactors:
        """The factors at a level for a case of that scale; the interval always holds the prediction itself."""
        low, high = (self.low_80, self.high_80) if level == 80 else (self.low_95, self.high_95)
        return ErrorFactors(
            low_factor=float(np.exp(min(low, 0.0) * scale)),
            high_factor=float(np.exp(max(high, 0.0) * scale)),
            basis=basis,
            rows=self.rows,
        )


@dataclass(frozen=True, kw_only=True)
class Case:
    """What is predicted, as far as it decides how hard that is; for ``apart`` and ``beyond`` see the difficulties."""

    architecture: str
    gpu: str
    family: str
    engine: str
    basis: str = ROOFLINE
    apart: float = 0.0
    beyond: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Load:
    """Sequences in flight (NaN: as many as possible) and mean lengths in tokens."""

    concurrency: float
    input_tokens: float
    output_tokens: float


LOAD_NAMES = ("concurrency", "input_tokens", "output_tokens")


def doublings_outside(values: Floats, low: Floats, high: Floats) -> Floats:
    """Doublings between each value and its range, summed over the last axis; unknown values count as inside."""
    with np.errstate(invalid="ignore", divide="ignore"):
        far = np.maximum(np.log2(low / values), np.log2(values / high))
    return np.asarray(np.sum(np.nan_to_num(np.maximum(far, 0.0)), axis=-1))


def beyond(mode: str, load: Load) -> float:
    """Doublings between a load and those measured in that mode; tenths."""
    low, high = ranges()[mode]
    return round(float(doublings_outside(np.array([getattr(load, n) for n in LOAD_NAMES]), low, high)), 1)


@cache
def ranges() -> Mapping[str, tuple[Floats, Floats]]:
    """Lowest and highest concurrency, input and output tokens measured, by mode."""
    rows = read_yaml("intervals.yaml")["ranges"]

    def end(row: Mapping[str, tuple[float, float]], which: int) -> Floats:
        return np.array([row[name][which] for name in LOAD_NAMES], dtype=np.float64)

    return MappingProxyType({mode: (end(row, 0), end(row, 1)) for mode, row in rows.items()})


def architecture(model: Model) -> str:
    """Name of a model's shape: models with the same one are the same to a step timer."""
    return f"{model.params_total / BILLION:.0f}B, {model.layers} layers"


def case_of(
    model: Model, configuration: Configuration, outside: float = 0.0, basis: str = ROOFLINE, apart: float = 0.0
) -> Case:
    """The case of a model on a configuration, ``outside`` doublings beyond the measured loads."""
    c = configuration
    return Case(
        architecture=architecture(model),
        gpu=c.gpu.id,
        family=c.gpu.family,
        engine=c.engine.surrogate,
        basis=basis,
        apart=apart,
        beyond=outside,
    )


@cache
def strata() -> Mapping[Key, Stratum]:
    """The committed strata (``data/intervals.yaml``) by key, see :func:`stratum_keys`."""
    rows = read_yaml("intervals.yaml")["strata"]
    return MappingProxyType({tuple(name.split(", ")): Stratum(**row) for name, row in rows.items()})


def stratum_keys(metric: str, mode: str, basis: str) -> tuple[Key, ...]:
    """Keys from the narrowest stratum to the widest; the last always exists."""
    return (metric, mode, basis), (metric, mode), (metric,)


@lru_cache(maxsize=4096)
def difficulties(case: Case) -> Mapping[str, float]:
    """Each difficulty of a case, 0 where there is none."""
    new = {
        "new_model": case.architecture not in measured("models"),
        "new_gpu": case.gpu not in measured("gpus"),
        "new_family": case.family not in measured("families"),
        "new_platform": f"{case.engine} on {case.family}" not in measured("platforms"),
    }
    ones = {name: float(is_new) for name, is_new in new.items()}
    return MappingProxyType({**ones, "apart": case.apart, "beyond": case.beyond})


@cache
def weights(metric: str) -> Mapping[str, float]:
    """How much each difficulty adds to the logarithm of an error's scale."""
    return MappingProxyType(read_yaml("intervals.yaml")["difficulties"][metric])


@lru_cache(maxsize=16384)
def stratum_interval(metric: str, mode: str, case: Case, level: Level = 80) -> ErrorFactors:
    """The interval of the narrowest stratum with enough rows, times the scale of the case."""
    stratum = next(key for key in stratum_keys(metric, mode, case.basis) if key in strata())
    hard = difficulties(case)
    added = {name: weight * hard[name] for name, weight in weights(metric).items()}
    basis = f"cross-validated errors of {strata()[stratum].rows:,} measurements ({in_words(stratum)})"
    why = [DIFFICULTIES[name] for name, log_scale in added.items() if log_scale > np.log(TOLD_FROM)]
    scale = float(np.exp(sum(added.values())))
    if why:
        basis += f", widened {scale:.2g} times: {', '.join(why)}"
    return strata()[stratum].interval(basis, level, scale)


def in_words(key: Key) -> str:
    """A stratum as people call it: "closed-loop ITL, kernel tables and roofline"."""
    metric, *modes = key[:2]
    named = " ".join([*(MODE_WORDS.get(mode, mode) for mode in modes), METRIC_WORDS.get(metric, metric)])
    return ", ".join([named, *(BASIS_WORDS[basis] for basis in key[2:])])


def interval(
    metric: str, configuration: Configuration, model: Model, level: Level = 80, load: Load | None = None
) -> ErrorFactors:
    """The interval of ``decode`` or ``prefill`` times or of ``throughput`` for a configuration, by the roofline.

    Factors on the value: measured / predicted. Raises KeyError for another metric (a bug of the caller).
    """
    name, mode = MEASURES[metric]
    outside = beyond(mode, load) if load else 0.0
    return stratum_interval(name, mode, case_of(model, configuration, outside), level)


OUTPUTS: Mapping[str, Metric] = MappingProxyType(
    {
        "ttft_ms": "ttft",
        "itl_ms": "itl",
        "e2e_ms": "e2e",
        "output_tokens_per_s": "throughput",
        "requests_per_s": "throughput",
    }
)


def point_intervals(points: PointTable, apart: Floats, level: Level = 80) -> dict[str, tuple[Floats, Floats]]:
    """(low, high) factors (C,) of every output column of ``predict``; ``apart`` (C,) is NaN without kernel tables."""
    cases = []
    for p, ratio in zip(points.points, apart, strict=True):
        each = p.concurrency / p.instances
        load = Load(concurrency=each, input_tokens=p.input_tokens, output_tokens=p.output_tokens)
        tables = (ROOFLINE, 0.0) if np.isnan(ratio) else (TABLES, round(float(ratio), 2))
        cases.append(case_of(p.model, p.configuration, beyond(p.mode, load), *tables))
    factors: dict[str, tuple[Floats, Floats]] = {}
    for column, metric in OUTPUTS.items():
        ends = [stratum_interval(metric, p.mode, c, level) for p, c in zip(points.points, cases, strict=True)]
        factors[column] = np.array([e.low_factor for e in ends]), np.array([e.high_factor for e in ends])
    return factors
