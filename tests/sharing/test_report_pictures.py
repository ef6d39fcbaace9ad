"""Pages and slides as a reader sees them: drawn to pictures, compared with those that were looked at, and filled."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from PIL import Image, ImageChops, ImageStat

from sharing.formats.brand import Brand
from sharing.formats.pdf import write as to_pdf
from sharing.formats.slides import write as to_slides
from tests.sharing.office import pictures
from tests.sharing.report_cases import source
from tests.sharing.report_example import report

SEEN = Path(__file__).parent / "pictures"
"""Contact sheets of the report that is written by hand, looked at by a person and kept."""

DPI, PAGES_IN_A_ROW, EDGE = 24, 4, 2
DIFFERENCE = {".pdf": 4.0, ".pptx": 12.0}
"""Mean difference of grey values, of 255, below which two pages look alike. Chosen: between what other versions of
poppler and other fonts of slides make of one page, and what a table that moved by a line makes."""

PART = 280
"""Height of what is compared at a time, in pixels: about a row of pages."""

PAPER = 235
"""Grey value below which something is drawn."""
FOOT, FILLED = 0.93, 0.55
"""Share of the height at which the foot of a page stands, and down to which a page is filled at least."""


def by_hand() -> SimpleNamespace:
    """What a file of the report that is written by hand is made from."""
    return SimpleNamespace(report=report(), brand=Brand(name="Example Systems"), customer_logo=b"")


def sheet(pages: list[Image.Image]) -> Image.Image:
    """The pages beside and below each other."""
    width, height = pages[0].width + EDGE, pages[0].height + EDGE
    rows = -(-len(pages) // PAGES_IN_A_ROW)
    whole = Image.new("L", (PAGES_IN_A_ROW * width, rows * height), 128)
    for number, page in enumerate(pages):
        whole.paste(page, (number % PAGES_IN_A_ROW * width, number // PAGES_IN_A_ROW * height))
    return whole


def drawn_to(page: Image.Image) -> float:
    """Share of the height of a page down to which something is drawn above its foot."""
    body = page.crop((0, 0, page.width, int(page.height * FOOT)))
    box = body.point(lambda grey: 255 if grey < PAPER else 0).getbbox()
    return box[3] / page.height if box else 0.0


@pytest.mark.parametrize(("suffix", "write"), [(".pdf", to_pdf), (".pptx", to_slides)])
def test_a_report_looks_as_it_was_looked_at(suffix: str, write, tmp_path: Path, renew_golden: bool) -> None:
    now, file = sheet(pictures(write(by_hand()), suffix, tmp_path, dpi=DPI)), SEEN / f"report{suffix}.png"
    if renew_golden:
        SEEN.mkdir(exist_ok=True)
        now.save(file, optimize=True)
    with Image.open(file) as kept:
        seen = kept.convert("L")
    assert now.size == seen.size, "another number of pages: look at them, then renew with --renew-golden"
    for top in range(0, seen.height, PART):
        part = (0, top, seen.width, min(top + PART, seen.height))
        difference = ImageStat.Stat(ImageChops.difference(now.crop(part), seen.crop(part))).mean[0]
        assert difference < DIFFERENCE[suffix], f"from {top} pixels on: look at it, then renew with --renew-golden"


def test_a_page_that_moved_is_noticed(tmp_path: Path) -> None:
    first, *others = pictures(to_pdf(by_hand()), ".pdf", tmp_path, dpi=DPI)
    moved = ImageChops.offset(first, 0, 6)
    assert ImageStat.Stat(ImageChops.difference(first, moved)).mean[0] > DIFFERENCE[".pdf"]
    assert others


@pytest.mark.parametrize("name", ["chat", "pools"])
def test_every_page_is_filled(name: str, tmp_path: Path) -> None:
    pages = pictures(to_pdf(source(name)), ".pdf", tmp_path, dpi=DPI)
    empty = {n: round(drawn_to(page), 2) for n, page in enumerate(pages[:-1], start=1) if drawn_to(page) < FILLED}
    assert not empty
