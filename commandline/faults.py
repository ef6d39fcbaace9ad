"""What pydantic found wrong with a file, in words of ours: where, and what it must be instead."""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, get_args

from pydantic import BaseModel, Tag

MOST_PROBLEMS = 20
"""Faults of a file that are put into words; the rest is counted. Chosen: more than anybody mends at once."""

TEXTS = {"string_too_long": "is longer than {max_length} characters", "string_too_short": "is empty"}
"""What is wrong with a text, by pydantic's type of fault."""

_BOUNDS = {
    "greater_than": "must be greater than {gt:g}",
    "greater_than_equal": "must be at least {ge:g}",
    "less_than": "must be less than {lt:g}",
    "less_than_equal": "must be at most {le:g}",
    "too_long": "must have at most {max_length} values, not {actual_length}",
    "too_short": "must have at least {min_length} values, not {actual_length}",
}
_WORDS = {
    "missing": "is required",
    "finite_number": "must be a finite number",
    "invalid_key": "is a key that is not text: put it in quotes",
    "literal_error": "must be {expected}",
    **dict.fromkeys(("int_parsing", "int_parsing_size", "int_type", "int_from_float"), "must be a whole number"),
    **dict.fromkeys(("float_parsing", "float_type", "decimal_parsing"), "must be a number"),
    **dict.fromkeys(("bool_parsing", "bool_type"), "must be true or false"),
    **dict.fromkeys(("string_type", "string_sub_type"), "must be text"),
    **dict.fromkeys(("list_type", "tuple_type"), "must be a list, in brackets"),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "must be a group of keys"),
    "string_pattern_mismatch": "must match {pattern}",
    "string_unicode": "holds half a character (a lone surrogate): type it again",
    **dict.fromkeys(("date_from_datetime_parsing", "date_parsing", "date_type"), "must be a date such as 2026-11-30"),
    "path_type": "must be the name of a file",
}


def wrong_with(fault: Mapping[str, Any]) -> str:
    """What is wrong with a value and what it must be, without a full stop; pydantic's words for what has none here."""
    kind, context = fault["type"], fault.get("ctx", {})
    if kind == "string_type" and fault["loc"][-1:] == ("[key]",):
        kind = "invalid_key"
    if kind == "value_error":
        return str(context.get("error", fault["msg"]))
    words = {**TEXTS, **_BOUNDS, **_WORDS}.get(kind)
    if words is None:
        return f"{fault['msg'][:1].lower()}{fault['msg'][1:]}"
    return words.format(**context)


def path_of(fault: Mapping[str, Any], model: type[BaseModel]) -> list[str]:
    """The keys that lead to a fault, without the tags of the forms that a value may have and pydantic's of a bad key.

    The last one of an unknown key is the key itself, whatever it looks like.
    """
    tags = {"[key]", *tags_in(model)}
    *section, last = fault["loc"] or ("[key]",)
    is_key = fault["type"] == "extra_forbidden"
    parts = [*(part for part in section if part not in tags), *([last] if is_key or last not in tags else [])]
    return [str(part) or "“”" for part in parts]


def keys_at(model: type[BaseModel], section: Iterable[str]) -> list[str]:
    """The keys that may stand in the part of a file that a path leads to."""
    parts = [model]
    for name in section:
        inside = [m for p in parts if name in p.model_fields for m in models_in(p.model_fields[name].annotation)]
        parts = inside or parts
    return list(dict.fromkeys(key for part in parts for key in part.model_fields))


def models_in(annotation: object) -> list[type[BaseModel]]:
    """The groups of keys that an annotation allows."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [part for arg in get_args(annotation) for part in models_in(arg)]


@cache
def tags_in(model: type[BaseModel]) -> frozenset[str]:
    """The tags of the forms that values may have, at any depth: pydantic puts the one that was chosen into a path."""
    annotations = [field.annotation for field in model.model_fields.values()]
    nested = frozenset(tag for annotation in annotations for part in models_in(annotation) for tag in tags_in(part))
    return nested.union(tag for annotation in annotations for tag in _tags(annotation))


def _tags(annotation: object) -> list[str]:
    if isinstance(annotation, Tag):
        return [annotation.tag]
    return [tag for arg in get_args(annotation) for tag in _tags(arg)]
