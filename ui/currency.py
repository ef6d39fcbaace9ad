"""Money as a customer reads it: in a currency at a dated rate, written as in a country. The engine stays in USD."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from babel import Locale
from babel.numbers import (
    format_compact_currency,
    format_currency,
    get_currency_symbol,
    get_decimal_symbol,
    get_group_symbol,
)

from sizing.base.format import ALL_DIGITS, UNKNOWN, rounded, usd
from sizing.base.quantity import Result
from sizing.catalog.files import read_yaml
from sizing.economics.dates import STALE_AFTER_DAYS

RATES = Path(__file__).with_name("exchange_rates.yaml")

LOCALES: Mapping[str, str] = MappingProxyType(
    {
        "en_US": "1,234.5 (United States)",
        "en_GB": "1,234.5 (United Kingdom)",
        "de_DE": "1.234,5 (Germany)",
        "de_CH": "1’234.5 (Switzerland)",
        "fr_FR": "1 234,5 (France)",
        "ja_JP": "1,234.5 (Japan)",
    }
)

COMPACT_FROM, WHOLE_FROM, WITH_CENTS = 1e6, 100.0, 0.1
"""Amounts from which on millions are written in words and no cents are written, and below which more than cents are."""

Converted = TypeVar("Converted", bound=Result)


@dataclass(frozen=True, kw_only=True)
class Currency:
    """A currency, its units for one USD, and the country whose way of writing numbers is used."""

    code: str = "USD"
    per_usd: float = 1.0
    locale: str = "en_US"

    def __post_init__(self) -> None:
        if not 0.0 < self.per_usd < float("inf"):
            raise ValueError("An exchange rate is a number above 0.")

    def of(self, usd_amount: float) -> float:
        """An amount in USD, in this currency."""
        return usd_amount * self.per_usd

    def written(self, amount: float | None, digits: int = 3) -> str:
        """An amount that is in this currency already, to three digits: "$9,500", "9.500 €", "1,23 Mio. €"."""
        if amount is None:
            return UNKNOWN
        if (self.code, self.locale) == (DOLLARS.code, DOLLARS.locale):
            return usd(amount, digits)
        value = rounded(amount, digits)
        if abs(value) >= COMPACT_FROM or 0 < abs(value) < WITH_CENTS:
            return format_compact_currency(
                value, self.code, locale=self.locale, fraction_digits=4 if value < 1 else digits - 1
            )
        whole = self._pattern.replace(".00", "") if abs(value) >= WHOLE_FROM or value == 0 else None
        return format_currency(value, self.code, whole, locale=self.locale, currency_digits=whole is None)

    def in_full(self, amount: float | None) -> str:
        """An amount that was rounded before, with all its digits."""
        return self.written(amount, ALL_DIGITS)

    @property
    def rate(self) -> str:
        """The exchange rate with its source and day, or that somebody typed it; empty for USD."""
        if self.code == DOLLARS.code:
            return ""
        listed, shown = rates()[self.code], f"{self.code} {self.per_usd:.4g} for 1 USD"
        if f"{self.per_usd:.6g}" != f"{listed.per_usd:.6g}":
            return f"{shown}, as typed"
        return f"{shown} ({listed.source}, {listed.on})"

    @property
    def rate_on(self) -> date | None:
        """The day of the exchange rate; None for USD and where somebody typed it."""
        if self.code == DOLLARS.code or f"{self.per_usd:.6g}" != f"{rates()[self.code].per_usd:.6g}":
            return None
        return rates()[self.code].on

    @property
    def _pattern(self) -> str:
        """How the country writes amounts, in CLDR's letters."""
        pattern: str = Locale.parse(self.locale).currency_formats["standard"].pattern
        return pattern

    @property
    def axis(self) -> dict[str, str]:
        """The sign of the currency on the ticks of a Plotly axis, where the country writes it."""
        sign = get_currency_symbol(self.code, locale=self.locale)
        if self._pattern.startswith("\u00a4"):
            return {"tickprefix": sign if len(sign) == 1 else f"{sign} "}
        return {"ticksuffix": f" {sign}"}

    @property
    def separators(self) -> str:
        """Decimal and thousands separator, as Plotly takes them."""
        return get_decimal_symbol(self.locale) + get_group_symbol(self.locale)

    def converted(self, result: Converted) -> Converted:
        """A result of the engine with every quantity in USD in this currency; units of its fields say which are."""
        return result if self.per_usd == 1.0 else _converted(result, self.per_usd)


DOLLARS = Currency()


def _converted(result: Converted, factor: float) -> Converted:
    """A copy with what its fields call USD multiplied, results within it included."""
    changed = {}
    for name, field in type(result).model_fields.items():
        extra = field.json_schema_extra
        about = extra.get("quantity") if isinstance(extra, dict) else None
        unit = str(about.get("unit", "")) if isinstance(about, dict) else ""
        changed[name] = _times(getattr(result, name), factor if unit.split("/")[0] == "USD" else 1.0, factor)
    return result.model_copy(update=changed)


def _times(value: Any, own: float, inner: float) -> Any:
    """A value of a field: numbers times ``own``, results by the units of their own fields."""
    if isinstance(value, Result):
        return _converted(value, inner)
    if isinstance(value, float | int) and not isinstance(value, bool):
        return value if own == 1.0 else value * own
    if isinstance(value, tuple):
        return tuple(_times(each, own, inner) for each in value)
    if isinstance(value, Mapping):
        return {key: _times(each, own, inner) for key, each in value.items()}
    return value


@dataclass(frozen=True, kw_only=True)
class Rate:
    """Units of a currency for one USD, of which day and from where."""

    per_usd: float
    on: date
    source: str

    def is_old(self, today: date) -> bool:
        """Whether it is older than prices may be."""
        return (today - self.on).days > STALE_AFTER_DAYS


@cache
def rates() -> Mapping[str, Rate]:
    """The dated rates of the file by currency, USD first."""
    read = read_yaml(RATES)
    each = {code: per_eur / read["usd_per_eur"] for code, per_eur in read["per_eur"].items()}
    return MappingProxyType(
        {
            code: Rate(per_usd=per_usd, on=read["date"], source=read["source"])
            for code, per_usd in {DOLLARS.code: 1.0, **each}.items()
        }
    )
