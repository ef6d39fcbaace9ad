"""Prices of a book in the cost: of the system and GPU that they name, with source and age."""

from datetime import date

from sizing.catalog import gpus
from sizing.economics.cloud import rented
from sizing.economics.cost import cost
from sizing.economics.on_prem import on_prem
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer
from sizing.prices.hardware import options
from sizing.scenario.prices import GpuHourPrice, PriceList, Prices, SystemPrice
from sizing.scenario.schema import Scenario
from tests.sizing.economics.pricing import cents, fleet, money

H100 = gpus()["h100_sxm"]
ON = date(2026, 11, 22)


def test_a_system_of_the_book_costs_what_it_says_and_every_other_what_it_did() -> None:
    """2 x 300,000 USD over 5 years: 10,000 USD a month; 2 x 10.2 kW x 0.7 x 1.5 x 730 h x 0.10 USD: 1,563.66 USD."""
    book = Prices(listed=PriceList(systems=(SystemPrice(system="dgx_h100", usd=300_000.0),)))
    dgx, hgx = (next(o for o in options(H100, "on_prem", book) if o.id == name) for name in ("dgx_h100", "hgx_h100_8"))
    assert cents(on_prem(dgx, fleet(2), money())) == 11_563.66
    assert hgx in options(H100, "on_prem", Prices())


def test_an_instance_of_the_book_is_rented_where_it_says_at_its_price() -> None:
    price = GpuHourPrice(gpu="h100_sxm", usd=2.0, provider="verda", region="FIN-01", gpus=8, date=ON)
    (one,) = rented(H100, money(), Prices(listed=PriceList(gpu_hours=(price,))), "on_demand")
    assert (one.usd_per_hour.value, one.option.gpus, one.provider, one.region) == (16.0, 8, "verda", "FIN-01")
    assert one.source.given
    assert one.source.dates == ("2026-11-22",)
    assert len(rented(gpus()["l40s"], money(), Prices(listed=PriceList(gpu_hours=(price,))), "on_demand")) != 1


def test_an_old_price_of_the_book_is_stale_and_a_new_one_given() -> None:
    for day, age in ((date(2026, 11, 1), "given"), (date(2026, 8, 1), "stale"), (None, "given")):
        system = {"system": "dgx_h100", "usd": 1000.0, "source": "Quote 7", "date": day}
        scenario = Scenario.model_validate(
            {
                "model": "meta-llama/Meta-Llama-3-8B-Instruct",
                "workload": {"input_tokens": 1000, "output_tokens": 100, "peak_rps": 10},
                "deployment": {"gpus": ["h100_sxm"]},
                "prices": {"negotiated": {"systems": [system]}},
            }
        )
        answer = cost(Answer.of(scenario, analytic_plan), on=ON)
        source = next(one for one in answer.sources if one.source.startswith("Quote 7"))
        assert (source.what, source.age) == ("DGX H100", age)
