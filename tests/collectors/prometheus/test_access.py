"""Access to a server: addresses, credentials, certificates, sessions."""

import io
from pathlib import Path
from unittest.mock import MagicMock

import pytest
import requests

from collectors.errors import InvalidAddress, SourceError, UnusableCredential
from collectors.prometheus import Access, Fetcher, PrometheusClient, Secret, Tls, connections
from tests.collectors.prometheus.clients import client_of
from tests.collectors.servers import Server, vector


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
        "http://168.63.129.16/",
        "http://[fd00:ec2::254]/",
        "http://[fd00:ec2::23]/",
        "http://[fd20:ce::254]/",
        "http://[64:ff9b:1::a9fe:a9fe]/",
        "http://[64:ff9b:1:a9fe:a9:fe00::]/",
        "http://[::a9fe:a9fe]/",
        "http://[::ffff:0:a9fe:a9fe]/",
        "http://[2001:0:a9fe:a9fe::1]/",
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


def test_an_address_that_is_written_otherwise_is_refused_when_it_is_connected_to() -> None:
    """``2852039166`` and ``0xa9fea9fe`` are 169.254.169.254 to the system, and no address to Python."""
    sock = MagicMock(getpeername=lambda: ("169.254.169.254", 80))
    with pytest.raises(InvalidAddress):
        connections._checked(sock)
    sock.close.assert_called_once()


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY", "ALL_PROXY"])
def test_a_proxy_of_the_environment_is_not_used(server: Server, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """It would connect to any address it is told, and the one that is looked at would be its own."""
    monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    server.answer = lambda asked: vector(({}, 1))
    assert client_of(server.url).query("up").samples
    if name != "HTTP_PROXY":  # which requests leaves aside, as it may come from a header
        with pytest.raises(SourceError):
            PrometheusClient(server.url, fetcher=Fetcher(use_environment_proxy=True)).query("up")


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
        def send(self, request: requests.PreparedRequest, **_: object) -> requests.Response:
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


def test_credentials_that_cannot_stand_in_a_header_are_a_sentence(server: Server) -> None:
    for access in (Access(token=Secret(value="tökén")), Access(headers={"X": Secret(value="→")})):
        with pytest.raises(UnusableCredential, match="ASCII"):
            client_of(server.url, access=access).query("up")
    client_of(server.url, access=Access(username="ü", password=Secret(value="ß"))).query("up")
    assert server.asked[-1].headers["Authorization"].startswith("Basic ")
