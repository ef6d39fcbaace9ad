"""The inputs as parameters of an address, and back: what is written is read as the same inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sizing.base.errors import nearest_names
from ui.form.choices import label, labels
from ui.form.fields import FIELDS, LONGEST_NUMBER, MAY_BE_EMPTY, Field
from ui.form.presets import defaults
from ui.form.read import OWN_GPU

Parameters = Mapping[str, Sequence[str]]
"""The parameters of an address, each with every value that it has there."""

ANY_TEXT = ("model",)
"""Choices that take what is not listed."""

NO_INPUTS = frozenset(
    {
        "v",
        "trace",
        "goto",
        "view",
        "scenarios_view",
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
        "tab",
        "source",
        "deployment",
        "end",
        "gpu_measure",
        "beside",
        "compare_view",
        "formats_on",
        "cost_region",
        "cost_purchase",
        "cost_growth",
        "cost_base",
        "cost_facility",
        "cost_licence",
        "cost_view",
        "cost_counted",
        "cost_moves",
        "cost_x",
        "cost_y",
        "reality_view",
    }
)
"""Parameters that say something else than an input of the form: version, tabs, axes, what Live looks at."""

_SHOWN = 40
"""Characters of a link's value that a sentence repeats."""


@dataclass(frozen=True, kw_only=True)
class Opened:
    """The inputs that an address means, and a sentence for every parameter that the form cannot take over."""

    values: dict[str, Any]
    problems: tuple[str, ...]


def to_parameters(values: Mapping[str, Any]) -> dict[str, list[str]]:
    """The address of these inputs: what is not as in an untouched form, prices left out."""
    shown = (key for key, field in FIELDS.items() if not field.private and values[key] != defaults()[key])
    return {key: _written(key, values[key]) for key in shown}


def from_parameters(parameters: Parameters) -> Opened:
    """The inputs of an address: what it does not say, or says in vain, is as in an untouched form."""
    values = {key: value for key, value in defaults().items() if not FIELDS[key].private}
    problems = []
    for key, given in parameters.items():
        field = FIELDS.get(key)
        if field is not None and not field.private:
            taken = [value for value in given if _taken(field, value)]
            if taken or not given:
                values[key] = _read(field, taken)
        if sentence := _left_out(key, given):
            problems.append(sentence)
    if OWN_GPU in values["gpu"] and not values["own"]:
        values["gpu"] = [gpu for gpu in values["gpu"] if gpu != OWN_GPU]
    return Opened(values=values, problems=tuple(problems))


def _written(key: str, value: Any) -> list[str]:
    """A value as the address says it: choices by their labels, an empty choice as the empty text."""
    match FIELDS[key].kind:
        case "many":
            return [label(key, option) for option in value] or [""]
        case "choice":
            return [label(key, value) if value else ""]
        case "switch":
            return [str(value).lower()]
    return [str(value)]


def _read(field: Field, taken: Sequence[str]) -> Any:
    """What the widget holds for texts that it takes."""
    last = taken[-1] if taken else ""
    match field.kind:
        case "many":
            by_label = _by_label(field.key)
            return list(dict.fromkeys(by_label[text] for text in taken if text))
        case "choice":
            return _by_label(field.key).get(last, last)
        case "switch":
            return last.lower() == "true"
    return last


def _left_out(key: str, given: Sequence[str]) -> str:
    """What to say about a parameter that names no input, or has a value that the input does not take; else ""."""
    field = FIELDS.get(key)
    if field is None:
        if key in NO_INPUTS:
            return ""
        near = nearest_names(key, list(FIELDS))
        guess = f"; did it mean {' or '.join(near)}?" if near else " and was left out."
        return f"The link's “{key[:_SHOWN]}” is no input{guess}"
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


def _by_label(key: str) -> dict[str, Any]:
    return {text: option for option, text in labels(key).items()}
