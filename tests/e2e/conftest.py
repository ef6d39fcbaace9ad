"""Fixtures for journeys through the real dashboard in a real browser.

A journey asks for ``open_page``::

    def test_answer_is_shown(open_page):
        page = open_page("size?isl=3500", width=390, scheme="dark")
        assert ...

and fails at its end when a page it opened shows an exception, logged an error, missed a resource or called another
host. A failure leaves a picture of each page in the test's own temporary folder.
"""

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Literal, Protocol
from urllib.parse import urlparse

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.e2e.browser import CHROMIUM_ARGS, Watch, find_chromium, new_page, settle
from tests.e2e.dashboard import Dashboard, running_dashboard

HERE = Path(__file__).parent


class OpenPage(Protocol):
    """Opens a path of the dashboard in a fresh browser session and waits until it is drawn."""

    def __call__(
        self, path: str = "", *, width: int = 1440, height: int = 900, scheme: Literal["light", "dark"] = "light"
    ) -> Page: ...


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.e2e)
    # Begun first: journeys take longest, and while they wait another process uses the core.
    items.sort(key=lambda item: not item.path.is_relative_to(HERE))


FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    return report


@pytest.fixture(scope="session")
def chromium_path() -> str:
    path = find_chromium()
    if path is None:
        pytest.skip("no Chromium or Chrome found; Debian: apt-get install chromium, macOS: brew install google-chrome")
    return path


@pytest.fixture(scope="session")
def browser(chromium_path: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=chromium_path, args=CHROMIUM_ARGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def dashboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    with running_dashboard(tmp_path_factory.mktemp("home")) as running:
        yield running
        assert not running.bugs(), f"The dashboard logged a traceback:\n{running.bugs()}"


@pytest.fixture
def open_page(
    dashboard: Dashboard, browser: Browser, request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[OpenPage]:
    watch = Watch(host=urlparse(dashboard.url).hostname)
    pages: list[Page] = []

    def open_path(
        path: str = "", *, width: int = 1440, height: int = 900, scheme: Literal["light", "dark"] = "light"
    ) -> Page:
        page = new_page(browser, watch, width=width, height=height, scheme=scheme)
        pages.append(page)
        page.goto(f"{dashboard.url}/{path.lstrip('/')}", wait_until="load")
        settle(page)
        return page

    yield open_path
    for number, page in enumerate(pages):
        if request.node.stash[FAILED]:
            page.screenshot(path=str(tmp_path / f"page-{number}.png"))
        for box in page.get_by_test_id("stException").all():
            watch.complaints.append(f"exception on the page: {box.inner_text()[:300]}")
        page.context.close()
    assert not watch.complaints, "The browser complained:\n" + "\n".join(watch.complaints)


@pytest.fixture
def page(open_page: OpenPage) -> Page:
    return open_page()
