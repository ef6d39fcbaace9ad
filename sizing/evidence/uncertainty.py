"""How far reality may lie from a prediction: factors from cross-validated errors, by stratum and difficulty.

Normalised conformal intervals whose unit is the configuration (Lee, Barber, Willett 2023): every published measurement
was predicted by a fit that had seen neither its source nor any of its configurations, or, to learn what near evidence
is worth, its configuration from other sources alone. The errors are divided by a scale, how hard the case was, and
their quantiles in a stratum, configurations weighing alike, are the ends of its interval. Strata are metric and
protocol; finer ones (engine, GPU family, kind of model) held less often on unseen groups.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Literal

import numpy as np

from sizing.base.arrays import Floats
from sizing.catalog import Model
from sizing.catalog.measured import fitted_intervals, measured, well_measured
from sizing.evidence.cases import NEAR_WORDS, Nearness, PredictionCase, case_of
from sizing.evidence.error_factors import NORMAL, ErrorFactors
from sizing.evidence.extrapolation import extrapolated, widening
from sizing.evidence.extrapolation import in_words as unlike_in_words
from sizing.question.configuration import Configuration

ErrorMetric = Literal["ttft", "itl", "e2e", "throughput"]
MEASURES: Mapping[str, tuple[ErrorMetric, str]] = MappingProxyType(
    {
        "decode": ("itl", "fixed_concurrency"),
        "prefill": ("ttft", "static_batch"),
        "throughput": ("throughput", "offline_max_throughput"),
    }
)
"""What the plan asks for, and the protocol whose errors answer: metric and mode."""

METRIC_WORDS = {"ttft": "TTFT", "itl": "ITL", "e2e": "E2E"}
MODE_WORDS = {
    "fixed_concurrency": "closed-loop",
    "static_batch": "static-batch",
    "fixed_rate": "open-loop",
    "offline_max_throughput": "offline",
}

DIFFICULTIES: Mapping[str, str] = MappingProxyType(
    {
        "new_configuration": "no measurement in this parallelism",
        "new_format": "no measurement of this model in this format by this engine on this GPU",
        "new_deployment": "no measurement of this model by this engine on this GPU",
        "new_model": "no measurement of a model of this shape",
        "new_platform": "no measurement of this engine on this GPU",
        "apart": "kernel tables and roofline disagree",
        "beyond": "load or lengths outside those measured",
    }
)
"""What makes a prediction harder, by name of its weight in ``intervals.yaml``: each 0 or 1, but ``apart``, the log
ratio of decode steps, and ``beyond``, the doublings between the case and the measured range."""

SPARED: Mapping[Nearness, tuple[str, ...]] = MappingProxyType(
    {
        "configuration": ("new_configuration", "new_format", "new_deployment"),
        "format": ("new_format", "new_deployment"),
        "deployment": ("new_deployment",),
        "none": (),
    }
)
"""The difficulties that evidence so near takes away."""

TOLD_FROM = 1.05
"""Widening from which its reason is told. Chosen: because less cannot be seen in a rounded range."""


Key = tuple[str, ...]
"""A stratum: metric and mode, or only the metric where errors are too few."""


@dataclass(frozen=True, kw_only=True)
class Stratum:
    """Ends of log(measured / predicted) in one stratum, for 80 % and 95 % coverage, from so many configurations."""

    rows: int
    configurations: int
    low_80: float
    high_80: float
    low_95: float
    high_95: float

    def interval(
        self, basis: str, scale: float = 1.0, near: Nearness = "none", extrapolated: tuple[str, ...] = ()
    ) -> ErrorFactors:
        """The factors for a case of that scale; the interval always holds the prediction itself."""
        lows, highs = (self.low_80, self.low_95), (self.high_80, self.high_95)
        low_80, low_95 = (float(np.exp(min(end, 0.0) * scale)) for end in lows)
        high_80, high_95 = (float(np.exp(max(end, 0.0) * scale)) for end in highs)
        return ErrorFactors(
            low_factor=low_80,
            high_factor=high_80,
            low_95=low_95,
            high_95=high_95,
            basis=basis,
            rows=self.rows,
            near=near,
            extrapolated=extrapolated,
        )


LOAD_NAMES = ("concurrency", "input_tokens", "output_tokens")
"""Columns of loads: sequences in flight (NaN: as many as possible) and mean lengths in tokens."""


MOST_DOUBLINGS = 5.0
"""Doublings outside of what was measured beyond which nothing counts as harder. Chosen: because none of the held-out
measurements lies farther outside of the others (4.3), so that what a doubling adds was learnt of no more, and an
exponential that goes on says of a prompt of one token that its steps may take thousands of times as long."""


def doublings_outside(values: Floats, low: Floats, high: Floats) -> Floats:
    """Doublings between each value and its range, summed over the last axis, :data:`MOST_DOUBLINGS` at most; unknown
    values count as inside."""
    with np.errstate(invalid="ignore", divide="ignore"):
        far = np.maximum(np.log2(low / values), np.log2(values / high))
    return np.asarray(np.minimum(np.sum(np.nan_to_num(np.maximum(far, 0.0)), axis=-1), MOST_DOUBLINGS))


def beyond(mode: str, loads: Floats) -> Floats:
    """Doublings between ``loads`` (N, 3), columns :data:`LOAD_NAMES`, and those measured in that mode; tenths, (N,)."""
    return np.round(doublings_outside(loads, *ranges()[mode]), 1)


def as_slow_as(mode: str, loads: Floats) -> Floats:
    """The loads (N, 3) by whose doubt the slow end lies: less in flight, and shorter prompts and answers, than any that
    were measured count as the least measured.

    No step takes longer because there is less to do, so nothing is slower there than at the least measured, however
    unsure it is how much faster it gets.
    """
    return np.maximum(loads, ranges()[mode][0])


@cache
def ranges() -> Mapping[str, tuple[Floats, Floats]]:
    """Lowest and highest concurrency, input and output tokens measured, by mode."""
    rows = fitted_intervals()["ranges"]

    def end(row: Mapping[str, tuple[float, float]], which: int) -> Floats:
        return np.array([row[name][which] for name in LOAD_NAMES], dtype=np.float64)

    return MappingProxyType({mode: (end(row, 0), end(row, 1)) for mode, row in rows.items()})


@cache
def strata() -> Mapping[Key, Stratum]:
    """The committed strata (``data/intervals.yaml``) by key, see :func:`stratum_keys`."""
    rows = fitted_intervals()["strata"]
    return MappingProxyType({tuple(name.split(", ")): Stratum(**row) for name, row in rows.items()})


@cache
def capacity_exponents() -> Mapping[str, float]:
    """How much farther the capacity of an instance lies than step times at an end of their interval would have it: the
    exponent of its ratio to the planned one, by end; from runs at their limits
    (``calibration/capacity_intervals.py``)."""
    row = fitted_intervals().get("capacity") or {}
    return MappingProxyType({end: float(row.get(end, 1.0)) for end in ("low_factor", "high_factor", "at_80", "at_95")})


def capacity_exponent(confidence: float) -> float:
    """What a plan may count on with a confidence is planned x (slowed / planned)^exponent, where slowed is the capacity
    with step times at that confidence (:meth:`sizing.evidence.error_factors.ErrorFactors.factor_at`).

    Linear in the normal quantile between 80, 90 and 95 %, as at 80 % below and as at 95 % above; faster than planned
    (below 50 %) as at the fast end of the 80 % interval.
    """
    ends = capacity_exponents()
    if confidence < 0.5:
        return ends["low_factor"]
    known = {"at_80": 0.8, "high_factor": 0.9, "at_95": 0.95}
    at = [NORMAL.inv_cdf(share) for share in known.values()]
    return float(np.interp(NORMAL.inv_cdf(confidence), at, [ends[name] for name in known]))


@cache
def open_split_factors() -> Mapping[str, float]:
    """How many times as far the ends lie where the split of the GPUs into prefill and decode instances is left open, by
    metric (``calibration/open_splits.py``)."""
    return MappingProxyType(fitted_intervals().get("open_split") or {})


def stratum_keys(metric: str, mode: str) -> tuple[Key, ...]:
    """Keys from the narrowest stratum to the widest; the last always exists."""
    return (metric, mode), (metric,)


@lru_cache(maxsize=4096)
def difficulties(case: PredictionCase) -> Mapping[str, float]:
    """Each difficulty of a case, 0 where there is none."""
    near = case.near
    new = {
        "new_configuration": near != "configuration",
        "new_format": near in ("deployment", "none"),
        "new_deployment": near == "none",
        "new_model": case.architecture not in measured("models"),
        "new_platform": case.platform not in well_measured("platforms"),
    }
    ones = {name: float(is_new) for name, is_new in new.items()}
    return MappingProxyType({**ones, "apart": case.apart, "beyond": case.beyond})


@cache
def weights(metric: str) -> Mapping[str, float]:
    """How much each difficulty adds to the logarithm of an error's scale."""
    return MappingProxyType(fitted_intervals()["difficulties"][metric])


@lru_cache(maxsize=16384)
def stratum_interval(metric: str, mode: str, case: PredictionCase) -> ErrorFactors:
    """The interval of the narrowest stratum with enough configurations, times the scale of the case."""
    key = next(key for key in stratum_keys(metric, mode) if key in strata())
    stratum, hard = strata()[key], difficulties(case)
    added = {name: weight * hard[name] for name, weight in weights(metric).items()}
    basis = (
        f"cross-validated errors of {stratum.rows:,} measurements of {stratum.configurations:,} configurations "
        f"({in_words(key)})"
    )
    unlike = extrapolated(case)
    why = [DIFFICULTIES[name] for name, log_scale in added.items() if log_scale > np.log(TOLD_FROM)]
    scale = float(np.exp(sum(added.values()))) * widening(metric, unlike)
    if why or unlike:
        basis += f", widened {scale:.2g} times: {', '.join([*why, *unlike_in_words(metric, unlike)])}"
    if case.open_split:
        split = open_split_factors().get(metric, 1.0)
        scale *= split
        basis += f", {split:.2g} times as wide because how prompts and answers share the GPUs is not stated"
    near = _narrowed_by(metric, case)
    if near != "none":
        basis += f", narrower for measurements of {NEAR_WORDS[near]}"
    return stratum.interval(basis, scale, near, unlike)


def _narrowed_by(metric: str, case: PredictionCase) -> Nearness:
    """The evidence of a case, where an interval of ``metric`` would be wider without it."""
    saved = sum(weights(metric)[name] for name in SPARED[case.near])
    return case.near if saved > np.log(TOLD_FROM) else "none"


def in_words(key: Key) -> str:
    """A stratum as people call it: "closed-loop ITL"."""
    metric, *modes = key[:2]
    return " ".join([*(MODE_WORDS.get(mode, mode) for mode in modes), METRIC_WORDS.get(metric, metric)])


def intervals(
    metric: str,
    model: Model,
    configurations: Sequence[Configuration],
    loads: Floats | None = None,
    apart: Floats | None = None,
) -> list[ErrorFactors]:
    """The interval of ``decode`` or ``prefill`` times or of ``throughput`` for each configuration.

    ``loads`` (N, 3) as for :func:`beyond`, at the slow end by :func:`as_slow_as`. ``apart`` (N,): log ratio of measured
    kernels and roofline, NaN for the roofline alone. Factors on the value: measured / predicted. Raises KeyError for
    another metric (a bug of the caller).
    """
    name, mode = MEASURES[metric]
    ratios = np.full(len(configurations), np.nan) if apart is None else apart

    def at(doublings: Floats) -> list[ErrorFactors]:
        each = zip(configurations, doublings, ratios, strict=True)
        return [stratum_interval(name, mode, case_of(model, one, float(far), float(ratio))) for one, far, ratio in each]

    if loads is None:
        return at(np.zeros(len(configurations)))
    at_fast, at_slow = beyond(mode, loads), beyond(mode, as_slow_as(mode, loads))
    if np.array_equal(at_fast, at_slow):  # as far beyond what was measured at both ends: mostly not at all
        return at(at_fast)
    ends = zip(at(at_fast), at(at_slow), strict=True)
    return [replace(fast, high_factor=slow.high_factor, high_95=slow.high_95) for fast, slow in ends]
