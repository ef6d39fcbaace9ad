"""Plan vs reality in a real browser: the demo against its plan, another window, another scenario, the table."""

import re
from pathlib import Path
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.browser import PHONE_WIDTH, settle, sideways_px
from tests.e2e.conftest import OpenPage

DEMO = Path(__file__).parents[2] / "reality" / "data" / "demo_scenario.yaml"


def choose(page: Page, option: str) -> None:
    """Choose a segment by its label."""
    page.get_by_test_id("stRadio").get_by_text(option, exact=True).click()
    settle(page)


def compared(page: Page) -> None:
    """Wait until the source has answered."""
    expect(page.get_by_test_id("stMain")).to_contain_text("What the traffic is")
    settle(page)


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), pytest.param(390, "dark", marks=pytest.mark.slow)])
def test_the_demo_against_its_plan(open_page: OpenPage, width: int, scheme: str) -> None:
    page = open_page("reality", width=width, scheme=scheme)
    compared(page)
    main = page.get_by_test_id("stMain")
    # Minutes in which more is asked than can be served are not judged; the demo has some at some hours of its day.
    expect(main).to_contain_text(re.compile(r"Demo deployment as planned against Demo deployment, (1 h|\d+ min) until"))
    expect(main.locator("h2").first).to_contain_text(re.compile("Load|Prompts|No verdict"))
    expect(page.get_by_test_id("stPlotlyChart")).to_be_visible()
    assert sideways_px(page) <= 2
    choose(page, "15 min")
    compared(page)
    expect(main).to_contain_text(re.compile(r"\d+ min until"))
    assert parse_qs(urlparse(page.url).query)["range"] == ["15 min"]
    choose(page, "Table")
    expect(page.get_by_test_id("stTable" if width > PHONE_WIDTH else "stDataFrame").nth(1)).to_be_visible()
    expect(page.get_by_test_id("stPlotlyChart")).to_have_count(0)


@pytest.mark.slow
def test_from_another_scenario_to_a_file(open_page: OpenPage) -> None:
    page = open_page("reality?range=15+min")
    compared(page)
    main = page.get_by_test_id("stMain")
    expect(main).to_contain_text(re.compile(r"\d+ min until"))
    choose(page, "Scenario on Size")
    compared(page)
    expect(main.locator("h2").first).to_contain_text("No verdict: this is not the planned deployment.")
    choose(page, "Scenario file")
    page.get_by_test_id("stFileUploader").locator("input[type=file]").set_input_files(str(DEMO))
    settle(page)
    compared(page)
    expect(main.locator("h2").first).not_to_contain_text("not the planned deployment")
    page.get_by_text("What this rests on").click()
    expect(main).to_contain_text("Step times from roofline")


@pytest.mark.slow
def test_there_and_back_at_the_same_moment(open_page: OpenPage) -> None:
    page = open_page("live?range=15+min")
    expect(page.get_by_test_id("stMetric").first).to_be_visible()
    page.get_by_role("button", name="Pause").click()
    settle(page)
    end = parse_qs(urlparse(page.url).query)["end"]
    page.get_by_test_id("stMain").get_by_role("link", name="Plan vs reality").click()
    compared(page)
    asked = parse_qs(urlparse(page.url).query)
    assert (asked["range"], asked["end"]) == (["15 min"], end)
    expect(page.get_by_test_id("stMain")).to_contain_text(f"15 min until {end[0].replace('T', ' ').removesuffix('Z')}")
    page.get_by_test_id("stMain").get_by_role("link", name="Live").click()
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    settle(page)
    back = parse_qs(urlparse(page.url).query)
    assert (back["range"], back["end"]) == (["15 min"], end)
