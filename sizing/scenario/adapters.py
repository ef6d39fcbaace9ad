"""What a scenario may say beside its model: images and sound in a request, adapters (LoRA), stages of a pipeline."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from sizing.base.choices import AdapterTargets
from sizing.scenario import bounds
from sizing.scenario.model_asked import Name
from sizing.scenario.part import ScenarioPart

LONGEST_SIDE = 20_000
"""Pixels of a side of an image. Chosen: far above what any processor keeps."""

MOST_A_REQUEST = 10_000
"""Images or pages of a request. Chosen: their tokens would fill any context window."""

PAGE = (1240, 1754)
"""Pixels of a scanned page: A4 at 150 dots an inch, at which text of 8 points can be read."""

Pixels = Annotated[int, Field(ge=1, le=LONGEST_SIDE)]
PerRequest = Annotated[float, Field(gt=0, le=MOST_A_REQUEST, allow_inf_nan=False)]

StageKind = Literal["embed", "rerank", "guard", "speech", "other"]
"""What a stage does; ``other`` is anything that reads, or has a measured record."""

MOST_STAGES = 8

Positive = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]


class AdaptersAsked(ScenarioPart):
    """``number`` adapters of one base model, the largest of ``rank``, asked for by a Zipf law of exponent
    ``popularity`` (0: all alike).

    ``resident``: how many an instance keeps in GPU memory at once (vLLM max_loras), none: all of them, 32 at most. The
    others are loaded when a request asks for them, at ``load_gbs`` GB/s.
    """

    number: int = Field(ge=1, le=100_000)
    rank: int = Field(default=16, ge=1, le=512)
    popularity: Annotated[float, Field(ge=0, le=3, allow_inf_nan=False)] = 1.0
    resident: int | None = Field(default=None, ge=1, le=1024)
    targets: AdapterTargets = "all"
    load_gbs: Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)] = 8.0

    @model_validator(mode="after")
    def _no_more_than_there_are(self) -> AdaptersAsked:
        if self.resident is not None and self.resident > self.number:
            raise ValueError(f"resident must be at most number: there are {self.number} adapters to keep in memory")
        return self


class Images(ScenarioPart):
    """Images of one request, in the mean, and the pixels of one."""

    per_request: PerRequest
    width: Pixels = 1024
    height: Pixels = 1024


class PipelineStage(ScenarioPart):
    """One stage. ``per_request`` items of ``tokens`` each: chunks, documents with the question, or seconds of audio.

    The model is named, or of ``params_b`` billion parameters. ``measured_items_per_s`` is a record of one's own, of
    one ``gpu`` with all ``instances_per_gpu`` of the model on it; it takes the place of the estimate and needs no
    model, whose name may be any then. ``tokens`` of speech are those of the transcript of a second of audio (left
    out: 3.3). ``slice``: part of the named ``gpu``, a MIG slice such as 1g.10gb or 1/4. ``batch_delay_ms``: how
    long a dynamic batcher waits for company. ``place``: shared with other stages on GPUs of its type, or GPUs of
    its own.
    """

    stage: StageKind
    model: Name | None = Field(default=None, min_length=1, max_length=bounds.LONGEST_MODEL_NAME)
    params_b: Annotated[float, Field(ge=0.001, le=1000, allow_inf_nan=False)] | None = None
    per_request: Positive = 1.0
    tokens: Annotated[float, Field(gt=0, le=bounds.MAX_TOKENS, allow_inf_nan=False)] | None = None
    gpu: Name | None = Field(default=None, min_length=1, max_length=80)
    slice: str = Field(default="", max_length=20)
    measured_items_per_s: Positive | None = None
    instances_per_gpu: int = Field(default=1, ge=1, le=64)
    batch_delay_ms: Annotated[float, Field(ge=0, le=60_000, allow_inf_nan=False)] = 0.0
    place: Literal["shared", "own"] = "shared"

    @model_validator(mode="after")
    def _one_basis(self) -> PipelineStage:
        measured = self.measured_items_per_s is not None
        if self.model is not None and self.params_b is not None:
            raise ValueError("give model or params_b, not both")
        if measured and self.gpu is None:
            raise ValueError("measured_items_per_s needs gpu: say on which GPU it was measured")
        if self.slice and self.gpu is None:
            raise ValueError("slice needs gpu: say which GPU is cut")
        if not measured and self.model is None and self.params_b is None:
            raise ValueError("give model, params_b, or measured_items_per_s with gpu")
        if not measured and self.instances_per_gpu > 1:
            raise ValueError("instances_per_gpu counts with measured_items_per_s alone: leave it out")
        if not measured and self.tokens is None and self.stage != "speech":
            raise ValueError("give tokens, the length of one item")
        return self
