"""Stages of a pipeline as one text: "embed BAAI/bge-m3 tokens=32; rerank BAAI/bge-reranker-v2-m3 tokens=512".

Stages stand in the order in which a request passes them, with a semicolon or a new line between them; each is its kind,
the model, and the other keys of a stage as in a scenario file.
"""

import re
import shlex
from typing import Any

from pydantic import ValidationError

from commandline.faults import wrong_with
from sharing.form.fields import Field
from sharing.form.numbers import AmbiguousNumber, NotANumber, parse_number
from sharing.form.problems import UnreadableInput
from sizing.base.errors import nearest_names
from sizing.scenario.adapters import MOST_STAGES, PipelineStage

_TEXTS = ("stage", "model", "gpu", "slice", "place")


def stages_of(text: str, field: Field) -> list[dict[str, Any]]:
    """The stages that a text means, as a scenario file has them. Raises UnreadableInput with one sentence."""
    parts = [part for part in re.split(r"[;\n]+", text) if part.strip()]
    if len(parts) > MOST_STAGES:
        raise _bad(field, f"{field.label}: {len(parts)} were entered; a pipeline has at most {MOST_STAGES}")
    return [_stage(part, number, field) for number, part in enumerate(parts, 1)]


def _stage(text: str, number: int, field: Field) -> dict[str, Any]:
    where = f"{field.label}, number {number}"
    try:
        words = shlex.split(text)
    except ValueError:
        raise _bad(field, f"{where}: a quotation mark is not closed") from None
    keys: dict[str, Any] = {}
    for place, word in enumerate(words):
        key, equals, value = word.partition("=")
        if not equals:
            key, value = ("stage", "model")[min(place, 1)], word
        if key not in PipelineStage.model_fields:
            near = nearest_names(key, PipelineStage.model_fields)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise _bad(field, f"{where}: “{key[:40]}” is no key of a stage{hint}")
        if key in keys:
            raise _bad(field, f"{where}: {key} is given twice; put a name with blanks in quotes")
        keys[key] = value if key in _TEXTS else _number(value, key, where, field)
    try:
        return PipelineStage.model_validate(keys).model_dump(exclude_defaults=True)
    except ValidationError as wrong:
        fault = wrong.errors(include_url=False)[0]
        name = ".".join(map(str, fault["loc"]))
        raise _bad(field, f"{where}: {f'{name} ' if name else ''}{wrong_with(fault)}") from None


def _number(text: str, key: str, where: str, field: Field) -> float | int:
    try:
        number = parse_number(text)
    except AmbiguousNumber as unclear:
        raise _bad(field, f"{where}: {key} may mean {' or '.join(unclear.readings)}; write it plainly") from None
    except NotANumber:
        raise _bad(field, f"{where}: {key} “{text[:40]}” is not a number") from None
    return int(number) if number == int(number) else number


def _bad(field: Field, short: str) -> UnreadableInput:
    hint = "" if short.endswith("?") else f"; enter for example {field.example}."
    return UnreadableInput(f"{short}{hint}", short=short, instead={field.key: ""})
