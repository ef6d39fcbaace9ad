"""How much slower than expected steps are taken to be, so that what is planned suffices as surely as was asked.

Reality lies around a prediction as errors of unseen measurements did (:mod:`sizing.evidence.uncertainty`). A plan that
is to suffice with a chance ``c`` holds its limits when every step takes as long as in the ``c``-quantile of these
errors. So a configuration that nobody measured needs more hardware than one that was, and pays for its own doubt.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sizing.base.arrays import Columns, Floats
from sizing.base.units import TWO_SIDED_80
from sizing.calibration.calibrated import CalibratedConfiguration
from sizing.calibration.carried import carried_interval
from sizing.catalog.adapters import adapter_support
from sizing.catalog.model import Model
from sizing.deployments.candidates import Candidates
from sizing.evidence.error_factors import NORMAL, ErrorFactors
from sizing.evidence.scales import Unmeasured, scales, unit_logarithm
from sizing.evidence.uncertainty import LOAD_NAMES, capacity_exponent, intervals
from sizing.question.configuration import Configuration
from sizing.question.traffic import Traffic
from sizing.question.understand import EXPECTED
from sizing.steps.times import StepTimes

MEDIA_DOUBT = 1.5
"""How many times as long or as short as expected a prompt with images or sound may take, at the ends of an interval of
80 %. Chosen: encoding is up to half of it, and no published run tells the size of its images and its limits both."""


@dataclass(frozen=True, kw_only=True)
class Slowness(Columns):
    """How many times as long as expected decode and prefill steps are taken to last, (C,) each; 1 is as expected.

    ``exponent`` (C,): see :func:`exponent_of`.
    """

    decode: Floats
    prefill: Floats
    exponent: Floats

    @classmethod
    def none(cls, rows: int) -> Slowness:
        """No slowness: the step times of all ``rows`` candidates are as expected."""
        return cls(decode=np.ones(rows), prefill=np.ones(rows), exponent=np.ones(rows))

    def put_on(self, times: StepTimes) -> StepTimes:
        """Expected step times as they are taken to be."""
        return times.scaled(self.decode, self.prefill)

    def taken_off(self, times: StepTimes) -> StepTimes:
        """Step times without the slowness that :meth:`put_on` multiplies them by."""
        return times.scaled(1.0 / self.decode, 1.0 / self.prefill)


def slowness(
    model: Model,
    candidates: Candidates,
    traffic: Traffic,
    times: StepTimes,
    calibrated: CalibratedConfiguration | None,
    confidence: float,
) -> Slowness:
    """The slowness of every candidate, so that steps are no slower with a chance of ``confidence``."""
    if confidence == EXPECTED:
        return Slowness.none(len(candidates))
    apart, exponent = times.apart_of(np.arange(len(candidates))), capacity_exponent(confidence)
    new = Unmeasured.of(model, candidates)
    slow = {
        what: np.exp(
            exponent * unit_logarithm(what, confidence) * scales(what, new, traffic, apart, slow=confidence > EXPECTED)
        )
        for what in ("decode", "prefill")
    }
    exponents = np.full(len(candidates), exponent)
    if calibrated is not None:
        known = np.flatnonzero(candidates.column(lambda r: r.gpu.id == calibrated.configuration.gpu.id))
        rows = [candidates.rows[i] for i in known]
        for what, factors in slow.items():
            around = intervals_with(model, what, rows, traffic, calibrated, apart=apart[known])
            factors[known] = [step_factor(one, confidence) for one in around]
            exponents[known] = [exponent_of(one, confidence) for one in around]
    return Slowness(**slow, exponent=exponents)


def with_doubt_of_drafts(slow: Slowness, candidates: Candidates, confidence: float) -> Slowness:
    """The slowness of candidates that draft from ``slow``, that of the same without drafts.

    As :meth:`ErrorFactors.wider` at the asked confidence: distances in logs join by the root of the sum of their
    squares, the doubt about drafts being normal. So many candidates need no interval of their own.
    """
    if confidence == EXPECTED:
        return slow
    z, is_slow = NORMAL.inv_cdf(confidence), confidence > EXPECTED
    kinds = {id(row.speculation): row.speculation for row in candidates.rows}
    doubts = {key: abs(math.log(drafts.doubt[is_slow])) * abs(z) / TWO_SIDED_80 for key, drafts in kinds.items()}
    doubt = np.array([doubts[id(row.speculation)] for row in candidates.rows])
    own = np.abs(np.log(slow.decode)) / slow.exponent
    return replace(slow, decode=np.exp(math.copysign(1.0, z) * slow.exponent * np.hypot(own, doubt)))


def with_doubt_of_extras(
    slow: Slowness, model: Model, candidates: Candidates, traffic: Traffic, confidence: float
) -> Slowness:
    """The slowness of candidates that serve adapters, images or sound from ``slow``, that of the same without:
    distances in logs join by the root of the sum of their squares, as in :func:`with_doubt_of_drafts`."""
    adapts = len(candidates) > 0 and candidates.rows[0].adapters.number > 0
    if confidence == EXPECTED or not (adapts or traffic.media.of_request):
        return slow
    z, is_slow = NORMAL.inv_cdf(confidence), confidence > EXPECTED

    def joined(before: Floats, metric: str) -> Floats:
        ends = candidates.column(lambda row: abs(math.log(doubt_of_extras(metric, model, row, traffic)[is_slow])))
        own = np.abs(np.log(before)) / slow.exponent
        return np.asarray(np.exp(math.copysign(1.0, z) * slow.exponent * np.hypot(own, ends * abs(z) / TWO_SIDED_80)))

    return replace(slow, decode=joined(slow.decode, "decode"), prefill=joined(slow.prefill, "prefill"))


def doubt_of_extras(metric: str, model: Model, row: Configuration, traffic: Traffic) -> tuple[float, float]:
    """Time of a step over the expected one at the fast and at the slow end, for what adapters do to every step and
    encoders to prompts; (1, 1) without either."""
    fast, slow = 1.0, 1.0
    if row.adapters.number:
        fast, slow = adapter_support(row.engine, model, row.adapters.targets).doubt
    if traffic.media.of_request and metric == "prefill":
        fast = math.exp(-math.hypot(math.log(fast), math.log(MEDIA_DOUBT)))
        slow = math.exp(math.hypot(math.log(slow), math.log(MEDIA_DOUBT)))
    return fast, slow


def step_factor(around: ErrorFactors, confidence: float) -> float:
    """How many times as long as predicted a step takes at most with a chance of ``confidence``, for capacity.

    factor_at(confidence) ^ exponent. The chance that limits hold is the confidence at which the planned instances just
    carry the peak within every limit. Source: errors of predictions of measurements that the fit had not seen, and how
    often it held, ``docs/ACCURACY.md``.
    """
    return float(around.factor_at(confidence) ** exponent_of(around, confidence))


def step_factors(around: ErrorFactors, confidences: Floats) -> Floats:
    """:func:`step_factor` of an interval at each of the confidences, (N,)."""
    return np.array([step_factor(around, confidence) for confidence in confidences.tolist()])


def exponent_of(around: ErrorFactors, confidence: float) -> float:
    """How much farther capacities of runs at their limits lay than step times
    (:func:`sizing.evidence.uncertainty.capacity_exponent`): what is planned is capacity. 1 for a configuration that the
    user measured, whose interval is of its own runs.
    """
    return 1.0 if around.own else capacity_exponent(confidence)


def intervals_with(
    model: Model,
    metric: str,
    rows: Sequence[Configuration],
    traffic: Traffic,
    calibrated: CalibratedConfiguration | None,
    concurrency: Floats | None = None,
    apart: Floats | None = None,
) -> list[ErrorFactors]:
    """The interval of each configuration: the posterior of one that a benchmark measured, what is
    carried over to its neighbours, else the cross-validated one; of decode steps wider by the doubt about drafts.

    ``concurrency`` (N,); None: as much as possible. ``apart`` (N,): log ratio of measured kernels and roofline, NaN for
    the roofline alone.
    """
    loads = np.full((len(rows), len(LOAD_NAMES)), (np.nan, traffic.input_tokens, traffic.output_tokens))
    if concurrency is not None:
        loads[:, 0] = concurrency
    of_rows = intervals(metric, model, rows, loads=loads, apart=apart)
    for n, row in enumerate(rows):
        if calibrated is not None and calibrated.covers(row):
            of_rows[n] = calibrated.interval(metric, None if concurrency is None else float(concurrency[n]))
        elif calibrated is not None:
            of_rows[n] = carried_interval(calibrated, row, metric, of_rows[n])
        if metric == "decode":
            of_rows[n] = of_rows[n].wider(*row.speculation.doubt)
        if row.adapters.number or traffic.media.of_request:
            of_rows[n] = of_rows[n].wider(*doubt_of_extras(metric, model, row, traffic))
    return of_rows
