"""What was typed into a field, as its scenario key takes it: by the kind of the field."""

import re
from collections.abc import Mapping
from typing import Any, assert_never

from commandline.foreign_text import shown
from sharing.form.fields import FIELDS, Field
from sharing.form.numbers import AmbiguousNumber, NotANumber, parse_number, times
from sharing.form.problems import UnreadableInput, no_number, unclear_number
from sharing.form.stages import stages_of

Values = Mapping[str, Any]
"""What the form holds, by the key of the field."""

_DEGREE = re.compile(r"([TPED]P)(\d{1,3})", re.IGNORECASE)


def part_of(values: Values, part: str) -> dict[str, Any]:
    """The keys of one part of the scenario that are one field each, of the fields that count as the others are."""
    fields = (one for one in FIELDS.values() if one.plain and one.part == part)
    return {field.leaf: stated(values, field) for field in fields if field.counts(values)}


def stated(values: Values, field: Field) -> Any:
    """What a field says for its scenario key. Raises UnreadableInput; bounds are the scenario's business."""
    match field.kind:
        case "number":
            return _number(values, field)
        case "text":
            return _text(str(values[field.key]).strip(), field)
        case "choice":
            return values[field.key] or None
        case "many":
            return list(values[field.key])
        case "switch":
            return values[field.key]
        case unknown:
            assert_never(unknown)


def _number(values: Values, field: Field) -> float | None:
    typed = optional(values, field.key)
    if typed is None:
        return field.if_empty if field.may_be_none or field.if_empty is not None else needed(values, field.key)
    number = times(typed, field.scale)
    return int(number) if field.whole and number == int(number) else number


def _text(text: str, field: Field) -> Any:
    match field.reads:
        case "as_is":
            return text or field.if_empty
        case "layout":
            return _layout(text, field)
        case "stages":
            return stages_of(text, field)
        case "counts":
            parts = (part.strip() for part in re.split(r"[,;]", text))
            numbers = [parsed(field.key, part) for part in parts if part]
            return [int(number) if number == int(number) else number for number in numbers]
        case unknown:
            assert_never(unknown)


def _layout(text: str, field: Field) -> dict[str, int] | None:
    """Degrees of parallelism from text such as "TP4 PP2"; none where nothing was typed."""
    degrees = [_DEGREE.fullmatch(word) for word in text.split()]
    if not all(degrees):
        short = f"{field.label}: “{shown(text)}” is no parallelism"
        raise UnreadableInput(f"{short}; enter for example {field.example}.", short=short, instead={field.key: ""})
    return {degree[1].lower(): int(degree[2]) for degree in degrees if degree} or None


def needed(values: Values, key: str) -> float:
    """The number of a field. Raises UnreadableInput where it is none, or empty."""
    return parsed(key, str(values[key]))


def optional(values: Values, key: str) -> float | None:
    """As :func:`needed`; None where the field is empty."""
    text = str(values[key])
    return parsed(key, text) if text.strip() else None


def parsed(key: str, text: str) -> float:
    """The number that a text means in a field. Raises UnreadableInput."""
    try:
        return parse_number(text, unit=FIELDS[key].unit)
    except AmbiguousNumber as unclear:
        raise unclear_number(FIELDS[key], text, unclear.readings) from None
    except NotANumber:
        raise no_number(FIELDS[key], text) from None
