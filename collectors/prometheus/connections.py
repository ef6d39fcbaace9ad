"""Connections to a source: no address that is refused is talked to, and a slow answer ends in time as a whole.

The time-out of a socket is for one read, so a server that sends a byte now and then would hold a thread for ever; here
the head and the body of an answer have that time together.
"""

import http.client
import io
import os
import time
from functools import partial
from typing import Any, ClassVar

import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from collectors.errors import InvalidAddress
from collectors.prometheus.address import check_host

Socket = Any
"""A socket, plain or TLS."""


class _TimelyStream(io.RawIOBase):
    """What a socket receives until its time-out, counted from now, has passed."""

    def __init__(self, sock: Socket) -> None:
        limit_s = sock.gettimeout()
        self._sock, self._stream = sock, sock.makefile("rb", buffering=0)
        self._until_s = None if limit_s is None else time.monotonic() + limit_s

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if self._until_s is not None:
            left_s = self._until_s - time.monotonic()
            if left_s <= 0:
                raise TimeoutError("timed out")
            self._sock.settimeout(left_s)
        count: int | None = self._stream.readinto(buffer)
        return count

    def close(self) -> None:
        self._stream.close()
        super().close()


class _TimelyResponse(http.client.HTTPResponse):
    """A response whose head and body are received within the time-out of the socket at its start."""

    def __init__(self, sock: Socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        self.fp.close()
        self.fp = io.BufferedReader(_TimelyStream(sock))


class _HTTP(HTTPConnection):
    response_class = _TimelyResponse


class _HTTPS(HTTPSConnection):
    response_class = _TimelyResponse


class _GuardedHTTP(_HTTP):
    """Looks at the address that answered before a byte is sent."""

    def _new_conn(self) -> Socket:
        return _checked(super()._new_conn())


class _GuardedHTTPS(_HTTPS):
    """Looks at the address that answered before a byte is sent."""

    def _new_conn(self) -> Socket:
        return _checked(super()._new_conn())


def _checked(sock: Socket) -> Socket:
    try:
        check_host(str(sock.getpeername()[0]))
    except InvalidAddress:
        sock.close()
        raise
    return sock


class _HTTPPool(HTTPConnectionPool):
    ConnectionCls = _HTTP


class _HTTPSPool(HTTPSConnectionPool):
    ConnectionCls = _HTTPS


class _GuardedHTTPPool(HTTPConnectionPool):
    ConnectionCls = _GuardedHTTP


class _GuardedHTTPSPool(HTTPSConnectionPool):
    ConnectionCls = _GuardedHTTPS


class _Adapter(HTTPAdapter):
    """A requests adapter with our connections."""

    pools: ClassVar = {"http": _HTTPPool, "https": _HTTPSPool}

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = self.pools


class _GuardedAdapter(_Adapter):
    """One that refuses link-local and metadata addresses at connection time."""

    pools: ClassVar = {"http": _GuardedHTTPPool, "https": _GuardedHTTPSPool}


CONNECTIONS = 8
"""Connections to one host that a session keeps open; the library keeps ten unless told."""


def new_session(*, allow_link_local: bool, use_environment_proxy: bool) -> requests.Session:
    """A session for one source; guarded unless ``allow_link_local``.

    A proxy of the environment is used only where that is asked for: it would connect to whatever it is told, and the
    address looked at here would be its own.
    """
    session = requests.Session()
    session.trust_env = use_environment_proxy
    if not use_environment_proxy:  # what requests would have taken from the environment beside the proxy
        session.verify = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE") or True
    kind = _Adapter if allow_link_local else _GuardedAdapter
    for scheme in ("http://", "https://"):
        session.mount(scheme, kind(pool_connections=CONNECTIONS, pool_maxsize=CONNECTIONS))
    return session


class Responding:
    """The answer to a request, closed at the end: also where requests stumbles over it, and never hands it out."""

    def __init__(self, session: requests.Session, method: str, url: str, **options: Any) -> None:
        self._ask = partial(session.request, method, url, hooks={"response": self._hear}, **options)
        self._heard: list[requests.Response] = []

    def _hear(self, response: requests.Response, **_: object) -> None:
        self._heard.append(response)

    def __enter__(self) -> requests.Response:
        try:
            response = self._ask()
        except BaseException:
            self.__exit__()
            raise
        self._heard.append(response)
        return response

    def __exit__(self, *_: object) -> None:
        for response in self._heard:
            response.close()
