"""What a user does on the pages, and what they read there."""

import re

from playwright.sync_api import Page, expect

from tests.e2e.browser import settle

BACKGROUND = "getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor"


def enter(page: Page, label: str, text: str) -> None:
    """Type into the field of that label and leave it, as a person does."""
    field = page.get_by_label(label, exact=True)
    field.fill(text)
    field.press("Enter")
    settle(page)


def choose(page: Page, label: str, option: str, *, listed: bool = True) -> None:
    """Search a dropdown for an option and take it; one that is not listed is typed and confirmed."""
    box = page.get_by_role("combobox", name=label).first
    box.click()
    box.fill(option)
    if listed:
        page.get_by_role("option", name=option, exact=True).first.click()
    else:
        page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    settle(page)


def pick(page: Page, option: str) -> None:
    """Click an option of a segmented control."""
    page.get_by_test_id("stRadio").get_by_text(option, exact=True).first.click()
    settle(page)


def answer(page: Page) -> str:
    """The answer sentence; "" when there is none."""
    headline = page.get_by_test_id("stMain").locator("h2")
    return _read(headline.first.inner_text()) if headline.count() else ""


def said(page: Page, pattern: str) -> str:
    """The first text of the page with this pattern."""
    text = page.get_by_test_id("stMarkdown").filter(has_text=re.compile(pattern)).first
    expect(text).to_be_visible()
    return _read(text.inner_text())


def _read(text: str) -> str:
    """Text with spaces that break or not alike."""
    return " ".join(text.split())


def figure(page: Page, label: str) -> str:
    """The value of one key figure."""
    metric = page.get_by_test_id("stMetric").filter(has=page.get_by_text(label, exact=True)).first
    return metric.get_by_test_id("stMetricValue").inner_text().strip()


def background(page: Page) -> str:
    """The colour behind the page."""
    return str(page.evaluate(f"() => {BACKGROUND}"))
