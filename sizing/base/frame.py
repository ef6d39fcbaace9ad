"""Results as tables: frames whose columns are fields of results, and a plan as a notebook shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin

from sizing.base.format import significant
from sizing.base.quantity import Result

if TYPE_CHECKING:
    import pandas as pd

NOTEBOOK_ROWS = 6
"""Deployments that a notebook shows of a ranking. Chosen: what is read at a glance; ``to_frame`` has all."""


def cells_of(result: Result) -> dict[str, object]:
    """The fields of a result that hold one number, word or truth value, by their names."""
    fields = type(result).model_fields
    return {name: getattr(result, name) for name, field in fields.items() if _holds_one(field.annotation)}


def _holds_one(annotation: Any) -> bool:
    if get_origin(annotation) in (Union, UnionType):
        return all(_holds_one(one) for one in get_args(annotation))
    return annotation in (str, int, float, bool, NoneType) or get_origin(annotation) is Literal


def frame_of(rows: Sequence[Mapping[str, object]], *units: type[Result]) -> pd.DataFrame:
    """A row each, the columns those of the first, by their names in ``rows``. ``attrs["units"]`` has the unit of each
    column that is a field of one of the classes ``units``; a column without one is a count, a word or a truth value."""
    import pandas as pd

    frame = pd.DataFrame.from_records(list(rows))
    known = {name: unit for cls in units for name, unit in _units(cls) if unit}
    frame.attrs["units"] = {str(name): known[name] for name in frame.columns if name in known}
    return frame


def _units(cls: type[Result]) -> list[tuple[str, str]]:
    extras = ((name, field.json_schema_extra) for name, field in cls.model_fields.items())
    quantities = ((name, extra.get("quantity") if isinstance(extra, dict) else None) for name, extra in extras)
    return [(name, str(about.get("unit", ""))) for name, about in quantities if isinstance(about, dict)]


def as_html(answer: str, ranking: pd.DataFrame, warnings: Sequence[str]) -> str:
    """The answer, its ranking and what to mind, as HTML; whatever stands in them is text."""
    parts = [f"<p>{escape(answer)}</p>"]
    if len(ranking):
        shown = ranking.head(NOTEBOOK_ROWS).rename(
            columns={name: f"{name} ({unit})" for name, unit in ranking.attrs["units"].items()}
        )
        parts.append(shown.to_html(index=False, border=0, float_format=significant, na_rep="unknown"))
    if len(ranking) > NOTEBOOK_ROWS:
        parts.append(f"<p>{len(ranking) - NOTEBOOK_ROWS} more deployments: see to_frame().</p>")
    if warnings:
        parts.append(f"<ul>{''.join(f'<li>{escape(warning)}</li>' for warning in warnings)}</ul>")
    return "".join(parts)
