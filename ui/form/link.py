"""What a link says that the form cannot take over: Streamlit leaves such a parameter out without a word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sizing.base.errors import nearest_names
from ui.form.choices import labels
from ui.form.fields import FIELDS, LONGEST_NUMBER, MAY_BE_EMPTY, Field

ANY_TEXT = ("model",)
"""Choices that take what is not listed."""

NO_INPUTS = frozenset(
    {
        "v",
        "trace",
        "goto",
        "view",
        "show",
        "shown",
        "x",
        "y",
        "lines",
        "range",
        "have",
        "have_gpus",
        "term",
        "chapter",
        "bench",
    }
)
"""Parameters that say something else than an input of the form: version, tabs, axes."""

_SHOWN = 40
"""Characters of a link's value that a sentence repeats."""


def dropped(parameters: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """A sentence for every parameter of an address that names no input, or holds no value that the input takes."""
    return tuple(sentence for key, given in parameters.items() if (sentence := _dropped(key, given)))


def _dropped(key: str, given: Sequence[str]) -> str:
    field = FIELDS.get(key)
    if field is None:
        near = nearest_names(key, list(FIELDS)) if key not in NO_INPUTS else []
        return f"The link's “{key[:_SHOWN]}” is no input; did it mean {' or '.join(near)}?" if near else ""
    if field.private:
        return f"{field.label} is never taken from a link: enter it in the form."
    wrong = [value for value in given if not _taken(field, value)]
    if not wrong:
        return ""
    listed = ", ".join(f"“{value[:_SHOWN]}”" for value in wrong)
    return f"{field.label}: {listed} {_WHY[field.kind]}, so the link's value was left out."


_WHY = {
    "choice": "is not one of the options",
    "many": "is not one of the options",
    "switch": "is neither true nor false",
    "number": "is too long for a number",
    "text": "is too long",
}


def _taken(field: Field, value: str) -> bool:
    """Whether the widget takes a value from the address."""
    match field.kind:
        case "choice" | "many":
            if field.key in ANY_TEXT or (not value and (field.kind == "many" or field.key in MAY_BE_EMPTY)):
                return True
            return value in labels(field.key).values()
        case "switch":
            return value.lower() in ("true", "false")
        case "number":
            return len(value) <= LONGEST_NUMBER
    return len(value) <= field.longest
