"""What every part of a scenario has in common, and what the schema says of a key by its path."""

import typing
from collections.abc import Iterator
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator
from pydantic.fields import FieldInfo

from sizing.scenario.bounds import MAX_USD

Usd = Annotated[float, Field(ge=0, le=MAX_USD, allow_inf_nan=False)]
Name = Annotated[str, Field(min_length=1, max_length=120)]


class ScenarioPart(BaseModel):
    """Base of every part of a scenario: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth_value(cls, value: object, about: ValidationInfo) -> object:
        """YAML reads a bare yes or no as true or false, which would pass as the number 1 or 0."""
        is_truth = isinstance(value, bool) or (isinstance(value, list) and any(isinstance(v, bool) for v in value))
        if is_truth and cls.model_fields[about.field_name or ""].annotation is not bool:
            raise ValueError("must be a number or text, not true or false (yes and no count as such)")
        return value


def types_in(annotation: object) -> Iterator[object]:
    """The plain types, literals and parts that an annotation is made of: float and None of ``Rate | None``."""
    origin = typing.get_origin(annotation)
    if origin is None or origin is typing.Literal:
        yield annotation
    else:
        args = typing.get_args(annotation)
        for arg in args[:1] if origin is typing.Annotated else args:
            yield from types_in(arg)


def parts_in(annotation: object) -> tuple[type[BaseModel], ...]:
    """The parts of a scenario that an annotation holds, each once, in its order."""
    parts = (one for one in types_in(annotation) if isinstance(one, type) and issubclass(one, BaseModel))
    return tuple(dict.fromkeys(parts))


def field_at(part: type[BaseModel], path: str) -> FieldInfo:
    """What the schema says of a key below ``part``, by its dotted path; of a list of parts, the key of each.

    Raises KeyError for a path that the schema does not have.
    """
    name, _, rest = path.partition(".")
    info = part.model_fields[name]
    if not rest:
        return info
    first, _, _ = rest.partition(".")
    inside = next((one for one in parts_in(info.annotation) if first in one.model_fields), None)
    if inside is None:
        raise KeyError(path)
    return field_at(inside, rest)
