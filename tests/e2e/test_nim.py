"""NIM beside open source, in a real browser: needs and cost of both, what is told of both, and the table as a file."""

import csv
import re
from pathlib import Path

from playwright.sync_api import expect

from tests.e2e.browser import sideways_px
from tests.e2e.conftest import OpenPage
from tests.e2e.test_accessibility import findings

INPUTS = "isl=3500&osl=500&gpu=H100+SXM5+80GB"


def test_nim_stands_beside_open_source(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page(f"compare?{INPUTS}&compare_view=NIM")
    told = page.get_by_test_id("stMain")
    expect(told).to_contain_text(re.compile(r"NIM [\d.]+ is vLLM [\d.]+ in a container"))
    expect(told).to_contain_text(re.compile(r"With NVIDIA AI Enterprise .+ a month more"))
    expect(told).to_contain_text("Profiles: listed profiles of the model")
    assert sideways_px(page) <= 2
    assert findings(page) == []
    with page.expect_download() as download:
        page.get_by_test_id("stDownloadButton").get_by_role("button", name="CSV: NIM beside open source").click()
    path = tmp_path / "nim.csv"
    download.value.save_as(path)
    with path.open(newline="") as file:
        rows = {row["Served by"]: row for row in csv.DictReader(file)}
    free, licensed, _ = (float(row["All costs (USD a month)"]) for row in rows.values())
    assert len(rows) == 3
    assert licensed > free, "the licence is what differs on the same hardware"
