"""Reports exported from a page: each file opened by a program of its kind, its sums checked against that page."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from sizing.base.format import usd
from tests.e2e import report_files
from tests.e2e.browser import settle
from tests.e2e.conftest import OpenPage
from tests.e2e.report_files import Read, number, one_line

LABELS = {".html": "Web page", ".pdf": "PDF", ".xlsx": "Excel", ".pptx": "PowerPoint", ".md": "Markdown"}
PARTS, MONTHS, WAYS = "A month, part by part: own systems", "Cost over 36 months", "Ways to pay"
POPOVER = "stPopoverBody"
EXACT, WHOLE = 1e-6, 0.5
"""How far an amount may be from the engine's."""


def exported(page: Page, suffix: str, folder: Path) -> Path:
    """The file that the browser saves."""
    box = page.get_by_test_id(POPOVER)
    box.get_by_role("combobox", name="Format").click()
    page.get_by_role("option").filter(has_text=LABELS[suffix]).first.click()
    settle(page)
    box.get_by_role("button", name="Build", exact=True).click()
    settle(page)
    with page.expect_download() as download:
        box.get_by_test_id("stDownloadButton").get_by_role("button", name=f"Chat-of-Acme{suffix}").click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    assert path.suffix == suffix
    return path


def sums(read: Read, off: float) -> float:
    """Parts of the cost come to their total, which is returned, and years to 36 months, within what rounding leaves of
    each amount: ``off``."""
    parts = {str(row[0]): number(row[1]) for row in read.tables[PARTS] if row[0] != "Part"}
    total = parts.pop("All parts")
    assert len(parts) > 1
    assert sum(parts.values()) == pytest.approx(total, abs=off * (len(parts) + 1))
    *years, whole = (list(map(number, row[1:])) for row in read.tables[MONTHS] if row[0] != "Period")
    for each, of_all in zip(zip(*years, strict=True), whole, strict=True):
        assert len(each) == 3
        assert sum(each) == pytest.approx(of_all, abs=off * 4)
    assert whole[0] == pytest.approx(36 * total, abs=off * 37)  # the load of this scenario does not grow
    return total


def same(read: Read, answer: str, money: str) -> None:
    """The file says what the page says, and the GPUs that are paid are those that are bought."""
    assert answer in read.text
    assert money in read.text
    bought = re.search(r"\((\d+) x ", answer)
    assert bought
    assert f"Own systems for {bought[1]} GPUs" in money


@pytest.mark.slow
def test_each_export_opens_and_its_sums_are_those_of_the_page(
    open_page: OpenPage, browser: Browser, tmp_path: Path
) -> None:
    page = open_page("cost?name=Chat+of+Acme&gpu=h100_sxm")
    answer = one_line(page.locator("h2").first.inner_text())
    money = one_line(page.get_by_test_id("stMarkdown").filter(has_text="Own systems for").first.inner_text())
    page.get_by_role("button", name="Export", exact=True).first.click()
    settle(page)
    files = {suffix: exported(page, suffix, tmp_path) for suffix in LABELS}
    read = {
        ".html": report_files.html(files[".html"], browser),
        ".pdf": report_files.pdf(files[".pdf"], (PARTS, MONTHS)),
        ".xlsx": report_files.xlsx(files[".xlsx"]),
        ".md": report_files.markdown(files[".md"]),
    }
    # Cells of the workbook hold what the engine says; elsewhere amounts are whole.
    totals = {suffix: sums(one, EXACT if suffix == ".xlsx" else WHOLE) for suffix, one in read.items()}
    assert {suffix: total for suffix, total in totals.items() if suffix != ".xlsx"} == dict.fromkeys(
        (".html", ".pdf", ".md"), round(totals[".xlsx"])
    )
    assert usd(totals[".xlsx"]) in money
    calculated(read[".xlsx"], totals[".xlsx"])
    slides, charts = report_files.pptx(files[".pptx"])
    for one in (*read.values(), slides):
        same(one, answer, money)
    drawn(charts, read[".xlsx"])


def calculated(read: Read, total: float) -> None:
    """The formulas of the workbook come to what its chapters say."""
    rows = dict(row[:2] for row in read.tables["Own systems: HGX H100 4-GPU OEM server"])
    assert rows.pop("Together") == pytest.approx(total)
    assert sum(value for value in rows.values() if not isinstance(value, str)) == pytest.approx(total)
    _, *months, last = next(rows for rows in read.tables.values() if rows and rows[0][0] == "Month")
    assert (len(months), last[0]) == (36, "Sum")
    assert sum(number(row[5]) for row in months) == pytest.approx(36 * total)


def drawn(charts: dict[str, dict[str, list[float]]], read: Read) -> None:
    """The data of native charts are the figures of the workbook."""
    ways = {str(row[0]): row[1] for row in read.tables[WAYS] if not isinstance(row[1], str)}
    bars = [sum(parts) for parts in zip(*charts["The same capacity in every way to pay"].values(), strict=True)]
    assert bars == pytest.approx(list(ways.values()))
    *_, whole = read.tables[MONTHS]
    assert [sum(line) for line in charts["Cost of each month"].values()] == pytest.approx(list(whole[1:]))
