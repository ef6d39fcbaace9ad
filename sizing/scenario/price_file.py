"""A price book as a CSV file, out and in: one row a price, list and negotiated ones told apart in the first column."""

import csv
import datetime
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from sizing.base.errors import InvalidScenario, SizingError, UnknownName
from sizing.catalog import gpus, systems, systems_for
from sizing.catalog.gpu import Gpu
from sizing.catalog.gpu_editions import gpu_of_edition
from sizing.scenario.file import problems_of
from sizing.scenario.prices import MOST_PRICES, GpuHourPrice, PriceList, Prices, SystemPrice

COLUMNS = ("list", "what", "name", "usd", "provider", "region", "gpus", "source", "date")
EDITION = "edition"
"""A column that a file may have beside: the edition of a GPU whose name leaves it open."""

LISTS = ("listed", "negotiated")
WHATS: Mapping[str, type[SystemPrice | GpuHourPrice]] = {"system": SystemPrice, "gpu_hour": GpuHourPrice}
"""What a price may be of, by the word in the file: a complete system, or a GPU for an hour."""

MAX_FILE_CHARS = 1_000_000
"""Length of a price book. Chosen: because the most prices that a scenario may hold are a tenth of that."""

LONGEST_NAME = 200
"""Characters of a name. Chosen: twice the longest of the catalogue; what it is like is looked for letter by letter."""


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


def read_csv(text: str, on: datetime.date, own: Sequence[Gpu] = ()) -> Mapping[str, PriceList]:
    """The lists of a price book by name; ``own`` are accelerators of the user, which the catalogue does not have.

    Raises InvalidScenario with one sentence for the first row that cannot be: of a system or GPU that nobody knows, of
    an edition that there is not or that is left open, or dated after the day ``on``.
    """
    if len(text) > MAX_FILE_CHARS:
        raise InvalidScenario(["The price book is longer than a million characters: that is not a price book."])
    lines = csv.DictReader(io.StringIO(text), strict=True)
    kept: dict[str, list[SystemPrice | GpuHourPrice]] = {name: [] for name in LISTS}
    for number, (name, price) in enumerate(_rows(lines, on, own), start=2):
        prices = kept[_one_of(name, LISTS, "list", number)]
        prices.append(price)
        if len(prices) > 2 * MOST_PRICES:  # of systems and of GPU hours; what else there is takes time to read
            raise InvalidScenario([f"Price book: row {number}: more prices than {2 * MOST_PRICES:,} in a list."])
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


def _rows(
    lines: "csv.DictReader[str]", on: datetime.date, own: Sequence[Gpu]
) -> Iterator[tuple[str, SystemPrice | GpuHourPrice]]:
    try:
        missing = [name for name in ("list", "what", "name", "usd") if name not in (lines.fieldnames or ())]
        if missing:
            raise InvalidScenario([f"Price book: the first line names no column {', '.join(missing)}."])
        for number, row in enumerate(lines, start=2):
            kind = WHATS[_one_of(row["what"], tuple(WHATS), "what", number)]
            yield row["list"], _price(kind, row, number, on, own)
    except csv.Error as error:
        raise InvalidScenario([f"The price book is no CSV: {error}."]) from None


def _price(
    kind: type[SystemPrice | GpuHourPrice], row: Mapping[str, Any], number: int, on: datetime.date, own: Sequence[Gpu]
) -> SystemPrice | GpuHourPrice:
    name = (row["name"] or "").strip()
    if not name:
        raise InvalidScenario([f"Price book: row {number}, column name: names no system or GPU."])
    if len(name) > LONGEST_NAME:
        raise InvalidScenario([f"Price book: row {number}, column name: is longer than {LONGEST_NAME} characters."])
    edition = (row.get(EDITION) or "").strip()
    named = {"system": _system(name, number, own)} if kind is SystemPrice else {"gpu": _gpu(name, edition, number, own)}
    given = {name: text.strip() for name in kind.model_fields if isinstance(text := row.get(name), str)}
    try:
        price = kind.model_validate(named | {name: text for name, text in given.items() if text})
    except ValidationError as error:
        raise InvalidScenario([f"Price book: row {number}, column {problems_of(error)[0]}"]) from None
    if price.date is not None and price.date > on:
        raise InvalidScenario([f"Price book: row {number}, column date: {price.date.isoformat()} lies in the future."])
    return price


def _gpu(name: str, edition: str, number: int, own: Sequence[Gpu]) -> str:
    """The id of the GPU that a row names, of the edition that it names."""
    if any(gpu.id == name for gpu in own):
        return name
    try:
        return gpu_of_edition(name, edition).id
    except UnknownName as error:
        raise InvalidScenario([f"Price book: row {number}, column name: {error}"]) from None
    except SizingError as error:
        raise InvalidScenario([f"Price book: row {number}, column {EDITION}: {error}."]) from None


def _system(name: str, number: int, own: Sequence[Gpu]) -> str:
    """The id of the system that a row names."""
    known = {system.id: system.name for gpu in (*gpus().values(), *own) for system in systems_for(gpu)}
    known |= {system.id: system.name for system in systems().values()}
    system = next((i for i, title in known.items() if name.lower() in (i.lower(), title.lower())), None)
    if system is None:
        unknown = UnknownName("system", name, [*known, *known.values()])
        raise InvalidScenario([f"Price book: row {number}, column name: {unknown}"])
    return system


def _one_of(text: str | None, known: tuple[str, ...], column: str, number: int) -> str:
    if text in known:
        return str(text)
    raise InvalidScenario([f"Price book: row {number}, column {column}: must be {' or '.join(known)}."])
