"""The fields of the form: one entry of ``fields.yaml`` per widget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from sizing.catalog.files import read_yaml
from sizing.scenario.bounds import LONGEST_GPU_NAME, LONGEST_MODEL_NAME, LONGEST_NAME, LONGEST_SOURCE

_FILE = Path(__file__).with_name("fields.yaml")

Kind = Literal["number", "text", "choice", "many", "switch"]

LONGEST_NUMBER = 40
"""Characters of a number field: room for every notation, and none for a pasted text."""


@dataclass(frozen=True, kw_only=True)
class Field:
    """One input, as ``fields.yaml`` describes it; the key is also the name of its parameter in a link.

    ``needs``: the field and its value without which this one says nothing.
    """

    key: str
    kind: Kind
    label: str
    help: str
    unit: str = ""
    path: str = ""
    scale: float = 1.0
    example: str = ""
    private: bool = False
    short: str = ""
    longest: int = 120
    needs: str = ""

    @property
    def title(self) -> str:
        """The label with its unit, as it stands above the widget."""
        name = self.short or self.label
        return f"{name} ({self.unit})" if self.unit else name

    @property
    def leaf(self) -> str:
        """The last part of the scenario key: the name of the value in its part of the scenario."""
        return self.path.rpartition(".")[2]

    @property
    def blank(self) -> str | bool | list[str]:
        """What the widget holds when it says nothing."""
        empty: dict[Kind, str | bool | list[str]] = {"switch": False, "many": []}
        return empty.get(self.kind, "")


LONGEST: Mapping[str, int] = MappingProxyType(
    {"name": LONGEST_NAME, "size_name": LONGEST_MODEL_NAME, "own_name": LONGEST_GPU_NAME, "m_source": LONGEST_SOURCE}
)
"""Characters of the texts that a scenario keeps as they are typed."""

_READ = {key: Field(key=key, **row) for key, row in read_yaml(_FILE).items()}
FIELDS = {key: replace(field, longest=LONGEST.get(key, field.longest)) for key, field in _READ.items()}
"""Every field by key, in the order of the form."""

BY_PATH = {f.path: f for f in FIELDS.values() if f.path}
"""Every field by the scenario key that it sets."""

MAY_BE_EMPTY = ("model", "m_sys", "usd_of", "usd_gpu")
"""Choices without a default: an empty one is for the user to fill in."""

LENGTH_KEYS = ("isl", "osl", "system", "doc", "question")
"""Fields whose unit is the one chosen in "Lengths in"."""
