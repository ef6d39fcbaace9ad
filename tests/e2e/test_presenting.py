"""A presentation in a real browser: on a projector and on a phone, and back with Esc."""

import pytest
from playwright.sync_api import expect

from tests.e2e.acting import answer
from tests.e2e.browser import settle, sideways_px
from tests.e2e.conftest import OpenPage

OUTPUT = "Output (tokens)"


@pytest.mark.slow
def test_on_a_projector_and_back_by_escape(open_page: OpenPage) -> None:
    page = open_page("size?osl=300", width=1280, height=720)
    sized = answer(page)
    page.get_by_role("button", name="Present").click()
    settle(page)
    assert answer(page) == sized
    expect(page.get_by_label(OUTPUT, exact=True)).to_have_count(0)
    expect(page.get_by_test_id("stSidebar")).not_to_be_visible()
    assert sideways_px(page) == 0
    page.keyboard.press("Escape")
    settle(page)
    expect(page.get_by_label(OUTPUT, exact=True)).to_have_value("300")
    assert answer(page) == sized


@pytest.mark.slow
def test_on_a_phone(open_page: OpenPage) -> None:
    page = open_page("cost?present=on", width=390, scheme="dark")
    assert answer(page)
    assert sideways_px(page) == 0
