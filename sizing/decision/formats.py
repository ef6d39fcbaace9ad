"""One scenario in every weight format: what each would buy, what has been published on it, and which GPUs run it."""

from collections.abc import Iterator
from typing import Annotated

from sizing.base.errors import InvalidScenario
from sizing.base.quantity import Result, quantity
from sizing.base.result import Plan
from sizing.catalog import gpus, quantization
from sizing.catalog.engines import engines
from sizing.catalog.execution import execution
from sizing.catalog.facts import QuantizationFact
from sizing.catalog.gpu_families import generation_labels
from sizing.catalog.precisions import Precision, precisions, resolve_precision
from sizing.catalog.support import format_status
from sizing.decision.keys import with_values
from sizing.decision.outcome import NOTHING, Answers, Outcome
from sizing.question.understand import model_of
from sizing.scenario.schema import Scenario


class PublishedLoss(Result):
    """What one model lost in a format in one published test."""

    model: Annotated[str, quantity("Model", help="As the source names it.")]
    metric: Annotated[
        str, quantity("Test", help="Benchmark, in points where it says so, else relative to the 16-bit model.")
    ]
    loss: Annotated[str, quantity("Loss", help="As published.")]
    source: Annotated[str, quantity("Source", help="Where it was published.")]
    date: Annotated[str, quantity("Date", help="Of the source.")]


class PublishedSpeed(Result):
    """Tokens/s of one model in a format over those of the 16-bit model, as published."""

    model: Annotated[str, quantity("Model", help="As the source names it.")]
    batch_1: Annotated[
        float | None, quantity("Gain at 1 in flight", "x", "tokens/s over those at 16 bit", "Published.")
    ]
    batch_8: Annotated[
        float | None, quantity("Gain at 8 in flight", "x", "tokens/s over those at 16 bit", "Published.")
    ]
    batch_64: Annotated[
        float | None, quantity("Gain at 64 in flight", "x", "tokens/s over those at 16 bit", "Published.")
    ]
    setup: Annotated[str, quantity("Measured on", help="Hardware, software and lengths.")]
    source: Annotated[str, quantity("Source", help="Where it was published.")]
    date: Annotated[str, quantity("Date", help="Of the source.")]


class FormatGuide(Result):
    """A vendor's grades of a format, in its words."""

    small_batch: Annotated[str, quantity("Gain, small batch", help="Up to 4 requests in flight.")]
    large_batch: Annotated[str, quantity("Gain, large batch", help="16 requests in flight and more.")]
    accuracy: Annotated[str, quantity("Accuracy impact", help="As the vendor grades it.")]
    calibration: Annotated[str, quantity("Calibration time", help="To make the checkpoint.")]
    source: Annotated[str, quantity("Source", help="Where the grades stand.")]
    date: Annotated[str, quantity("Date", help="Of the source.")]


class Generation(Result):
    """A GPU generation of the catalogue that runs a format."""

    family: Annotated[str, quantity("Generation", help="Family of GPUs.")]
    multiplies: Annotated[
        bool,
        quantity(
            "Multiplies in it",
            help="Whether matrix units multiply in the format; else weights are widened to 16 bit first.",
        ),
    ]
    engines: Annotated[tuple[str, ...], quantity("Engines", help="Serving engines that run the format there.")]


class FormatRow(Result):
    """One weight format, everything else as the scenario has it."""

    precision: Annotated[str, quantity("Weight precision", help="Number format of the weights.")]
    outcome: Annotated[Outcome, quantity("Answer", help="What the scenario leads to in this format.")]
    native: Annotated[bool, quantity("Of the checkpoint", help="Whether the model is published in this format.")]
    weights_gb: Annotated[float | None, quantity("Weights", "GB", "see the plan", "Of one instance.")]
    gpus_per_instance: Annotated[
        int | None, quantity("GPUs per instance", "GPUs", "TP x PP x DP", "That hold the weights.")
    ]
    why_not: Annotated[
        str, quantity("Why not", help="Why nothing serves the scenario in this format; empty where something does.")
    ]
    relaxation: Annotated[str, quantity("Smallest relaxation", help="What to change so that something does.")]
    usd_more: Annotated[
        float | None, quantity("Cost, difference", "USD/month", "this - the plan", "None where not known.")
    ]
    gpus_more: Annotated[
        int | None, quantity("GPUs, difference", "GPUs", "this - the plan", "None where nothing serves.")
    ]
    losses: Annotated[
        tuple[PublishedLoss, ...], quantity("Published accuracy losses", help="Of other models; test your own.")
    ]
    speeds: Annotated[
        tuple[PublishedSpeed, ...], quantity("Published gains", help="Of other models, by requests in flight.")
    ]
    guide: Annotated[FormatGuide | None, quantity("Vendor's grades", help="None where none are published.")]
    generations: Annotated[tuple[Generation, ...], quantity("GPU generations", help="Those that run it.")]


class Formats(Result):
    """Every weight format side by side."""

    gpu: Annotated[
        str, quantity("GPU", help="Catalogue id of the only GPU considered; empty: all that the scenario allows.")
    ]
    base: Annotated[Outcome, quantity("The plan", help="The scenario's own answer.")]
    rows: Annotated[tuple[FormatRow, ...], quantity("Formats", help="Widest first.")]


def formats(scenario: Scenario, answers: Answers, *, same_gpu: bool) -> Formats:
    """The scenario planned once in every format, those of which a scenario has to name one where this does;
    ``same_gpu``: on the GPU type of its plan only.

    Raises InvalidScenario for unknown names and for a measured record, which holds for its own format alone.
    """
    refuse_measured(scenario)
    plan = answers.answer(scenario).plan
    gpu = plan.deployment.gpu if same_gpu and plan.deployment is not None else ""
    base = answers.outcome(scenario)
    named = (resolve_precision(name).id for name in scenario.deployment.precisions)
    in_question = {model_of(scenario).published_format.id, *named}
    compared = (one for one in precisions().values() if one.id in in_question or not one.named_only)
    rows = tuple(_row(scenario, one, gpu, base, answers) for one in compared)
    return Formats(gpu=gpu, base=base, rows=rows)


def refuse_measured(scenario: Scenario) -> None:
    """Raises InvalidScenario for a scenario with a measured record."""
    if scenario.measured is not None:
        raise InvalidScenario(
            ["measured: a measured operating point holds for its own deployment alone; leave it out to try others."]
        )


def _row(scenario: Scenario, precision: Precision, gpu: str, base: Outcome, answers: Answers) -> FormatRow:
    moved = with_values(
        scenario, {"deployment.precisions": [precision.id], **({"deployment.gpus": [gpu]} if gpu else {})}
    )
    plan = None if moved is None else answers.answer(moved).plan
    outcome = NOTHING if moved is None else answers.outcome(moved)
    each = plan.per_instance if plan is not None and outcome.feasible else None
    facts = [fact for fact in quantization() if fact.method == precision.published_as]
    why_not, relaxation = _reasons(plan)
    return FormatRow(
        precision=precision.id,
        outcome=outcome,
        native=precision.id == model_of(scenario).published_format.id,
        weights_gb=None if each is None else each.weights_gb,
        gpus_per_instance=_gpus_per_instance(plan),
        why_not=why_not,
        relaxation=relaxation,
        usd_more=difference(outcome.usd_per_month, base.usd_per_month),
        gpus_more=None if outcome.gpus is None or base.gpus is None else outcome.gpus - base.gpus,
        losses=tuple(_loss(fact) for fact in facts if fact.record_type == "accuracy"),
        speeds=tuple(_speed(fact) for fact in facts if fact.record_type == "speed"),
        guide=next((_guide(fact) for fact in facts if fact.record_type == "guide"), None),
        generations=tuple(generations(precision)),
    )


def difference(a: float | None, b: float | None) -> float | None:
    """a - b where both are known."""
    return None if a is None or b is None else a - b


def _gpus_per_instance(plan: Plan | None) -> int | None:
    if plan is None or plan.deployment is None:
        return None
    return plan.deployment.tp * plan.deployment.pp * plan.deployment.dp


def _reasons(plan: Plan | None) -> tuple[str, str]:
    """Why nothing serves and what would let it, by the GPU that came nearest; empty where something serves."""
    nearest = next(iter(plan.excluded), None) if plan is not None and plan.deployment is None else None
    if nearest is None:
        return "", ""
    return nearest.reason, nearest.relaxation


def _loss(fact: QuantizationFact) -> PublishedLoss:
    return PublishedLoss(model=fact.model, metric=fact.metric, loss=fact.loss, source=fact.source, date=fact.date)


def _speed(fact: QuantizationFact) -> PublishedSpeed:
    return PublishedSpeed(
        model=fact.model,
        batch_1=fact.speedup_batch1,
        batch_8=fact.speedup_batch8,
        batch_64=fact.speedup_batch64,
        setup=fact.hardware_setup,
        source=fact.source,
        date=fact.date,
    )


def _guide(fact: QuantizationFact) -> FormatGuide:
    return FormatGuide(
        small_batch=fact.small_batch_gain,
        large_batch=fact.large_batch_gain,
        accuracy=fact.accuracy_impact,
        calibration=fact.calibration_time,
        source=fact.source,
        date=fact.date,
    )


def generations(precision: Precision) -> Iterator[Generation]:
    """Generations of the catalogue with a GPU and an engine that run the format."""
    for generation, label in generation_labels().items():
        able = [gpu for gpu in gpus().values() if gpu.generation == generation]
        served_by = tuple(
            e for e in engines().values() if able and format_status(e, generation, precision) == "supported"
        )
        if served_by:
            native = any(execution(engine, gpu, precision) == "native" for engine in served_by for gpu in able)
            yield Generation(family=label, multiplies=native, engines=tuple(e.id for e in served_by))
