"""The 80 % interval of one deployment: its GPUs and latencies at both ends of the interval of its step times."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sizing.base.arrays import Floats, Rows
from sizing.calibration.benchmark import calibrated_configuration
from sizing.evidence.error_factors import ErrorFactors
from sizing.evidence.uncertainty import capacity_exponents
from sizing.question.configuration import Configuration
from sizing.question.understand import Question
from sizing.search.caution import intervals_with
from sizing.search.screen import Evaluated, under_load

ENDS = ("low_factor", "high_factor")
"""The ends of an interval of step times: fast and slow."""


@dataclass(frozen=True, kw_only=True)
class Spread:
    """80 % interval of one deployment; infinite where a limit could no longer be met, or the load would be unstable.

    ``gpus`` needed and the latencies (s) at the planned load, each at the fast and the slow end of the step times;
    ``decode`` and ``prefill`` are the intervals of these.
    """

    gpus: tuple[float, float]
    ttft_s: tuple[float, float]
    itl_s: tuple[float, float]
    e2e_s: tuple[float, float]
    decode: ErrorFactors
    prefill: ErrorFactors

    @property
    def gpu_range(self) -> tuple[int, int | None]:
        """Whole GPUs at both ends; None where the limits could no longer be met."""
        low, high = self.gpus
        return int(low), int(high) if np.isfinite(high) else None

    @property
    def overloads(self) -> bool:
        """Whether the planned load would be too much at the slow end."""
        return math.isinf(self.e2e_s[1])


@dataclass(frozen=True, kw_only=True)
class AtEnd:
    """Deployments at one end of the interval of their step times, (N,): GPUs needed, latencies at the planned load."""

    gpus: Floats
    ttft_s: Floats
    itl_s: Floats
    e2e_s: Floats


def spreads_of(
    fast: AtEnd, slow: AtEnd, decode: Sequence[ErrorFactors], prefill: Sequence[ErrorFactors]
) -> list[Spread]:
    """The interval of each deployment from all of them at both ends."""

    def ends(name: str, n: int) -> tuple[float, float]:
        return float(getattr(fast, name)[n]), float(getattr(slow, name)[n])

    return [
        Spread(
            **{name: ends(name, n) for name in ("gpus", "ttft_s", "itl_s", "e2e_s")},
            decode=decode[n],
            prefill=prefill[n],
        )
        for n in range(len(decode))
    ]


def intervals_of(
    question: Question,
    metric: str,
    rows: Sequence[Configuration],
    concurrency: Floats | None = None,
    apart: Floats | None = None,
) -> list[ErrorFactors]:
    """The interval of each configuration of a question, see :func:`sizing.search.caution.intervals_with`."""
    calibrated = calibrated_configuration(question)
    return intervals_with(question.model, metric, rows, question.traffic, calibrated, concurrency, apart)


def intervals_at(
    question: Question, metric: str, evaluated: Evaluated, index: Rows, concurrency: Floats | None = None
) -> list[ErrorFactors]:
    """:func:`intervals_of` of the evaluated candidates at ``index``, with the sources of their step times."""
    rows = [evaluated.candidates.rows[i] for i in index]
    return intervals_of(question, metric, rows, concurrency, evaluated.times.apart_of(index))


def factors(intervals: Sequence[ErrorFactors], end: str) -> Floats:
    """How many times as long steps take at one end of each interval, (N,)."""
    return np.array([getattr(one, end) for one in intervals])


def with_slower_steps(
    question: Question, evaluated: Evaluated, index: Rows, decode: Floats, prefill: Floats
) -> Evaluated:
    """The candidates at ``index`` under load when their step times are ``decode`` and ``prefill`` times as long."""
    return under_load(
        question,
        evaluated.candidates.take(index),
        evaluated.memory.take(index),
        evaluated.times.take(index).scaled(decode, prefill),
        tuple(evaluated.sources[i] for i in index),
        evaluated.state.concurrency[index],
    )


def capacity_factors(intervals: Sequence[ErrorFactors], end: str) -> Floats:
    """As :func:`factors`, with the capacity as far from the planned one as that of runs at their limits was, (N,). A
    configuration that the user measured has the interval of its own measurement."""
    exponent = np.where([one.own for one in intervals], 1.0, capacity_exponents()[end])
    return np.asarray(factors(intervals, end) ** exponent)
