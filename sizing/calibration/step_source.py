"""Which source of step times answers for which candidate; the one used is named on every answer."""

from __future__ import annotations

import numpy as np

from sizing.base.arrays import Floats
from sizing.base.choices import StepTimesFrom
from sizing.base.provenance import StepSource
from sizing.calibration.calibrated import CalibratedConfiguration
from sizing.catalog.model import Model
from sizing.deployments.candidates import Candidates
from sizing.question.traffic import Traffic
from sizing.steps.kernel import KernelTables
from sizing.steps.mixture import mixture, source_in_words
from sizing.steps.roofline import roofline
from sizing.steps.times import StepTimes


def step_times(
    choice: StepTimesFrom,
    model: Model,
    candidates: Candidates,
    traffic: Traffic,
    concurrency: Floats,
    calibrated: CalibratedConfiguration | None = None,
) -> tuple[StepTimes, tuple[StepSource, ...]]:
    """Step times and, per candidate, their source.

    The configuration that was measured (``calibrated``) has its calibrated times, whatever is chosen for the others.
    """
    times, sources = _predicted(choice, model, candidates, traffic, concurrency)
    index = calibrated.matching(candidates) if calibrated else np.empty(0, dtype=np.intp)
    if calibrated is None or not len(index):
        return times, sources
    base = roofline().times(model, candidates.take(index), traffic.take(index), concurrency[index])
    each = list(sources)
    for i in index:
        each[i] = StepSource(kind="calibration", name=calibrated.source)
    return times.replaced(index, calibrated.scaled(base)), tuple(each)


def _predicted(
    choice: StepTimesFrom, model: Model, candidates: Candidates, traffic: Traffic, concurrency: Floats
) -> tuple[StepTimes, tuple[StepSource, ...]]:
    """Step times that were not measured, and their source per candidate.

    ``roofline`` answers everything. ``kernel`` takes NVIDIA's kernel tables and the roofline together, weighted, and
    the roofline alone, row by row, where the tables do not cover a configuration; the source says so.
    """
    if choice == "roofline":
        base = roofline().times(model, candidates, traffic, concurrency)
        return base, (StepSource(kind="roofline", name=base.source),) * len(candidates)
    both = mixture().mixed(model, candidates, traffic, concurrency)
    missing = StepSource(kind="roofline", name=f"{both.times.source}; not in the kernel tables")
    tables = KernelTables().source(model, candidates)
    return both.times, tuple(
        StepSource(kind="kernel_tables", name=source_in_words(tables, both.times.source, weight))
        if weight > 0
        else missing
        for weight in both.weight
    )
