"""From the interval of the step times to intervals of GPUs and latency."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sizing.base.arrays import Floats
from sizing.calibration.benchmark import calibrated_configuration
from sizing.evidence.uncertainty import ErrorFactors, Load, interval
from sizing.question.configuration import Configuration
from sizing.question.understand import Question
from sizing.queueing.capacity import at_rate
from sizing.search.screen import Evaluated, Sized, instances_needed, under_load


@dataclass(frozen=True, kw_only=True)
class Spread:
    """80 % interval of a few sized candidates, shape (N,); high is inf where a limit could no longer be met.

    ``ttft_s``, ``itl_s``, ``e2e_s`` are (2, N): low and high end at the planned load. ``decode`` and ``prefill`` are
    the
    intervals of the step times they come from.
    """

    gpus_low: Floats
    gpus_high: Floats
    ttft_s: Floats
    itl_s: Floats
    e2e_s: Floats
    decode: tuple[ErrorFactors, ...]
    prefill: tuple[ErrorFactors, ...]


def spread(question: Question, evaluated: Evaluated, sized: Sized, rows: NDArray[np.intp]) -> Spread:
    """The same question with all step times at the ends of their interval; ``rows`` index into ``sized``."""
    load = sized.position.of(evaluated.state.concurrency[sized.index])[rows]
    planned = [(evaluated.candidates.rows[i], at) for i, at in zip(sized.index[rows], load, strict=True)]
    decode, prefill = (
        tuple(interval_of(question, metric, row, at) for row, at in planned) for metric in ("decode", "prefill")
    )
    (gpus_low, low), (gpus_high, high) = (
        _at_end(question, evaluated, sized, rows, *(np.array([getattr(f, end) for f in m]) for m in (decode, prefill)))
        for end in ("low_factor", "high_factor")
    )
    ttft, itl, e2e = (np.stack([low[k], high[k]]) for k in range(3))
    return Spread(
        gpus_low=gpus_low, gpus_high=gpus_high, ttft_s=ttft, itl_s=itl, e2e_s=e2e, decode=decode, prefill=prefill
    )


def interval_of(question: Question, metric: str, row: Configuration, concurrency: float | None = None) -> ErrorFactors:
    """The posterior of a configuration that was measured, else the cross-validated interval of its stratum."""
    calibrated = calibrated_configuration(question)
    if calibrated is not None and calibrated.covers(row):
        return calibrated.interval(metric, concurrency)
    traffic = question.traffic
    load = Load(
        concurrency=math.nan if concurrency is None else concurrency,
        input_tokens=traffic.input_tokens,
        output_tokens=traffic.output_tokens,
    )
    return interval(metric, row, question.model, load=load)


def with_slower_steps(
    question: Question, evaluated: Evaluated, index: NDArray[np.intp], decode: Floats, prefill: Floats
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


def _at_end(
    question: Question, evaluated: Evaluated, sized: Sized, rows: NDArray[np.intp], decode: Floats, prefill: Floats
) -> tuple[Floats, list[Floats]]:
    """GPUs needed, and the latencies at the planned load (inf where it would be unstable), at one end."""
    scaled = with_slower_steps(question, evaluated, sized.index[rows], decode, prefill)
    rps = scaled.capacity.rps
    needed = np.where(rps > 0, instances_needed(question.demand.peak_rps, rps), np.inf)
    gpus = (needed + question.scenario.deployment.spare_instances) * scaled.candidates.gpus
    load = sized.rps[rows]
    position = at_rate(scaled.state.rps, load)
    stable = load <= scaled.capacity.stable_rps
    latencies = (scaled.latencies.ttft_s, scaled.latencies.itl_s, scaled.latencies.e2e_s)
    return gpus, [np.where(stable, position.of(values), np.inf) for values in latencies]
