"""One clear sentence for what is wrong with the form: which field, what it must be, what was entered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from sizing.base.errors import BrokenRule, Rule, SizingError
from ui.form.fields import BY_PATH, LENGTH_KEYS, Field
from ui.form.numbers import show_number

_BOUNDS = {
    "greater_than": ("gt", "must be more than {}"),
    "greater_than_equal": ("ge", "must be at least {}"),
    "less_than": ("lt", "must be less than {}"),
    "less_than_equal": ("le", "must be at most {}"),
}
_COUNTED = {"tokens", "people", "instances", "documents", "turns", "years"}
_TEXTS = {"string_too_long": "is too long: shorten it to {max_length} characters", "string_too_short": "is empty"}
_RULES: dict[Rule, str] = {
    "cached_part_is_shorter": "The part of the prompt found in the prefix cache must be shorter than the "
    "prompt itself: lower it, or enter a share such as 60%.",
    "some_hour_has_load": "Load by hour: at least one of the 24 hours must be above 0.",
    "p95_is_not_shorter": "The 95th percentile of a length must not be below its median: raise it or leave it empty.",
}


class BadInput(ValueError):
    """What was typed cannot be read; the message is the sentence to show."""

    @property
    def problems(self) -> tuple[str, ...]:
        """The sentence, as errors of the engine have it."""
        return (str(self),)


def no_number(field: Field, text: str) -> BadInput:
    """What to say when a field holds text, or nothing, where a number is needed."""
    hint = f"enter {_what(field)}, for example {field.example}" if field.example else f"enter {_what(field)}"
    if not text.strip():
        return BadInput(f"{field.label} is empty: {hint}.")
    return BadInput(f"{field.label}: “{text.strip()[:40]}” is not a number; {hint}.")


def sentence(error: Exception) -> str:
    """The first thing that ``error`` says, in the words of the form."""
    if isinstance(error, ValidationError):
        return _of_validation(error)
    if isinstance(error, BadInput | SizingError):
        return error.problems[0]
    raise error


def _of_validation(error: ValidationError) -> str:
    faults: list[Any] = error.errors(include_url=False)
    # A value that may have two shapes is complained about in both: what counts is the shape that was given.
    fault: Mapping[str, Any] = next((f for f in faults if not f["type"].endswith("_type")), faults[0])
    raised = fault.get("ctx", {}).get("error")
    if isinstance(raised, BrokenRule):
        return _RULES[raised.rule]
    field = _field_of(fault["loc"])
    name = field.label if field else ".".join(str(part) for part in fault["loc"])
    context = fault.get("ctx", {})
    if fault["type"] in _BOUNDS:
        bound, words = _BOUNDS[fault["type"]]
        limit, entered = _typed(context[bound], field), _typed(fault["input"], field)
        unit = f" {_unit(field)}" if field and _unit(field) else ""
        return f"{name} {words.format(limit)}{unit}; {entered} was entered."
    if fault["type"] in _TEXTS:
        return f"{name} {_TEXTS[fault['type']].format(**context)}."
    if fault["type"].startswith("int_"):
        return f"{name} must be a whole number; {_typed(fault['input'], field)} was entered."
    return f"{name}: {message_of(fault)}."


def message_of(fault: Mapping[str, Any]) -> str:
    """What a pydantic fault says: in our words where a validator of ours raised it, else in pydantic's."""
    return str(fault.get("ctx", {}).get("error") or fault["msg"])


def _field_of(loc: tuple[int | str, ...]) -> Field | None:
    """The field whose scenario key is the longest start of ``loc``, leaving out list positions and type names."""
    names = [str(part) for part in loc if isinstance(part, str) and not part.startswith("[")]
    for end in range(len(names), 0, -1):
        if field := BY_PATH.get(".".join(names[:end])):
            return field
    return None


def _typed(value: object, field: Field | None) -> str:
    """A number as the person typed it: with separators, in the unit of the field."""
    if not isinstance(value, int | float):
        return f"“{str(value)[:40]}”"
    number = value / field.scale if field else value
    return f"{number:,.0f}" if number == int(number) else show_number(number)


def _unit(field: Field) -> str:
    """The unit in a sentence; lengths are judged in tokens."""
    return "tokens" if field.key in LENGTH_KEYS else field.unit


def _what(field: Field) -> str:
    unit = _unit(field)
    return f"a number of {unit}" if unit in _COUNTED else f"a number in {unit}" if unit else "a number"
