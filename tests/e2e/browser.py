"""A real Chromium that reports what a user would not see: console errors, failed requests, requests to other hosts."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass, field
from urllib.parse import urlparse

from playwright.sync_api import Browser, ConsoleMessage, Page, Request, Response, WebSocket

CHROMIUM_ARGS = [
    "--headless",
    "--no-sandbox",  # containers run as root, where Chromium's sandbox refuses to start
    "--disable-gpu",
    # Chromium's own calls home; without them every request is the page's.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MAC_CHROME = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"

# On a deep link such as /size, Streamlit first tries whether the app lives below /size/, and is told that it does not.
BASE_PATH_PROBE = re.compile(r"/[^/]+/_stcore/(?:health|host-config)$")

# Streamlit says on its root element whether the script runs, and marks what the last run has not redrawn yet.
IDLE = """() => {
    const app = document.querySelector('[data-testid=stApp]');
    return app !== null
        && app.dataset.testScriptState === 'notRunning'
        && app.dataset.testConnectionState === 'CONNECTED'
        && !document.querySelector('[data-stale="true"], [data-testid=stSkeleton]');
}"""
CHARTS_DRAWN = """() => [...document.querySelectorAll('[data-testid=stPlotlyChart]')]
    .filter(chart => chart.checkVisibility())
    .every(chart => chart.querySelector('.js-plotly-plot .main-svg'))"""
# A click reaches the server, and its answer the page, only some time after the click returns.
QUIET_MS = 300

PHONE_WIDTH = 500
PHONE = (
    "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Mobile "
    "Safari/537.36"
)
"""What a narrow window says it is."""


def find_chromium() -> str | None:
    """The path of a Chromium or Chrome on this machine, or None."""
    for name in CHROMIUM_NAMES:
        if path := shutil.which(name):
            return path
    return MAC_CHROME if os.access(MAC_CHROME, os.X_OK) else None


@dataclass(kw_only=True)
class Watch:
    """Collects what is wrong with the pages it is attached to. ``host`` is the only host they may talk to."""

    host: str | None
    complaints: list[str] = field(default_factory=list)

    def attach(self, page: Page) -> None:
        """Listen to everything ``page`` does from now on."""
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.complaints.append(f"script error: {error}"))
        page.on("request", lambda request: self._destination(request.url))
        page.on("websocket", self._websocket)
        page.on("response", self._response)
        page.on("requestfailed", self._failed)

    def _console(self, message: ConsoleMessage) -> None:
        # A failed resource is reported with its address by the response itself.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.complaints.append(f"console: {message.text[:300]}")

    def _destination(self, url: str) -> None:
        # data: and blob: addresses have no host.
        if urlparse(url).hostname not in (self.host, None):
            self.complaints.append(f"foreign host: {url[:200]}")

    def _websocket(self, socket: WebSocket) -> None:
        self._destination(socket.url)

    def _response(self, response: Response) -> None:
        if response.status >= 400 and not BASE_PATH_PROBE.search(urlparse(response.url).path):
            self.complaints.append(f"{response.status}: {response.url[:200]}")

    def _failed(self, request: Request) -> None:
        # The browser itself gives up requests of a page that is left.
        if "ERR_ABORTED" not in (request.failure or ""):
            self.complaints.append(f"failed: {request.url[:200]} ({request.failure})")


def new_page(browser: Browser, watch: Watch, *, width: int, height: int, scheme: str) -> Page:
    """A page in a fresh session (no cookies, no state), watched from its first request."""
    agent = PHONE if width < PHONE_WIDTH else None
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, user_agent=agent)
    page = context.new_page()
    watch.attach(page)
    return page


def settle(page: Page, *, timeout_s: float = 30) -> None:
    """Wait until Streamlit has drawn everything, charts included. Call it after ``goto`` and after each input."""
    page.wait_for_timeout(QUIET_MS)
    page.wait_for_function(IDLE, timeout=timeout_s * 1000)
    page.wait_for_function(CHARTS_DRAWN, timeout=timeout_s * 1000)
    # A script that reruns itself, or a page switch, starts again within this time.
    page.wait_for_timeout(QUIET_MS)
    page.wait_for_function(IDLE, timeout=timeout_s * 1000)
