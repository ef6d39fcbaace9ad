"""A real Chromium that reports what a user would not see: console errors, failed requests, requests to other hosts."""

import os
import re
import shutil
import time
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlparse
from weakref import WeakKeyDictionary

from playwright.sync_api import Browser, ConsoleMessage, Page, Request, Response, WebSocket, expect
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.patience import PATIENCE_MS, PATIENCE_S

CHROMIUM_ARGS = [
    "--headless",
    "--no-sandbox",  # containers run as root, where Chromium's sandbox refuses to start
    "--disable-gpu",
    # Without a GPU every frame of a movement is drawn by the processor.
    "--disable-threaded-animation",
    "--disable-smooth-scrolling",
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

expect.set_options(timeout=PATIENCE_MS)

# Streamlit says on its root element whether the script runs, and marks what the last run has not redrawn yet.
DRAWN = """() => {
    const app = document.querySelector('[data-testid=stApp]');
    return app !== null
        && app.dataset.testScriptState === 'notRunning'
        && app.dataset.testConnectionState === 'CONNECTED'
        && !document.querySelector('[data-stale="true"], [data-testid=stSkeleton]')
        && [...document.querySelectorAll('[data-testid=stPlotlyChart]')]
            .filter(chart => chart.checkVisibility())
            .every(chart => chart.querySelector('.js-plotly-plot .main-svg'));
}"""
# A widget sends its value, and a page that is drawn asks for a further run, within a few frames of the browser.
LOOK_MS, QUIET_LOOKS = 50, 3
# The server drops a run that is asked for by a part of the page which is no longer there, and says nothing.
DROPPED_AFTER_S = 10.0

Scheme = Literal["dark", "light"]

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


class ScriptRuns:
    """The runs of the script that a page asks for, read from its web socket.

    A look at the page alone cannot tell a run that has ended from one that the server has not begun yet.
    """

    def __init__(self, page: Page) -> None:
        self._going_on, self._since_s = True, time.monotonic()
        page.on("websocket", self._listen)

    @property
    def ended(self) -> bool:
        """Whether every run that was asked for has ended."""
        return not self._going_on or time.monotonic() > self._since_s + DROPPED_AFTER_S

    def _listen(self, socket: WebSocket) -> None:
        socket.on("framesent", self._sent)
        socket.on("framereceived", self._received)

    def _sent(self, frame: bytes | str) -> None:
        assert isinstance(frame, bytes), "The page sends no text."
        if BackMsg.FromString(frame).WhichOneof("type") == "rerun_script":
            self._going_on, self._since_s = True, time.monotonic()

    def _received(self, frame: bytes | str) -> None:
        assert isinstance(frame, bytes), "Streamlit sends no text."
        message = ForwardMsg.FromString(frame)
        if message.WhichOneof("type") == "script_finished":
            self._going_on = message.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN
        self._since_s = time.monotonic()


RUNS: WeakKeyDictionary[Page, ScriptRuns] = WeakKeyDictionary()


def new_page(browser: Browser, watch: Watch, *, width: int, height: int, scheme: Scheme) -> Page:
    """A page in a fresh session (no cookies, no state), watched from its first request."""
    agent = PHONE if width < PHONE_WIDTH else None
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme=scheme,
        user_agent=agent,
        reduced_motion="reduce",  # no test looks at movement, which takes a fifth of the time
    )
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    watch.attach(page)
    RUNS[page] = ScriptRuns(page)
    return page


def settle(page: Page) -> None:
    """Wait until Streamlit has drawn everything, charts included. Call it after ``goto`` and after each input."""
    end_s = time.monotonic() + PATIENCE_S
    quiet_looks = 0
    while quiet_looks < QUIET_LOOKS:
        assert time.monotonic() < end_s, "The script runs on and on."
        page.wait_for_timeout(LOOK_MS)
        page.wait_for_function(DRAWN, polling=LOOK_MS)
        quiet_looks = quiet_looks + 1 if RUNS[page].ended else 0


def sideways_px(page: Page) -> int:
    """By how many pixels the content is wider than the window, so that one has to scroll sideways."""
    return int(page.get_by_test_id("stMain").evaluate("main => main.scrollWidth - main.clientWidth"))
