"""Stages of a pipeline as the text that :mod:`sharing.form.stages` reads."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from sharing.form.numbers import show_number
from sizing.scenario.adapters import PipelineStage

_BETWEEN = "; "


def stages_text(stages: Sequence[Mapping[str, Any]]) -> str:
    """The text of stages as a scenario file has them; what is as by default is left out."""
    return _BETWEEN.join(_one_text(PipelineStage.model_validate(stage)) for stage in stages)


def _one_text(stage: PipelineStage) -> str:
    keys = stage.model_dump(exclude_defaults=True)
    words = [keys.pop("stage"), *([shlex.quote(keys.pop("model"))] if "model" in keys else [])]
    return " ".join(
        [*words, *(f"{key}={shlex.quote(v) if isinstance(v, str) else show_number(v)}" for key, v in keys.items())]
    )
