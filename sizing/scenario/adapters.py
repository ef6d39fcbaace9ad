"""Adapters (LoRA) of one model, as a scenario states them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from sizing.base.choices import AdapterTargets
from sizing.scenario.part import ScenarioPart


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
