"""Reading the data files that ship with the product (``sizing/data``), and nothing else."""

from __future__ import annotations

import csv
import hashlib
import types
import typing
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import yaml

DATA_DIR = Path(__file__).resolve().parent.parent / "data"
"""Folder of the shipped facts; every file in it is part of :func:`data_version`."""

DATA_DATE = "2026-11-20"
"""Day on which the facts were collected and last changed (ISO 8601)."""

Row = dict[str, str]
Record = TypeVar("Record")


def read_rows(filename: str) -> list[Row]:
    """The rows of one CSV file as text, in file order; an empty cell is an unknown fact."""
    with (DATA_DIR / filename).open(newline="", encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


def read_yaml(filename: str) -> Any:
    """One YAML file of the data folder; the C parser is used where PyYAML has it, because start-up time counts."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load((DATA_DIR / filename).read_text(encoding="utf-8"), Loader=loader)


def number(text: str) -> float | None:
    """A numeric cell, or None where the fact is unknown."""
    return float(text) if text else None


def count(text: str) -> int | None:
    """A whole-number cell (``8`` or ``8.0``), or None where the fact is unknown."""
    return int(float(text)) if text else None


def names(text: str) -> tuple[str, ...]:
    """A cell with several names, separated by ``|``."""
    return tuple(part.strip() for part in text.split("|") if part.strip())


def flag(text: str) -> bool:
    """A yes/no cell; unknown counts as no, because a capability is never guessed."""
    return text.strip().lower().startswith(("1", "true", "yes"))


def typed_rows(filename: str, record: type[Record]) -> tuple[Record, ...]:
    """All rows of a CSV file as records whose field names and types are the file's columns."""
    readers = {name: _reader(hint) for name, hint in typing.get_type_hints(record).items()}
    names = [f.name for f in fields(record)]  # type: ignore[arg-type]
    return tuple(record(**{name: readers[name](row[name]) for name in names}) for row in read_rows(filename))


def _reader(hint: Any) -> Any:
    """The cell reader for a field annotation: str, bool, int | None or float | None."""
    options = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if float in options:
        return number
    if int in options:
        return count
    return flag if bool in options else str


@cache
def data_version() -> str:
    """Date of the facts and a short hash of every data file: two equal versions gave equal answers."""
    digest = hashlib.sha256()
    for path in sorted(p for p in DATA_DIR.iterdir() if p.suffix in {".csv", ".yaml"}):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return f"{DATA_DATE}-{digest.hexdigest()[:10]}"


def data_date() -> str:
    """Day on which the facts were collected and last changed (ISO 8601)."""
    return DATA_DATE
