"""The price book as a table: what can be bought and rented, with the catalogue's price and the user's own."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

import pandas as pd
from pydantic import ValidationError

from sizing.base.choices import PriceBasis
from sizing.base.errors import InvalidScenario
from sizing.catalog import cloud_instances, systems_for
from sizing.catalog.gpu import Gpu
from sizing.catalog.system import System
from sizing.economics.dates import AGES, DOUBTFUL, age_of
from sizing.prices.hardware import by_own_list
from sizing.prices.system_price import BASIS_WORDS, dates_of, system_price
from sizing.scenario.file import problems_of
from sizing.scenario.prices import GpuHourPrice, PriceList, Prices, SystemPrice

ListName = Literal["listed", "negotiated"]
"""A public price, or what the customer pays."""

Row = tuple[Literal["system", "gpu"], str]
"""What a row is a price of: a system, or a rented GPU for an hour, by its id."""

EDITED = ("Price", "Source", "Date")
"""Columns that can be typed over."""

UNITS: Mapping[str, str] = {"system": "USD per system", "gpu": "USD per GPU-hour"}


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A price with its source, the words of its date, and what it is (``basis``, "" where it is the user's)."""

    usd: float | None
    source: str
    dates: tuple[str, ...]
    basis: PriceBasis | None = None


NO_PRICE = Shown(usd=None, source="", dates=())


def book_table(gpus: Sequence[Gpu], prices: Prices, name: ListName, on: date) -> pd.DataFrame:
    """One row for each system of these GPUs, then for each of them rented; accelerators of one's own have none."""
    known = [gpu for gpu in gpus if not gpu.custom]
    rows: list[tuple[Row, str, Shown]] = [
        (("system", system.id), system.name, _catalogue_system(system, gpu))
        for gpu in known
        for system in systems_for(gpu)
    ]
    rows += [(("gpu", gpu.id), f"{gpu.name}, rented", _catalogue_hour(gpu.id)) for gpu in known]
    lists = {of: {_row_of(one): one for one in getattr(prices, of).prices} for of in ("listed", "negotiated")}
    lines = []
    for row, what, shown in rows:
        listed = _shown(lists["listed"].get(row)) or shown
        mine = _shown(lists[name].get(row))
        lines.append(_line(row, what, listed, mine, name, on))
    return pd.DataFrame(lines, index=pd.Index([":".join(row) for row, _, _ in rows]))


def _line(row: Row, what: str, listed: Shown, own: Shown | None, name: ListName, on: date) -> dict[str, Any]:
    beside = {} if name == "listed" else {"List price": listed.usd}
    price = own or (listed if name == "listed" else NO_PRICE)
    return {
        "What": what,
        "Unit": UNITS[row[0]],
        **beside,
        "Price": price.usd,
        "Basis": "" if price.basis is None else BASIS_WORDS[price.basis],
        "Date": "; ".join(dict.fromkeys(price.dates)),
        "Age": AGES[age] if price.usd is not None and (age := age_of(price.dates, on)) in DOUBTFUL else "",
        "Whose": "yours" if own else "" if price.usd is None else "catalogue",
        "Source": price.source,
    }


def _shown(own: SystemPrice | GpuHourPrice | None) -> Shown | None:
    if own is None:
        return None
    return Shown(usd=own.usd, source=own.source, dates=dates_of(own))


def _row_of(price: SystemPrice | GpuHourPrice) -> Row:
    return ("system", price.system) if isinstance(price, SystemPrice) else ("gpu", price.gpu)


def _catalogue_system(system: System, gpu: Gpu) -> Shown:
    price = system_price(system, Prices())
    return Shown(
        usd=price.usd.typical if price.usd else None, source=price.source, dates=price.dates, basis=price.basis_of_price
    )


def _catalogue_hour(gpu_id: str) -> Shown:
    """The cheapest GPU-hour on demand in the catalogue."""
    rows = [row for row in cloud_instances() if row.gpu_id == gpu_id and row.gpus and row.on_demand_usd_per_hour]
    rented = [((row.on_demand_usd_per_hour or 0.0) / row.gpus, row) for row in by_own_list(rows)]
    if not rented:
        return NO_PRICE
    usd, row = min(rented, key=lambda one: one[0])
    return Shown(usd=usd, source=f"{row.provider} {row.region}: {row.source}", dates=(row.date,), basis=row.price_basis)


def taken(before: pd.DataFrame, after: pd.DataFrame, prices: PriceList, on: date) -> PriceList:
    """The list with what was typed; an emptied price goes back to the catalogue's. Raises InvalidScenario.

    A price that was typed has no source but that which was typed with it, and the day of typing where none was.
    """
    kept = {_row_of(one): one for one in prices.prices}
    new = _differs(before, after)
    for index in after.index[new.any(axis=1)]:
        kind, _, name = str(index).partition(":")
        row: Row = ("system" if kind == "system" else "gpu", name)
        typed: dict[str, Any] = {column: after.at[index, column] for column in EDITED}
        if pd.isna(typed["Price"]):
            kept.pop(row, None)
            continue
        own = kept.get(row)
        keys = {} if own is None else own.model_dump()
        keys |= {"usd": float(typed["Price"]), row[0]: name, **_provenance(typed, dict(new.loc[index]), own, on)}
        kept[row] = _checked(row, keys, str(after.at[index, "What"]), on)
    return _list_of(kept.values())


def with_price(prices: PriceList, price: SystemPrice | GpuHourPrice) -> PriceList:
    """The list with a price in place of the one that it has of the same."""
    kept = {_row_of(one): one for one in prices.prices} | {_row_of(price): price}
    return _list_of(kept.values())


def _list_of(prices: Iterable[SystemPrice | GpuHourPrice]) -> PriceList:
    every = tuple(prices)
    return PriceList(
        systems=tuple(one for one in every if isinstance(one, SystemPrice)),
        gpu_hours=tuple(one for one in every if isinstance(one, GpuHourPrice)),
    )


def _differs(before: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    one, other = before[list(EDITED)], after[list(EDITED)]
    return one.ne(other) & ~(one.isna() & other.isna())


def _provenance(
    typed: Mapping[str, Any], new: Mapping[str, bool], own: SystemPrice | GpuHourPrice | None, on: date
) -> dict[str, Any]:
    """Source and day of a typed price: those typed with it; a source that was there is not that of another price."""
    source = typed["Source"] if new["Source"] or not new["Price"] else ""
    day: object = on
    if new["Date"]:
        day = typed["Date"] or None
    elif own is not None and not new["Price"]:
        day = own.date
    return {"source": source or "", "date": day}


def _checked(row: Row, keys: Mapping[str, Any], what: str, on: date) -> SystemPrice | GpuHourPrice:
    try:
        price = (SystemPrice if row[0] == "system" else GpuHourPrice).model_validate(keys)
    except ValidationError as error:
        raise InvalidScenario([f"{what}: {problems_of(error)[0]}"]) from None
    if price.date is not None and price.date > on:
        raise InvalidScenario([f"{what}: {price.date.isoformat()} lies in the future."])
    return price
