"""One HTTP exchange with a source: total time-out, size limit, bounded retries, redirects on the same host only."""

import http.client
import random
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urljoin, urlsplit

import requests
from urllib3.exceptions import HTTPError, NameResolutionError, ProtocolError, ReadTimeoutError

from collectors.errors import (
    AccessDenied,
    InvalidAddress,
    QueryRejected,
    Redirected,
    ServerFailed,
    SourceError,
    TimedOut,
    TooLarge,
    TooManyRequests,
    Unreachable,
    UnusableAnswer,
)
from collectors.prometheus.access import Access, RequestCredentials
from collectors.prometheus.address import check_url
from collectors.prometheus.connections import Responding, new_session
from collectors.units import MIB

CHUNK_BYTES = 1 << 16
"""Read at a time. Chosen: an answer that is too large is noticed 64 kB after its limit."""
MAX_REDIRECTS = 3
"""Chosen: http to https, a missing slash, and one more."""
RETRIED_STATUS = frozenset({429, 502, 503, 504})
"""Too many requests, and what a gateway answers while the server behind it starts."""
BACKOFF_S = 0.25
"""Wait before the second attempt, doubled with each. Chosen: hardly felt."""
LONGEST_WAIT_S = 5.0
"""The longest wait that a server may ask for. Chosen: a page that waits longer seems broken."""
MOST_CAUSES = 20
"""Errors looked at for what led to one. Chosen: the libraries nest three or four."""
JSON = "POST JSON"
"""A POST whose body is a JSON document instead of a form."""
DEFAULT_PORTS = {"http": 80, "https": 443}
"""Ports of an address that names none (RFC 9110, section 4.2)."""


@dataclass(frozen=True, kw_only=True)
class FetchLimits:
    """``timeout_s`` for the whole exchange with its retries, ``max_bytes`` of one answer, ``attempts`` at most."""

    timeout_s: float = 10.0
    connect_s: float = 3.0
    max_bytes: int = 32 * MIB
    attempts: int = 2


@dataclass(frozen=True, kw_only=True)
class Clock:
    """Time, waiting and jitter, so that tests need none of them."""

    monotonic: Callable[[], float] = time.monotonic
    wait: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = random.Random().random


@dataclass(frozen=True, kw_only=True)
class Reply:
    """The answer of a server, read to its end."""

    status: int
    body: bytes = field(repr=False)
    retry_after_s: float | None = None


class Fetcher:
    """Talks to one host. ``session`` may be any requests.Session, so tests can mount their own transport."""

    def __init__(
        self,
        *,
        access: Access | None = None,
        limits: FetchLimits | None = None,
        session: requests.Session | None = None,
        clock: Clock | None = None,
        allow_link_local: bool = False,
        use_environment_proxy: bool = False,
    ) -> None:
        self._access = access or Access()
        self._limits = limits or FetchLimits()
        self._session = session or new_session(
            allow_link_local=allow_link_local, use_environment_proxy=use_environment_proxy
        )
        self._clock = clock or Clock()
        self._allow_link_local = allow_link_local

    def __repr__(self) -> str:
        return "Fetcher(***)"

    def close(self) -> None:
        """Close idle connections."""
        self._session.close()

    def get(self, url: str, params: Mapping[str, object] | None = None, *, accept: str = "application/json") -> Reply:
        """GET with retries. Raises a SourceError when there is no answer at all; any status is an answer."""
        return self._with_retries("GET", url, params, accept)

    def post(self, url: str, form: Mapping[str, object]) -> Reply:
        """POST of a form with retries: safe, because the queries we send change nothing."""
        return self._with_retries("POST", url, form, "application/json")

    def post_json(self, url: str, document: Mapping[str, object]) -> Reply:
        """POST of a JSON document with retries: who receives it may see it twice. Raises as :meth:`get`."""
        return self._with_retries(JSON, url, document, "*/*")

    def _with_retries(self, method: str, url: str, form: Mapping[str, object] | None, accept: str) -> Reply:
        deadline = self._clock.monotonic() + self._limits.timeout_s
        attempt = 1
        while True:
            problem: SourceError | None = None
            reply: Reply | None = None
            try:
                reply = self._exchange(method, url, form, accept, deadline)
            except (Unreachable, UnusableAnswer) as error:
                problem = error
            if reply is not None and reply.status not in RETRIED_STATUS:
                return reply
            retry_after = reply.retry_after_s if reply else None
            pause = (
                retry_after
                if retry_after is not None
                else BACKOFF_S * 2 ** (attempt - 1) * (0.5 + self._clock.jitter())
            )
            left = deadline - self._clock.monotonic()
            if attempt >= self._limits.attempts or pause > min(LONGEST_WAIT_S, left):
                if reply is not None:
                    return reply
                assert problem is not None
                raise problem
            self._clock.wait(pause)
            attempt += 1

    def _exchange(
        self, method: str, url: str, form: Mapping[str, object] | None, accept: str, deadline: float
    ) -> Reply:
        """One request with its same-host redirects."""
        for _ in range(MAX_REDIRECTS + 1):
            parts = check_url(url, allow_link_local=self._allow_link_local)
            where = f"{parts.hostname}:{parts.port or DEFAULT_PORTS[parts.scheme]}"
            try:
                with self._send(method, url, form, accept, deadline) as response:
                    if not response.is_redirect:
                        return self._reply(response, where, deadline)
                    target = response.headers.get("Location", "")
            except SourceError:
                raise
            except requests.exceptions.SSLError:
                raise Unreachable(
                    f"{where} has a TLS certificate that cannot be verified: give its CA in tls."
                ) from None
            except requests.exceptions.ConnectTimeout:
                raise Unreachable(f"{where} does not accept a connection in time.") from None
            except requests.exceptions.Timeout:
                raise TimedOut(f"{where} did not answer within {self._limits.timeout_s:g} s.") from None
            except (requests.exceptions.ConnectionError, requests.exceptions.ChunkedEncodingError, HTTPError) as error:
                raise _connection_problem(error, where) from None
            except (requests.exceptions.RequestException, http.client.HTTPException, ValueError, AssertionError):
                # The last two: what the libraries below make of lengths and addresses that are none.
                raise UnusableAnswer(f"{where} did not answer as an HTTP server should.") from None
            except OSError:
                raise Unreachable(f"A certificate or key file for {where} cannot be read: check tls.") from None
            url = _same_host(parts, url, target).split("?")[0]
        raise Redirected(f"{where} redirects more than {MAX_REDIRECTS} times.")

    def _send(
        self, method: str, url: str, form: Mapping[str, object] | None, accept: str, deadline: float
    ) -> Responding:
        left = deadline - self._clock.monotonic()
        if left <= 0:
            raise requests.exceptions.Timeout
        tls = self._access.tls
        return Responding(
            self._session,
            "POST" if method == JSON else method,
            url,
            params=form if method == "GET" else None,
            data=form if method == "POST" else None,
            json=form if method == JSON else None,
            headers={"Accept": accept},
            auth=RequestCredentials(self._access),
            timeout=(min(self._limits.connect_s, left), left),
            allow_redirects=False,
            stream=True,
            verify=None if tls.ca_file is None else tls.verify,  # else the session's
            cert=tls.cert,
        )

    def _reply(self, response: requests.Response, where: str, deadline: float) -> Reply:
        """The body in chunks, stopping at the size limit or the deadline, whichever comes first."""
        body = bytearray()
        limit = self._limits.max_bytes
        for chunk in response.iter_content(CHUNK_BYTES):
            body += chunk
            if len(body) > limit:
                raise TooLarge(f"{where} sent more than {limit / MIB:g} MiB: narrow the selector or the range.")
            if self._clock.monotonic() > deadline:
                raise requests.exceptions.Timeout
        return Reply(
            status=response.status_code, body=bytes(body), retry_after_s=_seconds(response.headers.get("Retry-After"))
        )


def _connection_problem(error: Exception, where: str) -> SourceError:
    """A sentence for a connection that failed; the library's own text may hold the full URL, so it is not shown."""
    causes = _causes(error)

    def is_any(*kinds: type[BaseException]) -> bool:
        return any(isinstance(cause, kinds) for cause in causes)

    refused = next((cause for cause in causes if isinstance(cause, InvalidAddress)), None)
    if refused is not None:
        return refused
    if is_any(NameResolutionError, socket.gaierror):
        return Unreachable(f"There is no DNS answer for {where.rsplit(':', 1)[0]}: check the name.")
    if is_any(ConnectionRefusedError):
        return Unreachable(f"Nothing listens at {where}: connection refused.")
    if is_any(ProtocolError, http.client.IncompleteRead):
        return UnusableAnswer(f"{where} closed the connection in the middle of its answer.")
    if is_any(ReadTimeoutError):
        return TimedOut(f"{where} stopped in the middle of its answer.")
    return Unreachable(f"{where} cannot be reached.")


def _causes(error: BaseException) -> list[BaseException]:
    """An error and what led to it, as the libraries below nest them."""
    causes: list[BaseException] = []
    waiting: list[object] = [error]
    while waiting and len(causes) < MOST_CAUSES:
        cause = waiting.pop(0)
        if isinstance(cause, BaseException) and cause not in causes:
            causes.append(cause)
            waiting += [*cause.args, getattr(cause, "reason", None), cause.__cause__, cause.__context__]
    return causes


def _same_host(origin: SplitResult, url: str, location: str) -> str:
    """Where ``location`` leads from ``url``, when it stays on the host of ``origin`` without giving up TLS.

    Raises Redirected.
    """
    try:
        target = urljoin(url, location)
        parts = urlsplit(target)
        new = parts.port or DEFAULT_PORTS.get(parts.scheme, 0)
    except ValueError:
        raise Redirected(f"{origin.hostname} redirects to an address that is none.") from None
    old = origin.port or DEFAULT_PORTS[origin.scheme]
    upgraded = origin.scheme == "http" and parts.scheme == "https" and (old, new) == (80, 443)
    if parts.hostname == origin.hostname and ((parts.scheme == origin.scheme and old == new) or upgraded):
        return target
    raise Redirected(
        f"{origin.hostname} redirects to {parts.scheme}://{parts.hostname}, which is not followed: "
        "write that address if it is the right one."
    )


def _seconds(text: str | None) -> float | None:
    """Retry-After in seconds; the date form is left to our own back-off."""
    return float(text) if text is not None and text.strip().isdecimal() else None


def status_problem(status: int, where: str, detail: str = "") -> SourceError:
    """The SourceError for an HTTP status that is not a success."""
    reported = f": {detail}" if detail else ""
    if status in (401, 403):
        return AccessDenied(f"{where} refuses access ({status}): check the credentials under auth.")
    if status == 429:
        return TooManyRequests(f"{where} asks for fewer requests (429): read less often.")
    if status in (400, 422):
        return QueryRejected(f"{where} rejects the query{reported}.")
    if status == 404:
        return UnusableAnswer(f"{where} has nothing at this path (404): check the URL and its path prefix.")
    if status in (405, 501):
        return UnusableAnswer(f"{where} does not answer such requests ({status}): check the URL of the source.")
    if status >= 500:
        return ServerFailed(f"{where} failed with status {status}{reported}.")
    return UnusableAnswer(f"{where} answered with status {status}{reported}.")
