"""The starting points of the form, read from presets.yaml, with where their lengths and limits come from."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sharing.form.write import from_scenario
from sizing.catalog import UseCase, use_cases
from sizing.catalog.files import read_yaml
from sizing.scenario.schema import Scenario

_FILE = Path(__file__).with_name("presets.yaml")


@dataclass(frozen=True, kw_only=True)
class Preset:
    """One starting point. ``lengths_from`` and ``limits_from`` name rows of the use-case data; "" means assumed."""

    id: str
    title: str
    icon: str
    summary: str
    scenario: Scenario
    kind: str = "use case"
    lengths_from: str = ""
    limits_from: str = ""
    limits_note: str = ""

    @property
    def evidence(self) -> str:
        """Where lengths and limits come from, for a tooltip."""
        lengths = f"Lengths: {_source(self.lengths_from)}" if self.lengths_from else ""
        limits = f"Limits: {_source(self.limits_from)}" if self.limits_from else ""
        return " ".join(
            text
            for text in (
                lengths,
                limits,
                self.limits_note,
                "The load is an assumption." if self.kind == "use case" else "",
            )
            if text
        )


@cache
def presets() -> Mapping[str, Preset]:
    """All presets by id, in file order; the first one is what an empty form holds."""
    rows = read_yaml(_FILE)
    return MappingProxyType({name: _preset(name, row) for name, row in rows.items()})


@cache
def defaults() -> dict[str, Any]:
    """The value of every field of an untouched form: the first preset."""
    return from_scenario(next(iter(presets().values())).scenario)


def preset_of(values: Mapping[str, Any]) -> str | None:
    """The preset that fills the form in with exactly these values."""
    return next((name for name, filled_in in _filled_in().items() if filled_in == values), None)


@cache
def _filled_in() -> Mapping[str, dict[str, Any]]:
    """The value of every field of the form with each preset."""
    return {name: from_scenario(one.scenario) for name, one in presets().items()}


def _preset(name: str, row: dict[str, Any]) -> Preset:
    return Preset(id=name, **row | {"scenario": Scenario.model_validate(row["scenario"])})


@cache
def _rows() -> Mapping[str, UseCase]:
    return {row.use_case: row for row in use_cases()}


def _source(name: str) -> str:
    row = _rows()[name]
    return f"“{name}”, {row.source} ({row.source_date or 'undated'})."
