"""What a user does, in a real browser: the two customer cases, links, themes, the phone, the keyboard."""

from pathlib import Path
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.acting import answer, background, choose, enter, figure, pick
from tests.e2e.browser import Watch, new_page, settle, sideways_px
from tests.e2e.conftest import OpenPage
from tests.e2e.dashboard import ROOT, running_dashboard
from ui.access import OPEN_TO_ALL

FURTHER = [pytest.param(path, "dark", marks=pytest.mark.slow) for path in ("benchmarks", "methodology")]
"""Pages without wide content beside the first; Size: test_accessibility.py."""
LINK = "size?isl=3500&osl=500&rps=31&gpu=H100+SXM5+80GB&gpu=H200+SXM+141GB&name=Deep+link&ttft=3000&itl="


def measure(page: Page, *, rps: str, ttft: str, itl: str) -> None:
    """Fill in what one DGX H100 did."""
    page.get_by_text("Use a measured record").click()
    settle(page)
    choose(page, "Measured system", "DGX H100")
    enter(page, "Measured requests/s (per system)", rps)
    enter(page, "TTFT (ms)", ttft)
    enter(page, "ITL (ms)", itl)


def test_customer_case_1_is_answered_from_six_questions(open_page: OpenPage) -> None:
    """NeMo 43B, 3500/500, 31 requests/s, first token within 3 s, DGX H100 measured: 13 systems."""
    page = open_page("size")
    pick(page, "Size")
    enter(page, "Model name", "NeMo 43B GPT")
    enter(page, "Size (billions)", "43")
    enter(page, "Prompt (tokens)", "3,500")
    enter(page, "Output (tokens)", "500")
    enter(page, "Peak load (requests/s)", "31")
    enter(page, "TTFT limit (ms)", "3 s")
    enter(page, "ITL limit (ms)", "")
    choose(page, "GPUs considered", "H100 SXM5 80GB")
    measure(page, rps="2.4", ttft="2606", itl="21.4")
    assert figure(page, "Systems") == "13"
    assert answer(page).startswith("13 x DGX H100")
    assert "31 requests/s" in answer(page)


@pytest.mark.slow
def test_customer_case_4_is_answered_from_six_questions(open_page: OpenPage) -> None:
    """Llama 3 8B, 2000/200, first token within 500 ms: a DGX H100 serves 2.04 M requests and 679 k users a day."""
    page = open_page("size")
    choose(page, "Model", "meta-llama/Meta-Llama-3-8B-Instruct", listed=False)
    enter(page, "Prompt (tokens)", "2000")
    enter(page, "Output (tokens)", "200")
    enter(page, "Peak load (requests/s)", "70.7")
    enter(page, "TTFT limit (ms)", "500")
    choose(page, "GPUs considered", "H100 SXM5 80GB")
    measure(page, rps="70.7", ttft="489.5", itl="29.9")
    assert figure(page, "Systems") == "1"
    assert figure(page, "Requests a day") == "2.04M"
    assert figure(page, "Daily users") == "679k"


@pytest.mark.slow
def test_cold_deep_link_on_a_fresh_server_is_filled_in(browser: Browser, tmp_path: Path) -> None:
    """The first request to a server is a link to Size: navigation, settings and every parameter are there."""
    with running_dashboard(tmp_path, cold=True) as fresh:
        watch = Watch(host=urlparse(fresh.url).hostname)
        page = new_page(browser, watch, width=1440, height=900, scheme="light")
        page.goto(f"{fresh.url}/{LINK}", wait_until="load")
        settle(page)
        expect(page.get_by_label("Prompt (tokens)", exact=True)).to_have_value("3500")
        expect(page.get_by_label("ITL limit (ms)", exact=True)).to_have_value("")
        links = page.get_by_test_id("stSidebar").get_by_role("link")
        expect(links).to_have_count(len({page.stem for page in (ROOT / "pages").glob("[!_]*.py")} - OPEN_TO_ALL))
        expect(page.get_by_test_id("stMultiSelect").first).to_contain_text("H200 SXM 141GB")
        assert "Deep link" in page.get_by_test_id("stMain").inner_text()
        assert answer(page)
        parameters = parse_qs(urlparse(page.url).query, keep_blank_values=True)
        assert parameters["gpu"] == ["H100 SXM5 80GB", "H200 SXM 141GB"]
        assert "goto" not in parameters
        assert urlparse(page.url).path == "/size"
        page.context.close()
        assert not fresh.bugs()
        assert not watch.complaints


def test_typing_changes_the_address_and_the_address_gives_the_same_page(open_page: OpenPage) -> None:
    page = open_page("size")
    enter(page, "Prompt (tokens)", "1234")
    choose(page, "GPUs considered", "H200 SXM 141GB")
    before = answer(page)
    parameters = parse_qs(urlparse(page.url).query)
    assert parameters == {"v": ["2"], "isl": ["1234"], "gpu": ["H200 SXM 141GB"]}
    assert answer(open_page(page.url.split("/", 3)[3])) == before


def test_preset_card_opens_size_filled_in(page: Page) -> None:
    page.get_by_role("button", name="Size RAG", exact=True).click()
    settle(page)
    assert urlparse(page.url).path == "/size"
    expect(page.get_by_label("Prompt (tokens)", exact=True)).to_have_value("3500")
    assert "RAG assistant" in page.get_by_test_id("stMain").inner_text()
    assert parse_qs(urlparse(page.url).query)["isl"] == ["3500"]


def test_bad_input_keeps_the_last_answer(open_page: OpenPage) -> None:
    page = open_page("size")
    before = answer(page)
    for bad in ("abc", ""):  # the others without a browser: tests/app/test_bad_input.py
        enter(page, "Prompt (tokens)", bad)
        expect(page.get_by_test_id("stAlert").first).to_contain_text("Prompt length")
        assert answer(page) == before
        expect(page.get_by_text("Below is the last answer that held")).to_be_visible()


def theme_follows_the_switch(page: Page) -> None:
    light = background(page)
    page.get_by_test_id("stMainMenu").click()
    page.get_by_role("option", name="Dark").or_(page.get_by_role("menuitemradio", name="Dark")).or_(
        page.get_by_text("Dark", exact=True)
    ).first.click()
    page.keyboard.press("Escape")
    settle(page)
    assert background(page) != light
    assert answer(page)


@pytest.mark.parametrize(("path", "scheme"), [("", "light"), *FURTHER])
def test_phone_shows_everything_without_sideways_scrolling(open_page: OpenPage, path: str, scheme: str) -> None:
    page = open_page(path, width=390, height=844, scheme=scheme)
    assert sideways_px(page) <= 2


def test_untouched_size_fits_the_screen_is_walked_by_keyboard_and_follows_the_theme(open_page: OpenPage) -> None:
    page = open_page("size", width=1440, height=900)
    answer_and_key_figures_are_on_the_first_screen(page)
    form_is_reached_by_keyboard(page)
    theme_follows_the_switch(page)


def answer_and_key_figures_are_on_the_first_screen(page: Page) -> None:
    figures = [
        page.get_by_test_id("stMetric").filter(has=page.get_by_text(label, exact=True)).first
        for label in ("GPUs", "Systems", "p95 TTFT")
    ]
    prices = [page.get_by_test_id("stMain").get_by_text(name, exact=True).first for name in ("Balanced", "Resilient")]
    for shown in (*figures, *prices):
        box = shown.bounding_box()
        assert box is not None, shown
        assert box["y"] + box["height"] < 900, shown
    questions = page.get_by_test_id("stMultiSelect").filter(has_text="GPUs considered").first.bounding_box()
    assert questions["y"] + questions["height"] < 900, "the six questions fit on the first screen"


def form_is_reached_by_keyboard(page: Page) -> None:
    reached: list[str] = []
    page.get_by_label("Prompt (tokens)", exact=True).focus()
    for _ in range(30):
        reached.append(page.evaluate("() => document.activeElement.getAttribute('aria-label') || ''"))
        page.keyboard.press("Tab")
    for label in ("Prompt (tokens)", "Output (tokens)", "Peak load (requests/s)", "TTFT limit (ms)", "ITL limit (ms)"):
        assert label in reached, reached
    assert [r for r in reached if r.endswith(")")] == sorted(
        [r for r in reached if r.endswith(")")], key=reached.index
    ), "in the order of the form"


@pytest.mark.slow
def test_fix_of_an_unmeetable_limit_is_one_click(open_page: OpenPage) -> None:
    page = open_page("size?ttft=1")
    expect(page.get_by_text("Smallest changes that would make it fit")).to_be_visible()
    page.get_by_role("button", name="TTFT limit of").first.click()
    settle(page)
    assert answer(page)
