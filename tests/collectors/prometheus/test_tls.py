"""TLS: a certificate nobody vouches for is refused; with its CA it is accepted; mTLS shows our own certificate."""

import shutil
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from collectors.errors import SourceError, Unreachable
from collectors.prometheus import Access, Fetcher, PrometheusClient, Tls
from tests.collectors.servers import Server, vector

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificates of this test")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    subprocess.run([*command, *subject, "-keyout", str(key), "-out", str(cert)], check=True, capture_output=True)
    return cert, key


@pytest.fixture(params=[False, True], ids=["tls", "mtls"])
def secure(request: pytest.FixtureRequest, certificate: tuple[Path, Path]) -> Iterator[tuple[Server, bool]]:
    cert, key = certificate
    server = Server(lambda asked: vector(({}, 1)))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    if request.param:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cert)
    server.http.socket = context.wrap_socket(server.http.socket, server_side=True)
    server.http.handle_error = lambda *_: None
    yield server, request.param
    server.close()


def client_of(server: Server, tls: Tls) -> PrometheusClient:
    url = server.url.replace("http:", "https:")
    return PrometheusClient(url, fetcher=Fetcher(access=Access(tls=tls)))


def test_unknown_certificate_is_refused(secure: tuple[Server, bool]) -> None:
    server, _ = secure
    with pytest.raises(Unreachable, match="certificate"):
        client_of(server, Tls()).query("up")


def test_known_ca_is_accepted(secure: tuple[Server, bool], certificate: tuple[Path, Path]) -> None:
    server, mutual = secure
    cert, key = certificate
    if mutual:
        with pytest.raises(SourceError):
            client_of(server, Tls(ca_file=cert)).query("up")
    tls = Tls(ca_file=cert, cert_file=cert if mutual else None, key_file=key if mutual else None)
    assert client_of(server, tls).query("up").samples[0].value == 1
