"""Back and forward in a real browser: every address reopens the page as it stood, one entry for each change."""

from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.acting import answer, enter
from tests.e2e.browser import settle
from tests.e2e.conftest import OpenPage

OUTPUT = "Output (tokens)"


def go(page: Page, name: str) -> None:
    page.get_by_test_id("stSidebar").get_by_role("link", name=name, exact=True).click()
    settle(page)


def back(page: Page) -> str:
    """One step back; the page that is there."""
    page.go_back()
    settle(page)
    return urlparse(page.url).path.strip("/")


def entries(page: Page) -> int:
    return int(page.evaluate("history.length"))


@pytest.mark.slow
def test_back_and_forward_keep_every_input(page: Page) -> None:
    """Home, an example, an edit, two other pages: each step back is one page, with its inputs."""
    page.get_by_role("button", name="Size RAG", exact=True).click()
    settle(page)
    enter(page, OUTPUT, "300")
    edited = answer(page)
    before = entries(page)
    go(page, "Explore")
    assert answer(page) == edited
    go(page, "Live")
    assert entries(page) == before + 2
    assert back(page) == "explore"
    assert answer(page) == edited
    assert back(page) == "size"
    assert answer(page) == edited
    expect(page.get_by_label("Prompt (tokens)", exact=True)).to_have_value("3500")
    expect(page.get_by_label(OUTPUT, exact=True)).to_have_value("300")
    assert back(page) == "size"
    expect(page.get_by_label(OUTPUT, exact=True)).to_have_value("500")
    assert back(page) == "home"
    page.go_forward()
    settle(page)
    page.go_forward()
    settle(page)
    expect(page.get_by_label(OUTPUT, exact=True)).to_have_value("300")
    assert answer(page) == edited
    assert entries(page) == before + 2


@pytest.mark.slow
def test_a_deployment_is_used_and_given_up_in_one_step_each(open_page: OpenPage) -> None:
    page = open_page("size?spare=1&view=Throughput+or+latency", height=1400)
    free, before = answer(page), entries(page)
    page.get_by_role("button", name="Use this").first.click()
    settle(page)
    used = answer(page)
    assert entries(page) == before + 1
    assert len(parse_qs(urlparse(page.url).query)["gpu"]) == 1
    page.get_by_role("button", name="Consider all hardware again").click()
    settle(page)
    assert entries(page) == before + 2
    assert parse_qs(urlparse(page.url).query) == {"v": ["2"], "spare": ["1"], "view": ["Throughput or latency"]}
    assert answer(page) == free
    assert answer(open_page(page.url.split("/", 3)[3])) == free, "the address gives the page"
    assert back(page) == "size"
    assert answer(page) == used
    back(page)
    assert answer(page) == free
