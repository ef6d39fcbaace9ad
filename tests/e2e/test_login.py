"""Login in a real browser against a real OpenID Connect provider: roles, a cold deep link, logout."""

import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests
from playwright.sync_api import Browser, BrowserContext, Page, WebSocket, expect
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from sharing.author import owner
from sharing.library import open_library
from sharing.library.records import ScenarioDraft
from sizing import Scenario
from tests.e2e.browser import Watch, new_page, settle
from tests.e2e.dashboard import Dashboard, running_dashboard
from tests.patience import PATIENCE_S
from tests.sizing.asking import raw

SECRETS = """
[auth]
redirect_uri = "http://localhost:{{port}}/oauth2callback"
cookie_secret = "only-for-this-test-0123456789"
client_id = "sizing"
client_secret = "secret"
server_metadata_url = "http://localhost:{port}/.well-known/openid-configuration"
"""
RULES = """
claim: groups
viewer: {domains: [acme.com]}
editor: {claims: [editors]}
admin: {emails: [ann@acme.com]}
ask: it@acme.com
"""
USERS = [
    {"sub": "ann", "email": "ann@acme.com", "email_verified": True},
    {"sub": "bob", "email": "bob@acme.com", "email_verified": True, "groups": ["editors"]},
    {"sub": "vic", "email": "vic@acme.com", "email_verified": True},
    {"sub": "eve", "email": "ann@acme.com", "email_verified": False, "name": "Eve"},
]
SECRET = "What Acme must not read"
DOOR = "Log in to see this page."


@contextmanager
def running_provider(home: Path) -> Iterator[int]:
    """An OpenID Connect provider, a process of its own; its port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    users = [part for user in USERS for part in ("--user-claims", json.dumps(user))]
    command = [sys.executable, "-m", "oidc_provider_mock", "--port", str(port), *users]
    with (home / "provider.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + PATIENCE_S
        while not _answers(port):
            assert process.poll() is None, (home / "provider.log").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.1)
        yield port
    finally:
        process.terminate()
        process.wait()


def _answers(port: int) -> bool:
    try:
        return requests.get(f"http://localhost:{port}/.well-known/openid-configuration", timeout=PATIENCE_S).ok
    except requests.ConnectionError:
        return False


@contextmanager
def guarded(home: Path) -> Iterator[Dashboard]:
    """A dashboard that has run no page yet, with a scenario in its library, and its provider."""
    with running_provider(home) as port:
        (home / ".streamlit").mkdir()
        (home / ".streamlit" / "secrets.toml").write_text(SECRETS.format(port=port))
        (home / "access.yaml").write_text(RULES)
        library = open_library(str(home / "library.sqlite"))
        library.add(ScenarioDraft(scenario=Scenario.model_validate({**raw(), "name": SECRET})), by=owner())
        library.close()
        places = {"SHARING_DATABASE": str(home / "library.sqlite"), "SHARING_ACCESS": str(home / "access.yaml")}
        with running_dashboard(home, environment=places, cold=True) as dashboard:
            yield dashboard
            assert not dashboard.bugs(), dashboard.bugs()


class Listener:
    """Everything that the server sends a page over its web socket."""

    def __init__(self, page: Page) -> None:
        self.frames: list[bytes] = []
        page.on("websocket", self._listen)

    def _listen(self, socket: WebSocket) -> None:
        socket.on("framereceived", lambda frame: self.frames.append(bytes(frame)))

    def elements(self) -> list[str]:
        """The kinds of element that were sent."""
        messages = [ForwardMsg.FromString(frame) for frame in self.frames]
        sent = [m.delta.new_element for m in messages if m.WhichOneof("type") == "delta"]
        return [kind for element in sent if (kind := element.WhichOneof("type"))]


@pytest.fixture
def visit(browser: Browser) -> Iterator[Callable[..., Page]]:
    """A page in a fresh browser; or another tab of one that is open."""
    contexts: list[BrowserContext] = []

    def visited(url: str) -> Page:
        # The provider's own page asks other hosts for its looks: only the dashboard's are held to the rule.
        page = new_page(browser, Watch(host="localhost"), width=1440, height=900, scheme="light")
        contexts.append(page.context)
        page.goto(url, wait_until="load")
        settle(page)
        return page

    yield visited
    for context in contexts:
        context.close()


def log_in(page: Page, sub: str) -> None:
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("button", name=sub, exact=True).click()
    page.get_by_test_id("stApp").wait_for()
    settle(page)


def links(page: Page) -> list[str]:
    return page.get_by_test_id("stSidebar").get_by_role("link").all_inner_texts()


@pytest.mark.slow
def test_login_roles_and_logout(tmp_path: Path, browser: Browser, visit: Callable[..., Page]) -> None:
    with guarded(tmp_path) as dashboard:
        page = new_page(browser, Watch(host="localhost"), width=1440, height=900, scheme="light")
        listener = Listener(page)
        page.goto(f"{dashboard.url}/scenarios", wait_until="load")
        settle(page)
        expect(page.get_by_text(DOOR)).to_be_visible()
        assert not any(SECRET.encode() in frame for frame in listener.frames)
        assert set(listener.elements()) <= {"heading", "alert", "button", "bidi_component", "empty"}
        assert not links(page)
        page.goto(f"{dashboard.url}/shared?token=guessed", wait_until="load")  # open to all, and to nothing else
        settle(page)
        expect(page.get_by_text("This link leads nowhere")).to_be_visible()
        assert not links(page)
        page.goto(f"{dashboard.url}/scenarios", wait_until="load")
        settle(page)
        assert not any(SECRET.encode() in frame for frame in listener.frames)
        log_in(page, "vic")
        page.wait_for_url("**/scenarios")  # back where the link led to
        settle(page)
        expect(page.get_by_text("1 scenario, the latest changed first.")).to_be_visible()
        assert any("Scenarios" in name for name in links(page))
        expect(page.get_by_text("vic@acme.com, viewer")).to_be_visible()
        for forbidden in ("Delete", "Duplicate", "Save"):
            assert page.get_by_role("button", name=forbidden, exact=True).count() == 0
        page.get_by_role("button", name="Log out").click()
        page.get_by_role("button", name="End session").click()  # at the provider, too
        expect(page.get_by_text(DOOR)).to_be_visible()
        page.goto(f"{dashboard.url}/scenarios", wait_until="load")
        expect(page.get_by_text(DOOR)).to_be_visible()
        page.context.close()
        _others(visit, dashboard.url)


def _others(visit: Callable[..., Page], url: str) -> None:
    """An editor by a claim, an administrator by a verified address, and somebody who only says it is theirs."""
    editor = visit(f"{url}/scenarios")
    log_in(editor, "bob")
    expect(editor.get_by_text("bob@acme.com, editor")).to_be_visible()
    expect(editor.get_by_role("button", name="Delete", exact=True)).to_be_visible()
    administrator = visit(url)
    log_in(administrator, "ann")
    expect(administrator.get_by_text("ann@acme.com, admin")).to_be_visible()
    stranger = visit(url)
    log_in(stranger, "eve")
    expect(stranger.get_by_text(re.compile("Eve #.* has no access here. Ask it@acme.com for it."))).to_be_visible()
    assert not links(stranger)
