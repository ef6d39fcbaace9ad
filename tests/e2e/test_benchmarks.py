"""From a real vLLM result file to a scenario that is sized with it, in a real browser."""

from pathlib import Path
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.browser import settle, sideways_px
from tests.e2e.conftest import OpenPage

SAMPLES = Path(__file__).parents[1] / "collectors" / "benchmarks" / "samples"
SCREENS = [(1440, "light"), pytest.param(390, "dark", marks=pytest.mark.slow)]
VLLM = sorted((SAMPLES / "vllm").glob("bench_rate*.json"))


def drop(page: Page, *files: Path) -> None:
    """Give result files to the page, as dropping them does."""
    page.get_by_test_id("stFileUploader").locator("input[type=file]").set_input_files([str(f) for f in files])
    settle(page)


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), SCREENS)
def test_a_real_vllm_benchmark_calibrates_the_scenario(open_page: OpenPage, width: int, scheme: str) -> None:
    # High enough for the form: a list that opens while the page scrolls closes again.
    page = open_page("benchmarks", width=width, height=3000, scheme=scheme)
    drop(page, *VLLM)
    main = page.get_by_test_id("stMain")
    expect(main).to_contain_text("Read 8 runs in 2 curves (vLLM bench serve).")
    expect(page.get_by_test_id("stDataFrame").first).to_be_visible()
    expect(main).to_contain_text("The file says model “tiny-llama”, which is not known here")
    expect(main).not_to_contain_text("Predicted against measured")
    page.get_by_role("combobox", name="Model", exact=False).click()
    page.get_by_role("option", name="Scenario:", exact=False).click()
    settle(page)
    expect(main).to_contain_text("Predicted against measured")
    assert sideways_px(page) <= 2
    page.get_by_role("button", name="Use for this scenario").click()
    settle(page)
    expect(main).to_contain_text("In use: Size calibrates exactly this deployment with it.")
    page.get_by_role("link", name="Back to Size").click()
    settle(page)
    assert urlparse(page.url).path == "/size"
    asked = parse_qs(urlparse(page.url).query)
    assert "benchmark" not in asked
    assert asked["given"] == ["benchmark"], "the address names what it leaves behind"
    expect(main).to_contain_text("Measured benchmark in use")
    page.get_by_role("button", name="Only this deployment").click()
    settle(page)
    page.get_by_role("tab", name="Why").click()
    settle(page)
    expect(main).to_contain_text("Step times from: measured benchmark vLLM bench serve of 2026-11-20")
    expect(main).to_contain_text("Nearest measurements: your own benchmark, then published ones")
    page.get_by_role("button", name="Remove", exact=True).click()
    settle(page)
    expect(main).not_to_contain_text("Measured benchmark in use")


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), SCREENS)
def test_the_evidence_library_is_searched(open_page: OpenPage, width: int, scheme: str) -> None:
    page = open_page("benchmarks?bench=Evidence+library", width=width, scheme=scheme)
    main = page.get_by_test_id("stMain")
    expect(main).to_contain_text("10,235 published measurements")
    page.get_by_test_id("stRadio").get_by_text("Nearest to this scenario", exact=True).click()
    settle(page)
    expect(main).to_contain_text("nearest first")
    expect(main).to_contain_text("100 measurements found")
    assert sideways_px(page) <= 2


def test_a_file_that_is_no_result_is_one_sentence(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page("benchmarks")
    stranger = tmp_path / "server.log"
    stranger.write_text("INFO started\n", encoding="utf-8")
    drop(page, stranger)
    alert = page.get_by_test_id("stAlert")
    expect(alert).to_have_count(1)
    expect(alert).to_contain_text("server.log is not the result of a benchmark tool known here")


@pytest.mark.slow
def test_good_rows_survive_bad_ones(open_page: OpenPage) -> None:
    page = open_page("benchmarks")
    drop(page, SAMPLES / "made_up" / "own.csv")
    main = page.get_by_test_id("stMain")
    expect(main).to_contain_text("Read 2 runs in 2 curves (own CSV).")
    expect(main).to_contain_text("2 rows or files left out")
