"""Stages of a pipeline beside the language model: what a scenario says of embedders, rerankers, guards and speech."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from sizing.scenario import bounds
from sizing.scenario.model_asked import Name
from sizing.scenario.part import ScenarioPart

StageKind = Literal["embed", "rerank", "guard", "speech", "other"]
"""What a stage does; ``other`` is anything that reads, or has a measured record."""

MOST_STAGES = 8

Positive = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]


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
