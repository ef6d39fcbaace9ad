"""Metadata that every public result field carries, and the estimate with an interval.

Tooltips, exports, the glossary and the methodology page are generated from :func:`quantity`; a test fails when a
public result field lacks it.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict
from pydantic.fields import FieldInfo


def quantity(
    label: str,
    unit: str = "",
    formula: str = "",
    help: str = "",
    source: str = "",
    *,
    alias: str | None = None,
    exclude: bool | None = None,
) -> FieldInfo:
    """The metadata of a field that pages and documents are generated from: ``p50: Annotated[float, quantity(...)]``.

    ``unit`` is the unit of the JSON value ("" for names and counts without unit); ``formula`` the equation or the
    place that decides the value; ``help`` one sentence for a tooltip and the glossary. ``alias`` is the name in JSON
    where it is another; a field to ``exclude`` stays out of JSON. A default stands behind the annotation, so that the
    type checker sees which fields are required.
    """
    extra: JsonDict = {"quantity": {"label": label, "unit": unit, "formula": formula, "source": source}}
    field: FieldInfo = Field(title=label, description=help, json_schema_extra=extra, alias=alias, exclude=exclude)
    return field


class Result(BaseModel):
    """Base of all results: frozen, keyword-only, no unknown fields. In JSON a field has its alias, where it has one."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", protected_namespaces=(), validate_by_name=True, serialize_by_alias=True
    )


class Estimate(Result):
    """A number with the ends of its interval. The field that holds it says which interval, and their unit."""

    value: Annotated[float, quantity("Value", formula="see the field that holds it", help="Central estimate.")]
    low: Annotated[float, quantity("Low", formula="see the field that holds it", help="Lower end.")]
    high: Annotated[
        float | None,
        quantity(
            "High", formula="see the field that holds it", help="Upper end; none where nothing bounds the number above."
        ),
    ]
