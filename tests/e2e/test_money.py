"""From an answer to a decision in a browser: variants from Size, a file whose sums are right, a picture, a phone."""

import csv
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e.browser import settle, sideways_px
from tests.e2e.conftest import OpenPage

INPUTS = "isl=3500&osl=500"


def test_three_variants_are_compared_in_three_clicks(open_page: OpenPage) -> None:
    page = open_page(f"size?{INPUTS}")
    page.get_by_role("link", name="Compare hardware, formats").click()
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
    assert {row["Way"] for row in rows} >= {"Own systems", "Rented, cheapest", "API"}
    for row in rows:
        parts = [float(value) for name, value in row.items() if name.endswith("(USD)") and value]
        assert sum(parts) == pytest.approx(float(row["All costs (USD a month)"]), abs=0.005 * (len(parts) + 1))
        assert float(row["low"]) <= float(row["All costs (USD a month)"])


def test_five_questions_of_a_cfo(open_page: OpenPage) -> None:
    """What it costs in all, what is paid at once, what owning is worth, when that pays, and what hardware alone is."""
    page = open_page(f"cost?{INPUTS}&gpu=h100_sxm", width=1440, height=900)
    figures = page.get_by_test_id("stMetricValue")
    for label in (
        "All costs a month",
        "Hardware and power only",
        "Paid at once",
        "NPV of owning",
        "Cheaper than the API",
    ):
        expect(page.get_by_text(label, exact=True).first).to_be_visible()
    all_costs, hardware = figures.nth(0).inner_text(), figures.nth(1).inner_text()
    assert all_costs != hardware
    chart = page.locator(".js-plotly-plot").first.bounding_box()
    assert chart["y"] < 900, "the chart begins in the first screen"
    page.get_by_role("tab", name="36 months").click()
    settle(page)
    page.get_by_text("Payments and present value").click()
    settle(page)
    expect(page.get_by_text("Tax is left out", exact=False).first).to_be_visible()
    page.get_by_role("button", name="What is counted and how it is paid for").click()
    box = page.get_by_role("combobox", name="Leave out")
    for part in ("Support", "Switches", "Storage", "Staff", "Capital charge"):
        box.click()
        page.get_by_role("option", name=part, exact=True).click()
        settle(page)
    page.keyboard.press("Escape")
    settle(page)
    expect(page.get_by_text("Hardware and power only, a month", exact=True).first).to_be_visible()
    expect(figures.nth(0)).to_have_text(hardware)
    assert "cost_without=Support" in page.url


def test_a_batch_is_asked_by_documents(open_page: OpenPage) -> None:
    page = open_page(f"size?{INPUTS}")
    page.get_by_text("Documents", exact=True).first.click()
    settle(page)
    for label, typed in (("Documents (a month)", "2,000,000"), ("Window (h a day)", "8"), ("Deadline (days)", "10")):
        page.get_by_label(label, exact=True).fill(typed)
        page.keyboard.press("Enter")
        settle(page)
    expect(
        page.get_by_text("2M documents a month (6.94 requests/s in the working window)", exact=False)
    ).to_be_visible()
    expect(page.get_by_text("Daily users")).to_have_count(0)
    assert "docs_month=2%2C000%2C000" in page.url or "docs_month=2,000,000" in page.url
    page.get_by_role("link", name="All costs, and other ways to pay").click()
    settle(page)
    expect(page.get_by_text("Per 1,000 documents", exact=True).first).to_be_visible()
    expect(page.get_by_text("2M a month", exact=False).first).to_be_visible()


@pytest.mark.slow
def test_a_price_of_ones_own_moves_the_break_even_and_stays_out_of_files(open_page: OpenPage) -> None:
    page = open_page(f"cost?{INPUTS}&gpu=h100_sxm&cost_view=Break-even")
    sentence = page.get_by_test_id("stMarkdown").filter(has_text=re.compile("Owning"))
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


@pytest.mark.parametrize(("tab", "number"), [("Ways to pay", 4), ("36 months", 1), ("Prices and constants", 2)])
def test_no_table_of_money_runs_off_the_page(open_page: OpenPage, tab: str, number: int) -> None:
    page = open_page(f"cost?{INPUTS}", width=1440, height=900)
    page.get_by_role("tab", name=tab).click()
    settle(page)
    if tab == "36 months":
        page.get_by_text("Payments and present value").first.click()
        settle(page)
    tables = page.locator("[data-testid=stDataFrame] .dvn-scroller:visible, [data-testid=stTable]:visible")
    expect(tables.nth(number - 1)).to_be_visible()
    for place in range(tables.count()):
        widths = tables.nth(place).evaluate("e => [e.scrollWidth, e.clientWidth]")
        assert widths[0] <= widths[1] + 1, place


@pytest.mark.parametrize(
    "view", ["Variants", *(pytest.param(view, marks=pytest.mark.slow) for view in ("Formats", "Levers", "NIM"))]
)
def test_no_table_of_a_comparison_runs_off_the_page(open_page: OpenPage, view: str) -> None:
    page = open_page(f"compare?{INPUTS}&compare_view={view}", width=1440, height=900)
    tables = page.get_by_test_id("stTable")
    expect(tables.last).to_be_visible()
    for table in tables.all():
        widths = table.evaluate("e => [e.scrollWidth, e.clientWidth]")
        assert widths[0] <= widths[1] + 1


def test_what_cannot_serve_is_read_without_moving_it_sideways(open_page: OpenPage) -> None:
    page = open_page(f"size?{INPUTS}", width=1440, height=900)
    excluded = page.get_by_test_id("stDataFrame").locator(".dvn-scroller").last
    widths = excluded.evaluate("e => [e.scrollWidth, e.clientWidth]")
    assert widths[0] <= widths[1] + 1
