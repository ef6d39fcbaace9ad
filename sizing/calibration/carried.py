"""What a benchmark says of configurations beside the measured one: same model and GPU, another layout, format, engine.

How far the surprise of one configuration, r = log(measured / predicted), holds for its neighbours was looked at on
published runs: 139 pairs on one GPU with one model (``sizing/data/evidence.csv.gz``, 25 November 2026; closed loops,
static batches and offline runs, loads within 1.5 doublings). Of a surprise r a neighbour has ``share`` x r, and what
remains spreads by ``spread``. These were tuned runs, with surprises of some per cent. One far beyond the spread comes
from what all configurations of a deployment share (host, versions, settings, the load generator), so that what is
carried over is at least all but two spreads of it: sign(r) x max(share x |r|, |r| - 2 x spread).
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sizing.base.arrays import Floats, Rows
from sizing.base.format import counted
from sizing.base.units import TWO_SIDED_80, TWO_SIDED_95
from sizing.calibration.calibrated import WIDEST, CalibratedConfiguration, calibrated, same_speed
from sizing.deployments.candidates import Candidates
from sizing.evidence.error_factors import ErrorFactors
from sizing.question.configuration import Configuration
from sizing.steps.times import StepTimes


@dataclass(frozen=True, kw_only=True)
class Kinship:
    """How a neighbour differs from what was measured, in words; ``share`` of the surprise that it has, and the
    ``spread`` (standard deviation of the logarithm) of what it does not have in common."""

    differs: str
    share: float
    spread: float

    ALL_BUT: ClassVar[float] = 2.0
    """Spreads of a surprise that may be of one configuration alone."""

    def carried(self, surprise: float) -> float:
        """What a neighbour has of a surprise, a logarithm."""
        least = abs(surprise) - self.ALL_BUT * self.spread
        return math.copysign(max(self.share * abs(surprise), least), surprise)


TWIN = Kinship(differs="engine of the same step times", share=1.0, spread=0.07)
"""Engines that are one engine under two names (NIM). Share: because it is the same code; spread: as of layouts."""

LAYOUT = Kinship(differs="parallelism", share=0.57, spread=0.07)
"""80 pairs of 8 models that differ in tensor parallelism: spread of the surprises 0.085, of what remains 0.070."""

FORMAT = Kinship(differs="number format", share=0.3, spread=0.09)
"""23 pairs that differ in format and layout: share 0.30, 0.063 remains; 10 that differ in format alone: none, 0.091."""

ENGINE = Kinship(differs="engine", share=0.36, spread=0.26)
"""6 pairs of 5 models: spread of the surprises 0.284, of what remains 0.258."""


def kinship(measured: CalibratedConfiguration, row: Configuration) -> Kinship | None:
    """How a configuration is related to the measured one, by the most telling difference; None on another GPU, and for
    what was measured itself."""
    return None if measured.covers(row) else _kinship(measured, row, laid_out_alike=measured.laid_out_alike(row))


def _kinship(measured: CalibratedConfiguration, unit: Configuration, *, laid_out_alike: bool) -> Kinship | None:
    """The same of GPU, engine and formats, for a layout that is or is not the measured one."""
    own = measured.configuration
    if unit.gpu.id != own.gpu.id:
        return None
    if unit.engine.surrogate != own.engine.surrogate:
        return ENGINE
    same_kv = measured.any_kv or unit.kv_precision == own.kv_precision
    if not (same_kv and same_speed(unit.precision, own.precision)):
        return FORMAT
    return TWIN if laid_out_alike else LAYOUT


def neighbours(measured: CalibratedConfiguration, candidates: Candidates) -> list[tuple[Rows, Kinship]]:
    """The rows of each kinship."""
    alike = measured.alike_layout(candidates)
    by_layout = [[_kinship(measured, u, laid_out_alike=same) for u in candidates.units] for same in (False, True)]
    kinds = dict.fromkeys(kin for units in by_layout for kin in units if kin is not None)
    itself = np.zeros(len(candidates), dtype=np.bool_)
    itself[measured.matching(candidates)] = True
    related = list[tuple[Rows, Kinship]]()
    for kind in kinds:
        other, same = (np.array([kin == kind for kin in units], dtype=np.bool_) for units in by_layout)
        rows = np.where(alike, same[candidates.unit], other[candidates.unit]) & ~itself
        if rows.any():
            related.append((np.flatnonzero(rows), kind))
    return related


def carried_times(measured: CalibratedConfiguration, kin: Kinship, times: StepTimes, concurrency: Floats) -> StepTimes:
    """Predicted times of neighbours with so many sequences (C, K), with what the benchmark says of them."""
    surprise = measured.decode_surprise
    part = kin.carried(surprise) / surprise if surprise else kin.share
    return calibrated(
        times,
        decode=measured.decode**part,
        prefill=math.exp(kin.carried(math.log(measured.prefill))),
        step_s=part * (measured.step_s + measured.sequence_s * concurrency),
        source=source(measured),
    )


def source(measured: CalibratedConfiguration) -> str:
    """What is written beside every number that is carried over."""
    points = counted(measured.calibration_points, "calibration point")
    return (
        f"predicted step times, with what the benchmark {measured.name} ({points}) says of "
        f"{measured.configuration.label} carried over"
    )


def carried_interval(
    measured: CalibratedConfiguration, row: Configuration, metric: str, plain: ErrorFactors
) -> ErrorFactors:
    """Intervals of a neighbour's step times; as ``plain``, the one without a benchmark, for any other.

    Half width of the 80 % one = 1.28 x sqrt(width of the measured one^2 + spread^2), beyond the part of the surprise
    that was not carried over, and never narrower than ``plain``: what is known of a neighbour is no better than what is
    known of all.
    """
    kin = kinship(measured, row)
    if kin is None:
        return plain
    surprise = measured.decode_surprise if metric == "decode" else math.log(measured.prefill)
    own = measured.interval(metric)
    left = surprise - kin.carried(surprise)
    known = math.log(own.high_factor / own.low_factor) / (2.0 * TWO_SIDED_80)
    width = min(TWO_SIDED_80 * math.sqrt(known**2 + kin.spread**2), WIDEST)
    wider = width * TWO_SIDED_95 / TWO_SIDED_80
    return ErrorFactors(
        low_factor=min(plain.low_factor, math.exp(min(left, 0.0) - width)),
        high_factor=max(plain.high_factor, math.exp(max(left, 0.0) + width)),
        low_95=min(plain.low_95, math.exp(min(left, 0.0) - wider)),
        high_95=max(plain.high_95, math.exp(max(left, 0.0) + wider)),
        basis=f"{plain.basis}; {counted(measured.calibration_points, 'measured point')} of another {kin.differs} "
        "carried over",
        rows=plain.rows,
        near=plain.near,
    )
