"""Physical and market constants that come from a published source or a measurement, with that source and its date.

They stand in ``constants.csv``. A module that needs one reads ``constant("driver_bytes")`` once, at import, under a
name of its own. A test fails when one has no source, stands there twice or is used nowhere. Conventions and bounds that
were chosen (search widths, tolerances, sample sizes) stand as module constants beside the code that uses them; the
catalogue, the cost assumptions and the fitted efficiencies have files of their own in ``sizing/data``. The methodology
reference lists these constants and those of the modules in its chapter "Constants".
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

TABLE = Path(__file__).with_name("constants.csv")


@dataclass(frozen=True, kw_only=True)
class Constant:
    """A number with its provenance. ``date`` (ISO 8601) is the date of the source or of the measurement."""

    name: str
    value: float
    unit: str
    meaning: str
    source: str
    date: str


def _read() -> Mapping[str, Constant]:
    with TABLE.open(newline="", encoding="utf-8") as handle:
        rows: list[dict[str, Any]] = list(csv.DictReader(handle))
    return MappingProxyType({row["name"]: Constant(**row | {"value": float(row["value"])}) for row in rows})


CONSTANTS: Mapping[str, Constant] = _read()
"""The constants of ``constants.csv`` by name."""

DECK = CONSTANTS["nvlink_preferred_tp"].source
"""The sizing deck that reading speeds and the preference for NVLink are taken from."""


def constant(name: str) -> float:
    """The value of a constant in the unit that its row states. Raises KeyError for an unknown name."""
    return CONSTANTS[name].value
