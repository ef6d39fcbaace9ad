"""What-ifs on the same hardware and columns that are whole scenarios, in a real browser: moved, read, sized."""

import re
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.acting import said
from tests.e2e.browser import Scheme, settle, sideways_px
from tests.e2e.conftest import OpenPage
from tests.e2e.test_accessibility import findings

INPUTS = "isl=3500&osl=500&gpu=H100+SXM5+80GB&prec=FP8+(W8A8)"


def move(page: Page, name: str, steps: int) -> None:
    """Move a slider by the keyboard, as somebody without a mouse does."""
    slider = page.get_by_role("slider", name=re.compile(name)).first
    slider.focus()
    for _ in range(steps):
        page.keyboard.press("ArrowRight")
    settle(page)


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (1440, "light"),
        pytest.param(1920, "light", marks=pytest.mark.slow),
        pytest.param(390, "dark", marks=pytest.mark.slow),
    ],
)
def test_twice_the_load_is_more_of_the_same_and_is_sized(open_page: OpenPage, width: int, scheme: Scheme) -> None:
    page = open_page(f"size?{INPUTS}&view=What+if", width=width, scheme=scheme)
    assert "instead of" in said(page, "^Twice the load")
    move(page, "Load", 4)  # 1.1, 1.25, 1.5, 2
    sentence = said(page, r"^\d+ instead of \d+ H100")
    then = int(sentence.split()[0])
    assert sideways_px(page) <= 2
    assert findings(page) == []
    page.get_by_role("button", name="Size with this, same hardware").click()
    settle(page)
    expect(page.get_by_test_id("stMetric").filter(has_text=re.compile("^GPUs")).first).to_contain_text(str(then))
    link = parse_qs(urlparse(page.url).query)
    assert (link["rps"], link["gpu"], link["tp"]) == (["20"], ["H100 SXM5 80GB"], link["tp"])
    assert len(link["tp"]) == len(link["engine"]) == 1


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (1440, "light"),
        pytest.param(1920, "dark", marks=pytest.mark.slow),
        pytest.param(390, "dark", marks=pytest.mark.slow),
    ],
)
def test_a_column_is_put_together_and_sized_alike(open_page: OpenPage, width: int, scheme: Scheme) -> None:
    page = open_page(f"compare?{INPUTS}&beside=Cloud+%2B+same+hardware", width=width, scheme=scheme)
    page.get_by_role("button", name="Put a column together").click()
    for field, option in (("GPU", "B200 SXM 180GB (HGX/DGX)"), ("Weight format", "NVFP4 (W4A4)")):
        box = page.get_by_test_id("stPopoverBody").get_by_role("combobox", name=re.compile(f"^(Selected.*)?{field}"))
        box.click()
        box.fill(option)
        page.get_by_role("option", name=option, exact=True).click()
        settle(page)
    page.get_by_role("button", name="Add the column").click()
    settle(page)
    page.keyboard.press("Escape")
    column = "B200 SXM 180GB (HGX/DGX) + NVFP4 (W4A4)"
    said(page, f"^{re.escape(column)}: ")
    assert sideways_px(page) <= 2
    assert findings(page) == []
    assert parse_qs(urlparse(page.url).query)["beside"] == ["Cloud + same hardware", column]
    page.get_by_role("button", name=f"Size with {column}").click()
    page.wait_for_url("**/size?**")
    settle(page)
    link = parse_qs(urlparse(page.url).query)
    assert (link["gpu"], link["prec"]) == (["B200 SXM 180GB (HGX/DGX)"], ["NVFP4 (W4A4)"])
    expect(page.get_by_test_id("stMain").locator("h2").first).to_contain_text("B200")


@pytest.mark.slow
def test_the_tornado_keeps_the_hardware_unless_it_is_told_otherwise(open_page: OpenPage) -> None:
    page = open_page(f"cost?{INPUTS}&cost_view=Sensitivity")
    own = page.get_by_role("radio", name="The plan's own")
    expect(own).to_be_checked()
    page.get_by_text("Any that the scenario allows").click()
    settle(page)
    assert parse_qs(urlparse(page.url).query)["cost_hardware"] == ["Any that the scenario allows"]
