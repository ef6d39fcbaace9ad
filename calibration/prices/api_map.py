"""Offers by the token in litellm's map: each entry that makes sense, and what is wrong with the others."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from calibration.prices.refused import PriceRefusal, RefusedRow
from sizing.base.units import MILLION

CHAT = ("chat", "completion", "responses")
"""Modes of the map in which tokens go in and tokens come out."""

MOST_USD = 1_000.0
"""USD per million tokens from which a price is an error of units. Chosen: because the dearest offers cost 600."""


@dataclass(frozen=True, kw_only=True)
class MapOffer:
    """One entry: prices in USD per million tokens; ``retired_on`` is the day from which it is no longer sold (ISO
    8601), empty where none is announced; ``page`` is where the provider states the price."""

    provider: str
    model: str
    input_usd: float
    output_usd: float
    cached_input_usd: float | None
    retired_on: str
    page: str


def offers(entries: Mapping[str, Any]) -> tuple[list[MapOffer], list[RefusedRow]]:
    """Entries of text models, and those refused. One that asks nothing for prompt or answer holds a place, no price."""
    kept: list[MapOffer] = []
    refused: list[RefusedRow] = []
    for name, entry in entries.items():
        if not isinstance(entry, Mapping) or entry.get("mode") not in CHAT:
            continue
        prices = _prices(entry)
        if prices[0] in (None, 0) or prices[1] in (None, 0):
            continue
        fault = _fault(entry, prices)
        if fault is None:
            kept.append(_offer(name, entry, prices))
        else:
            refused.append(RefusedRow(row=name, reason=fault))
    return kept, refused


def _prices(entry: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """What the entry says of new prompt tokens, answer tokens and prompt tokens found in a cache, in USD each."""
    cached = entry.get("cache_read_input_token_cost")
    if cached is None:
        cached = entry.get("input_cost_per_token_cache_hit")
    return entry.get("input_cost_per_token"), entry.get("output_cost_per_token"), cached


def _fault(entry: Mapping[str, Any], prices: tuple[Any, Any, Any]) -> PriceRefusal | None:
    given = [price for price in prices if price is not None]
    if not all(_is_number(price) for price in given):
        return "no_number"
    if min(given) < 0:
        return "negative_price"
    if max(given) * MILLION > MOST_USD:
        return "price_out_of_range"
    if not isinstance(entry.get("litellm_provider"), str) or not entry["litellm_provider"]:
        return "no_provider"
    return None if _is_day(entry.get("deprecation_date")) else "no_date"


def _offer(name: str, entry: Mapping[str, Any], prices: tuple[Any, Any, Any]) -> MapOffer:
    new, out, cached = (None if price is None else float(price) * MILLION for price in prices)
    assert new is not None
    assert out is not None
    return MapOffer(
        provider=entry["litellm_provider"],
        model=name,
        input_usd=new,
        output_usd=out,
        cached_input_usd=cached,
        retired_on=entry.get("deprecation_date") or "",
        page=str(entry.get("source") or ""),
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_day(written: Any) -> bool:
    """Whether a date is one of the calendar, or left out."""
    try:
        return not written or bool(date.fromisoformat(written))
    except (TypeError, ValueError):
        return False
