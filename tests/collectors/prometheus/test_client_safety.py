"""What the client refuses: unusable addresses, redirects elsewhere, credentials that would show, broken answers."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import requests

from collectors.errors import InvalidAddress, Redirected, SourceError, UnusableCredential
from collectors.prometheus import Access, Fetcher, PrometheusClient, Secret, Tls
from collectors.prometheus.answers import seconds_of
from tests.collectors.prometheus.test_client import answering, client_of
from tests.collectors.servers import RECORDINGS, Asked, Server, Told, recorded, serving, vector


def test_redirect_to_another_host_is_not_followed(server: Server) -> None:
    with serving(lambda asked: vector(({}, 1))) as elsewhere:
        target = elsewhere.url.replace("127.0.0.1", "localhost")
        client = answering(server, Told(status=302, headers={"Location": f"{target}/api/v1/query"}))
        with pytest.raises(Redirected, match="localhost"):
            client.query("up")
        assert not elsewhere.asked


def test_redirect_on_the_same_host_keeps_the_query(server: Server) -> None:
    def answer(asked: Asked) -> Told:
        if asked.path.startswith("/prom/"):
            return vector(({}, 5))
        return Told(status=307, headers={"Location": f"/prom{asked.path}"})

    server.answer = answer
    assert client_of(server.url).query("up").samples[0].value == 5
    assert server.asked[-1].form["query"] == ["up"]


def test_endless_redirects_end(server: Server) -> None:
    client = answering(server, Told(status=302, headers={"Location": "/again"}))
    with pytest.raises(Redirected, match="more than 3"):
        client.query("up")


@pytest.mark.parametrize(
    "url",
    [
        "prometheus:9090",
        "ftp://host/",
        "http://",
        "http://host:port",
        "http://user:secret@host",
        "http://ho st",
        "http://host/?a=1",
        "http://169.254.169.254/",
        "http://[fe80::1]/",
        "http://[::ffff:169.254.169.254]/",
        "http://[64:ff9b::a9fe:a9fe]/",
        "http://[2002:a9fe:a9fe::1]/",
        "http://metadata.google.internal",
        "http://100.100.100.200/",
        "javascript:alert(1)",
        "",
    ],
)
def test_unusable_addresses_are_refused(url: str) -> None:
    with pytest.raises(InvalidAddress) as raised:
        client_of(url)
    assert "secret" not in str(raised.value)


def test_name_that_resolves_to_a_metadata_address_is_refused(monkeypatch: pytest.MonkeyPatch, server: Server) -> None:
    import collectors.prometheus.address as address

    monkeypatch.setattr(address, "METADATA_ADDRESSES", frozenset({"127.0.0.1"}))
    with pytest.raises(InvalidAddress, match=r"127\.0\.0\.1"):
        client_of(server.url.replace("127.0.0.1", "localhost")).query("up")
    assert not server.asked


def test_link_local_can_be_allowed() -> None:
    fetcher = Fetcher(allow_link_local=True)
    assert (
        PrometheusClient("http://169.254.1.1:9090", fetcher=fetcher, allow_link_local=True).where == "169.254.1.1:9090"
    )


def test_credentials_are_sent_and_never_shown(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    token = tmp_path / "token"
    token.write_text("first-secret\n")
    monkeypatch.setenv("TENANT_KEY", "tenant-secret")
    access = Access(token=Secret(file=token), headers={"X-Scope-OrgID": Secret(env="TENANT_KEY")})
    client = client_of(server.url, access=access)
    client.query("up")
    token.write_text("second-secret")
    client.query("up")
    assert [a.headers["Authorization"] for a in server.asked] == ["Bearer first-secret", "Bearer second-secret"]
    assert server.asked[0].headers["X-Scope-OrgID"] == "tenant-secret"
    shown = f"{access!r} {client!r} {Secret(value='value-secret')!r} {client.__dict__['_fetcher']!r}"
    assert "-secret" not in shown


def test_basic_credentials_and_no_netrc(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login other password other-secret\n")
    monkeypatch.setenv("NETRC", str(netrc))
    client_of(server.url).query("up")
    assert "Authorization" not in server.asked[-1].headers
    client_of(server.url, access=Access(username="u", password=Secret(value="p"))).query("up")
    assert server.asked[-1].headers["Authorization"] == "Basic dTpw"


def test_missing_credential_names_its_place_only(server: Server, tmp_path: Path) -> None:
    for secret in (Secret(env="NOT_SET_HERE"), Secret(file=tmp_path / "absent"), Secret(value="a\nb")):
        with pytest.raises(UnusableCredential):
            client_of(server.url, access=Access(token=secret)).query("up")
    with pytest.raises(UnusableCredential):
        Secret(value="a", env="B")


def test_params_go_with_every_request(server: Server) -> None:
    client_of(server.url, params={"dedup": "true"}).query("up")
    assert server.asked[-1].form["dedup"] == ["true"]


def test_session_can_be_replaced() -> None:
    class Canned(requests.adapters.BaseAdapter):
        def send(self, request: requests.PreparedRequest, **_: object) -> requests.Response:  # type: ignore[override]
            response = requests.Response()
            response.status_code = 200
            response.raw = io.BytesIO(vector(({}, 3)).body)
            response.request = request
            return response

        def close(self) -> None:
            pass

    session = requests.Session()
    session.mount("http://", Canned())
    client = PrometheusClient("http://anywhere", fetcher=Fetcher(session=session))
    assert client.query("up").samples[0].value == 3


def test_missing_certificate_file_is_a_sentence(server: Server, tmp_path: Path) -> None:
    access = Access(tls=Tls(ca_file=tmp_path / "absent.pem"))
    with pytest.raises(SourceError) as raised:
        client_of(server.url.replace("http:", "https:"), access=access).query("up")
    assert str(tmp_path) not in str(raised.value)


@pytest.mark.parametrize(("text", "seconds"), [("15s", 15), ("1m30s", 90), ("500ms", 0.5), ("2h", 7200), ("x", None)])
def test_durations_of_prometheus(text: str, seconds: float | None) -> None:
    assert seconds_of(text) == seconds


def test_credentials_that_cannot_stand_in_a_header_are_a_sentence(server: Server) -> None:
    for access in (Access(token=Secret(value="tökén")), Access(headers={"X": Secret(value="→")})):
        with pytest.raises(UnusableCredential, match="ASCII"):
            client_of(server.url, access=access).query("up")
    client_of(server.url, access=Access(username="ü", password=Secret(value="ß"))).query("up")
    assert server.asked[-1].headers["Authorization"].startswith("Basic ")


QUERIES = sorted(
    path.relative_to(RECORDINGS).as_posix()
    for path in RECORDINGS.glob("*_api/*.json")
    if path.name.startswith(("instant_", "range_")) or "/api/v1/query" in path.read_text()[:60]
)


@pytest.mark.parametrize("path", QUERIES)
def test_every_recorded_answer_is_read_or_refused_with_a_sentence(server: Server, path: str) -> None:
    told = recorded(path)
    client = answering(server, told)

    def ask() -> int:
        if "range_" in path:
            return len(client.query_range("x", start_s=0, end_s=60).series)
        return len(client.query("x").samples)

    if told.status >= 400 or "resolution" in path:
        with pytest.raises(SourceError, match=r"rejects|failed"):
            ask()
    else:
        assert ask() == told.body.count(b'"metric"') + (b'"scalar"' in told.body)
