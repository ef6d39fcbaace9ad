"""The gate: ASGI middleware before all of Streamlit, web socket included.

It answers for its own names alone, lets no page of another site in, keeps what is about the server for the machine
itself, lets so many sessions in at a time, closes uploads to whoever stands before the door, and gives every answer the
headers of :mod:`ui.gate.headers`.
"""

import ipaddress
import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import streamlit as st
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.runtime import Runtime, exists, get_instance
from streamlit.runtime.stats import ACTIVE_SESSIONS_FAMILY, GaugeStat

from ui.gate.first_run import whole_at_first
from ui.gate.headers import secured
from ui.gate.names import is_allowed
from ui.gate.serving import ServerSetup
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
