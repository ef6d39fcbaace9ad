"""The chapter on the question: every key of a scenario with its default and what it accepts."""

import types
import typing
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from sizing.methodology.content import FactTable, MethodologyChapter
from sizing.scenario.part import parts_in
from sizing.scenario.schema import Scenario

_BOUNDS = (("gt", "above "), ("ge", "at least "), ("lt", "below "), ("le", "at most "))


class Key(typing.NamedTuple):
    """One key of a scenario file, dotted, with its type, default and accepted range in words."""

    path: str
    kind: str
    default: str
    accepts: str


def inputs() -> MethodologyChapter:
    """Every scenario key with type, default and accepted range, from the schema itself."""
    return MethodologyChapter(
        slug="inputs",
        title="Inputs",
        intro="What a scenario file may say, with defaults and accepted ranges. A key left out has its default; a key "
        "not listed is refused.",
        tables=(
            FactTable(title="Scenario keys", columns=("Key", "Type", "Default", "Accepts"), rows=tuple(keys(Scenario))),
        ),
    )


def keys(model: type[BaseModel], prefix: str = "") -> Iterator[Key]:
    """The keys of a model and of the models inside it, depth first, in the order of the schema."""
    for name, info in model.model_fields.items():
        path = prefix + name
        yield Key(path, _kind(info.annotation), _default(info), _range(info))
        for part in parts_in(info.annotation):
            yield from keys(part, f"{path}{'[]' if _is_list(info.annotation) else ''}.")


def _is_list(annotation: Any) -> bool:
    return typing.get_origin(annotation) is list


def _kind(annotation: Any) -> str:
    """The type in words: "number or p50 and p95", "text", "one of poisson, ..."."""
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is type(None):
        return "none"
    if origin is typing.Literal:
        return "one of " + ", ".join(map(str, args)) if len(args) > 1 else str(args[0])
    if origin is typing.Annotated:
        return _kind(args[0])
    if origin is list:
        return f"list of {_kind(args[0])}s"
    if origin is dict:
        return "mapping"
    if origin in (typing.Union, types.UnionType):
        return " or ".join(dict.fromkeys(_kind(arg) for arg in args))
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return ", ".join(annotation.model_fields) if len(annotation.model_fields) < 3 else annotation.__name__
    return {"float": "number", "int": "whole number", "str": "text", "bool": "yes or no"}.get(
        getattr(annotation, "__name__", ""), "anything"
    )


def _default(info: FieldInfo) -> str:
    if info.is_required():
        return "required"
    value = info.get_default(call_default_factory=True, validated_data={})
    if value is None:
        return "none"
    if isinstance(value, BaseModel):
        return "see below"
    return "all" if value == [] else f"{value:g}" if isinstance(value, float) else str(value)


def _range(info: FieldInfo) -> str:
    bounds: dict[str, Any] = {}
    for item in _metadata(info.annotation, list(info.metadata)):
        for name in (*dict(_BOUNDS), "min_length", "max_length", "pattern"):
            if getattr(item, name, None) is not None:
                bounds.setdefault(name, getattr(item, name))
    parts = [f"{words}{bounds[name]:,.10g}" for name, words in _BOUNDS if name in bounds]
    of = "entries" if _is_list(info.annotation) else "characters"
    if bounds.get("min_length") == bounds.get("max_length") is not None:
        parts.append(f"{bounds['max_length']} {of}")
    elif "max_length" in bounds:
        parts.append(f"at most {bounds['max_length']} {of}")
    return ", ".join(parts)


def _metadata(annotation: Any, collected: list[Any]) -> list[Any]:
    """Bounds attached anywhere in an annotation, those of the field first; models inside speak for themselves."""
    flat: list[Any] = []
    for item in collected:
        flat += [item, *getattr(item, "metadata", ())] if isinstance(item, FieldInfo) else [item]
    if typing.get_origin(annotation) is typing.Annotated:
        first, *more = typing.get_args(annotation)
        return _metadata(first, [*flat, *more])
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        for arg in typing.get_args(annotation):
            flat = _metadata(arg, flat)
    return flat
