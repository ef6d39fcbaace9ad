"""The glossary: terms of the field, and one entry per public field of the results."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo

from commandline.percentiles import key_of
from sizing.base import deployed, latency_and_cost, mixed, provenance, quantity, result, reuse_result
from sizing.base.quantity import PERCENTILES, Result, WithPercentiles
from sizing.catalog.files import read_yaml
from sizing.decision import comparison, flips, formats, levers, nim, optimised, outcome, promises, tornado
from sizing.economics import allowance, fleet_results, present_value, results

MODULES = (
    *(result, deployed, latency_and_cost, provenance, quantity, reuse_result, mixed, results, fleet_results),
    *(present_value, allowance),
    *(outcome, tornado, flips, promises, comparison, formats, levers, nim, optimised),
)
"""Where the result types stand."""

TERMS = Path(__file__).with_name("glossary.yaml")


@dataclass(frozen=True, kw_only=True)
class Term:
    """One word of the field: ``name`` as shown, ``meaning`` in plain words, ``also`` other names, ``group``.

    ``related``: words of another or a wider meaning that a search is to find it by.
    """

    name: str
    meaning: str
    also: tuple[str, ...]
    related: tuple[str, ...]
    group: str


@dataclass(frozen=True, kw_only=True)
class FieldEntry:
    """One public result field as pages and documents describe it; ``unit`` is that of the JSON value."""

    result: str
    name: str
    label: str
    unit: str
    formula: str
    help: str
    annotation: str

    @property
    def key(self) -> str:
        """Result and field in one word, e.g. ``PerInstance.kv_gb``."""
        return f"{self.result}.{self.name}"


@cache
def glossary() -> tuple[Term, ...]:
    """The terms of the field that the product uses, in reading order."""
    groups = read_yaml(TERMS)
    return tuple(
        Term(
            name=name,
            meaning=entry["meaning"],
            also=tuple(entry.get("also", ())),
            related=tuple(entry.get("related", ())),
            group=group,
        )
        for group, entries in groups.items()
        for name, entry in entries.items()
    )


@cache
def fields() -> tuple[FieldEntry, ...]:
    """Every public field of every result class, in the order of the answer: the plan first, then its parts."""
    return tuple(_entry(cls, name, info) for cls in result_classes() for name, info in _fields_in_json(cls))


def _fields_in_json(cls: type[Result]) -> Iterator[tuple[str, FieldInfo]]:
    """The fields of a result as JSON has them, percentiles one by one."""
    for name, info in cls.model_fields.items():
        if name == PERCENTILES and issubclass(cls, WithPercentiles):
            yield from ((key_of(percent), one) for percent, one in cls.fields_of_percentiles())
        else:
            yield name, info


@cache
def result_classes() -> tuple[type[Result], ...]:
    """Every result class of an answer, :class:`sizing.base.result.Plan` first, then in the order of the modules."""
    classes = [
        cls
        for module in MODULES
        for cls in vars(module).values()  # in the order in which they are written
        if isinstance(cls, type) and issubclass(cls, Result) and cls is not Result and cls.__module__ == module.__name__
    ]
    return tuple(sorted(classes, key=lambda cls: cls is not result.Plan))


def _entry(cls: type[Result], name: str, info: FieldInfo) -> FieldEntry:
    extra: Any = info.json_schema_extra
    meta = extra.get("quantity", {}) if isinstance(extra, dict) else {}
    return FieldEntry(
        result=cls.__name__,
        name=info.alias or name,
        label=str(meta.get("label", "")),
        unit=str(meta.get("unit", "")),
        formula=str(meta.get("formula", "")),
        help=info.description or "",
        annotation=_type_name(info.annotation),
    )


def _type_name(annotation: Any) -> str:
    """The annotation as a reader writes it: ``float | None`` rather than ``typing.Optional[float]``."""
    return annotation.__name__ if isinstance(annotation, type) else re.sub(r"sizing\.base\.\w+\.", "", str(annotation))
