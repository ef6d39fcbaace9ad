"""``python -m tests.tools.screens [PATH...] [--out DIR]``: photograph pages of the dashboard.

Without paths, every page. Each is taken light and dark, wide and narrow, in full length; the four stand side by side on
one sheet. Prints what the browser complained about. Look at the sheets.
"""

import argparse
import re
import tempfile
from pathlib import Path
from urllib.parse import urlparse

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from tests.e2e.browser import CHROMIUM_ARGS, Scheme, Watch, find_chromium, new_page, settle, sideways_px
from tests.e2e.dashboard import ROOT, running_dashboard

WIDTHS = {"wide": 1440, "narrow": 390}
FIRST_HEIGHT = 900
MAX_HEIGHT = 6000
GAP = 20
# Streamlit scrolls inside its main block: the window must be as tall as what is in it.
CONTENT_HEIGHT = (
    "() => Math.max(...[...document.querySelectorAll('[data-testid=stMain], section')].map(e => e.scrollHeight))"
)


def photograph(browser: Browser, url: str, picture: Path, *, width: int, scheme: Scheme) -> list[str]:
    """Write one picture of the page at ``url`` and return what is wrong with it."""
    watch = Watch(host=urlparse(url).hostname)
    page = new_page(browser, watch, width=width, height=FIRST_HEIGHT, scheme=scheme)
    page.goto(url, wait_until="load")
    settle(page)
    height = page.evaluate(CONTENT_HEIGHT)
    page.set_viewport_size({"width": width, "height": min(max(height, FIRST_HEIGHT), MAX_HEIGHT)})
    settle(page)
    page.screenshot(path=str(picture))
    faults = sorted(set(watch.complaints))
    faults += [f"exception: {box.inner_text()[:200]}" for box in page.locator("[data-testid=stException]").all()]
    if (overflow := sideways_px(page)) > 1:
        faults.append(f"overflows sideways by {overflow} px")
    page.context.close()
    return faults


def contact_sheet(pictures: list[Path], sheet: Path) -> None:
    """Put the pictures side by side, top-aligned."""
    images = [Image.open(picture) for picture in pictures]
    width = sum(image.width for image in images) + GAP * (len(images) - 1)
    canvas = Image.new("RGB", (width, max(image.height for image in images)), "#888888")
    left = 0
    for image in images:
        canvas.paste(image, (left, 0))
        left += image.width + GAP
    canvas.save(sheet)


def take(browser: Browser, base: str, path: str, out: Path) -> None:
    """All views of one page, their sheet, and their faults on standard output."""
    slug, _, query = path.strip("/").partition("?")
    name = slug or "home"
    stem = re.sub(r"[^a-z0-9]+", "-", f"{name} {query}".lower()).strip("-")
    # Streamlit knows its first page by the bare address only.
    address = f"{base}/{'' if name == 'home' else name}" + (f"?{query}" if query else "")
    pictures = []
    for scheme in ("light", "dark"):
        for size, width in WIDTHS.items():
            picture = out / f"{stem}-{size}-{scheme}.png"
            for fault in photograph(browser, address, picture, width=width, scheme=scheme):
                print(f"{picture.name}: {fault}")
            pictures.append(picture)
    sheet = out / f"{stem}-sheet.png"
    contact_sheet(pictures, sheet)
    print(sheet)


def main() -> None:
    """Start the dashboard, photograph, stop it."""
    parser = argparse.ArgumentParser(description="Photograph pages of the dashboard.")
    parser.add_argument("path", nargs="*", help="page with or without a query, such as 'size?isl=3500'; all by default")
    parser.add_argument("--out", type=Path, default=ROOT / "screens")
    arguments = parser.parse_args()
    chromium = find_chromium()
    if chromium is None:
        parser.exit(2, "No Chromium or Chrome found.\n")
    arguments.out.mkdir(parents=True, exist_ok=True)
    paths = arguments.path or sorted(page.stem for page in (ROOT / "pages").glob("[!_]*.py"))
    with (
        tempfile.TemporaryDirectory() as home,
        running_dashboard(Path(home)) as dashboard,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGS)
        for path in paths:
            take(browser, dashboard.url, path, arguments.out)
        browser.close()


if __name__ == "__main__":
    main()
