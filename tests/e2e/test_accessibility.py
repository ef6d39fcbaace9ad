"""What people with a screen reader, poor sight, a phone or a zoomed window meet, in a real browser."""

from collections import Counter
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.acting import BACKGROUND, answer, background
from tests.e2e.browser import settle, sideways_px
from tests.e2e.conftest import OpenPage
from tests.e2e.dashboard import ROOT

AXE = (Path(__file__).with_name("axe") / "axe.min.js").read_text(encoding="utf-8")
OF_STREAMLIT = "[data-testid^=stSidebarNav], [data-testid=stFileUploaderDropzone], [data-testid=stMetric] svg"
"""Parts that Streamlit draws and an app cannot change: its navigation is a list with headings between the entries, the
points of a sparkline have no names (what it shows stands below in words)."""

FINDINGS = """async ([seriousness, ofStreamlit, runOnly]) =>
    (await axe.run(document, {resultTypes: ['violations'], ...(runOnly && {runOnly})})).violations
    .filter(rule => seriousness.includes(rule.impact))
    .flatMap(rule => rule.nodes.map(node => ({rule, node})))
    .filter(({node}) => !document.querySelector(node.target.join(' '))?.closest(ofStreamlit))
    .map(({rule, node}) => `${rule.id}: ${node.html.slice(0, 200)} ${[...node.any, ...node.all, ...node.none]
        .map(check => check.message).join(' ')}`)"""
BUTTONS = """() => [...document.querySelectorAll('[data-testid=stMain] button')]
    .filter(one => one.checkVisibility() && one.matches('[data-testid^=stBaseButton], [data-testid^=stPopover] *'))
    .filter(one => !one.closest('[data-testid=stElementToolbar], [data-testid=stTooltipIcon]'))
    .map(one => one.getAttribute('aria-label') || one.innerText.trim())"""

PAGES = sorted(page.stem for page in (ROOT / "pages").glob("[!_]*.py"))
FILLED = {"size": "size?gpu=H100+SXM5+80GB&gpu=H200+SXM+141GB&isl=3.000"}
"""Pages that are looked at with something in them: chosen options, a fault at a field and its buttons."""


def findings(page: Page, rules: list[str] | None = None) -> list[str]:
    """What axe calls serious or critical, by all its rules or some, without what Streamlit alone is to blame for."""
    page.evaluate(AXE)
    return list(page.evaluate(FINDINGS, [["serious", "critical"], OF_STREAMLIT, rules]))


@pytest.mark.parametrize(
    "slug", [*FILLED, *(pytest.param(page, marks=pytest.mark.slow) for page in PAGES if page not in FILLED)]
)
def test_axe_finds_nothing_serious(open_page: OpenPage, slug: str) -> None:
    page = open_page(FILLED.get(slug, slug))
    assert findings(page) == []
    alike = [name for name, count in Counter(page.evaluate(BUTTONS)).items() if count > 1]
    assert alike == [], "buttons that are read out alike"
    light = background(page)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"() => {BACKGROUND} !== '{light}'")
    settle(page)
    assert findings(page, rules=["color-contrast"]) == [], "in the dark theme"


def test_axe_finds_a_planted_fault(page: Page) -> None:
    page.evaluate("() => document.querySelector('[data-testid=stMain]').append(document.createElement('button'))")
    assert any(finding.startswith("button-name") for finding in findings(page))


def answer_stands_above_the_form(page: Page) -> None:
    answered, form = page.locator("h2").first, page.get_by_label("Prompt (tokens)", exact=True)
    expect(form).to_be_visible()
    expect(answered).to_be_visible()
    above, below = answered.bounding_box(), form.bounding_box()
    assert above["y"] + above["height"] <= below["y"]
    assert below["width"] > 100
    assert sideways_px(page) <= 2
    assert answer(page)


@pytest.mark.slow
def test_the_answer_stands_above_the_form_where_it_is_zoomed(open_page: OpenPage) -> None:
    answer_stands_above_the_form(open_page("size", width=720, height=450))  # 1440 px at 200 %


def test_a_phone_shows_the_answer_before_the_questions_and_the_figures_last(open_page: OpenPage) -> None:
    page = open_page("size", width=390, height=844, scheme="dark")
    answer_stands_above_the_form(page)
    said, asked = page.locator("h2").first.bounding_box(), page.get_by_label("Prompt (tokens)", exact=True)
    figures, questions = page.get_by_test_id("stMetric").first.bounding_box(), asked.bounding_box()
    assert said
    assert figures
    assert questions
    assert questions["y"] < figures["y"]
    assert said["y"] < 844


ANSWER_ABOVE_THE_FORM = """() => {
    const fields = document.querySelectorAll('[aria-label="Prompt (tokens)"]');
    const [answer, field] = [document.querySelector('h2'), fields[0]].map((one) => one?.getBoundingClientRect());
    return fields.length === 1 && answer?.bottom <= field.top && Math.abs(answer.left - field.left) < 100;
}"""
"""One below the other in one column. The form of the wide window stays beside the new one until the page is drawn."""


def test_a_wide_window_gives_the_answer_its_room_and_a_narrow_one_moves_it_up(open_page: OpenPage) -> None:
    page = open_page("size")
    answered, form = page.locator("h2").first, page.get_by_label("Prompt (tokens)", exact=True)
    assert (answered.bounding_box() or {"width": 0.0})["width"] > 650
    page.set_viewport_size({"width": 900, "height": 900})
    page.wait_for_function(ANSWER_ABOVE_THE_FORM)
    expect(form).to_have_value("1155")
