"""RAG with embedder and reranker, in a real browser: from the example to stages of one's own, by table and by link."""

import re
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import expect

from tests.e2e.browser import Scheme, settle, sideways_px
from tests.e2e.conftest import OpenPage
from tests.e2e.test_accessibility import findings


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
