"""Logging out: at the provider, in this browser, and for every copy of the login that there may be."""

import logging
import threading
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import streamlit as st

from sharing.access.identity import login_of
from sharing.errors import SharingError
from ui.database import library

KNOWN_S = 5.0
"""How long what the library says of ended logins is taken as known. Chosen: not a query for each click."""

_LOG = logging.getLogger(__name__)


class _Ended:
    """The logins that have ended: those of the library as it was last read, and all that were ended here."""

    def __init__(self) -> None:
        self._lock, self._here = threading.Lock(), set[str]()
        self._known: frozenset[str] = frozenset()
        self._read_s = float("-inf")

    def holds(self, login: str) -> bool:
        with self._lock:
            if time.monotonic() - self._read_s > KNOWN_S:
                self._read()
            return login in self._known or login in self._here

    def _read(self) -> None:
        """Where the library does not answer, what it said last counts: it shows nothing then, either."""
        from sharing.library.logins import ended_logins

        self._read_s = time.monotonic()
        try:
            self._known = ended_logins(library())
        except SharingError as error:
            _LOG.error("Which logins have ended cannot be read: %s", error)

    def add(self, login: str, until: datetime) -> None:
        from sharing.library.logins import end_login

        with self._lock:
            self._here.add(login)
        try:
            end_login(library(), login, until)
        except SharingError as error:
            _LOG.error("That a login has ended is known to this process alone: %s", error)


_ENDED = _Ended()


def has_ended(claims: Mapping[str, Any]) -> bool:
    """Whether somebody has logged out of this login."""
    return _ENDED.holds(login_of(claims))


def log_out(until: datetime) -> None:
    """End the login of this session, which would go on ``until`` then (for callbacks)."""
    _ENDED.add(login_of(st.user.to_dict()), until)
    st.logout()
