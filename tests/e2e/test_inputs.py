"""What requests bring beside text, and adapters, in a real browser: a card on Home, fields, the answer, the link."""

import re
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import expect

from tests.e2e.acting import enter, figure, said
from tests.e2e.browser import Scheme, settle, sideways_px
from tests.e2e.conftest import OpenPage
from tests.e2e.test_accessibility import findings


def test_scanned_documents_from_the_card_to_twice_as_many_pages(open_page: OpenPage) -> None:
    page = open_page()
    page.get_by_role("button", name="Size Scanned documents").click()
    settle(page)
    assert "4 pages of 2,145 tokens each" in said(page, "Each request brings")
    before = int(figure(page, "GPUs"))
    page.get_by_text("More on the workload, or from a trace").click()
    settle(page)
    enter(page, "Scanned pages (per request)", "12")
    assert "12 pages of 2,145 tokens each" in said(page, "Each request brings")
    assert int(figure(page, "GPUs")) > before
    assert parse_qs(urlparse(page.url).query)["scans"] == ["12"]
    assert findings(page) == []
    again = open_page(f"size?{urlparse(page.url).query}")
    assert "12 pages of 2,145 tokens each" in said(again, "Each request brings")


def test_a_model_of_text_alone_says_which_read_pages(open_page: OpenPage) -> None:
    page = open_page("size?model=Qwen/Qwen3-32B&scans=4")
    fault = page.get_by_test_id("stAlert").filter(has_text="reads no images: choose a model that does").first
    expect(fault).to_be_visible()


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), pytest.param(390, "dark", marks=pytest.mark.slow)])
def test_fifty_adapters_and_as_many_kept(open_page: OpenPage, width: int, scheme: Scheme) -> None:
    page = open_page("size?isl=1155&osl=211&rps=20&lora=true&lora_kept=16", width=width, scheme=scheme)
    first = said(page, "50 adapters of rank 16")
    assert re.search(r"16 of them in the memory of each instance \([\d.]+ GB of each GPU\): \d+ % of requests", first)
    page.get_by_text("More on the workload, or from a trace").click()
    settle(page)
    enter(page, "Resident (per instance)", "50")
    assert "all of them in the memory of each instance" in said(page, "50 adapters of rank 16")
    assert sideways_px(page) <= 2
    assert findings(page) == []
    assert parse_qs(urlparse(page.url).query)["lora_kept"] == ["50"]
