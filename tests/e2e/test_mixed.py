"""A mixed fleet in a real browser: opened by a link, made cheaper in the form, simulated, downloaded and priced."""

import re
import zipfile
from pathlib import Path
from urllib.parse import parse_qs, urlparse

import pytest
import yaml
from playwright.sync_api import expect

from sharing.form.fields import FIELDS
from tests.e2e.acting import choose, enter
from tests.e2e.browser import Scheme, settle, sideways_px
from tests.e2e.conftest import OpenPage
from tests.e2e.test_accessibility import findings

INPUTS = (
    "model=meta-llama/Meta-Llama-3-8B-Instruct&mixed=2&isl=500&isl95=3000&osl=200&rps=48&ttft=1000"
    "&gpu=L4+24GB&gpu=H100+SXM5+80GB&where=Cloud"
)


def test_from_the_form_to_the_cost_and_the_files_of_each_fleet(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page(f"size?{INPUTS}&view=Export")
    page.get_by_text("More assumptions").click()
    settle(page)
    # A cheap price of one's own for the small GPU makes it the cheaper for short prompts.
    choose(page, FIELDS["usd_gpu"].title, "L4 24GB")
    enter(page, FIELDS["usd_hour"].title, "0.2")
    tile = page.locator(".st-key-mixed_fleet")
    expect(tile).to_contain_text(re.compile(r"Split by prompt length, \d+ x L4 24GB .+ less than one fleet for all"))
    expect(page.get_by_role("region", name="Each fleet with its prompts, systems, latency and cost")).to_be_visible()
    assert sideways_px(page) <= 2
    assert findings(page) == []

    page.get_by_text("Downloads with my own prices").click()  # else files are of the plan at list prices
    settle(page)
    with page.expect_download() as download:
        page.get_by_test_id("stDownloadButton").get_by_role("button", name="Manifests (zip)").click()
    path = tmp_path / "manifests.zip"
    download.value.save_as(path)
    with zipfile.ZipFile(path) as archive:
        router = yaml.safe_load(archive.read("router-litellm.yaml"))
        readme = archive.read("README.md").decode()
        names = set(archive.namelist())
    assert {"fleet-1-README.md", "fleet-2-README.md"} <= names
    assert len(router["model_list"]) == 2
    assert router["model_list"][0]["model_info"]["max_input_tokens"] > 0
    assert "L4 24GB" in readme

    page.get_by_test_id("stSidebar").get_by_role("link", name="Cost").click()
    page.wait_for_url("**/cost?**")
    settle(page)
    priced = page.get_by_test_id("stMain")
    expect(priced).to_contain_text(re.compile(r"Priced is the mixed fleet: \d+ x L4 24GB .+ and \d+ x H100"))


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), pytest.param(390, "dark", marks=pytest.mark.slow)])
def test_rag_with_embedder_and_reranker(open_page: OpenPage, width: int, scheme: Scheme) -> None:
    page = open_page("home", width=width, scheme=scheme)
    page.get_by_role("button", name="RAG with reranker").first.click()
    page.wait_for_url("**/size?**")
    settle(page)
    expect(page.get_by_text("embed and rerank run on").first).to_be_visible()
    whole = page.get_by_test_id("stMarkdown").filter(has_text=re.compile("^With the language model: first token after"))
    expect(whole).to_be_visible()
    expect(page.get_by_text("Not validated: too few measurements").first).to_be_visible()
    assert sideways_px(page) <= 2
    assert findings(page) == []

    page.get_by_text("More on the workload, or from a trace").click()
    settle(page)
    stages = page.get_by_label("Embedder, reranker, guard, speech", exact=True)
    assert "rerank BAAI/bge-reranker-v2-m3 per_request=50" in stages.input_value()
    stages.fill("embed bge-m3 token=32")
    stages.press("Control+Enter")
    settle(page)
    expect(page.get_by_text("did you mean tokens?").first).to_be_visible()
    stages.fill("embed bge-m3 tokens=32; guard Llama-Prompt-Guard-2-86M tokens=256")
    stages.press("Control+Enter")
    settle(page)
    expect(page.get_by_text("embed and guard run on").first).to_be_visible()
    assert "guard" in parse_qs(urlparse(page.url).query)["stages"][0]
