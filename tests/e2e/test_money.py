"""From an answer to a decision in a browser: variants from Size, a file whose sums are right, a picture, a phone."""

import csv
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e.browser import settle, sideways_px
from tests.e2e.conftest import OpenPage

INPUTS = "isl=3500&osl=500"


def test_three_variants_are_compared_in_three_clicks(open_page: OpenPage) -> None:
    page = open_page(f"size?{INPUTS}")
    page.get_by_role("link", name="Compare with other hardware").click()
    settle(page)
    box = page.get_by_role("combobox", name="Compare with")
    box.click()
    box.fill("Cloud")
    page.get_by_role("option", name="Cloud", exact=True).click()
    settle(page)
    for name in ("2 x the load + same hardware: ", "Cloud: "):
        expect(page.get_by_test_id("stMarkdown").filter(has_text=name).first).to_be_visible()
    chosen = page.get_by_test_id("stMultiSelect").filter(has_text="Compare with")
    expect(chosen.locator("[data-tag-index]")).to_have_count(3)
    assert "isl=3500" in page.url


def test_the_sums_of_a_downloaded_table_are_those_of_its_parts(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page(f"cost?{INPUTS}", width=390, height=844, scheme="dark")
    assert sideways_px(page) <= 2, "a phone shows money without sideways scrolling"
    with page.expect_download() as download:
        page.get_by_test_id("stDownloadButton").get_by_role("button", name="CSV: Ways to pay").click()
    path = tmp_path / "ways.csv"
    download.value.save_as(path)
    with path.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["All costs (USD a month)"]]
    assert {row["Way"] for row in rows} >= {"Own systems", "Rented"}
    for row in rows:
        parts = [float(value) for name, value in row.items() if name.endswith("(USD)") and value]
        assert sum(parts) == pytest.approx(float(row["All costs (USD a month)"]), abs=0.005 * (len(parts) + 1))
        assert float(row["low"]) <= float(row["All costs (USD a month)"])


@pytest.mark.slow
def test_a_price_of_ones_own_moves_the_break_even_and_stays_out_of_files(open_page: OpenPage) -> None:
    page = open_page(f"cost?{INPUTS}&gpu=h100_sxm&cost_view=Break-even")
    sentence = page.get_by_test_id("stMarkdown").filter(has_text="Owning")
    before = sentence.inner_text()
    page.get_by_role("tab", name="Prices and constants").click()
    settle(page)
    page.get_by_role("button", name="Open a price book").click()
    rows = "".join(f"negotiated,system,{name},90000,Quote\n" for name in ("dgx_h100", "hgx_h100_8", "hgx_h100_4"))
    content = f"list,what,name,usd,source\n{rows}".encode()
    page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(
        {"name": "book.csv", "mimeType": "text/csv", "buffer": content}
    )
    settle(page)
    page.get_by_role("tab", name="Break-even").click()
    settle(page)
    expect(sentence).not_to_have_text(before)
    assert "90000" not in page.url
    page.locator(".js-plotly-plot").first.hover()
    expect(page.locator("[data-title='Reset axes']").first).to_be_visible()
    expect(page.locator("[data-title='Download plot as a PNG']").first).to_be_hidden()
    page.get_by_role("tab", name="Ways to pay").click()
    settle(page)
    page.get_by_test_id("stDataFrame").last.hover()
    expect(page.get_by_role("button", name="Fullscreen").last).to_be_visible()
    expect(page.get_by_role("button", name="Download as CSV")).to_have_count(0)
    page.get_by_test_id("stCheckbox").get_by_text("Downloads with my own prices").click()
    settle(page)
    page.get_by_test_id("stDataFrame").last.hover()
    expect(page.get_by_role("button", name="Download as CSV").last).to_be_visible()


@pytest.mark.slow
@pytest.mark.parametrize("view", ["Formats", "Levers"])
def test_a_phone_shows_variants_without_sideways_scrolling(open_page: OpenPage, view: str) -> None:
    page = open_page(f"compare?compare_view={view}", width=390, height=844, scheme="dark")
    assert sideways_px(page) <= 2


@pytest.mark.slow
def test_a_chart_is_saved_as_a_picture(open_page: OpenPage) -> None:
    page = open_page(f"cost?{INPUTS}")
    page.locator(".js-plotly-plot").first.hover()
    with page.expect_download() as download:
        page.locator(".js-plotly-plot").first.locator("[data-title*='PNG' i], [data-title*='png' i]").first.click()
    assert download.value.suggested_filename == "ways.png"
