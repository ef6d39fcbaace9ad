"""The price book as a CSV file: out and in again, and what it refuses."""

import pytest

from sizing.base.errors import InvalidScenario
from sizing.scenario.price_file import COLUMNS, read_csv, to_csv
from sizing.scenario.prices import Prices

HEAD = ",".join(COLUMNS) + "\n"
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
    assert Prices(**read_csv(to_csv(BOOK))) == BOOK


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
        (HEAD + "secret,system,x,1,,,,,\n", "Price book: row 2, column list: must be listed or negotiated."),
        (HEAD + "listed,system,x,1,,,,,20\n", "Price book: row 2, column date: must be a day such as 2026-11-22"),
        (HEAD + "listed\n", "Price book: row 2, column what: must be system or gpu_hour."),
        (HEAD + '"listed,system,x\n', "The price book is no CSV: "),
        ("x" * 1_000_001, "The price book is longer than a million characters"),
    ],
)
def test_a_file_that_cannot_be_is_refused_in_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(InvalidScenario) as refused:
        read_csv(text)
    assert len(refused.value.problems) == 1
    assert str(refused.value).startswith(sentence)
