"""Warnings about deployments unlike anything that was measured: the GPU, the engine on it, the layout."""

from collections.abc import Iterator

from sizing.base.constants import constant
from sizing.base.format import count, counted, percent
from sizing.base.result import PlanWarning
from sizing.catalog import Model
from sizing.catalog.engines import engines
from sizing.catalog.gpu_rows import gpus
from sizing.catalog.measured import measurements, well_measured
from sizing.catalog.precisions import precisions, wide_flops
from sizing.evidence.cases import LayoutKind, PredictionCase, case_of
from sizing.evidence.extrapolation import PUBLISHED_BY, ProcessorRun, evidence_of, extrapolated, measured_alike
from sizing.question.configuration import Configuration

PIPELINE_EFFICIENCY = constant("pipeline_efficiency")

SOURCE = "evidence library"
"""What a warning names as the place where measurements were looked for."""

RUNS_EVERYWHERE = "llamacpp"
"""The engine whose runs on workstations and edge devices are known, where those of servers' engines are not."""

LAYOUTS: dict[LayoutKind, str] = {
    "pipeline": "pipeline stages (PP)",
    "tensor_apart": "tensor parallelism (TP) over PCIe or the network",
    "expert_apart": "expert parallelism (EP) over PCIe or the network",
    "attention_dp": "attention by data parallelism (DP)",
}
"""Layouts that are hard to predict, in words."""


def about_evidence(model: Model, row: Configuration) -> Iterator[PlanWarning]:
    """What of a deployment nobody has measured. Evidence is that of the GPU product and of the engine itself: that of
    another GPU of its generation, or of the engine whose step times are borrowed, is not its own."""
    case = case_of(model, row)
    unlike = extrapolated(case)
    if row.gpu.slice_of:
        yield _about_slice(row)
    elif row.gpu.processor:
        yield _about_processor(model, row)
    elif "new_gpu" in unlike or "new_generation" in unlike:
        yield _about_gpu(model, row, of_generation="new_gpu" in unlike)
    elif case.platform not in well_measured("platforms"):
        yield _about_engine(row, case)
    yield from _about_layouts(row, [kind for kind in case.layouts if kind in unlike])


def _about_gpu(model: Model, row: Configuration, *, of_generation: bool) -> PlanWarning:
    others = ": what was measured of others of its generation stands for it" if of_generation else " or its generation"
    run = measured_alike(row.gpu, RUNS_EVERYWHERE, model.id)
    own = run if run is not None and run.gpu == row.gpu.id and row.engine.id != run.engine else None
    by = f"{row.engine.label} on " if own else ""
    return PlanWarning(
        code="no_evidence",
        severity="warning",
        source=SOURCE,
        message=f"{_published(measurements('gpus').get(row.gpu.id, 0))} of {by}{row.gpu.name}{others}, so this answer "
        f"is less certain.{_measured(row, own) if own else ''} Benchmark before buying.",
    )


def _about_slice(row: Configuration) -> PlanWarning:
    """What the speed of a slice is taken from, and that nobody has shown it."""
    part, card = row.gpu, gpus()[row.gpu.slice_of]
    memory, compute = part.memory_bandwidth / card.memory_bandwidth, wide_flops(part) / wide_flops(card)
    isolated = (
        "Slices of other models on the card take their own power, which lowers its clock for all."
        if "g." in part.slice_name
        else "Even parts by MPS or time-slicing are not isolated: neighbours take bandwidth and time from each other."
    )
    return PlanWarning(
        code="slice",
        severity="warning",
        source="docs/HARDWARE.md",
        message=f"Each slice counts as one GPU. The speed of {part.slice_name} is a prior that no measurement "
        f"validates: {percent(memory)} of the bandwidth and {percent(compute)} of the SMs of {card.name}, "
        f"{part.slices_per_card} to a card. {isolated} "
        "Benchmark a slice before relying on it.",
    )


def _about_processor(model: Model, row: Configuration) -> PlanWarning:
    """What the speed of such a machine rests on, how far off it was, and what somebody measured."""
    known, run = evidence_of(row.gpu), measured_alike(row.gpu, row.engine.id, model.id)
    of_whom = {"source": "with the source left out", "machine": "of machines left out, all of one source"}
    measured = "" if run is None else _measured(row, run)
    return PlanWarning(
        code="processor",
        severity="warning",
        source="docs/accuracy/processors.csv",
        message=f"{row.gpu.name} counts as one GPU. Its decode is memory bandwidth over bytes read times a share, from "
        f"{count(known.runs)} published runs of {counted(known.machines, 'machine')} "
        f"(error of decode: median {known.median_pct:.0f} %, nine of ten below {known.p90_pct:.0f} %, "
        f"{of_whom.get(known.left_out, 'of models left out, all of one machine')}); prefill rests on fewer.{measured} "
        "Ranges are as wide as for hardware that nobody measured. Benchmark before buying.",
    )


def _measured(row: Configuration, run: ProcessorRun) -> str:
    """What somebody measured on such a machine, as a sentence."""
    at_once = "one sequence" if run.sequences == 1 else f"{run.sequences:g} sequences at once"
    where = "" if run.gpu == row.gpu.id else f" on {gpus()[run.gpu].name}, as no run of this machine itself is known"
    return (
        f" Measured: {run.tok_s:g} tokens/s of {run.model} in {precisions()[run.precision].plain_label} by "
        f"{engines()[run.engine].label} with {at_once}{where} ({PUBLISHED_BY[run.source]})."
    )


def _about_engine(row: Configuration, case: PredictionCase) -> PlanWarning:
    engine = row.engine
    borrowed = engine.surrogate != engine.id
    instead = f": step times of {engines()[engine.surrogate].label} are used" if borrowed else ""
    where = "" if case.engine not in well_measured("engines") else f" on {row.gpu.name}"
    number = measurements("platforms").get(case.platform, 0)
    return PlanWarning(
        code="engine_unmeasured",
        severity="info",
        source=SOURCE,
        message=f"{_published(number)} of {engine.label}{where}{instead}.",
    )


def _about_layouts(row: Configuration, kinds: list[LayoutKind]) -> Iterator[PlanWarning]:
    """One warning for all that is unlike what was measured about how the instance is spread."""
    if not kinds:
        return
    loss = f": a loss of {percent(1 - PIPELINE_EFFICIENCY)} is assumed for uneven stages" if "pipeline" in kinds else ""
    yield PlanWarning(
        code="pipeline_unmeasured" if "pipeline" in kinds else "layout_unmeasured",
        severity="info",
        source=SOURCE,
        message=f"{_published(0)} of {row.engine.label} with {' and '.join(LAYOUTS[kind] for kind in kinds)} on "
        f"{row.gpu.name}{loss}.",
    )


def _published(number: int) -> str:
    """ "No published benchmark is known here", "Only 3 published measurements are known here"."""
    if number == 0:
        return "No published benchmark is known here"
    return f"Only {count(number)} published measurement{'s are' if number > 1 else ' is'} known here"
