"""The inputs as parameters of an address, and back: what is written is read as the same inputs.

More is read than is written, for people and programs that write links: docs/LINKS.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode

from commandline.faults import TEXTS
from commandline.foreign_text import shown
from sharing.form.choices import label, near_options, option_of
from sharing.form.cost_words import COST_CHOICES
from sharing.form.fields import FIELDS, LONGEST_NUMBER, MAY_BE_EMPTY, Field
from sharing.form.left_behind import GIVEN, NAMED_TRACE
from sharing.form.link_versions import former_defaults
from sharing.form.presets import defaults
from sharing.form.read import OWN_GPU
from sizing.base.errors import alternatives, nearest_names

VERSION = "v"
"""Parameter that names the version of the defaults."""

Parameters = Mapping[str, Sequence[str]]
"""The parameters of an address, each with every value that it has there."""

WITH_FORM = ("size", "explore", "compare", "cost")
"""Pages that hold the form."""

WITH_INPUTS = (*WITH_FORM, "benchmarks", "live", "reality")
"""Pages with the inputs in their address: a benchmark and a deployment are held against the scenario, too."""

ANY_TEXT = ("model",)
"""Choices that take what is not listed."""

NO_INPUTS = frozenset(
    {
        *COST_CHOICES,
        "v",
        NAMED_TRACE,
        GIVEN,
        "goto",
        "view",
        "scenarios_view",
        "present",
        "show",
        "shown",
        "x",
        "y",
        "lines",
        "range",
        "have",
        "have_gpus",
        "have_kw",
        "have_systems",
        "serve_gpu",
        "serve_system",
        "map_gpu",
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
        "cost_hardware",
        "cost_price_list",
        "cost_view",
        "cost_counted",
        "cost_moves",
        "cost_x",
        "cost_y",
        "reality_view",
        "scenario_from",
    }
)
"""Parameters that say something else than an input of the form: version, tabs, axes, what Live looks at."""

_TRUE, _FALSE = frozenset({"true", "yes", "on", "1"}), frozenset({"false", "no", "off", "0"})

ALIKE = 0.66
"""How alike the name of an input has to be to one that a link misspells. Chosen: “ttf” finds “ttft”, “with” nothing."""

MOST_CHARACTERS, MOST_PARAMETERS, MOST_VALUES = 16_000, 200, 1_000
"""Of a link. Chosen: twice what a link with every input and all accelerators has; browsers and proxies refuse much
longer ones, a web socket does not, and each takes time before anybody has logged in."""

MOST_LISTED = 10
"""Values of a parameter that a sentence repeats. Chosen: more are not read."""

_SHOWN = 40
"""Characters of a link's value that a sentence repeats."""

_MOST_MEANT = 3
"""Options that a sentence offers for a wrong value, as for any unknown name."""


@dataclass(frozen=True, kw_only=True)
class Opened:
    """The inputs that an address means, and a sentence for every parameter that the form cannot take over."""

    values: dict[str, Any]
    problems: tuple[str, ...]


def to_parameters(values: Mapping[str, Any]) -> dict[str, list[str]]:
    """The address of these inputs: what is not as in an untouched form, prices left out; with an input that does not
    count as things are, what it would count with."""
    shown = [key for key, field in FIELDS.items() if not field.private and values[key] != defaults()[key]]
    without = {field for field, _ in (_unmet(key, values) for key in shown) if field}
    return {key: _written(key, values[key]) for key in FIELDS if key in shown or key in without}


def link_to(base: str, parameters: Parameters) -> str:
    """The address with its parameters, as few signs of it encoded as may be."""
    return f"{base}?{urlencode(parameters, doseq=True, safe='/:,')}"


def from_parameters(parameters: Parameters) -> Opened:
    """The inputs of an address: what it does not say, or cannot be, is as in the untouched form that it was made with,
    by its version."""
    if sentence := too_much(parameters):
        parameters, problems = {}, [sentence]
    else:
        problems = []
    former = former_defaults(parameters.get(VERSION, ()))
    values = {key: value for key, value in {**defaults(), **former}.items() if not FIELDS[key].private}
    for name, given in parameters.items():
        field = field_of(name)
        texts = _apart(field, given) if field else given
        if field is not None and not field.private:
            taken = [text for text in texts if _taken(field, text)]
            if taken or not texts:
                values[field.key] = _read(field, taken)
        if sentence := _left_out(name, field, texts):
            problems.append(sentence)
    problems += _say_nothing(parameters, values)
    if OWN_GPU in values["gpu"] and not values["own"]:
        values["gpu"] = [gpu for gpu in values["gpu"] if gpu != OWN_GPU]
        problems.append(f"{FIELDS['gpu'].label}: “{OWN_GPU}” counts with own=true alone, so it was left out.")
    return Opened(values=values, problems=tuple(dict.fromkeys(problems)))


def too_much(parameters: Parameters) -> str:
    """What to say about a link that is longer than any that is written; empty for one that is not."""
    texts = [text for given in parameters.values() for text in given]
    if (
        len(parameters) > MOST_PARAMETERS
        or sum(map(len, [*parameters, *texts])) > MOST_CHARACTERS
        or sum(1 + text.count(",") for text in texts) > MOST_VALUES
    ):
        return "The link is longer than any that this form writes, so nothing was taken from it."
    return ""


def _say_nothing(parameters: Parameters, values: Mapping[str, Any]) -> list[str]:
    """A sentence for every input that counts with another one alone, of which the link says nothing."""
    named = {field.key: name for name in parameters if (field := field_of(name)) and not field.private}
    unmet = ((key, name, *_unmet(key, values)) for key, name in named.items())
    return [
        f"The link's “{shown(name, _SHOWN)}” ({FIELDS[key].label}) counts with {needed}={value} alone, which the "
        "link does not say: it was left aside."
        for key, name, needed, value in unmet
        if needed and needed not in named and values[key] != defaults()[key]
    ]


def _unmet(key: str, values: Mapping[str, Any]) -> tuple[str, str]:
    """The field without which an input says nothing as these inputs are, and the value it would have to have."""
    if FIELDS[key].counts(values):
        return "", ""
    needed, _, value = FIELDS[key].needs.partition("=")
    return needed, value if FIELDS[needed].kind == "switch" else label(needed, value)


def field_of(name: str) -> Field | None:
    """The input that a parameter names: by its key, or as the scenario file does (``limits.ttft_ms``, ``peak_rps``)."""
    plain = name.strip().casefold().replace("-", "_")
    return FIELDS.get(plain) or _by_scenario_key().get(plain)


@cache
def _by_scenario_key() -> Mapping[str, Field]:
    """Fields by their scenario key, and by its last part where no other has it; in the same unit, or not at all."""
    plain = [field for field in FIELDS.values() if field.path and field.scale == 1.0]
    leaves = [field.leaf for field in plain]
    alone = {field.leaf: field for field in plain if leaves.count(field.leaf) == 1 and field.leaf not in NO_INPUTS}
    return MappingProxyType(alone | {field.path: field for field in plain})


def fits(name: str, texts: Sequence[str]) -> bool:
    """Whether this names an input that a link may say, and the input takes these values."""
    field = field_of(name)
    return field is not None and not _left_out(name, field, texts)


def _apart(field: Field, given: Sequence[str]) -> list[str]:
    """The values of a parameter; several options may also stand in one, with commas between them."""
    if field.kind != "many":
        return list(given)
    split = [[text] if _taken(field, text) else [part.strip() for part in text.split(",")] for text in given]
    return [text for texts in split for text in texts]


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
            return list(dict.fromkeys(option_of(field.key, text) for text in taken if text))
        case "choice":
            option = option_of(field.key, last)
            return last if option is None else option
        case "switch":
            return last.strip().casefold() in _TRUE
    return last


def _left_out(name: str, field: Field | None, given: Sequence[str]) -> str:
    """What to say about a parameter that names no input, or has a value that the input does not take; else ""."""
    if field is None:
        if name in NO_INPUTS:
            return ""
        near = nearest_names(name, list(FIELDS), cutoff=ALIKE)
        guess = f"; did it mean {' or '.join(near)}?" if near else " and was left out."
        return f"The link's “{shown(name, _SHOWN)}” is no input{guess}"
    if field.private:
        return f"{field.label} is never taken from a link: enter it in the form."
    wrong = dict.fromkeys(value for value in given if not _taken(field, value))
    if not wrong:
        return ""
    listed = ", ".join(f"“{shown(value, _SHOWN)}”" for value in list(wrong)[:MOST_LISTED])
    if len(wrong) > MOST_LISTED:
        listed += f" and {len(wrong) - MOST_LISTED} more"
    why = _WHY[field.kind].format(max_length=field.longest)
    return f"{field.label}: {listed} {why}, so the link's value was left out.{_meant(field, list(wrong)[:MOST_LISTED])}"


def _meant(field: Field, wrong: Sequence[str]) -> str:
    """What wrong choices may mean; "" where nothing is like them."""
    if field.kind not in ("choice", "many"):
        return ""
    near = list(dict.fromkeys(name for value in wrong for name in near_options(field.key, value)))[:_MOST_MEANT]
    return f" Did you mean {alternatives(near)}?" if near else ""


_WHY = {
    "choice": "is not one of the options",
    "many": "is not one of the options",
    "switch": "is neither true nor false",
    "number": "is too long for a number",
    "text": TEXTS["string_too_long"],
}


def _taken(field: Field, value: str) -> bool:
    """Whether the widget takes a value from the address."""
    match field.kind:
        case "choice" | "many":
            if field.key in ANY_TEXT or (not value and (field.kind == "many" or field.key in MAY_BE_EMPTY)):
                return True
            return option_of(field.key, value) is not None
        case "switch":
            return value.strip().casefold() in _TRUE | _FALSE
        case "number":
            return len(value) <= LONGEST_NUMBER
    return len(value) <= field.longest
