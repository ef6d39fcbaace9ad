"""Metadata that every public result field carries, and the estimate with an interval.

Tooltips, exports, the glossary and the methodology page are generated from :func:`quantity`; a test fails when a
public result field lacks it.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict


def quantity(label: str, unit: str = "", formula: str = "", help: str = "", source: str = "", **kwargs: Any) -> Any:
    """A pydantic field with the metadata that pages and documents are generated from.

    ``unit`` is the unit of the JSON value ("" for names and counts without unit); ``formula`` the equation or the
    place that decides the value; ``help`` one sentence for a tooltip and the glossary.
    """
    extra: JsonDict = {"quantity": {"label": label, "unit": unit, "formula": formula, "source": source}}
    return Field(title=label, description=help, json_schema_extra=extra, **kwargs)


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
