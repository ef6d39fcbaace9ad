"""From the interval of the step times to intervals of GPUs and latency."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sizing.candidates import Configuration
from sizing.capacity import at_rate
from sizing.question import Question
from sizing.screen import Evaluated, Sized, instances_needed, under_load
from sizing.uncertainty import Interval, interval


@dataclass(frozen=True, kw_only=True)
class Spread:
    """80 % interval of a few sized candidates, shape (N,); high is inf where a limit could no longer be met."""

    gpus_low: NDArray[np.float64]
    gpus_high: NDArray[np.float64]
    ttft_s: NDArray[np.float64]
    itl_s: NDArray[np.float64]
    e2e_s: NDArray[np.float64]
    basis: tuple[Interval, ...]


def spread(question: Question, evaluated: Evaluated, sized: Sized, rows: NDArray[np.intp]) -> Spread:
    """The same question with all step times at the ends of their interval; ``rows`` index into ``sized``.

    Latency arrays have shape (2, N): low and high end at the planned load (inf when the load would be unstable).
    """
    index = sized.index[rows]
    load = sized.position.of(evaluated.state.concurrency[sized.index])[rows]
    found, prompt = (
        tuple(_interval(question, metric, evaluated.candidates.rows[i], at) for i, at in zip(index, load, strict=True))
        for metric in ("decode", "prefill")
    )
    ends = [
        _at_end(question, evaluated, sized, rows, *(np.array([getattr(f, end) for f in fs]) for fs in (found, prompt)))
        for end in ("low_factor", "high_factor")
    ]
    (gpus_low, low), (gpus_high, high) = ends
    ttft, itl, e2e = (np.stack([low[k], high[k]]) for k in range(3))
    return Spread(gpus_low=gpus_low, gpus_high=gpus_high, ttft_s=ttft, itl_s=itl, e2e_s=e2e, basis=found)


def _interval(question: Question, metric: str, row: Configuration, concurrency: float) -> Interval:
    """The posterior of a configuration that was measured, else the cross-validated interval of its stratum."""
    if question.anchored is not None and question.anchored.covers(row):
        return question.anchored.interval(metric, concurrency)
    return interval(metric, row, question.model)


def _at_end(
    question: Question, evaluated: Evaluated, sized: Sized, rows: NDArray[np.intp],
    decode: NDArray[np.float64], prefill: NDArray[np.float64],
) -> tuple[NDArray[np.float64], list[NDArray[np.float64]]]:
    """GPUs needed and the latencies at the planned load if step times are ``decode`` and ``prefill`` times as long."""
    index = sized.index[rows]
    times = evaluated.times.take(index)
    prompts = times.scaled(prefill)
    slower = replace(prompts, decode_s=times.scaled(decode).decode_s)
    candidates = evaluated.candidates.take(index)
    scaled = under_load(
        question,
        candidates,
        evaluated.memory.take(index),
        slower,
        tuple(evaluated.sources[i] for i in index),
        evaluated.state.concurrency[index],
    )
    rps = scaled.capacity.rps
    with np.errstate(divide="ignore"):
        needed = np.where(rps > 0, instances_needed(question.demand.peak_rps, np.maximum(rps, 1e-12)), np.inf)
    gpus = (needed + question.scenario.deployment.spare_instances) * candidates.gpus
    load = sized.rps[rows]
    position = at_rate(scaled.state.rps, load)
    stable = load <= scaled.capacity.stable_rps
    latencies = (scaled.latencies.ttft_s, scaled.latencies.itl_s, scaled.latencies.e2e_s)
    return gpus, [np.where(stable, position.of(values), np.inf) for values in latencies]
