"""Coding agents for 200 developers, in a real browser: what the prefix cache holds, and by what routing."""

import re
from urllib.parse import parse_qs, urlparse

from playwright.sync_api import expect

from tests.e2e.acting import answer, choose, enter, figure, pick
from tests.e2e.browser import settle, sideways_px
from tests.e2e.conftest import OpenPage
from tests.e2e.test_accessibility import findings


def percent_of(text: str) -> float:
    return float(text.removesuffix(" %"))


def test_coding_agents_for_two_hundred_developers(open_page: OpenPage) -> None:
    page = open_page("size?gpu=H100+SXM5+80GB")
    choose(page, "Start from an example", "Coding agents")
    assert "H" in answer(page)
    pick(page, "Sessions")
    choose(page, "GPU", "H100 SXM5 80GB")
    enter(page, "At once (sessions)", "200")
    tile = page.locator(".st-key-reuse")
    expect(tile).to_contain_text("Found in prefix cache")
    by_prefix = percent_of(figure(page, "Found in prefix cache"))
    assert by_prefix > 90
    expect(tile).to_contain_text("TTFT, first turns")
    expect(tile).to_contain_text("TTFT, later turns")
    assert sideways_px(page) <= 2
    assert findings(page) == []
    page.get_by_text("More assumptions").click()
    settle(page)
    choose(page, "Routing", "Least loaded")
    at_random = percent_of(figure(page, "Found in prefix cache"))
    assert at_random < by_prefix
    expect(tile).to_contain_text(re.compile("Routing by prefix would hold"))
    link = parse_qs(urlparse(page.url).query)
    assert (link["load"], link["s_turns"], link["s_once"]) == (["Sessions"], ["30"], ["200"])
    again = open_page(page.url.split("/", 3)[-1])
    assert percent_of(figure(again, "Found in prefix cache")) == at_random
    enter(again, "Turns (requests)", "300")
    expect(again.get_by_test_id("stMain")).to_contain_text("the nearest that works is")


def test_texts_of_many_tenants_are_held_where_the_routing_looks_for_them(open_page: OpenPage) -> None:
    page = open_page(
        "size?model=Qwen/Qwen3-32B&gpu=H100+SXM5+80GB&load=Sessions&s_by=per_hour&s_hour=36000&s_turns=1"
        "&s_first=7200&s_shared=6000&s_kinds=150&s_answer=400&ttft=3000&itl=100&route=Prefix-aware"
    )
    tile = page.locator(".st-key-reuse")
    expect(tile).to_contain_text("Found in prefix cache")
    by_prefix = percent_of(figure(page, "Found in prefix cache"))
    assert by_prefix > 70
    page.get_by_text("More assumptions").click()
    settle(page)
    choose(page, "Routing", "Session affinity")
    expect(tile).to_contain_text(re.compile("Routing by prefix would hold"))
    assert percent_of(figure(page, "Found in prefix cache")) < by_prefix
    assert sideways_px(page) <= 2
