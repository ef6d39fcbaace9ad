"""How many browsers may be connected at a time: each takes memory, and has the pages of one person computed."""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from sharing.settings import Settings
from ui.gate.uploads import UploadRefused

STREAM = "/_stcore/stream"
"""How the path of a session's web socket ends."""


@dataclass(kw_only=True)
class OpenSockets:
    """Web sockets that are open, by the address that asked for them. Used by the event loop alone."""

    in_all: int
    per_address: int
    _open: Counter[str] = field(default_factory=Counter)

    @classmethod
    def within(cls, settings: Settings) -> OpenSockets:
        """A count with the limits of the settings."""
        return cls(in_all=settings.sessions, per_address=settings.sessions_per_address)

    def refusal(self, address: str) -> UploadRefused | None:
        """Why an address gets no further session; None where it gets one."""
        if self._open[address] >= self.per_address:
            return UploadRefused(
                status=HTTPStatus.TOO_MANY_REQUESTS,
                sentence=f"Your address has as many sessions as this server allows ({self.per_address}): close one, or "
                "try again in a few minutes.",
            )
        if self._open.total() >= self.in_all:
            return UploadRefused(
                status=HTTPStatus.SERVICE_UNAVAILABLE,
                sentence=f"This server has as many sessions as it allows ({self.in_all}): try again in a few minutes.",
            )
        return None

    def enter(self, address: str) -> None:
        """A web socket is opened."""
        self._open[address] += 1

    def leave(self, address: str) -> None:
        """A web socket is closed, and no longer counts for its address."""
        self._open[address] -= 1
        if not self._open[address]:
            del self._open[address]


def opens_a_session(scope: Mapping[str, Any]) -> bool:
    """Whether a request is the web socket of a session."""
    return scope["type"] == "websocket" and str(scope["path"]).rstrip("/").endswith(STREAM)


def asks_for_a_page(scope: Mapping[str, Any], accept: str) -> bool:
    """Whether a browser asks for a page, to open a session from it: what it loads beside a page it asks for as such."""
    return scope["type"] == "http" and scope["method"] == "GET" and "text/html" in accept


def address_of(scope: Mapping[str, Any]) -> str:
    """The part of an address that one user cannot choose: of IPv6 the first half. Behind a trusted proxy, whom it asks
    for."""
    host = str((scope.get("client") or ("", 0))[0])
    try:
        at = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    return str(ipaddress.ip_network((at, 64), strict=False)) if at.version == 6 else str(at)
