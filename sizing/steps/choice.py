"""Which source of step times answers for which candidate; the one used is named on every answer."""

from __future__ import annotations

from typing import Literal

import numpy as np

from sizing.anchors import Anchored
from sizing.candidates import Candidates, Floats
from sizing.catalog.model import Model
from sizing.steps.kernel import KernelTables
from sizing.steps.roofline import roofline
from sizing.steps.times import StepTimes, Traffic, TrafficColumns

StepChoice = Literal["roofline", "kernel"]


def step_times(
    choice: StepChoice,
    model: Model,
    candidates: Candidates,
    traffic: Traffic | TrafficColumns,
    concurrency: Floats,
    anchored: Anchored | None = None,
) -> tuple[StepTimes, tuple[str, ...]]:
    """Step times and, per candidate, the name of their source.

    The configuration that was measured (``anchored``) has its calibrated times, whatever is chosen for the others.
    """
    times, sources = _predicted(choice, model, candidates, traffic, concurrency)
    index = anchored.matching(candidates) if anchored else np.empty(0, dtype=np.intp)
    if anchored is None or not len(index):
        return times, sources
    base = roofline().times(model, candidates.take(index), traffic.take(index), concurrency[index])
    names = list(sources)
    for i in index:
        names[i] = anchored.source
    return times.replaced(index, anchored.scaled(base)), tuple(names)


def _predicted(
    choice: StepChoice, model: Model, candidates: Candidates, traffic: Traffic | TrafficColumns, concurrency: Floats
) -> tuple[StepTimes, tuple[str, ...]]:
    """Step times that were not measured, and their source per candidate.

    ``roofline`` answers everything. ``kernel`` asks NVIDIA's kernel tables first and falls back to the roofline, row
    by row, where they do not cover a configuration; the source says so.
    """
    base = roofline().times(model, candidates, traffic, concurrency)
    if choice == "roofline":
        return base, (base.source,) * len(candidates)
    if isinstance(traffic, TrafficColumns):
        raise TypeError("Kernel tables answer one pair of lengths at a time.")
    kernel = KernelTables().times(model, candidates, traffic, concurrency)
    covered = np.isfinite(kernel.prefill_s) & np.isfinite(kernel.decode_s).all(axis=1)
    merged = StepTimes(
        decode_s=np.where(covered[:, None], kernel.decode_s, base.decode_s),
        prefill_s=np.where(covered, kernel.prefill_s, base.prefill_s),
        prefill_work_s=np.where(covered, kernel.prefill_work_s, base.prefill_work_s),
        source=kernel.source,
    )
    missing = f"{base.source}; not in the kernel tables"
    return merged, tuple(kernel.source if c else missing for c in covered)
