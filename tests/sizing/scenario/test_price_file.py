"""The price book as a CSV file: out and in again, and what it refuses."""

import datetime
import time

import pytest

from sizing.base.errors import InvalidScenario
from sizing.scenario.price_file import COLUMNS, read_csv, to_csv
from sizing.scenario.prices import Prices
from tests.sizing.asking import a_gpu

ON = datetime.date(2026, 11, 25)
HEAD = ",".join(COLUMNS) + "\n"
EDITIONS = "list,what,name,usd,edition\n"
BOOK = Prices.model_validate(
    {
        "listed": {
            "systems": [{"system": "dgx_h100", "usd": 300_000, "source": "Reseller, Berlin", "date": "2026-11-01"}],
            "gpu_hours": [{"gpu": "h100_sxm", "usd": 2.5, "provider": "verda", "region": "FIN-01", "gpus": 8}],
        },
        "negotiated": {"systems": [{"system": "dgx_h100", "usd": 250_000.5, "source": 'Quote "17"'}]},
    }
)


def test_a_price_book_goes_out_and_comes_back() -> None:
    assert Prices(**read_csv(to_csv(BOOK), ON)) == BOOK


def test_a_file_without_negotiated_prices_holds_none() -> None:
    text = to_csv(BOOK.without_private())
    assert "negotiated" not in text
    assert "17" not in text
    assert "Reseller" in text


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "Price book: the first line names no column list, what, name, usd."),
        ("list,what,usd\n", "Price book: the first line names no column name."),
        (HEAD + "listed,system,dgx_h100,-1,,,,,\n", "Price book: row 2, column usd: must be at least 0 (found '-1')."),
        (
            HEAD + "listed,system,dgx_h100,free,,,,,\n",
            "Price book: row 2, column usd: must be a number (found 'free').",
        ),
        (HEAD + "listed,system,dgx_h100,,,,,,\n", "Price book: row 2, column usd: is required."),
        (HEAD + "listed,system,dgx_h100,nan,,,,,\n", "Price book: row 2, column usd: must be"),
        (HEAD + "listed,system,,1,,,,,\n", "Price book: row 2, column name: names no system or GPU."),
        (HEAD + "listed,car,x,1,,,,,\n", "Price book: row 2, column what: must be system or gpu_hour."),
        (HEAD + "secret,system,dgx_h100,1,,,,,\n", "Price book: row 2, column list: must be listed or negotiated."),
        (
            HEAD + "listed,system,dgx_h100,1,,,,,20\n",
            "Price book: row 2, column date: must be a day such as 2026-11-22",
        ),
        (
            HEAD + "listed,system,dgx_h100,1,,,,,2026-11-26\n",
            "Price book: row 2, column date: 2026-11-26 lies in the future.",
        ),
        (HEAD + "listed,system,dgx_h900,1,,,,,\n", "Price book: row 2, column name: Unknown system"),
        (HEAD + "listed,gpu_hour,h900,1,,,,,\n", "Price book: row 2, column name: Unknown GPU"),
        (
            HEAD + "listed,gpu_hour,RTX PRO 6000,2,,,,,\n",
            "Price book: row 2, column edition: “RTX PRO 6000” is sold in several editions "
            "(rtx_pro_6000_server, rtx_pro_6000_workstation): say which.",
        ),
        (HEAD + "listed,gpu_hour,rtx pro 6000 max-q,2,,,,,\n", "Price book: row 2, column name: Unknown GPU"),
        (
            EDITIONS + "listed,gpu_hour,RTX PRO 6000,2,Max-Q\n",
            "Price book: row 2, column edition: “Max-Q” is no edition of RTX PRO 6000: known are Server, Workstation.",
        ),
        (EDITIONS + "listed,gpu_hour,h100_sxm,2,PCIe\n", "Price book: row 2, column edition: “PCIe” is no edition of"),
        (HEAD + "listed\n", "Price book: row 2, column what: must be system or gpu_hour."),
        (HEAD + '"listed,system,x\n', "The price book is no CSV: "),
        ("x" * 1_000_001, "The price book is longer than a million characters"),
    ],
)
def test_a_file_that_cannot_be_is_refused_in_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(InvalidScenario) as refused:
        read_csv(text, ON)
    assert len(refused.value.problems) == 1
    assert str(refused.value).startswith(sentence)


@pytest.mark.parametrize(
    ("name", "edition", "gpu"),
    [
        ("RTX PRO 6000", "Workstation", "rtx_pro_6000_workstation"),
        ("rtx pro 6000", "server", "rtx_pro_6000_server"),
        ("H100", "PCIe", "h100_pcie"),
        ("H100", "SXM", "h100_sxm"),
        ("h100_nvl", "", "h100_nvl"),
        ("NVIDIA H100 NVL", "", "h100_nvl"),
        ("L40S", "", "l40s"),
        ("MI300X", "", "mi300x"),
        ("RTX 3090", "", "rtx_3090"),
    ],
)
def test_a_row_means_the_edition_that_it_names(name: str, edition: str, gpu: str) -> None:
    (price,) = read_csv(EDITIONS + f"listed,gpu_hour,{name},2,{edition}\n", ON)["listed"].gpu_hours
    assert price.gpu == gpu


def test_a_price_of_ones_own_accelerator_or_of_today_is_taken() -> None:
    own = a_gpu(id="my_card")
    text = HEAD + "listed,gpu_hour,my_card,1,,,,,2026-11-25\nlisted,system,server_8x_my_card,9000,,,,,\n"
    listed = read_csv(text, ON, (own,))["listed"]
    assert [price.gpu for price in listed.gpu_hours] == ["my_card"]
    assert [price.system for price in listed.systems] == ["server_8x_my_card"]


@pytest.mark.parametrize("row", ["listed,system,dgx_h100,1,,,,,\n", "listed,gpu_hour,NVIDIA H100 NVL,1,,,,,\n"])
def test_a_file_of_many_prices_is_given_up_early(row: str) -> None:
    """A megabyte of them took 14 s of a core to be refused in the end."""
    begun = time.process_time()
    with pytest.raises(InvalidScenario, match=r"^Price book: row 1002: more prices than 1,000 in a list\.$"):
        read_csv(HEAD + row * 20_000, ON)
    assert time.process_time() - begun < 5


def test_a_name_that_is_none_is_not_looked_for() -> None:
    with pytest.raises(InvalidScenario, match="column name: is longer than 200 characters"):
        read_csv(HEAD + f"listed,gpu_hour,{'h100 ' * 20_000},1,,,,,\n", ON)
