"""Columns as words and back, as "H100 SXM5 80GB + FP8 (W8A8) + Cloud": the name of one, and its part of an address."""

import re
from collections.abc import Mapping
from itertools import islice, product
from types import MappingProxyType
from typing import Any

from sharing.form.choices import label, labels, near_options, option_of
from sharing.form.read import OWN_GPU
from sizing.base.errors import nearest_names
from sizing.base.format import stated
from sizing.decision.columns import ComparisonColumn

KEPT = "same hardware"
_JOIN = " + "
_MOST_TRIED = 8
"""Combinations of what the parts of a column may mean that are looked at."""
_LOAD = re.compile(r"(\d{1,4}(?:\.\d{1,4})?) x the load")

FIELDS: Mapping[str, str] = MappingProxyType(
    {"location": "where", "gpu": "gpu", "precision": "prec", "engine": "engine"}
)
"""Parts of a column by the field of the form that has their options, in the order they are written."""


def column_text(column: ComparisonColumn) -> str:
    """The parts of a column that say something; empty where none does."""
    given = {name: getattr(column, name) for name in FIELDS}
    parts = [label(FIELDS[name], value) for name, value in given.items() if value]
    if column.load != 1.0:
        parts.append(f"{stated(column.load)} x the load")
    if column.keep_hardware:
        parts.append(KEPT)
    return _JOIN.join(parts)


def column_of(text: str) -> ComparisonColumn | None:
    """The column that a text means; None where a part of it is no option, or a part is there twice."""
    parts: dict[str, Any] = {}
    for word in text.split(_JOIN):
        read = _part(word.strip())
        if read is None or read[0] in parts:
            return None
        parts[read[0]] = read[1]
    if parts.get("keep_hardware") and parts.keys() & {"gpu", "precision", "engine"}:
        return None
    return ComparisonColumn(**parts)


def near_columns(text: str) -> list[str]:
    """Columns that a text without one may mean: each part that is no option taken for the options most like it."""
    words = [word.strip() for word in text.split(_JOIN.strip())]
    meant = [[word] if _part(word) is not None else _near_parts(word) for word in words]
    columns = (column_of(_JOIN.join(parts)) for parts in islice(product(*meant), _MOST_TRIED))
    return [column_text(column) for column in columns if column is not None]


def _near_parts(word: str) -> list[str]:
    options = {name: name for field in FIELDS.values() if field != "gpu" for name in labels(field).values() if name}
    return nearest_names(word, [KEPT, "2 x the load", *options]) or near_options("gpu", word)


def _part(word: str) -> tuple[str, Any] | None:
    if word == KEPT:
        return "keep_hardware", True
    if load := _LOAD.fullmatch(word):
        return ("load", float(load[1])) if float(load[1]) > 0 else None
    for name, field in FIELDS.items():
        option = option_of(field, word)
        if option is not None and option != OWN_GPU:
            return name, option
    return None
