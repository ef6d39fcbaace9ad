"""Which source of step times answers for which candidate; the one used is named on every answer."""

from sizing.base.arrays import Floats
from sizing.base.choices import StepTimesFrom
from sizing.base.provenance import StepSource
from sizing.calibration.calibrated import CalibratedConfiguration
from sizing.calibration.carried import carried_times, neighbours
from sizing.calibration.carried import source as carried_source
from sizing.catalog.model import Model
from sizing.deployments.candidates import Candidates
from sizing.question.traffic import Traffic
from sizing.steps.mixture import mixture
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

    The configuration that was measured (``calibrated``) has its calibrated times, whatever is chosen for the others;
    its neighbours have theirs with what is carried over (:mod:`sizing.calibration.carried`).
    """
    times, sources = _predicted(choice, model, candidates, traffic, concurrency)
    if calibrated is None:
        return times, sources
    each = list(sources)
    for index, kin in neighbours(calibrated, candidates):
        times = times.replaced(index, carried_times(calibrated, kin, times.take(index), concurrency[index]))
        for i in index:
            each[i] = StepSource(kind="carried_over", name=carried_source(calibrated))
    index = calibrated.matching(candidates)
    if len(index):
        base = mixture().times(model, candidates.take(index), traffic.take(index), concurrency[index])
        times = times.replaced(index, calibrated.scaled(base, concurrency[index]))
    for i in index:
        each[i] = StepSource(kind="calibration", name=calibrated.source)
    return times, tuple(each)


def _predicted(
    choice: StepTimesFrom, model: Model, candidates: Candidates, traffic: Traffic, concurrency: Floats
) -> tuple[StepTimes, tuple[StepSource, ...]]:
    """Step times that were not measured, and their source per candidate.

    ``kernel`` takes NVIDIA's measured kernels and the roofline together, weighted, and the roofline alone, row by row,
    where the kernels do not cover a configuration; ``roofline`` is the roofline alone for all.
    """
    alone = StepSource(kind="roofline", name=roofline().source)
    if choice == "roofline":
        return roofline().times(model, candidates, traffic, concurrency), (alone,) * len(candidates)
    both = mixture().mixed(model, candidates, traffic, concurrency)
    together = StepSource(kind="kernel_tables", name=mixture().source)
    return both.times, tuple(together if covered else alone for covered in (both.weight > 0.0).tolist())
