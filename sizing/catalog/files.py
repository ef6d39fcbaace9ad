"""Reading the data files that ship with the product (``sizing/data``), and nothing else."""

import csv
import hashlib
import types
import typing
from collections.abc import Callable
from dataclasses import MISSING, fields
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import yaml

DATA_DIR = Path(__file__).resolve().parent.parent / "data"
"""Folder of the shipped facts; every file in it is part of :func:`data_version`."""

DATA_DATE = "2026-11-25"
"""Day on which the facts were collected and last changed (ISO 8601)."""

Row = dict[str, str]
Record = TypeVar("Record")


def read_rows(filename: str) -> list[Row]:
    """The rows of one CSV file as text, in file order; an empty cell is an unknown fact."""
    with (DATA_DIR / filename).open(newline="", encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


def read_yaml(filename: str | Path) -> Any:
    """One YAML file of the data folder, or any other by its whole path.

    The C parser is used where PyYAML has it, because start-up time counts.
    """
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


def typed_rows(filename: str, record: type[Record], **columns: str) -> tuple[Record, ...]:
    """All rows of a CSV file as records; ``columns`` names the column of a field that is called otherwise."""
    return tuple(record(**cells(row, record, **columns)) for row in read_rows(filename))


def cells(row: Row, record: type, **columns: str) -> dict[str, Any]:
    """What a row says of the fields of a record, each read as its type says; an empty cell leaves a default as it is.

    ``columns`` names the column of a field that is called otherwise; a field without a column is left out.
    """
    named = ((name, columns.get(name, name), reader, has_default) for name, reader, has_default in _readers(record))
    return {
        name: reader(row[column])
        for name, column, reader, has_default in named
        if column in row and (row[column] or not has_default)
    }


@cache
def _readers(record: type) -> tuple[tuple[str, Callable[[str], Any], bool], ...]:
    """Name, cell reader, and whether there is a default, of each field of a record."""
    hints = typing.get_type_hints(record)
    return tuple((f.name, _reader(hints[f.name]), f.default is not MISSING) for f in fields(record))


def _reader(hint: Any) -> Callable[[str], Any]:
    """The cell reader for a field annotation: text, several texts, bool, int | None or float | None."""
    options = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    readers: dict[Any, Callable[[str], Any]] = {float: number, int: count, bool: flag, tuple[str, ...]: names}
    return next((reader for kind, reader in readers.items() if kind in options), str)


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
