"""Answers that no server should give end in one sentence, in time: from a Prometheus, a metrics page, the model hub."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from collectors.backends.scrape.scraper import page_of
from collectors.errors import CollectorsError
from collectors.huggingface import fetch_config
from collectors.prometheus import Fetcher, FetchLimits, PrometheusClient

MOVED = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: %s\r\n\r\n"
ANSWERS = {
    "redirect to a port that is none": MOVED % b"http://127.0.0.1:99999/",
    "redirect to a port of letters": MOVED % b"http://127.0.0.1:abc/",
    "redirect to half an address": MOVED % b"http://[::1/",
    "redirect to bytes that are no text": MOVED % b"http://127.0.0.1/\xff\xfe",
    "redirect to a script": MOVED % b"javascript:alert(1)",
    "redirect to metadata": MOVED % b"http://169.254.169.254/latest/meta-data",
    "negative chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n",
    "chunk of letters": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    "compressed nonsense": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello",
    "bytes that are no text": b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n\xff\xfe\xfd\x00\x01\x02",
    "another protocol": b"\x00\x01\x02SSH-2.0-OpenSSH_9.6\r\n",
    "nothing": b"",
    "status of letters": b"HTTP/1.1 abc OK\r\n\r\n",
    "500 headers": b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: y\r\n" % n for n in range(500)) + b"\r\n",
}
LIMITS = FetchLimits(timeout_s=2.0, attempts=1)


def ask_prometheus(url: str) -> None:
    with contextlib.closing(PrometheusClient(url, fetcher=Fetcher(limits=LIMITS))) as client:
        client.query("up")


def ask_page(url: str) -> None:
    with contextlib.closing(Fetcher(limits=LIMITS)) as fetcher:
        page_of(fetcher.get(f"{url}/metrics"), url)


ASK: dict[str, Callable[[str], object]] = {
    "a Prometheus": ask_prometheus,
    "a metrics page": ask_page,
    "the model hub": lambda url: fetch_config("Qwen/Qwen3-8B", endpoint=url, timeout_s=2.0),
}


@contextlib.contextmanager
def saying(answer: Callable[[socket.socket], None], asked: list[bytes] | None = None) -> Iterator[str]:
    """A server that says something to whoever has ``asked``; its address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listening.accept()
                    with connection, contextlib.suppress(OSError):
                        heard = connection.recv(1 << 16)
                        if asked is not None:
                            asked.append(heard)
                        answer(connection)

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("what", ASK)
@pytest.mark.parametrize("answer", ANSWERS)
def test_a_hostile_answer_is_one_sentence(what: str, answer: str) -> None:
    with saying(lambda connection: connection.sendall(ANSWERS[answer])) as url, pytest.raises(CollectorsError) as said:
        ASK[what](url)
    assert "\n" not in str(said.value)
    assert str(said.value).endswith((".", "HF_ENDPOINT."))


@pytest.mark.parametrize("what", ASK)
def test_a_byte_now_and_then_ends_with_the_time_of_the_whole(what: str) -> None:
    def drip(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        for _ in range(100):
            connection.sendall(b" ")
            time.sleep(0.3)

    begun = time.monotonic()
    with saying(drip) as url, pytest.raises(CollectorsError):
        ASK[what](url)
    assert time.monotonic() - begun < 20.0  # 30 s of bytes, each of them in time


def test_the_token_of_the_hub_goes_to_the_hub_alone() -> None:
    asked: list[bytes] = []
    found = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
    with saying(lambda connection: connection.sendall(found), asked) as other:
        moved = MOVED % other.replace("127.0.0.1", "localhost").encode()
        with saying(lambda connection: connection.sendall(moved), asked) as hub:
            assert fetch_config("Qwen/Qwen3-8B", endpoint=hub, token="secret", timeout_s=20.0) == b"{}"
    assert [b"Bearer secret" in one for one in asked] == [True, False]
