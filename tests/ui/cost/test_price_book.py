"""The price book as a table: what typing into it does, and what it refuses."""

from datetime import date
from typing import Any

import pandas as pd
import pytest

from sizing.base.errors import InvalidScenario
from sizing.catalog import gpus
from sizing.prices.system_price import BASIS_WORDS
from sizing.scenario.prices import GpuHourPrice, PriceList, Prices
from ui.cost.price_rows import ListName, book_table, taken, with_price

TODAY = date(2026, 11, 22)
H100 = gpus()["h100_sxm"]
ROW, OTHER, RENTED = "system:dgx_h100", "system:hgx_h100_8", "gpu:h100_sxm"


def table(prices: Prices | None = None, name: ListName = "listed") -> pd.DataFrame:
    return book_table([H100], prices or Prices(), name, TODAY)


def typed(row: str, prices: Prices | None = None, name: ListName = "listed", **cells: Any) -> PriceList:
    before = table(prices, name)
    after = before.copy()
    for column, value in cells.items():
        after.at[row, column] = value
    return taken(before, after, getattr(prices or Prices(), name), TODAY)


def test_the_catalogue_stands_in_the_list_and_not_among_negotiated_prices() -> None:
    listed, negotiated = table(), table(name="negotiated")
    assert listed.at[ROW, "Price"] == 380_000
    assert set(listed["Whose"]) <= {"catalogue", ""}
    assert listed.at[ROW, "Basis"] == "retail price"
    assert set(listed["Basis"][listed["Price"].notna()]) <= set(BASIS_WORDS.values())
    assert negotiated["Price"].isna().all()
    assert negotiated.at[ROW, "List price"] == 380_000
    assert table(Prices(listed=typed(ROW, Price=300_000.0)), "negotiated").at[ROW, "List price"] == 300_000


def test_a_typed_price_is_of_today_and_has_no_source_but_the_one_typed_with_it() -> None:
    (price,) = typed(ROW, Price=300_000.0).prices
    assert price.model_dump() == {"system": "dgx_h100", "usd": 300_000.0, "source": "", "date": TODAY}
    (price,) = typed(RENTED, Price=2.5, Source="Quote 7", Date="2026-10-01").prices
    assert isinstance(price, GpuHourPrice)
    assert (price.usd, price.source, price.date) == (2.5, "Quote 7", date(2026, 10, 1))


def test_a_price_that_was_asked_for_again_keeps_amount_and_source() -> None:
    (price,) = typed(ROW, Date="2026-11-20").prices
    assert (price.usd, price.source, price.date) == (380_000, table().at[ROW, "Source"], date(2026, 11, 20))


def test_an_emptied_price_goes_back_to_the_catalogue_alone() -> None:
    own = typed(ROW, Price=300_000.0)
    both = with_price(own, GpuHourPrice(gpu="h100_sxm", usd=2.0))
    left = typed(ROW, Prices(listed=both), Price=None)
    assert left.systems == ()
    assert left.gpu_hours == both.gpu_hours


def test_what_is_typed_beside_a_missing_price_waits_for_it() -> None:
    assert typed(ROW, name="negotiated", Source="Quote 7") == PriceList()


@pytest.mark.parametrize(("day", "age"), [("2026-11-01", ""), ("2026-08-01", "older than 90 days"), (None, "undated")])
def test_the_age_of_a_price_of_ones_own(day: str | None, age: str) -> None:
    own = typed(ROW, Price=1.0, Date=day or "2026-11-01")
    if day is None:
        own = PriceList(systems=tuple(one.model_copy(update={"date": None}) for one in own.systems))
    assert table(Prices(negotiated=own), "negotiated").at[ROW, "Age"] == age


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        ({"Price": -1.0}, "DGX H100: usd: must be at least 0 (found '-1.0')."),
        ({"Price": 1e12}, "DGX H100: usd: must be at most 1e+09"),
        ({"Price": 1.0, "Date": "22.11.2026"}, "DGX H100: date: must be a day such as 2026-11-22"),
        ({"Price": 1.0, "Date": "2027-01-01"}, "DGX H100: 2027-01-01 lies in the future."),
    ],
)
def test_a_cell_that_cannot_be_is_refused_in_one_sentence(cells: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidScenario) as refused:
        typed(ROW, **cells)
    assert len(refused.value.problems) == 1
    assert str(refused.value).startswith(sentence)


def test_a_new_price_of_a_rented_gpu_takes_the_place_of_the_last() -> None:
    first = with_price(PriceList(), GpuHourPrice(gpu="h100_sxm", usd=2.0))
    assert with_price(first, GpuHourPrice(gpu="h100_sxm", usd=3.0)).gpu_hours[0].usd == 3.0
    assert len(with_price(first, GpuHourPrice(gpu="l40s", usd=1.0)).gpu_hours) == 2
