"""A model behind an API: paid by the token, with nothing that stands idle."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from sizing.base.errors import InvalidScenario, nearest_names
from sizing.base.units import MILLION
from sizing.catalog import ApiPrice, api_prices
from sizing.catalog.model import Model
from sizing.catalog.resolve import known_model
from sizing.economics.amount import Amount
from sizing.economics.month import Month
from sizing.economics.views import PriceSource, View, without_cost
from sizing.scenario.costs import ApiChoice

SAME_MODEL = ("id", "name", "architecture")
"""Ways in which a name leads to a model that make it this very model, or another checkpoint of its architecture."""


@dataclass(frozen=True, kw_only=True)
class TokenPrices:
    """USD per million tokens of a model at a provider."""

    name: str
    input_usd: float
    cached_input_usd: float
    output_usd: float
    source: PriceSource

    def of_request(self, month: Month) -> float:
        """USD of one mean request: new and cached prompt tokens and the answer, each at its price."""
        new = month.input_tokens - month.cached_tokens
        return (
            new * self.input_usd + month.cached_tokens * self.cached_input_usd + month.output_tokens * self.output_usd
        ) / MILLION


def api(prices: TokenPrices | None, month: Month) -> View:
    """What the requests of a month cost behind an API: ``requests x tokens x USD per million tokens / 10^6``."""
    if prices is None:
        return without_cost("api", "no_api_price")
    new, millions = month.input_tokens - month.cached_tokens, month.requests / MILLION
    return View(
        name="api",
        parts={
            "api_input": Amount.exactly(millions * new * prices.input_usd),
            "api_cached_input": Amount.exactly(millions * month.cached_tokens * prices.cached_input_usd),
            "api_output": Amount.exactly(millions * month.output_tokens * prices.output_usd),
        },
        system=prices.name,
        sources=(prices.source,),
    )


def token_prices(choice: ApiChoice, model: Model, month: Month) -> TokenPrices | None:
    """The prices of the scenario, of the chosen entry of the list, or of the cheapest provider of the same model.

    None where no provider in the list has the model with open weights. Raises InvalidScenario for a provider or model
    that is not in the list.
    """
    if choice.input_usd_per_mtok is not None and choice.output_usd_per_mtok is not None:
        cached = choice.cached_input_usd_per_mtok
        return TokenPrices(
            name=choice.model or "API as asked",
            input_usd=choice.input_usd_per_mtok,
            cached_input_usd=choice.input_usd_per_mtok if cached is None else cached,
            output_usd=choice.output_usd_per_mtok,
            source=PriceSource(what="API", source="scenario: costs.api", dates=(), given=True),
        )
    rows = _named(choice.model) if choice.model is not None else _of_model(model.id)
    if choice.provider is not None:
        rows = _at(choice.provider, rows)
    offered = [priced for row in rows if (priced := _priced(row)) is not None]
    return min(offered, key=lambda prices: prices.of_request(month), default=None)


def _named(name: str) -> tuple[ApiPrice, ...]:
    wanted = name.strip().lower()
    rows = tuple(row for row in api_prices() if wanted in (row.model.lower(), _bare(row.model).lower()))
    if not rows:
        near = nearest_names(name, [row.model for row in api_prices()])
        hint = f" Nearest: {', '.join(near)}." if near else ""
        raise InvalidScenario([f"costs.api.model: {name} is not in the list of API prices.{hint}"])
    return rows


def _at(provider: str, rows: tuple[ApiPrice, ...]) -> tuple[ApiPrice, ...]:
    known = sorted({row.provider for row in api_prices()})
    if provider not in known:
        raise InvalidScenario([f"costs.api.provider: {provider} is not one of {', '.join(known)}."])
    return tuple(row for row in rows if row.provider == provider)


@cache
def _of_model(model_id: str) -> tuple[ApiPrice, ...]:
    """Every provider of these open weights."""
    return tuple(row for row in api_prices() if row.open_weights and _model_id(row.model) == model_id)


@cache
def _model_id(name: str) -> str:
    """The catalogue's model behind a provider's name for it; empty where the name does not say which it is."""
    for spelling in (name, _bare(name)):
        known = known_model(spelling)
        if known is not None:
            return known.model.id if known.match in SAME_MODEL else ""
    return ""


def _bare(name: str) -> str:
    """A provider's name for a model without the provider and the organisation."""
    return name.rpartition("/")[2]


def _priced(row: ApiPrice) -> TokenPrices | None:
    if row.input_usd_per_mtok is None or row.output_usd_per_mtok is None:
        return None
    cached = row.cached_input_usd_per_mtok
    return TokenPrices(
        name=f"{_bare(row.model)} at {row.provider}",
        input_usd=row.input_usd_per_mtok,
        cached_input_usd=row.input_usd_per_mtok if cached is None else cached,
        output_usd=row.output_usd_per_mtok,
        source=PriceSource(what=f"{_bare(row.model)} at {row.provider}", source=row.source, dates=(row.date,)),
    )
