"""``python -m tests.tools.story [--out DIR]``: the journey of docs/STORY.md, photographed in docs/images.

An architect beside a customer, light, in a wide window and on a phone: question, answer, reasons, comparison, cost, a
link for the customer, and what runs against what was planned. Look at the pictures.
"""

import argparse
import io
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urlencode, urlparse

from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.e2e.browser import CHROMIUM_ARGS, Watch, find_chromium, new_page, settle
from tests.e2e.dashboard import ROOT, running_dashboard
from tests.patience import PATIENCE_MS

OUT = ROOT / "docs" / "images"
COLOURS = 128
"""The most colours of a picture. Chosen: pages have few colours, and a picture is then a quarter as large."""
SIZES = {"wide": (1440, 1000), "phone": (390, 1000)}
QUESTION = urlencode(
    {
        "name": "Support chat, 5,000 employees",
        "model": "llama 3.3 70b",
        "isl": "3000",
        "osl": "300",
        "load": "users",
        "users": "5000",
        "ttft": "2s",
        "where": "on-premises",
    }
)


def _stay(page: Page) -> None:
    """The page as it opens."""


def _tab(name: str, page: Page) -> None:
    tab = page.get_by_role("tab", name=name, exact=True)
    tab.click()
    settle(page)
    tab.evaluate("tab => tab.scrollIntoView({block: 'start'})")


UNREAD = re.compile("for the first time|as soon as the source has answered|when the source has answered")
"""What pages say as long as a part of them waits for its source."""


def _read(page: Page) -> None:
    """Once the demo deployment, whose hours are simulated when it is first read, has been read."""
    expect(page.get_by_text(UNREAD)).to_have_count(0, timeout=PATIENCE_MS)
    settle(page)


def _diagnosed(page: Page) -> None:
    """Once it is read, and the diagnosis above has come."""
    _read(page)
    expect(page.get_by_text("the diagnosis appears then")).to_have_count(0, timeout=PATIENCE_MS)
    settle(page)


def _saved_and_frozen(page: Page) -> None:
    """Save the scenario, then make a frozen link to it."""
    page.get_by_role("button", name="Share", exact=True).click()
    settle(page)
    page.get_by_test_id("stPopoverBody").get_by_role("button", name="Save", exact=True).click()
    settle(page)
    page.get_by_role("button", name="Make a frozen link").click()
    page.get_by_text("Copy it now").wait_for()
    settle(page)


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A step of the journey: the page of it, and what is done there."""

    name: str
    path: str
    act: Callable[[Page], None] = _stay


JOURNEY = (
    Picture(name="1-home", path="home"),
    Picture(name="2-answer", path=f"size?{QUESTION}"),
    Picture(name="3-why", path=f"size?{QUESTION}", act=partial(_tab, "Why")),
    Picture(name="4-explore", path=f"explore?{QUESTION}"),
    Picture(name="5-compare", path=f"compare?{QUESTION}"),
    Picture(name="6-cost", path=f"cost?{QUESTION}"),
    Picture(name="7-share", path=f"size?{QUESTION}", act=_saved_and_frozen),
    Picture(name="9-live", path="live", act=_read),
    Picture(name="10-reality", path="reality", act=_diagnosed),
)
CUSTOMER = "8-customer"
"""The page behind the frozen link that step 7 has made, in a browser of its own."""


def photograph(browser: Browser, url: str, picture: Picture, out: Path, size: str) -> Page:
    """Go there, act, and write the picture."""
    width, height = SIZES[size]
    page = new_page(browser, Watch(host=urlparse(url).hostname), width=width, height=height, scheme="light")
    page.goto(f"{url}/{picture.path}", wait_until="load")
    settle(page)
    picture.act(page)
    image = Image.open(io.BytesIO(page.screenshot()))
    image.convert("RGB").quantize(COLOURS).save(out / f"story-{picture.name}-{size}.png", optimize=True)
    return page


def tell(browser: Browser, url: str, out: Path, size: str) -> None:
    """Every step in one size of window."""
    for picture in JOURNEY:
        page = photograph(browser, url, picture, out, size)
        links = page.get_by_test_id("stPopoverBody").get_by_test_id("stCode").all_inner_texts()
        page.context.close()
        for path in (link.strip().partition(f"{url}/")[2] for link in links if "shared?token=" in link):
            photograph(browser, url, Picture(name=CUSTOMER, path=path), out, size).context.close()


def main() -> None:
    """Start the dashboard with a library of its own, photograph, stop it."""
    parser = argparse.ArgumentParser(description="Photograph the journey of docs/STORY.md.")
    parser.add_argument("--out", type=Path, default=OUT)
    out = parser.parse_args().out
    chromium = find_chromium()
    if chromium is None:
        parser.exit(2, "No Chromium or Chrome found.\n")
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        own = {"SHARING_DATABASE": str(Path(home) / "library.sqlite")}
        with running_dashboard(Path(home), environment=own) as dashboard, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGS)
            for size in SIZES:
                tell(browser, dashboard.url, out, size)
            browser.close()


if __name__ == "__main__":
    main()
