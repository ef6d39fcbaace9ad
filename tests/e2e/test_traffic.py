"""Traffic in a real browser: simulate, cancel, a failing instance, a trace that fills in the form, the day, links."""

import re
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qs, urlparse

import pytest
import requests
from playwright.sync_api import Browser, Page, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from tests.e2e.acting import answer, enter, figure
from tests.e2e.browser import Watch, new_page, settle
from tests.e2e.conftest import OpenPage
from tests.e2e.dashboard import Dashboard, running_dashboard
from tests.patience import PATIENCE_S, until

HOUR = "size?view=Simulate&isl=1000&osl=100&rps=20&gpu=H100+SXM5+80GB"
LONG = "size?view=Simulate&isl=2000&osl=300&cached=1000&rps=13000&route=Least+loaded&gpu=H100+SXM5+80GB&ttft=&itl="
"""47 million requests in two pools: some 40 s of one core, far more than a busy page needs to show that it runs."""
DAY = "size?view=Over+the+day&isl=1000&osl=100&rps=200&gpu=H100+SXM5+80GB"
NEAR_PX = 60
"""Between a field and what is wrong with it, at most."""
HEAD = b"timestamp,input_tokens,output_tokens,cached_tokens\n"


def upload(page: Page, name: str, content: bytes) -> None:
    """Give a trace to the form."""
    page.locator("input[type=file]").first.set_input_files({"name": name, "mimeType": "text/csv", "buffer": content})
    settle(page)


def rows(count: int) -> bytes:
    """Two requests a second, prompts of 700 to 899 tokens, outputs of 50 to 89."""
    return HEAD + "".join(f"{k * 0.5},{700 + k % 200},{50 + k % 40},{k % 3}\n" for k in range(count)).encode()


def cancel(page: Page) -> None:
    """Press Cancel until the simulation under way has gone: a click on what is just drawn again is lost."""
    button = page.get_by_role("button", name="Cancel")
    end_s = time.monotonic() + PATIENCE_S
    while button.count() and time.monotonic() < end_s:
        with suppress(PlaywrightTimeout):
            button.click(timeout=2_000)
        page.wait_for_timeout(500)


@pytest.mark.slow
def test_an_outage_is_judged_in_its_own_window(open_page: OpenPage) -> None:
    """Six seconds of an hour leave its p99 within the limits; those who asked meanwhile waited far longer."""
    page = open_page(HOUR)
    page.get_by_role("tabpanel", name="Simulate").get_by_text("With a failure, or batched otherwise").click()
    settle(page)
    enter(page, "A failure lasts (minutes)", "0.1")
    page.get_by_role("button", name="Simulate this hour").click()
    verdict = page.get_by_test_id("stAlert").filter(has_text="requests simulated")
    expect(verdict).to_be_visible()
    settle(page)
    during = page.get_by_text("One instance fails after 20 minutes, for 0.1 minutes")
    expect(during).to_contain_text("requests in the system while it is down")
    expect(during).to_contain_text("a limit is broken")
    expect(verdict).to_contain_text("but while an instance is down one is broken")
    expect(page.get_by_test_id("stAlertContentSuccess")).to_have_count(0)
    page.get_by_text("Second by second").click()
    settle(page)
    expect(page.get_by_test_id("stDataFrame").last).to_be_visible()


@pytest.mark.slow
def test_a_long_simulation_is_cancelled_and_the_page_answers_meanwhile(open_page: OpenPage) -> None:
    page = open_page(LONG)
    simulate = page.get_by_role("button", name="Simulate this hour")
    simulate.click()
    expect(page.get_by_text("of the requests")).to_be_visible()
    cancel(page)
    expect(page.get_by_text("stopped after").first).to_be_visible()
    expect(simulate).to_be_enabled()
    simulate.click()
    expect(page.get_by_text("of the requests")).to_be_visible()
    page.get_by_role("tab", name="Memory").click()
    expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible()
    page.get_by_role("tab", name="Simulate").click()
    cancel(page)
    expect(simulate).to_be_enabled()


@pytest.mark.slow
def test_simulations_of_several_sessions_wait_in_a_queue_while_pages_answer(browser: Browser, tmp_path: Path) -> None:
    """One of two workers simulates: another session waits behind it, a third asks the same, a fourth has a plan."""
    with running_dashboard(tmp_path, environment={"SIZING_WORKERS": "2"}) as dashboard:
        watch = Watch(host=urlparse(dashboard.url).hostname)
        pages: list[Page] = []

        def opened(path: str) -> Page:
            pages.append(new_page(browser, watch, width=1440, height=900, scheme="light"))
            pages[-1].goto(f"{dashboard.url}/{path}", wait_until="load")
            settle(pages[-1])
            return pages[-1]

        opened("size")
        until(lambda: sample(dashboard, 'sizing_workers{are="prepared"}') == 2.0)
        runs, same, behind = (opened(path) for path in (LONG, LONG, LONG.replace("osl=300", "osl=310")))
        for page in (runs, same, behind):
            page.get_by_role("button", name="Simulate this hour").click()
        expect(behind.get_by_text("Simulating: 1st in the queue")).to_be_visible()
        expect(runs.get_by_text("of the requests")).to_be_visible()
        expect(same.get_by_text("of the requests")).to_be_visible()
        assert sample(dashboard, "sizing_simulations_waiting") == 1.0
        assert answer(opened(HOUR))
        cancel(runs)
        expect(runs.get_by_text("Cancelled here. Somebody else waits for the same")).to_be_visible()
        expect(same.get_by_text("of the requests")).to_be_visible()
        cancel(same)
        expect(same.get_by_text("stopped after").first).to_be_visible()
        expect(behind.get_by_text("of the requests")).to_be_visible()
        cancel(behind)
        expect(behind.get_by_text("stopped after").first).to_be_visible()
        for page in pages:
            page.context.close()
        assert not watch.complaints
        assert not dashboard.bugs()


def sample(dashboard: Dashboard, name: str) -> float:
    """A figure that the process tells Prometheus."""
    lines = requests.get(f"{dashboard.url}/metrics", timeout=PATIENCE_S).text.splitlines()
    return next(float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"{name} "))


def test_a_changed_input_cancels_the_simulation_of_the_old_one(open_page: OpenPage) -> None:
    page = open_page(LONG)
    page.get_by_role("button", name="Simulate this hour").click()
    expect(page.get_by_text("of the requests")).to_be_visible()
    field, end_s = page.get_by_label("Output (tokens)", exact=True), time.monotonic() + PATIENCE_S
    while "osl=200" not in page.url and time.monotonic() < end_s:  # what is typed while it is drawn again is lost
        field.fill("200")
        field.press("Enter")
        page.wait_for_timeout(1_000)
    expect(page.get_by_text("Previous inputs: simulate again")).to_be_visible()
    expect(page.get_by_text("stopped after").first).to_be_visible()
    assert answer(page)


@pytest.mark.slow
def test_a_trace_fills_in_the_form_and_is_replayed(open_page: OpenPage) -> None:
    """Faults are named by row; a good trace gives lengths, peak and arrivals; a link names what it cannot carry."""
    page = open_page(HOUR)
    page.get_by_text("More on the workload, or from a trace").click()
    upload(page, "bad.csv", HEAD + b"1,100,10,0\n2,-5,10,0\n3,NaN,10,0\n4,100,99000000,0\n")
    first, *others = (
        "bad.csv, row 3: input_tokens must be at least 1",
        "row 4: input_tokens has no value",
        "row 5: 99,000,100 tokens",
    )
    field, said = page.get_by_test_id("stFileUploader").bounding_box(), page.get_by_text(first).bounding_box()
    assert field
    assert said
    assert 0 < said["y"] - field["y"] - field["height"] < NEAR_PX
    enter(page, "Scenario name", "Another")  # the file still lies there, and is still wrong
    for fault in (first, *others):
        expect(page.get_by_text(fault)).to_be_visible()
    upload(page, "good.csv", rows(600))
    expect(page.get_by_text("Trace in use")).to_be_visible()
    expect(page.get_by_label("Prompt (tokens)", exact=True)).to_have_value("800")
    expect(page.get_by_label("Peak load (requests/s)", exact=True)).to_have_value(re.compile(r"2\.0\d*"))
    page.get_by_role("button", name="Simulate: replay the trace").click()
    expect(page.get_by_text("600 requests of good.csv")).to_be_visible()
    settle(page)
    address = page.url
    assert parse_qs(urlparse(address).query)["trace"] == ["good.csv"]
    opened = open_page(address.split("/", 3)[3])
    expect(opened.get_by_text("made with the trace good.csv, which a link cannot carry")).to_be_visible()
    page.get_by_role("button", name="Remove the trace").click()
    settle(page)
    assert "trace" not in parse_qs(urlparse(page.url).query)


@pytest.mark.slow
def test_a_day_is_planned_from_its_hours(open_page: OpenPage) -> None:
    page = open_page(DAY)
    expect(page.get_by_text("of the instance hours")).to_be_visible()
    settle(page)
    assert int(figure(page, "Burst (instances)")) > 0
    page.get_by_text("More on the workload").first.click()
    settle(page)
    enter(page, "Load by hour", "3 " * 23 + "4")
    expect(page.get_by_text("Assumed: a working day")).not_to_be_visible()
    settle(page)
    assert int(figure(page, "Base (instances)")) > 1
    assert parse_qs(urlparse(page.url).query)["profile"] == ["3 " * 23 + "4"]
    page.get_by_text("Hour by hour").click()
    settle(page)
    expect(page.get_by_test_id("stDataFrame").last).to_be_visible()


@pytest.mark.slow
def test_a_link_says_what_it_could_not_carry(open_page: OpenPage) -> None:
    page = open_page("size?mode=Nonsense&gpu=Abacus&gpu=H100+SXM5+80GB&is1=5")
    for said in (
        "“Nonsense” is not one of the options",
        "“Abacus” is not one of the options",
        "“is1” is no input; did it mean isl",
    ):
        expect(page.get_by_text(said)).to_be_visible()
    enter(page, "Prompt (tokens)", "1234")
    expect(page.get_by_text("is not one of the options")).to_have_count(0)
