"""What the form, or a link, does not hold of a scenario, and what a link names and cannot carry."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from sharing.form.fields import FIELDS
from sharing.form.presets import defaults
from sharing.form.problems import UnreadableInput
from sharing.form.read import to_scenario
from sizing.decision.keys import values_of
from sizing.scenario.schema import Scenario

NAMED_TRACE = "trace"
"""Parameter that names the trace that filled the inputs in."""

GIVEN = "given"
"""Parameter with the kinds of what else was given."""

KINDS: Mapping[str, str] = MappingProxyType(
    {"benchmark": "a benchmark", "price_list": "a list of prices", "prices": "prices of its own"}
)
"""What may be given, by its word in the parameter, and as a sentence names it."""

_PRIVATE = tuple(key for key, field in FIELDS.items() if field.private)


def given(values: Mapping[str, Any], *, benchmark: object, price_book: object) -> tuple[str, ...]:
    """The kinds that these inputs count with."""
    prices = [key for key in _PRIVATE if values[key] != defaults()[key]]
    held = {"benchmark": benchmark, "price_list": price_book, "prices": prices}
    return tuple(kind for kind in KINDS if held[kind])


def keys_not_held(scenario: Scenario, values: Mapping[str, Any], **files: Any) -> tuple[str, ...]:
    """The keys whose values the fields and files do not give back; ``files`` as for ``to_scenario``."""
    stated = values_of(scenario)
    try:
        held = values_of(Scenario.model_validate(to_scenario(values, **files)))
    except (UnreadableInput, ValidationError):
        return tuple(stated)
    return tuple(key for key in dict.fromkeys([*stated, *held]) if stated.get(key) != held.get(key))
