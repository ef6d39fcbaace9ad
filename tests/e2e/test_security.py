"""The running dashboard under attack: by its network, and by names in a browser."""

from pathlib import Path
from urllib.parse import urlencode

import pytest
import requests
from playwright.sync_api import Browser, Page

from tests.e2e.conftest import OpenPage
from tests.e2e.dashboard import Dashboard
from tests.patience import PATIENCE_S

EVIL = "\"'><img src=x onerror=window.hit=1><a href='javascript:window.hit=1'>x</a><svg onload=window.hit=1>"
"""In the name of a scenario and of an accelerator: what charts write beside their lines."""


def get(dashboard: Dashboard, path: str, **headers: str) -> requests.Response:
    return requests.get(f"{dashboard.url}{path}", headers=headers, timeout=PATIENCE_S)


def test_the_server_stands_behind_its_gate(dashboard: Dashboard) -> None:
    assert get(dashboard, "/size").status_code == 200
    assert get(dashboard, "/size", Host="evil.example").status_code == 421
    assert get(dashboard, "/_stcore/metrics").status_code == 200
    assert get(dashboard, "/_stcore/metrics", **{"X-Forwarded-For": "10.0.0.1"}).status_code == 403
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Key": "x" * 22 + "==",
        "Origin": "http://e",
    }
    assert get(dashboard, "/_stcore/stream", **{"Sec-WebSocket-Version": "13"}, **upgrade).status_code == 403
    token = get(dashboard, "/_stcore/health").cookies["_streamlit_xsrf"]
    put = requests.put(
        f"{dashboard.url}/_stcore/upload_file/not-a-session/file",
        files={"file": b"x" * 1000},
        headers={"X-Xsrftoken": token},
        cookies={"_streamlit_xsrf": token},
        timeout=PATIENCE_S,
    )
    assert put.status_code == 403
    assert "may not upload" in put.text


def typed(page: Page) -> list[str]:
    return page.evaluate("() => [...document.querySelectorAll('.js-plotly-plot')].map(plot => plot.innerHTML)")


@pytest.mark.parametrize("path", ["size", "explore", "compare", "cost"])
def test_a_name_runs_no_script_in_any_chart(open_page: OpenPage, path: str) -> None:
    inputs = {"name": EVIL[:80], "own": "true", "own_name": EVIL[:60], "gpu": "h100_sxm"}
    page = open_page(f"{path}?{urlencode(inputs)}")
    assert page.evaluate("() => window.hit") is None
    assert not page.locator("main a[href^='javascript'], main img[src='x']").count()
    assert all("onerror" not in chart.replace("&lt;", "") or "<img" not in chart for chart in typed(page))


def test_no_other_site_frames_a_page(dashboard: Dashboard, browser: Browser, tmp_path: Path) -> None:
    """Clickjacking: a page of somebody else's over ours, invisible, whose clicks are ours."""
    trap = tmp_path / "trap.html"
    trap.write_text(f"<iframe src='{dashboard.url}/scenarios' width=800 height=600></iframe>")
    context = browser.new_context()
    page = context.new_page()
    refusals: list[str] = []
    page.on("console", lambda message: refusals.append(message.text))
    page.goto(trap.as_uri())
    page.wait_for_timeout(3000)
    (frame,) = page.frames[1:]
    assert not frame.locator("[data-testid=stApp]").count()
    assert any("frame-ancestors" in text for text in refusals)
    context.close()
