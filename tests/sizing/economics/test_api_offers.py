"""Offers by the token: the cheapest of a model's own, as a look through the whole list finds it; none that is over."""

import csv
from datetime import date, timedelta

import pytest

from sizing import catalog
from sizing.base.errors import InvalidScenario
from sizing.catalog.files import DATA_DIR
from sizing.economics.api import offers_of, provider_name, token_prices
from sizing.economics.month import Month
from sizing.scenario.costs import ApiChoice

DAY = date(2026, 11, 25)
MIXES = [
    Month(requests=1000, input_tokens=3000, cached_tokens=0, output_tokens=1000),
    Month(requests=1000, input_tokens=20_000, cached_tokens=18_000, output_tokens=200),
    Month(requests=1000, input_tokens=100, cached_tokens=0, output_tokens=8000),
]


def listed() -> list[dict[str, str]]:
    with (DATA_DIR / "api_prices.csv").open(newline="", encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


def usd(row: dict[str, str], month: Month) -> float:
    """What a request costs by a row of the file."""
    new, out = float(row["input_usd_per_mtok"]), float(row["output_usd_per_mtok"])
    cached = float(row["cached_input_usd_per_mtok"] or new)
    tokens = (month.input_tokens - month.cached_tokens, month.cached_tokens, month.output_tokens)
    return sum(count * price for count, price in zip(tokens, (new, cached, out), strict=True)) / 1e6


@pytest.mark.parametrize("month", MIXES, ids=["3 to 1", "cached", "long answers"])
def test_the_cheapest_offer_of_every_open_model_is_that_of_a_look_through_the_list(month):
    rows, priced = listed(), 0
    for model in catalog.models().values():
        own = [
            usd(row, month)
            for row in rows
            if row["catalogue_model"] == model.id
            and row["use"] == "yes"
            and (not row["deprecation_date"] or row["deprecation_date"] > DAY.isoformat())
        ]
        found = token_prices(ApiChoice(), model, month, DAY)
        assert (found is None) == (not own), model.id
        if found is not None:
            assert found.of_request(month) == pytest.approx(min(own)), model.id
            assert found.source.dates
            assert found.source.source
            priced += 1
    assert priced > 125


@pytest.mark.parametrize(
    ("model", "new", "out", "provider"),
    [
        ("Qwen/Qwen3-32B", 0.08, 0.23, "ovhcloud"),
        ("Qwen/Qwen2.5-7B-Instruct", 0.04, 0.10, "deepinfra"),
        ("Qwen/Qwen3-Coder-480B-A35B-Instruct", 0.38, 1.55, "novita"),
        ("MiniMaxAI/MiniMax-M2.7", 0.15, 0.60, "empiriolabs"),
    ],
)
def test_offers_of_the_newest_map_by_hand(model, new, out, provider):
    """litellm 1.110.2, read on 2026-11-25: the cheapest at three tokens in to one out."""
    found = token_prices(ApiChoice(), catalog.models()[model], MIXES[0], DAY)
    assert (found.input_usd, found.output_usd) == (new, out)
    assert found.provider == provider
    assert found.name.endswith(f" at {provider_name(provider)}")


def test_what_is_retired_prices_nothing_from_that_day_on():
    retiring = [row for row in catalog.api_prices() if row.deprecation_date and row.use == "yes"]
    assert len(retiring) > 30
    for row in retiring:
        last = date.fromisoformat(row.deprecation_date) - timedelta(days=1)
        assert row in offers_of(row.catalogue_model, last)
        assert row not in offers_of(row.catalogue_model, last + timedelta(days=1))


def test_a_named_offer_that_is_over_is_refused_with_its_day_or_its_reason():
    model = catalog.models()["openai/gpt-oss-120b"]
    row = next(r for r in catalog.api_prices() if r.model == "gpt-5")
    over = date.fromisoformat(row.deprecation_date)
    assert token_prices(ApiChoice(model="gpt-5"), model, MIXES[0], over - timedelta(days=1)).output_usd == 10.0
    with pytest.raises(InvalidScenario, match=f"gpt-5 is no longer sold: retired on {row.deprecation_date}"):
        token_prices(ApiChoice(model="gpt-5"), model, MIXES[0], over)
    with pytest.raises(InvalidScenario, match="no longer sold: API closed on 2025-09-25"):
        token_prices(ApiChoice(model="lambda_ai/llama3.1-8b-instruct"), model, MIXES[0], DAY)


def test_no_offer_costs_nothing_is_over_or_of_a_closed_provider():
    for row in catalog.api_prices():
        assert min(row.input_usd_per_mtok, row.output_usd_per_mtok) > 0, row
        assert not row.deprecation_date or row.deprecation_date > row.date, row
        assert row.provider != "lambda_ai" or row.use == "no", row
        assert row.open_weights == bool(row.catalogue_model), row
        assert not row.catalogue_model or row.catalogue_model in catalog.models(), row
        assert row.use == "yes" or row.use_note, row
