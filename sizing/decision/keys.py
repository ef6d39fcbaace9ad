"""Scenario keys: their values, and a scenario with other values."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from sizing.scenario.schema import Scenario

Values = Mapping[str, Any]
"""Values by dotted key of the scenario, e.g. ``workload.input_tokens``."""


def values_of(scenario: Scenario) -> dict[str, Any]:
    """Every key that has a value, sections opened; lists, traces and models given inline are one value each."""
    return dict(_opened("", scenario.model_dump(mode="json", exclude_none=True)))


WHOLE = frozenset({"model", "benchmark", "workload.arrivals", "workload.input_tokens", "workload.output_tokens"})
"""Keys whose mapping is one value: its parts make sense together alone."""


def _opened(prefix: str, values: Mapping[str, Any]) -> list[tuple[str, Any]]:
    out: list[tuple[str, Any]] = []
    for name, value in values.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict) and key not in WHOLE:
            out += _opened(f"{key}.", value)
        else:
            out.append((key, value))
    return out


def with_values(scenario: Scenario, values: Values) -> Scenario | None:
    """The scenario with other values, None removing a key; None where the values cannot stand together. Itself where
    there are none."""
    if not values:
        return scenario
    dump = scenario.model_dump(mode="json")
    for key, value in values.items():
        *sections, name = key.split(".")
        place = dump
        for section in sections:
            place[section] = place.get(section) or {}
            place = place[section]
        place[name] = value
    try:
        return Scenario.model_validate(dump)
    except ValidationError:
        return None


def only(values: Values, keys: frozenset[str] | set[str]) -> dict[str, Any]:
    """The values of some keys; None where there is none, which removes the key."""
    return {key: values.get(key) for key in sorted(keys)}
