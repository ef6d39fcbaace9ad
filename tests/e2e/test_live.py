"""Live in a real browser: the demo on every screen, a source typed in that fails and comes back, a paused moment."""

import re
import time
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.app.live import vllm
from tests.collectors.fake_prometheus import FakePrometheus
from tests.collectors.feeds import NOW, Feed
from tests.collectors.servers import Told, serving
from tests.e2e.acting import choose
from tests.e2e.browser import settle, sideways_px
from tests.e2e.conftest import OpenPage

TABS = ("Latency", "Load", "GPUs", "Replicas", "Mapping", "All sources")


def ready(page: Page) -> Page:
    """Until the demo has simulated its last hour and the charts are there."""
    expect(page.get_by_test_id("stMetric").first).to_be_visible()
    expect(page.get_by_text("Being read")).to_have_count(0)
    settle(page)
    return page


def tile_value(page: Page, label: str) -> Locator:
    metric = page.get_by_test_id("stMetric").filter(has=page.get_by_text(label, exact=True)).first
    return metric.get_by_test_id("stMetricValue")


def tile(page: Page, label: str) -> str:
    return tile_value(page, label).inner_text().strip()


def test_the_demo_is_labelled_and_every_tab_is_drawn(open_page: OpenPage) -> None:
    page = ready(open_page("live", scheme="dark"))
    expect(page.get_by_text("every number is simulated")).to_be_visible()
    for tab in TABS:
        page.get_by_role("tab", name=tab).click()
        settle(page)
        assert page.locator(".js-plotly-plot").count() <= 4
        assert sideways_px(page) <= 1
    assert parse_qs(urlparse(page.url).query)["tab"] == ["All sources"]


@pytest.mark.slow
def test_charts_fit_a_phone(open_page: OpenPage) -> None:
    page = ready(open_page("live", width=390))
    for tab in ("Latency", "GPUs"):
        page.get_by_role("tab", name=tab).click()
        settle(page)
        expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible()
        assert sideways_px(page) <= 1


@pytest.mark.slow
def test_a_moment_is_held_by_pause_and_opened_by_its_link(open_page: OpenPage) -> None:
    page = ready(open_page("live?range=15+min"))
    page.get_by_role("button", name="Pause").click()
    ready(page)
    link = parse_qs(urlparse(page.url).query)
    assert link["range"] == ["15 min"]
    held = tile(page, "Requests/s")
    again = ready(open_page(page.url.split("/", 3)[3]))
    assert tile(again, "Requests/s") == held
    again.get_by_role("button", name="Resume").click()
    settle(again)
    assert "end" not in parse_qs(urlparse(again.url).query)


@pytest.mark.slow
def test_a_typed_source_is_mapped_fails_and_comes_back_without_a_click(open_page: OpenPage) -> None:
    fake = FakePrometheus(Feed({"a:8000": vllm(), "b:8000": vllm()}), shift_s=time.time() - NOW)
    with serving(fake) as server:
        page = open_page("live")
        page.get_by_role("button", name="Connect").click()
        page.get_by_role("textbox", name="URL; several metrics pages").fill(server.url)
        page.get_by_text("Credentials (optional").click()
        page.get_by_role("textbox", name="Bearer token").fill("s3cret-token")
        page.get_by_test_id("stFormSubmitButton").get_by_role("button", name="Connect").click()
        expect(tile_value(page, "Requests/s")).to_have_text("4")  # the demo's tiles stood there before
        expect(page.get_by_text("Healthy in the last 5 minutes.")).to_be_visible()
        expect(page.get_by_role("textbox", name="Bearer token")).to_be_hidden()
        assert "s3cret-token" not in page.content()
        assert "s3cret-token" not in page.url
        assert server.asked[-1].headers["Authorization"] == "Bearer s3cret-token"

        page.get_by_role("tab", name="Mapping").click()
        settle(page)
        choose(page, "Quantity", "finished")
        expression = page.get_by_role("textbox", name="Metric or expression")
        expression.fill("sum(rate(vllm:request_success_total{$sel}[$w])) * 10")
        page.get_by_role("button", name="Try and use").click()
        expect(page.get_by_text("40 completed/s")).to_be_visible()
        page.get_by_role("button", name="Back to the built-in mapping").click()
        expect(page.get_by_text(re.compile("^4 completed/s"))).to_be_visible()

        fake.fault = Told(status=503)
        expect(page.get_by_text("failed with status 503")).to_be_visible()
        expect(page.get_by_text("Below: the last good data")).to_be_visible()
        assert tile(page, "Requests/s") == "4"

        fake.fault = None
        expect(page.get_by_text("Healthy in the last 5 minutes.")).to_be_visible()
        expect(page.get_by_text("Below: the last good data")).to_have_count(0)
