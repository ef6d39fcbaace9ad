import pytest

from sizing.base.errors import InvalidScenario
from sizing.catalog import gpus
from sizing.question.prices import prices_of
from sizing.scenario.schema import Scenario
from tests.sizing.asking import raw

H100, L40S, B100 = (gpus()[name] for name in ("h100_sxm", "l40s", "b100"))
RECORD = {"system": "dgx_h100", "rps_per_system": 2.4}


def asked(chosen, **sections):
    return prices_of(Scenario.model_validate(raw(**sections)), chosen)


def test_a_price_belongs_to_the_system_that_is_named_by_id_or_name():
    for name in ("hgx_h100_8", "HGX H100 8-GPU OEM server"):
        assert asked([H100, L40S], prices={"system": name, "system_usd": 1000}).system == "hgx_h100_8"


def test_a_price_belongs_to_the_only_system_there_is():
    assert asked([B100], prices={"system_usd": 1000}).system == "server_8x_b100"
    assert asked([H100], prices={"system_usd": 1000}, measured=RECORD).system == "dgx_h100"
    assert asked([H100], prices={"gpu_hour_usd": 2}).gpu == "h100_sxm"


def test_without_a_price_nothing_is_named():
    prices = asked([H100, L40S], prices={"system": "dgx_h100", "gpu": "h100"})
    assert (prices.system, prices.gpu) == (None, None)


@pytest.mark.parametrize(
    ("prices", "sentence"),
    [
        ({"system_usd": 1000}, "prices.system: say which system the price belongs to, such as dgx_h100, hgx_h100_8 or"),
        ({"gpu_hour_usd": 2}, "prices.gpu: say which GPU the price belongs to, such as h100_sxm or l40s."),
        ({"system": "dgx_h1000", "system_usd": 1}, "prices.system: Unknown system “dgx_h1000”. Did you mean dgx_h100"),
        ({"gpu": "h1000", "gpu_hour_usd": 1}, "prices.gpu: Unknown GPU “h1000”."),
        (
            {"listed": {"systems": [{"system": name, "usd": 1} for name in ("dgx_h100", "DGX H100")]}},
            "prices.listed: dgx_h100 has more than one price: keep one of them.",
        ),
        (
            {"negotiated": {"gpu_hours": [{"gpu": "h100", "usd": 1}]}, "gpu": "h100_sxm", "gpu_hour_usd": 2},
            "prices.negotiated: h100_sxm has a price in prices.gpu_hour_usd, too: keep one of them.",
        ),
        ({"listed": {"systems": [{"system": "dgx_h1000", "usd": 1}]}}, "prices.listed: Unknown system “dgx_h1000”."),
        ({"listed": {"gpu_hours": [{"gpu": "h1000", "usd": 1}]}}, "prices.listed: Unknown GPU “h1000”."),
    ],
)
def test_a_price_of_nothing_in_particular_and_a_second_one_are_refused_in_one_sentence(prices, sentence):
    with pytest.raises(InvalidScenario) as refused:
        asked([H100, L40S], prices=prices)
    assert str(refused.value).startswith(sentence)


def test_a_price_of_a_gpu_is_that_of_the_named_one():
    assert asked([H100, L40S], prices={"gpu": "H100 SXM", "gpu_hour_usd": 2}).gpu == "h100_sxm"


def test_prices_of_a_book_belong_to_what_they_name():
    of_h100 = {"system": "DGX H100", "usd": 3e5}
    book = asked([H100, L40S], prices={"listed": {"systems": [of_h100], "gpu_hours": [{"gpu": "L40S", "usd": 1}]}})
    assert book.listed.systems[0].system == "dgx_h100"
    assert book.of_gpu_hour("l40s").usd == 1
    assert book.of_gpu_hour("h100_sxm") is None
    assert book.of_system("hgx_h100_8") is None


def test_a_negotiated_price_comes_before_a_listed_one():
    lists = {
        name: {"systems": [{"system": "dgx_h100", "usd": usd}]} for name, usd in (("listed", 2), ("negotiated", 1))
    }
    assert asked([H100], prices=lists).of_system("dgx_h100").usd == 1
    assert asked([H100], prices=lists).without_private().of_system("dgx_h100").usd == 2
