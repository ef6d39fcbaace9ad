"""Explore in a real browser: a cold deep link, a click that becomes a deployment, themes and the phone."""

from pathlib import Path
from typing import Literal
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import expect

from tests.e2e.acting import answer
from tests.e2e.browser import settle, sideways_px
from tests.e2e.conftest import OpenPage

LINK = "explore?isl=3500&osl=500&gpu=H100+SXM5+80GB&gpu=H200+SXM+141GB&name=Deep+link"
VIEWS = {
    "Latency against throughput": "Latency against throughput",
    "Load curve": "Load curve",
    "Lengths": "GPUs over lengths",
}
"""The views with a chart, and the table below each."""
POINTS = ".js-plotly-plot .scatterlayer .trace .points path.point"


def test_a_clicked_point_is_sized(open_page: OpenPage) -> None:
    page = open_page(LINK, height=1100)
    marks = page.locator(POINTS)
    box = marks.nth(5).bounding_box()
    assert box
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_url("**/size?**")
    settle(page)
    link = parse_qs(urlparse(page.url).query)
    assert link["gpu"][0] in ("H100 SXM5 80GB", "H200 SXM 141GB")
    assert len(link["gpu"]) == len(link["engine"]) == len(link["prec"]) == len(link["serving"]) == 1
    assert len(link["tp"]) <= 2  # pools have one for prefill and one for decode instances
    assert link["isl"] == ["3500"]
    expect(page.get_by_test_id("stMain").locator("h2").first).to_contain_text(link["gpu"][0])
    expect(page.get_by_role("button", name="Consider all hardware again")).to_be_visible()


@pytest.mark.slow
def test_inputs_go_along_from_size_to_explore_and_back(open_page: OpenPage) -> None:
    page = open_page("size?osl=77&gpu=H100+SXM5+80GB")
    there = answer(page)
    page.get_by_test_id("stSidebar").get_by_role("link", name="Explore").click()
    settle(page)
    assert answer(page) == there
    page.get_by_role("button", name="Change inputs").click()
    settle(page)
    box = page.get_by_role("textbox", name="Output (tokens)", exact=True)
    assert box.input_value() == "77"
    box.fill("500")
    box.press("Enter")
    settle(page)
    page.keyboard.press("Escape")
    changed = answer(page)
    page.get_by_test_id("stSidebar").get_by_role("link", name="Size").click()
    settle(page)
    assert answer(page) == changed
    assert parse_qs(urlparse(page.url).query)["osl"] == ["500"]


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(1440, "dark"), (390, "light")])
def test_charts_are_drawn_on_every_screen(open_page: OpenPage, width: int, scheme: Literal["light", "dark"]) -> None:
    page = open_page(LINK, width=width, scheme=scheme)
    for view, table in VIEWS.items():
        page.get_by_role("tab", name=view).click()
        expect(page.get_by_text(f"{table}: table and CSV")).to_be_visible()
        settle(page)
        expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible()
        assert sideways_px(page) <= 1, view


@pytest.mark.slow
def test_a_csv_of_the_frontier_can_be_downloaded(open_page: OpenPage) -> None:
    page = open_page(LINK, height=1300)
    page.get_by_text("Latency against throughput: table and CSV").click()
    settle(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV: Latency against throughput", exact=True).click()
    text = Path(download.value.path()).read_text(encoding="utf-8")
    assert text.startswith("GPU,Deployment,")
    assert "H200 SXM 141GB" in text
