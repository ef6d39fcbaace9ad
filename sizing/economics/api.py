"""A model behind an API: paid by the token, with nothing that stands idle."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from types import MappingProxyType

from sizing.base.errors import InvalidScenario, nearest_names
from sizing.base.units import MILLION
from sizing.catalog import ApiPrice, api_prices
from sizing.catalog.model import Model
from sizing.economics.amount import Amount
from sizing.economics.month import Month
from sizing.economics.views import PriceSource, View, without_cost
from sizing.scenario.costs import ApiChoice

PROVIDERS: Mapping[str, str] = {
    **dict.fromkeys(("bedrock", "bedrock_converse", "bedrock_mantle"), "Amazon Bedrock"),
    **dict.fromkeys(
        (
            "vertex_ai-llama_models",
            "vertex_ai-mistral_models",
            "vertex_ai-deepseek_models",
            "vertex_ai-openai_models",
            "vertex_ai-zai_models",
        ),
        "Google Vertex AI",
    ),
    "azure_ai": "Azure AI",
    "cloudflare": "Cloudflare",
    "cohere_chat": "Cohere",
    "crusoe": "Crusoe",
    "cerebras": "Cerebras",
    "dashscope": "Alibaba DashScope",
    "deepinfra": "DeepInfra",
    "deepseek": "DeepSeek",
    "fireworks_ai": "Fireworks AI",
    "friendliai": "FriendliAI",
    "github_copilot": "GitHub Copilot",
    "gmi": "GMI Cloud",
    "gradient_ai": "DigitalOcean Gradient AI",
    "groq": "Groq",
    "hyperbolic": "Hyperbolic",
    "mistral": "Mistral AI",
    "moonshot": "Moonshot AI",
    "nebius": "Nebius",
    "novita": "Novita AI",
    "nscale": "Nscale",
    "oci": "Oracle Cloud",
    "ovhcloud": "OVHcloud",
    "replicate": "Replicate",
    "sambanova": "SambaNova",
    "scaleway": "Scaleway",
    "snowflake": "Snowflake",
    "tensormesh": "Tensormesh",
    "together_ai": "Together AI",
    "vercel_ai_gateway": "Vercel AI Gateway",
    "wandb": "Weights & Biases",
    "watsonx": "IBM watsonx",
    "zai": "Z.ai",
}
"""What providers are called whom the price list has by a key; any other is called by its key."""


def provider_name(key: str) -> str:
    """A provider as people call it."""
    return PROVIDERS.get(key, key)


@dataclass(frozen=True, kw_only=True)
class TokenPrices:
    """USD per million tokens of a model at a provider."""

    name: str
    provider: str = ""
    model: str = ""
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


def token_prices(choice: ApiChoice, model: Model, month: Month, on: date) -> TokenPrices | None:
    """The prices of the scenario, or the cheapest offer for its month: of those it names, else of the model's weights.

    ``on``: what is no longer sold on that day prices nothing. None where no provider in the list sells the model with
    open weights. Raises InvalidScenario for a provider or model that is not in the list, or no longer sold.
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
    rows = _named(choice.model, on) if choice.model is not None else offers_of(model.id, on)
    if choice.provider is not None:
        rows = _at(choice.provider, rows)
    elif choice.model is None:
        return next(iter(offered(model.id, on, month)), None)
    return min(map(_priced, rows), key=lambda prices: prices.of_request(month), default=None)


def offered(model_id: str, on: date, month: Month) -> tuple[TokenPrices, ...]:
    """What may price the model unasked, the cheapest for a month first; one offer that the list has under several names
    or regions of a provider at the same prices is one, and weighs once in the median."""
    each: dict[tuple[str, float, float, float], TokenPrices] = {}
    for one in (_priced(row) for row in offers_of(model_id, on) if row.use == "yes"):
        sold_by = provider_name(one.provider)
        each.setdefault((sold_by, one.input_usd, one.cached_input_usd, one.output_usd), one)
    return tuple(sorted(each.values(), key=lambda prices: prices.of_request(month)))


def median_offer(offers: Sequence[TokenPrices]) -> TokenPrices:
    """The offer in the middle of some in the order of their price; of two, the cheaper."""
    return offers[(len(offers) - 1) // 2]


def offers_of(model_id: str, on: date) -> tuple[ApiPrice, ...]:
    """Every offer of these open weights that is sold on a day, those included that price them only when named."""
    return tuple(row for row in _by_model().get(model_id, ()) if row.sold_on(on))


@cache
def _by_model() -> Mapping[str, tuple[ApiPrice, ...]]:
    """Offers of open weights by the model of the catalogue, in file order, but those of providers that have closed."""
    offers: defaultdict[str, list[ApiPrice]] = defaultdict(list)
    for row in api_prices():
        if row.catalogue_model and row.use != "no":
            offers[row.catalogue_model].append(row)
    return MappingProxyType({model: tuple(rows) for model, rows in offers.items()})


def _named(name: str, on: date) -> tuple[ApiPrice, ...]:
    wanted = name.strip().lower()
    rows = tuple(row for row in api_prices() if wanted in (row.model.lower(), _bare(row.model).lower()))
    if not rows:
        near = nearest_names(name, [row.model for row in api_prices()])
        hint = f" Nearest: {', '.join(near)}." if near else ""
        raise InvalidScenario.at("costs.api.model", f"{name} is not in the list of API prices.{hint}")
    sold = tuple(row for row in rows if row.use != "no" and row.sold_on(on))
    if not sold:
        last = rows[-1]
        why = last.use_note if last.use == "no" else f"retired on {last.deprecation_date}"
        raise InvalidScenario.at("costs.api.model", f"{name} is no longer sold: {why}.")
    return sold


def _at(provider: str, rows: tuple[ApiPrice, ...]) -> tuple[ApiPrice, ...]:
    """What the provider offers of these, first under the model's own name."""
    known = sorted({row.provider for row in api_prices()})
    if provider not in known:
        raise InvalidScenario.at("costs.api.provider", f"{provider} is not one of {', '.join(known)}.")
    there = tuple(row for row in rows if row.provider == provider)
    return tuple(row for row in there if row.use == "yes") or there


def _bare(name: str) -> str:
    """A provider's name for a model without the provider and the organisation."""
    return name.rpartition("/")[2]


def _priced(row: ApiPrice) -> TokenPrices:
    cached, name = row.cached_input_usd_per_mtok, f"{_bare(row.model)} at {provider_name(row.provider)}"
    return TokenPrices(
        name=name,
        provider=row.provider,
        model=_bare(row.model),
        input_usd=row.input_usd_per_mtok,
        cached_input_usd=row.input_usd_per_mtok if cached is None else cached,
        output_usd=row.output_usd_per_mtok,
        source=PriceSource(what=name, source=row.source, dates=(row.date,)),
    )
