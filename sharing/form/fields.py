"""The fields of the form: one entry of ``fields.yaml`` per widget, with what the scenario's schema says of its key."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, assert_never

from sharing.form.numbers import over, show_number
from sharing.form.stages_text import stages_text
from sizing.catalog.files import read_yaml
from sizing.scenario.part import field_at, types_in
from sizing.scenario.schema import Scenario

_FILE = Path(__file__).with_name("fields.yaml")

FieldKind = Literal["number", "text", "choice", "many", "switch"]
Reads = Literal["as_is", "layout", "counts", "stages"]
"""How a text is read: as it is, as degrees of parallelism ("TP4 PP2"), as whole numbers with commas between them, as
stages of a pipeline (:mod:`sharing.form.stages`)."""

Options = Mapping[Any, str]
"""Options of a choice in the order shown, with the words for each."""

LONGEST_NUMBER = 40
"""Characters of a number field: room for every notation, and none for a pasted text."""


@dataclass(frozen=True, kw_only=True)
class Field:
    """One input, as ``fields.yaml`` describes it; the key is also the name of its parameter in a link.

    ``default`` is what the widget holds where a scenario does not say. ``if_empty`` is what a scenario gets from an
    empty widget: None where it has to be filled in, or where the scenario may leave the key out (``may_be_none``).
    ``needs``: the field and its value without which this one says nothing. ``whole``: its number has no fraction.
    """

    key: str
    kind: FieldKind
    label: str
    help: str
    unit: str = ""
    path: str = ""
    reads: Reads = "as_is"
    composed: bool = False
    scale: float = 1.0
    default: Any = None
    if_empty: Any = None
    required: bool = False
    may_be_none: bool = False
    whole: bool = False
    options: Options = field(default_factory=dict)
    example: str = ""
    private: bool = False
    short: str = ""
    longest: int = 120
    needs: str = ""
    narrows: bool = False

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
    def part(self) -> str:
        """The part of the scenario that holds the key: "workload.users"; empty for the scenario itself."""
        return self.path.rpartition(".")[0]

    @property
    def plain(self) -> bool:
        """Whether the field alone is its scenario key, so that reading and writing follow from its kind."""
        return bool(self.path) and not self.composed

    @property
    def blank(self) -> str | bool | list[str]:
        """What the widget holds when it says nothing."""
        empty: dict[FieldKind, str | bool | list[str]] = {"switch": False, "many": []}
        return empty.get(self.kind, "")

    def shown(self, value: Any) -> Any:
        """What the widget holds for a value of the scenario key."""
        if value is None:
            return self.blank
        match self.reads:
            case "as_is":
                return show_number(over(value, self.scale)) if self.kind == "number" else value
            case "counts":
                return ", ".join(map(str, value))
            case "layout":
                return " ".join(f"{name.upper()}{n}" for name, n in value.items() if n > 1 or name == "tp")
            case "stages":
                return stages_text(value)
            case unknown:
                assert_never(unknown)

    def counts(self, values: Mapping[str, Any]) -> bool:
        """Whether the field says anything as the others are, and as those are that it needs."""
        needed, _, value = self.needs.partition("=")
        return not needed or (str(values[needed]).lower() == value and FIELDS[needed].counts(values))


def _field(key: str, row: Mapping[str, Any]) -> Field:
    options = row.get("options", {})
    named = options if isinstance(options, dict) else {option: str(option) for option in options}
    one = Field(key=key, **{**row, "options": MappingProxyType(named)})
    one = _with_schema(one) if one.path else one
    return replace(one, default=one.blank if one.default is None else one.default)


def _with_schema(one: Field) -> Field:
    """A field with what the schema says of its key: default, bounds of a text, whole numbers, whether it may be none.

    A number may be empty where the schema's default is none or zero; any other has to be filled in.
    """
    info = field_at(Scenario, one.path)
    types = tuple(types_in(info.annotation))
    stated = None if info.is_required() else info.get_default(call_default_factory=True, validated_data={})
    most = [n for bound in info.metadata if (n := getattr(bound, "max_length", None)) and one.kind == "text"]
    return replace(
        one,
        default=one.default if stated is None else one.shown(stated),
        if_empty=stated if one.if_empty is None and (one.kind != "number" or stated == 0) else one.if_empty,
        may_be_none=type(None) in types and not one.required,
        whole=int in types and float not in types,
        longest=most[0] if most and one.plain and one.reads == "as_is" else one.longest,
    )


FIELDS: Mapping[str, Field] = MappingProxyType({key: _field(key, row) for key, row in read_yaml(_FILE).items()})
"""Every field by key, in the order of the form."""

BY_PATH = {f.path: f for f in FIELDS.values() if f.path}
"""Every field by the scenario key that it sets."""

MAY_BE_EMPTY = tuple(key for key, f in FIELDS.items() if f.kind == "choice" and not f.default)
"""Choices without a default: an empty one is for the user to fill in."""

LENGTH_KEYS = tuple(key for key, f in FIELDS.items() if f.kind == "number" and not f.unit)
"""Fields whose unit is the one chosen in "Lengths in"."""
