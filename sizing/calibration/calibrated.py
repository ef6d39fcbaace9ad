"""A configuration that a benchmark has calibrated: which candidates it covers, its step times and intervals."""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sizing.base.arrays import Flags, Floats
from sizing.base.format import counted
from sizing.base.units import TWO_SIDED_80, TWO_SIDED_95
from sizing.catalog.model import Model
from sizing.catalog.precisions import WIDE_BYTES, Precision
from sizing.deployments.candidates import Candidates
from sizing.evidence.error_factors import ErrorFactors
from sizing.question.configuration import Configuration
from sizing.steps.times import StepTimes

LEFT_OVER, PER_DOUBLING = 0.02, 0.03
"""Spread of log(measured / calibrated) that three factors cannot express: between the calibration points, and more for
every doubling of the load beyond them. Chosen: because with them the 80 % intervals of ``docs/CALIBRATION.md`` hold."""

LOWEST, HIGHEST = np.array([-1.5, -1.5, -0.7]), np.array([2.5, 2.5, 4.0])
"""Bounds of (log d, log p, s / decode of one sequence). Chosen: because beyond them (4.5 times as fast, 12 times as
slow) the points are of something else, or their unit is."""

AT_BOUND = 0.01
"""A log factor this near to its bound is at it: the fit stops within its tolerance."""

LEAST_DECODE = 0.1
"""A calibrated decode step is at least this share of what it was, whatever a negative s takes away. Chosen: because no
engine runs ten times as fast as predicted."""

LEAST_LOAD = 1e-3
"""Sequences in flight at least, of which the logarithm is taken. Chosen: because an instance so idle has no batch."""

WIDEST = math.log(10.0)
"""Half width of the widest interval, in logs: a factor of ten either way says that hardly anything is known."""


@dataclass(frozen=True, kw_only=True)
class CalibratedConfiguration:
    """One configuration with its fitted factors; ``covariance`` (3, 3) is that of (log d, log p, s / decode(1)), and
    ``sequence_s`` what each running sequence adds to a step, which the benchmark states and no point was fitted to.

    ``misfit`` is the mean square of log(measured / calibrated) in units of the noise; above 1 it widens the interval.
    ``lowest`` and ``highest`` are the loads of the points in requests in flight per instance; ``before`` and ``after``
    the median absolute error of their ITL (throughput where none was measured), ``ratio`` their median of
    measured / predicted before; ``surprise`` that ratio or the largest factor, in prior standard deviations.
    """

    model: Model
    configuration: Configuration
    any_kv: bool
    calibration_points: int
    decode: float
    prefill: float
    step_s: float
    one_sequence_s: float
    covariance: tuple[tuple[float, ...], ...]
    misfit: float
    lowest: float
    highest: float
    before: float
    after: float
    ratio: float
    surprise: float
    name: str
    sequence_s: float = 0.0

    @property
    def factors(self) -> Floats:
        """(log d, log p, s / decode of one sequence)."""
        return np.array([math.log(self.decode), math.log(self.prefill), self.step_s / self.one_sequence_s])

    @property
    def decode_surprise(self) -> float:
        """log(calibrated / predicted) of a decode step of one sequence, where the fixed part weighs most."""
        return math.log(max(self.decode * self.one_sequence_s + self.step_s, self._least_s) / self.one_sequence_s)

    @property
    def source(self) -> str:
        """What is written beside every number that comes from here."""
        points = counted(self.calibration_points, "calibration point")
        return f"measured benchmark {self.name} ({points}) on predicted step times"

    @property
    def of_something_else(self) -> bool:
        """Whether no calibration of this configuration explains the decode times: their factor is at its bound, or the
        fixed time takes away all but the least of a step. The description is wrong then, or the unit of the times."""
        at_bound = min(self.factors[0] - LOWEST[0], HIGHEST[0] - self.factors[0]) < AT_BOUND
        return bool(at_bound) or self.decode * self.one_sequence_s + self.step_s <= self._least_s

    @property
    def _least_s(self) -> float:
        """The shortest decode step of one sequence that a calibration gives, in seconds."""
        return LEAST_DECODE * self.one_sequence_s

    def matching(self, candidates: Candidates) -> NDArray[np.intp]:
        """The candidates that are what was measured: same GPU, engine, weight format and TP, PP, EP, DP. FP16 and BF16
        are one format: as wide, multiplied at the same rate."""
        same = np.array([self._same_unit(u) for u in candidates.units], dtype=bool)[candidates.unit]
        return np.flatnonzero(same & self.alike_layout(candidates))

    def alike_layout(self, candidates: Candidates) -> Flags:
        """Which candidates have the TP, PP, EP and DP that were measured, (C,)."""
        measured = self.configuration
        parallelism = np.column_stack([candidates.tp, candidates.pp, candidates.ep, candidates.dp])
        return np.asarray((parallelism == (measured.tp, measured.pp, measured.ep, measured.dp)).all(axis=1))

    def laid_out_alike(self, row: Configuration) -> bool:
        """The same of one configuration."""
        measured = self.configuration
        return (measured.tp, measured.pp, measured.ep, measured.dp) == (row.tp, row.pp, row.ep, row.dp)

    def covers(self, row: Configuration) -> bool:
        """Whether one configuration is what was measured, see :meth:`matching`."""
        return self._same_unit(row) and self.laid_out_alike(row)

    def _same_unit(self, row: Configuration) -> bool:
        measured = self.configuration
        kv = self.any_kv or row.kv_precision == measured.kv_precision
        drafts_alone = row.speculation.draft is not None  # considered unasked: nobody measured it with them
        return (
            kv
            and not drafts_alone
            and (measured.gpu.id, measured.engine.id) == (row.gpu.id, row.engine.id)
            and same_speed(measured.precision, row.precision)
        )

    def scaled(self, times: StepTimes, concurrency: Floats) -> StepTimes:
        """Predicted times of the measured configuration with so many sequences (C, K), calibrated."""
        step_s = self.step_s + self.sequence_s * concurrency
        return calibrated(times, decode=self.decode, prefill=self.prefill, step_s=step_s, source=self.source)

    def interval(self, metric: str, concurrency: float | None = None) -> ErrorFactors:
        """Intervals of ``decode`` or ``prefill`` times after calibration, at ``concurrency`` per instance if given.

        Half width of the 80 % one = 1.28 x sqrt((posterior variance + left over^2) x max(misfit, 1) + (per doubling x
        doublings beyond the points)^2), at most WIDEST: points that disagree by more than their noise leave more open
        (Birge 1932).
        """
        covariance = np.array(self.covariance)
        slope = np.array([0.0, 1.0, 0.0]) if metric == "prefill" else self._slope()
        load = self.highest if concurrency is None else max(concurrency, LEAST_LOAD)
        beyond = max(math.log2(load / self.highest), math.log2(self.lowest / load))
        variance = (float(slope @ covariance @ slope) + LEFT_OVER**2) * max(self.misfit, 1.0)
        variance += (PER_DOUBLING * max(beyond, 0.0)) ** 2
        width = min(TWO_SIDED_80 * math.sqrt(variance), WIDEST)
        wider = width * TWO_SIDED_95 / TWO_SIDED_80
        basis = f"{counted(self.calibration_points, 'measured point')} of this very configuration"
        return ErrorFactors(
            low_factor=math.exp(-width),
            high_factor=math.exp(width),
            low_95=math.exp(-wider),
            high_95=math.exp(wider),
            basis=basis,
            rows=self.calibration_points,
            own=True,
        )

    def _slope(self) -> Floats:
        """Derivatives of log decode(1) by the three factors; the fixed part weighs most there."""
        total = max(self.decode * self.one_sequence_s + self.step_s, self._least_s)
        return np.array([self.decode * self.one_sequence_s / total, 0.0, self.one_sequence_s / total])


def same_speed(one: Precision, other: Precision) -> bool:
    """Whether step times do not tell two weight formats apart: both of 16 bit and multiplied at the same rate."""
    return one.id == other.id or (one.compute == other.compute == "wide" and one.bytes == other.bytes == WIDE_BYTES)


def calibrated(times: StepTimes, *, decode: float, prefill: float, step_s: float | Floats, source: str) -> StepTimes:
    """Step times with the factors applied: d x decode + s, p x prompt times."""
    # Where running sequences add to a step, s is an array: with what they add for each number of them.
    return replace(
        times,
        decode_s=np.maximum(decode * times.decode_s + step_s, LEAST_DECODE * times.decode_s),
        prefill_s=prefill * times.prefill_s,
        prefill_work_s=prefill * times.prefill_work_s,
        prompt_step_s=prefill * np.asarray(times.prompt_step_s),
        stall_s=prefill * np.asarray(times.stall_s),
        source=source,
    )
