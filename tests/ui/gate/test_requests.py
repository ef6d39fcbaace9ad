"""The gate, asked as a network asks it: names, origins, probes, uploads, headers, cookies."""

import ipaddress
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.types import Message
from starlette.websockets import WebSocket, WebSocketDisconnect
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState

from sharing.settings import Settings
from tests.loops import awaited
from ui.gate import Gate, uploads
from ui.gate.requests import whole_at_first
from ui.gate.serving import ServerSetup

UPLOAD = "/_stcore/upload_file/{session}/file"
FILE = b"x" * 1000
STREAM = "/_stcore/stream"


async def page(request: Request) -> Response:
    await request.body()
    response = PlainTextResponse("page")
    response.set_cookie("_streamlit_user", "signed", max_age=30 * 24 * 3600, httponly=True)
    return response


async def socket(websocket: WebSocket) -> None:
    await websocket.accept()
    await websocket.send_text("open")
    with suppress(WebSocketDisconnect):
        await websocket.receive_text()


def asked(
    *, client: str = "127.0.0.1", secure: bool = False, base: str = "http://localhost:8501", **settings: object
) -> TestClient:
    """A browser before a dashboard that answers for sizing.acme.com, too."""
    names = frozenset({"localhost", "127.0.0.1", "::1", "sizing.acme.com"})
    serving = ServerSetup(names=names, by_tls=secure, settings=Settings.model_validate(settings))
    routes = [Route("/{rest:path}", page, methods=["GET", "PUT", "DELETE"]), WebSocketRoute("/_stcore/stream", socket)]
    app = Starlette(routes=routes, middleware=[Middleware(Gate, serving=serving)])
    return TestClient(app, base_url=base, client=(client, 50000))


@pytest.fixture
def admitted() -> Iterator[str]:
    uploads._admitted.add("mine")
    yield "mine"
    uploads._admitted.clear()


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Bytes of the files that are kept already, by session."""
    held: dict[str, int] = {}
    monkeypatch.setattr(uploads, "kept_bytes", lambda: held)
    return held


@pytest.mark.parametrize("host", ["localhost:8501", "127.0.0.1", "[::1]:8501", "sizing.acme.com", "SIZING.acme.com."])
def test_its_own_names_are_answered(host: str) -> None:
    assert asked().get("/size", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8501", "localhost.evil.example", "localhost@evil.example", "a b", "", "h:99999"],
)
def test_no_other_name_is_answered(host: str) -> None:
    """A page on the internet whose name leads here (DNS rebinding) has that name in its requests."""
    for path in ("/", "/size", "/_stcore/health", "/media/file"):
        refused = asked().get(path, headers={"Host": host})
        assert (refused.status_code, "page" in refused.text) == (421, False)
    with pytest.raises(WebSocketDisconnect), asked().websocket_connect("/_stcore/stream", headers={"Host": host}):
        pass


def test_two_names_at_once_are_refused() -> None:
    headers = [("Host", "localhost"), ("Host", "evil.example")]
    assert asked().get("/", headers=headers).status_code == 421


def test_the_address_at_which_it_was_reached_is_its_name() -> None:
    assert asked(base="http://10.1.2.3:8501").get("/_stcore/health").status_code == 200
    assert asked(base="http://10.1.2.3:8501").get("/", headers={"Host": "10.9.9.9"}).status_code == 421


def test_pages_of_another_site_open_no_web_socket() -> None:
    own = asked()
    with own.websocket_connect(
        "/_stcore/stream", headers={"Origin": "http://localhost:8501", "Host": "localhost:8501"}
    ):
        pass
    with own.websocket_connect("/_stcore/stream"):  # a program sends no origin
        pass
    for origin in ("http://evil.example", "http://localhost:9999", "null", "https://sizing.acme.com"):
        with pytest.raises(WebSocketDisconnect), own.websocket_connect("/_stcore/stream", headers={"Origin": origin}):
            pass


def test_pages_of_another_site_send_nothing(admitted: str, kept: dict[str, int]) -> None:
    for method in ("PUT", "DELETE"):
        headers = {"Origin": "http://evil.example"}
        assert asked().request(method, UPLOAD.format(session=admitted), headers=headers).status_code == 403


@pytest.mark.parametrize("path", ["/_stcore/metrics", "/_stcore/script-health-check", "/sizing/_stcore/metrics/"])
def test_what_is_about_the_server_is_for_its_machine(path: str) -> None:
    assert asked().get(path).status_code == 200
    assert asked(client="::1").get(path).status_code == 200
    assert asked(client="10.1.2.3").get(path).status_code == 403
    assert asked().get(path, headers={"X-Forwarded-For": "127.0.0.1"}).status_code == 403
    near = asked(client="10.1.2.3", SIZING_PROBES="10.0.0.0/8, 192.168.1.0/24")
    assert near.get(path).status_code == 200
    assert near.get(path, headers={"X-Real-IP": "10.1.2.3"}).status_code == 403
    assert asked(client="11.1.2.3", SIZING_PROBES="10.0.0.0/8").get(path).status_code == 403


def test_whether_it_is_alive_anybody_may_ask() -> None:
    assert asked(client="10.1.2.3").get("/_stcore/health").status_code == 200


def test_nothing_is_uploaded_before_the_door(kept: dict[str, int]) -> None:
    refused = asked().put(UPLOAD.format(session="a-session-before-the-door"), content=FILE)
    assert (refused.status_code, refused.text) == (403, "This session may not upload files.")


def test_who_is_past_the_door_uploads(admitted: str, kept: dict[str, int]) -> None:
    assert asked().put(UPLOAD.format(session=admitted), content=FILE).status_code == 200


def test_an_upload_has_a_length(admitted: str, kept: dict[str, int]) -> None:
    chunks = (part for part in (FILE, FILE))
    assert asked().put(UPLOAD.format(session=admitted), content=chunks).status_code == 411


def test_the_files_of_a_session_have_a_size_together(admitted: str, kept: dict[str, int]) -> None:
    client = asked(SIZING_UPLOAD_MB="1")
    kept[admitted] = (1 << 20) - len(FILE)
    assert client.put(UPLOAD.format(session=admitted), content=FILE).status_code == 200
    kept[admitted] += 1
    refused = client.put(UPLOAD.format(session=admitted), content=FILE)
    assert (refused.status_code, refused.text) == (413, "The files of one session may have 1 MB together.")


def test_the_files_of_all_sessions_have_a_size_together(admitted: str, kept: dict[str, int]) -> None:
    kept |= {f"other{n}": 1 << 20 for n in range(4)}
    assert asked(SIZING_UPLOADS_MB="4").put(UPLOAD.format(session=admitted), content=FILE).status_code == 503


def test_uploads_under_way_count(kept: dict[str, int], admitted: str) -> None:
    under_way = uploads.Uploads(per_session=3000, in_all=5000)
    tickets = [under_way.begin(admitted, b"1000") for _ in range(3)]
    assert isinstance(under_way.begin(admitted, b"1"), uploads.UploadRefused)
    under_way.end(tickets[0])
    assert not isinstance(under_way.begin(admitted, b"1000"), uploads.UploadRefused)


@pytest.mark.parametrize("announced", [b"-5", b"1e3", b"9" * 30, None])
def test_a_length_that_is_none(admitted: str, kept: dict[str, int], announced: bytes | None) -> None:
    refused = uploads.Uploads(per_session=3000, in_all=5000).begin(admitted, announced)
    assert isinstance(refused, uploads.UploadRefused)


def test_every_answer_has_the_headers() -> None:
    for answer in (asked().get("/"), asked().get("/", headers={"Host": "evil.example"})):
        policy = answer.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in policy
        assert "default-src 'self'" in policy
        scripts = next(part for part in policy.split("; ") if part.startswith("script-src"))
        assert "'unsafe-inline'" not in scripts
        assert "'unsafe-eval'" not in scripts
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["x-frame-options"] == "DENY"


def test_the_cookie_of_a_login_is_for_tls_and_for_a_day() -> None:
    plain = asked().get("/").headers["set-cookie"]
    assert "Max-Age=86400" in plain
    assert "Secure" not in plain
    assert "Secure" in asked(secure=True).get("/").headers["set-cookie"]


def test_the_cookie_of_a_login_lasts_as_the_rules_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = tmp_path / "access.yaml"
    rules.write_text("session_minutes: 30\n")
    monkeypatch.setenv("SHARING_ACCESS", str(rules))
    assert "Max-Age=1800" in asked().get("/").headers["set-cookie"]


def test_networks_are_read() -> None:
    assert Settings.model_validate({"SIZING_PROBES": "10.0.0.0/8 fd00::/8"}).probes == (
        ipaddress.ip_network("10.0.0.0/8"),
        ipaddress.ip_network("fd00::/8"),
    )


def test_so_many_sessions_are_connected_at_a_time() -> None:
    client = asked(SIZING_SESSIONS="2")
    page_wanted = {"Accept": "text/html,application/xhtml+xml"}
    with client.websocket_connect(STREAM), client.websocket_connect(STREAM):
        refused = client.get("/size", headers=page_wanted)
        assert (refused.status_code, refused.text) == (
            503,
            "This server has as many sessions as it allows (2): try again in a few minutes.",
        )
        with pytest.raises(WebSocketDisconnect), client.websocket_connect(STREAM):
            pass
        assert client.get("/static/index.js").status_code == 200  # of those who are in
        assert client.get("/_stcore/health").status_code == 200
    assert client.get("/size", headers=page_wanted).status_code == 200
    with client.websocket_connect(STREAM):
        pass


@pytest.mark.parametrize(
    ("one", "neighbour", "other"),
    [("10.1.2.3", "10.1.2.3", "10.1.2.4"), ("2001:db8:0:1::5", "2001:db8:0:1:9::7", "2001:db8:0:2::5")],
)
def test_so_many_sessions_are_connected_from_an_address(one: str, neighbour: str, other: str) -> None:
    """Of IPv6 everything within a /64 is one address: whoever has one of them has all."""
    serving = asked(client=one, SIZING_SESSIONS_PER_ADDRESS="1").app
    first, second, third = (
        TestClient(serving, base_url="http://localhost:8501", client=(address, 50000))
        for address in (one, neighbour, other)
    )
    with first.websocket_connect(STREAM):
        refused = second.get("/size", headers={"Accept": "text/html"})
        assert (refused.status_code, refused.text) == (
            429,
            "Your address has as many sessions as this server allows (1): close one, or try again in a few minutes.",
        )
        with third.websocket_connect(STREAM):
            pass
    with second.websocket_connect(STREAM):
        pass


def run(fragment: str = "") -> bytes:
    state = ClientState(query_string="isl=7", fragment_id=fragment, is_auto_rerun=bool(fragment))
    return BackMsg(rerun_script=state).SerializeToString()


def received(*sent: bytes) -> list[bytes]:
    """What Streamlit is given of what a browser sends."""
    messages: Iterator[Message] = iter({"type": "websocket.receive", "bytes": one} for one in sent)

    async def receive() -> Message:
        return next(messages)

    async def all_of_them() -> list[bytes]:
        guarded = whole_at_first(receive)
        return [(await guarded())["bytes"] for _ in sent]

    return awaited(all_of_them)


def test_a_part_of_a_page_is_asked_for_only_after_all_of_it() -> None:
    assert received(run("part"), run("part")) == [run(), run("part")]
    assert received(run(), run("part")) == [run(), run("part")]


@pytest.mark.parametrize("before", [BackMsg(clear_cache=True).SerializeToString(), b"\xff\xffnonsense"])
def test_what_is_no_run_goes_through_as_it_is(before: bytes) -> None:
    assert received(before, run("part")) == [before, run()]
