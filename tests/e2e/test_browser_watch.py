"""The journeys' watchman itself: what it reports, and what it lets pass."""

import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from playwright.sync_api import Browser

from tests.e2e.browser import Watch, new_page
from tests.patience import PATIENCE_S


class Site(BaseHTTPRequestHandler):
    body = b""

    def do_GET(self) -> None:
        found = self.path == "/"
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(self.body if found else b"")

    def log_message(self, format: str, *args: object) -> None:
        """Silent: the tests print nothing."""


@pytest.fixture
def site() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("<script>console.error('broken')</script>", "console: broken"),
        ("<script>throw new Error('broken')</script>", "script error: broken"),
        ("<script>new WebSocket('ws://elsewhere.invalid/')</script>", "foreign host: ws://elsewhere.invalid/"),
        ("<img src=http://elsewhere.invalid/logo.png>", "foreign host: http://elsewhere.invalid/logo.png"),
        ("<img src=/missing.png>", "404: "),
    ],
)
def test_fault_is_reported(
    browser: Browser, site: str, body: str, complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert any(complaint in said for said in _complaints(browser, site, body, monkeypatch, complaint))


def test_clean_page_is_let_pass(browser: Browser, site: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body = "<img src='data:image/gif;base64,R0lGODlhAQABAAAAACw='><script>console.log('fine')</script>"
    assert _complaints(browser, site, body, monkeypatch) == []


def _complaints(
    browser: Browser, site: str, body: str, monkeypatch: pytest.MonkeyPatch, expected: str = ""
) -> list[str]:
    """What is said of a page: as soon as the ``expected`` complaint is there, without one after a moment."""
    # Chromium asks for an icon when the page names none.
    monkeypatch.setattr(Site, "body", b"<link rel=icon href='data:,'>" + body.encode())
    watch = Watch(host="127.0.0.1")
    page = new_page(browser, watch, width=800, height=600, scheme="light")
    page.goto(site, wait_until="load")
    end_s = time.monotonic() + (PATIENCE_S if expected else 0.1)
    while time.monotonic() < end_s and not (expected and any(expected in said for said in watch.complaints)):
        page.wait_for_timeout(50)
    page.context.close()
    return watch.complaints
