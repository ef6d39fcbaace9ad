"""The gate: ASGI middleware before all of Streamlit, web socket included.

It answers for its own names alone, lets no page of another site in, keeps what is about the server for the machine
itself, lets so many sessions in at a time, closes uploads to whoever stands before the door, and gives every answer the
headers of :mod:`ui.gate.headers`.
"""

import hashlib
import ipaddress
import logging
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any

import streamlit
import streamlit as st
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.runtime import Runtime, exists, get_instance
from streamlit.runtime.stats import ACTIVE_SESSIONS_FAMILY, GaugeStat

from ui.gate.serving import ServerSetup, is_allowed
from ui.gate.sessions import OpenSockets, address_of, asks_for_a_page, opens_a_session
from ui.gate.uploads import UploadRefused, Uploads, kept_bytes, session_of
from ui.observed.figures import PATH, REFUSED, exposed
from ui.observed.log import request_id

ABOUT_THE_SERVER = ("/_stcore/metrics", "/_stcore/script-health-check")
"""How many sessions there are, and a run of the whole dashboard for the asking."""

FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip")
"""Headers by which a proxy says that it asks for somebody else."""

_LOG = logging.getLogger(__name__)
_in_place = False

Header = tuple[bytes, bytes]


def is_passed_by() -> bool:
    """Whether this process serves the dashboard to browsers, and not through the gate (``streamlit run app.py``)."""
    return not _in_place and exists() and type(get_instance()) is Runtime  # not the one of AppTest


class Gate:
    """The middleware; ``serving`` says how this server is set up."""

    def __init__(self, app: ASGIApp, *, serving: ServerSetup) -> None:
        global _in_place
        _in_place = True
        self._app, self._serving = app, serving
        self._uploads = Uploads.within(serving.settings)
        self._figures = exposed(sessions=_sessions, uploaded=kept_bytes)
        self._sessions = OpenSockets.within(serving.settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it with one sentence."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        request = request_id(headers.get("x-request-id"))
        guarded = self._guarded(send, request) if scope["type"] == "http" else send
        if refused := self._refusal(scope, headers):
            _LOG.warning("Refused %s: %s", scope["path"][:200], refused.sentence)
            REFUSED.labels(str(int(refused.status))).inc()
            await PlainTextResponse(refused.sentence, refused.status)(scope, receive, guarded)
        elif _asks_for_figures(scope):
            await self._figures(scope, receive, guarded)
        elif scope["type"] == "http" and scope["method"] == "PUT" and (session := session_of(scope["path"])):
            await self._upload(session, headers, (scope, receive, guarded))
        elif opens_a_session(scope):
            await self._session(scope, receive, guarded)
        else:
            await self._app(scope, receive, guarded)

    def _refusal(self, scope: Scope, headers: Headers) -> UploadRefused | None:
        """Why a request is not answered; None where it is."""
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not is_allowed(hosts[0], self._serving.names, _own_address(scope)):
            sentence = "This server does not answer for that name: SIZING_HOSTS holds those it answers for."
            return UploadRefused(status=HTTPStatus.MISDIRECTED_REQUEST, sentence=sentence)
        if (scope["type"] == "websocket" or scope["method"] not in ("GET", "HEAD", "OPTIONS")) and not _of_this_site(
            headers, hosts[0]
        ):
            return UploadRefused(status=HTTPStatus.FORBIDDEN, sentence="This server answers its own pages only.")
        about = scope["path"].rstrip("/").endswith(ABOUT_THE_SERVER) or _asks_for_figures(scope)
        if about and not self._may_probe(scope, headers):
            sentence = "This is for the machine of this server: SIZING_PROBES names networks beside it."
            return UploadRefused(status=HTTPStatus.FORBIDDEN, sentence=sentence)
        if opens_a_session(scope) or asks_for_a_page(scope, headers.get("accept", "")):
            return self._sessions.refusal(address_of(scope))
        return None

    def _may_probe(self, scope: Scope, headers: Mapping[str, str]) -> bool:
        if any(name in headers for name in FORWARDED):
            return False
        try:
            client = ipaddress.ip_address((scope.get("client") or ("", 0))[0])
        except ValueError:
            return False
        mapped = getattr(client, "ipv4_mapped", None) or client
        return mapped.is_loopback or any(mapped in network for network in self._serving.settings.probes)

    async def _session(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A session, from its first message to its last."""
        address = address_of(scope)
        self._sessions.enter(address)
        try:
            await self._app(scope, whole_at_first(receive), send)
        finally:
            self._sessions.leave(address)

    async def _upload(self, session: str, headers: Headers, request: tuple[Scope, Receive, Send]) -> None:
        ticket = self._uploads.begin(session, _bytes(headers.get("content-length")))
        if isinstance(ticket, UploadRefused):
            _LOG.warning("Refused an upload: %s", ticket.sentence)
            await PlainTextResponse(ticket.sentence, ticket.status)(*request)
            return
        try:
            await self._app(*request)
        finally:
            self._uploads.end(ticket)

    def _guarded(self, send: Send, request: str) -> Send:
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                secure, login_s = self._serving.by_tls, self._serving.login_s()
                headers = secured(message.get("headers", ()), secure=secure, login_s=login_s)
                message = {**message, "headers": [*headers, (b"x-request-id", request.encode())]}
            await send(message)

        return sent


def _asks_for_figures(scope: Scope) -> bool:
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return scope["type"] == "http" and str(scope["path"]) == (f"/{base}{PATH}" if base else PATH)


def _sessions() -> int:
    """Browsers that are connected, as Streamlit's own metrics have them."""
    if not exists():
        return 0
    stats = get_instance().stats_mgr.get_stats([ACTIVE_SESSIONS_FAMILY])
    return sum(one.value for one in stats.get(ACTIVE_SESSIONS_FAMILY, ()) if isinstance(one, GaugeStat))


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode("latin-1", "replace")


def _own_address(scope: Mapping[str, Any]) -> str:
    """The address at which the request arrived."""
    server = scope.get("server")
    return str(server[0]).lower() if server and server[0] else ""


def _of_this_site(headers: Headers, host: str) -> bool:
    """Whether a request comes from a page of this server, or from no page at all.

    Streamlit goes on to look for this machine's address on the internet where the two differ: it is not asked.
    """
    origin = headers.get("origin")
    return origin is None or origin.partition("://")[2] == host


def whole_at_first(receive: Receive) -> Receive:
    """The messages of a session's web socket, the first that asks for a run without the part that it asks for."""
    is_first = True

    async def received() -> Message:
        nonlocal is_first
        message = await receive()
        if is_first and message["type"] == "websocket.receive" and message.get("bytes"):
            asking = _run_of(message["bytes"])
            if asking is not None:
                is_first = False
                if asking.rerun_script.fragment_id:
                    message = {**message, "bytes": _whole(asking)}
        return message

    return received


def _run_of(sent: bytes) -> BackMsg | None:
    """A message that asks for a run; None for any other, which is for Streamlit to refuse or answer."""
    try:
        asking = BackMsg.FromString(sent)
    except DecodeError:
        return None
    return asking if asking.WhichOneof("type") == "rerun_script" else None


def _whole(asking: BackMsg) -> bytes:
    asking.rerun_script.ClearField("fragment_id")
    asking.rerun_script.ClearField("is_auto_rerun")
    return bytes(asking.SerializeToString())


def _own_scripts() -> str:
    """The scripts that stand within Streamlit's page, by what they are: any other within a page is not run."""
    page = (Path(streamlit.__file__).parent / "static" / "index.html").read_bytes()
    digests = (hashlib.sha256(text).digest() for text in re.findall(rb"<script>(.*?)</script>", page, re.DOTALL))
    return " ".join(f"'sha256-{b64encode(digest).decode()}'" for digest in digests)


_POLICY: Mapping[str, str] = {
    "default-src": "'self'",
    # Streamlit's components come as text that its page makes modules of.
    "script-src": f"'self' 'wasm-unsafe-eval' blob: {_own_scripts()}".strip(),
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data: blob:",
    "font-src": "'self' data:",
    "connect-src": "'self' data: blob:",
    "worker-src": "'self' blob:",
    "media-src": "'self' data: blob:",
    "frame-src": "'self'",
    "frame-ancestors": "'none'",
    "base-uri": "'self'",
    "form-action": "'self'",
    "object-src": "'none'",
}
"""Content-Security-Policy: nothing is loaded from, sent to, or framed by another site."""

SECURITY: tuple[Header, ...] = (
    (b"content-security-policy", "; ".join(f"{key} {value}" for key, value in _POLICY.items()).encode()),
    (b"x-frame-options", b"DENY"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),  # a frozen link's token stands in its address
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
)

_LOGIN = b"_streamlit_user"
"""How the names of Streamlit's cookies of a login begin."""


def secured(headers: Iterable[Header], *, secure: bool, login_s: int) -> list[Header]:
    """The headers of an answer with ours; cookies for TLS alone where the server is reached by it, and those of a login
    no longer than ``login_s`` seconds."""
    ours = {name for name, _ in SECURITY}
    kept = [
        (name, _cookie(value, secure, login_s) if name.lower() == b"set-cookie" else value)
        for name, value in headers
        if name.lower() not in ours
    ]
    return [*kept, *SECURITY]


def _cookie(value: bytes, secure: bool, login_s: int) -> bytes:
    name, *attributes = (part.strip() for part in value.split(b";"))
    if name.startswith(_LOGIN):
        attributes = [_shortened(one, login_s) for one in attributes]
    if secure and b"secure" not in {one.lower() for one in attributes}:
        attributes.append(b"Secure")
    return b"; ".join([name, *attributes])


def _shortened(attribute: bytes, login_s: int) -> bytes:
    key, _, seconds = attribute.partition(b"=")
    longer = key.lower() == b"max-age" and seconds.isdigit() and int(seconds) > login_s
    return b"Max-Age=%d" % login_s if longer else attribute
