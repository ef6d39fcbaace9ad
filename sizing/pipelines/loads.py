"""What each stage asks of a GPU type: its share of a GPU, its memory, and the time of a batch."""

import math
from dataclasses import dataclass

from scipy.special import ndtri

from sizing.base.errors import InvalidScenario, SizingError
from sizing.catalog import resolve_gpu
from sizing.catalog.encoders import encoder_of_size, stage_model
from sizing.catalog.engines import Engine
from sizing.catalog.gpu import Gpu
from sizing.catalog.model import Model
from sizing.catalog.slices import slice_of
from sizing.pipelines.batch_times import WINDOW_S, BatchTimes, batch_times
from sizing.question.understand import Question
from sizing.scenario.adapters import PipelineStage

HIGHEST_UTILIZATION = 0.7
"""Share of a GPU's time that stages may take, unless less is demand. Chosen: there a request waits about one batch
(rho / (2 (1 - rho)) = 1.2 in M/D/1)."""

SPREAD = 2.0
"""Ends of the 80 % interval of an estimated rate: times and by this. Assumed, as too little is published; the one
embedder that could be compared runs at 0.5 (MI210) to 1.1 (L4) times the estimate (docs/accuracy/pipelines.csv)."""

SPEECH_RATE = 0.57
"""Share of the estimate that tuned engines reach with Whisper large-v3: median over the GPU types of MLPerf Inference
v5.1, Offline (``python -m calibration.pipelines``)."""

NINE_OF_TEN = 0.9
"""The confidence at which the lower end of an 80 % interval is counted on."""


@dataclass(frozen=True, kw_only=True)
class StageDemand:
    """One stage with its model resolved: ``units`` a request brings, each of ``items`` items; ``per_s`` requests."""

    stage: PipelineStage
    model: Model | None
    gpu: Gpu | None
    units: float
    items: float
    per_s: float

    @property
    def items_per_s(self) -> float:
        """Items that come in a second; padded audio is not counted."""
        return self.per_s * self.stage.per_request

    @property
    def units_per_s(self) -> float:
        """Units that have to be computed in a second."""
        return self.per_s * self.units

    @property
    def jobs_per_s(self) -> float:
        """Requests/s that bring something: of a stage that one request in five needs, those."""
        return self.units_per_s / max(self.units, 1.0)

    @property
    def job(self) -> float:
        """Units that come together, at least one."""
        return max(self.units, 1.0)

    @property
    def label(self) -> str:
        """The model in words."""
        return self.model.id if self.model else self.stage.model or "your record"


@dataclass(frozen=True, kw_only=True)
class Load:
    """A stage on one GPU type. ``rate``: items/s of a GPU as expected; ``share``: GPUs that the load takes at the asked
    confidence and utilisation; ``most``: requests in one batch at most;
    ``highest``: share of the GPU's time that may be used; ``slower``: factor on the times."""

    demand: StageDemand
    gpu: Gpu
    rate: float
    share: float
    memory_bytes: float
    most: int
    highest: float
    times: BatchTimes | None
    slower: float

    def seconds(self, requests: int) -> float:
        """Time of a batch of so many requests, of a record on one of its instances."""
        units = requests * self.demand.job
        if self.times is not None:
            return self.slower * self.times.seconds(units)
        return units * self.demand.stage.instances_per_gpu / self.rate

    @property
    def copies(self) -> int:
        """GPUs that the load is spread over."""
        return max(1, math.ceil(self.share - 1e-9))


def asked_of(question: Question) -> tuple[StageDemand, ...]:
    """The stages of a scenario, names resolved. Raises InvalidScenario with one sentence for each that is not known."""
    problems: list[str] = []
    demands: list[StageDemand] = []
    for number, stage in enumerate(question.scenario.pipeline, 1):
        try:
            demands.append(_asked(stage, question))
        except SizingError as error:
            problems += [f"Stage {number} of the pipeline ({stage.stage}): {problem}" for problem in error.problems]
    if problems:
        raise InvalidScenario(problems, ["pipeline"] * len(problems))
    return tuple(demands)


def load_on(demand: StageDemand, gpu: Gpu, engine: Engine, question: Question) -> Load | None:
    """The stage on that GPU type; None where a copy of its model does not fit one GPU."""
    highest = min(HIGHEST_UTILIZATION, question.scenario.deployment.max_utilization)
    if (measured := demand.stage.measured_items_per_s) is not None:
        share = demand.items_per_s / (measured * highest)
        return Load(
            demand=demand,
            gpu=gpu,
            rate=measured,
            share=share,
            memory_bytes=0.0,
            most=1,
            highest=highest,
            times=None,
            slower=1.0,
        )
    assert demand.model is not None
    times = batch_times(demand.model, demand.stage.stage, demand.stage.tokens, gpu, engine)
    if not times.fits:
        return None
    slower = 1.0 / SPEECH_RATE if demand.stage.stage == "speech" else 1.0
    most = max(1, math.floor(times.full / demand.job))
    units = most * demand.job
    units_per_s = units / (slower * times.seconds(units))
    cautious = SPREAD ** (float(ndtri(question.confidence)) / float(ndtri(NINE_OF_TEN)))
    return Load(
        demand=demand,
        gpu=gpu,
        rate=units_per_s * demand.items,
        share=demand.units_per_s * cautious / (units_per_s * highest),
        memory_bytes=times.memory_bytes,
        most=most,
        highest=highest,
        times=times,
        slower=slower,
    )


def _asked(stage: PipelineStage, question: Question) -> StageDemand:
    model = None
    if stage.measured_items_per_s is None:
        model = stage_model(stage.model) if stage.model else encoder_of_size(stage.params_b or 0.0)
        _check(stage, model)
    speech = stage.stage == "speech" and stage.measured_items_per_s is None
    units = float(math.ceil(stage.per_request / WINDOW_S)) if speech else stage.per_request
    return StageDemand(
        stage=stage,
        model=model,
        gpu=None if stage.gpu is None else _gpu_of(stage, stage.gpu, question),
        units=units,
        items=stage.per_request / units,
        per_s=question.demand.sustained_rps,
    )


def _gpu_of(stage: PipelineStage, name: str, question: Question) -> Gpu:
    """The GPU that a stage names, or the slice of it. Raises UnknownName for either."""
    own = {gpu.id: gpu for gpu in question.gpus if gpu.custom} | {g.name: g for g in question.gpus if g.custom}
    card = own.get(name) or resolve_gpu(name)
    return slice_of(card, stage.slice) if stage.slice else card


def _check(stage: PipelineStage, model: Model) -> None:
    """Raise InvalidScenario for a model that the stage cannot be computed of, and for items longer than it takes."""
    listens = model.kind == "encoder_decoder"
    if stage.stage == "speech" and not listens and stage.params_b is None:
        raise InvalidScenario([f"{model.id} does not transcribe: name a Whisper model, or give measured_items_per_s."])
    if stage.stage != "speech" and listens:
        raise InvalidScenario([f"{model.id} transcribes speech: make it a stage “speech”."])
    longest = model.max_context
    if stage.stage != "speech" and longest and stage.tokens and stage.tokens > longest:
        raise InvalidScenario(
            [
                f"{model.id} reads {longest:,} tokens at most, and an item has {stage.tokens:,.0f}: split it, or name "
                "a model with a longer context."
            ]
        )
