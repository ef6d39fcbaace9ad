"""A price book as a CSV file, out and in: one row a price, list and negotiated ones told apart in the first column."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from sizing.base.errors import InvalidScenario
from sizing.scenario.file import problems_of
from sizing.scenario.prices import GpuHourPrice, PriceList, Prices, SystemPrice

COLUMNS = ("list", "what", "name", "usd", "provider", "region", "gpus", "source", "date")
LISTS = ("listed", "negotiated")
WHATS: Mapping[str, type[SystemPrice | GpuHourPrice]] = {"system": SystemPrice, "gpu_hour": GpuHourPrice}
"""What a price may be of, by the word in the file: a complete system, or a GPU for an hour."""

MAX_FILE_CHARS = 1_000_000
"""Length of a price book. Chosen: because the most prices that a scenario may hold are a tenth of that."""


def to_csv(prices: Prices) -> str:
    """The price book of a scenario as CSV, as :func:`read_csv` reads it."""
    out = io.StringIO()
    rows = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    rows.writeheader()
    for name in LISTS:
        for one in getattr(prices, name).prices:
            keys = one.model_dump(mode="json", exclude_none=True)
            of = "system" if isinstance(one, SystemPrice) else "gpu"
            what = "system" if isinstance(one, SystemPrice) else "gpu_hour"
            rows.writerow({"list": name, "what": what, "name": keys.pop(of)} | keys)
    return out.getvalue()


def read_csv(text: str) -> Mapping[str, PriceList]:
    """The lists of a price book by name. Raises InvalidScenario with one sentence for the first row that cannot be."""
    if len(text) > MAX_FILE_CHARS:
        raise InvalidScenario(["The price book is longer than a million characters: that is not a price book."])
    lines = csv.DictReader(io.StringIO(text), strict=True)
    kept: dict[str, list[SystemPrice | GpuHourPrice]] = {name: [] for name in LISTS}
    for number, (name, price) in enumerate(_rows(lines), start=2):
        kept[_one_of(name, LISTS, "list", number)].append(price)
    try:
        return {
            name: PriceList(
                systems=tuple(one for one in prices if isinstance(one, SystemPrice)),
                gpu_hours=tuple(one for one in prices if isinstance(one, GpuHourPrice)),
            )
            for name, prices in kept.items()
        }
    except ValidationError as error:
        raise InvalidScenario([f"Price book: {problems_of(error)[0]}"]) from None


def _rows(lines: csv.DictReader[str]) -> Iterator[tuple[str, SystemPrice | GpuHourPrice]]:
    try:
        missing = [name for name in ("list", "what", "name", "usd") if name not in (lines.fieldnames or ())]
        if missing:
            raise InvalidScenario([f"Price book: the first line names no column {', '.join(missing)}."])
        for number, row in enumerate(lines, start=2):
            kind = WHATS[_one_of(row["what"], tuple(WHATS), "what", number)]
            yield row["list"], _price(kind, row, number)
    except csv.Error as error:
        raise InvalidScenario([f"The price book is no CSV: {error}."]) from None


def _price(kind: type[SystemPrice | GpuHourPrice], row: Mapping[str, Any], number: int) -> SystemPrice | GpuHourPrice:
    name = (row["name"] or "").strip()
    if not name:
        raise InvalidScenario([f"Price book: row {number}, column name: names no system or GPU."])
    named = {"system" if kind is SystemPrice else "gpu": name}
    given = {name: text.strip() for name in kind.model_fields if isinstance(text := row.get(name), str)}
    try:
        return kind.model_validate(named | {name: text for name, text in given.items() if text})
    except ValidationError as error:
        raise InvalidScenario([f"Price book: row {number}, column {problems_of(error)[0]}"]) from None


def _one_of(text: str | None, known: tuple[str, ...], column: str, number: int) -> str:
    if text in known:
        return str(text)
    raise InvalidScenario([f"Price book: row {number}, column {column}: must be {' or '.join(known)}."])
