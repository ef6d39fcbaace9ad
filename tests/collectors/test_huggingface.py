"""Fetching config.json: against a hub of our own on localhost, no outside network."""

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import requests

from collectors.errors import HubError, HubUnreachable, InvalidModelId, ModelNotAccessible, ModelNotFound, NotAConfig
from collectors.huggingface import fetch_config

CONFIG = b'{"hidden_size": 4096}'


class Hub(BaseHTTPRequestHandler):
    """Answers by organisation; keeps the last Authorization header on the server."""

    def do_GET(self) -> None:
        self.server.seen = (self.path, self.headers.get("Authorization"))
        organisation = self.path.split("/")[1]
        if organisation == "moved":
            self._send(302, b"", {"Location": "/open/model/resolve/main/config.json"})
        elif organisation == "slow":
            time.sleep(1.0)
            self._send(200, CONFIG)
        elif organisation == "huge":
            self._send(200, b'{"a": "' + b"x" * 3_000_000 + b'"}')
        else:
            status = {"gated": 401, "forbidden": 403, "missing": 404, "broken": 503}.get(organisation, 200)
            self._send(status, b"<html>" if organisation == "portal" else CONFIG)

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for key, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(key, value)
        self.end_headers()
        try:
            self.wfile.write(body)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: tests are quiet."""


@pytest.fixture(scope="module")
def hub() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def endpoint(hub: ThreadingHTTPServer) -> str:
    return f"http://127.0.0.1:{hub.server_port}"


def test_the_bytes_of_config_json_come_back(hub, endpoint):
    assert fetch_config("Qwen/Qwen3-8B", endpoint=endpoint + "/") == CONFIG
    assert hub.seen == ("/Qwen/Qwen3-8B/resolve/main/config.json", None)


def test_the_token_is_sent_and_redirects_are_followed(hub, endpoint):
    fetch_config("open/model", endpoint=endpoint, token="secret")
    assert hub.seen[1] == "Bearer secret"
    assert fetch_config("moved/model", endpoint=endpoint) == CONFIG


def test_a_session_can_be_passed_in(endpoint):
    with requests.Session() as session:
        assert fetch_config("open/model", endpoint=endpoint, session=session) == CONFIG


@pytest.mark.parametrize(
    ("model_id", "error", "message"),
    [
        ("gated/model", ModelNotAccessible, "token in HF_TOKEN"),
        ("forbidden/model", ModelNotAccessible, "licence"),
        ("missing/model", ModelNotFound, "check the id"),
        ("portal/model", NotAConfig, "did not answer with JSON"),
        ("broken/model", NotAConfig, "status 503"),
        ("huge/model", NotAConfig, "larger than 1 MB: paste or upload the right one"),
    ],
)
def test_every_bad_answer_has_its_error_and_says_what_to_do(endpoint, model_id, error, message):
    with pytest.raises(error, match=message):
        fetch_config(model_id, endpoint=endpoint)


@pytest.mark.parametrize("endpoint", ["http://127.0.0.1:1", "http://nowhere.invalid", "not a url", "http://[bad"])
def test_an_unreachable_hub_says_to_upload_instead(endpoint):
    with pytest.raises(HubUnreachable, match=r"^Cannot reach .*: paste or upload config\.json instead, or set HF_"):
        fetch_config("open/model", endpoint=endpoint, timeout_s=2)


def test_a_slow_hub_is_unreachable(endpoint):
    with pytest.raises(HubUnreachable):
        fetch_config("slow/model", endpoint=endpoint, timeout_s=0.2)


@pytest.mark.parametrize(
    "model_id",
    [
        "",
        "llama",
        "a/b/c",
        "../etc/passwd",
        "a/..",
        "org/",
        "/model",
        "org/mo del",
        "org/m?x=1",
        "org/m#x",
        "http://x/y",
        "org/a..b",
        "x" * 200 + "/y",
    ],
)
def test_what_cannot_be_an_id_is_refused_before_any_request(model_id):
    with pytest.raises(InvalidModelId, match="organisation/model"):
        fetch_config(model_id, endpoint="http://127.0.0.1:1")


def test_every_error_is_a_hub_error():
    for error in (ModelNotAccessible, HubUnreachable, InvalidModelId, ModelNotFound, NotAConfig):
        assert issubclass(error, HubError)
