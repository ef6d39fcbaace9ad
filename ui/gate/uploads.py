"""What a session may upload: nothing before it is past the door, and no more than so many bytes at a time.

Streamlit keeps files in memory, for any session that has opened a web socket, whoever it is.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

from streamlit.runtime import Runtime, exists, get_instance
from streamlit.runtime.scriptrunner import get_script_run_ctx

from sharing.settings import Settings

MB = 1 << 20
"""Bytes of what Streamlit and our settings call a megabyte."""

_PATH = re.compile(r"/_stcore/upload_file/([^/]+)/[^/]+/?$")

_admitted: set[str] = set()
_lock = threading.Lock()


def admit() -> None:
    """Let the running session upload files from now on: it is past the door."""
    _note(_admitted.add)


def dismiss() -> None:
    """The session that is running may upload no more: it stands before the door."""
    _note(_admitted.discard)


def _note(what: Callable[[str], None]) -> None:
    context = get_script_run_ctx()
    if context is not None:
        with _lock:
            what(context.session_id)


def session_of(path: str) -> str | None:
    """The session that an upload is for; None for a path that is no upload."""
    match = _PATH.search(path)
    return match.group(1) if match else None


@dataclass(frozen=True, kw_only=True)
class UploadRefused:
    """An upload that is not taken."""

    status: HTTPStatus
    sentence: str


@dataclass(kw_only=True)
class Uploads:
    """The uploads that are under way, each with the bytes that it announced. Used by the event loop alone."""

    per_session: int
    in_all: int
    kept: Callable[[], Mapping[str, int]] = field(default=lambda: kept_bytes())
    _coming: dict[object, tuple[str, int]] = field(default_factory=dict)

    @classmethod
    def within(cls, settings: Settings) -> Uploads:
        """Uploads with the limits of the settings."""
        return cls(per_session=settings.upload_mb * MB, in_all=settings.uploads_mb * MB)

    def begin(self, session: str, announced: bytes | None) -> UploadRefused | object:
        """Let an upload in; what is returned ends it (:meth:`end`). ``announced``: its Content-Length."""
        if session not in _admitted:
            return UploadRefused(status=HTTPStatus.FORBIDDEN, sentence="This session may not upload files.")
        if announced is None or not announced.isdigit() or len(announced) > 18:
            return UploadRefused(status=HTTPStatus.LENGTH_REQUIRED, sentence="An upload has to say how large it is.")
        size, kept = int(announced), self.kept()
        _forget_ended(kept)
        coming = list(self._coming.values())
        own = kept.get(session, 0) + sum(n for other, n in coming if other == session)
        if own + size > self.per_session:
            return _too_large(f"The files of one session may have {self.per_session // MB} MB together.")
        if sum(kept.values()) + sum(n for _, n in coming) + size > self.in_all:
            sentence = "The files of all sessions have no room left: try again later."
            return UploadRefused(status=HTTPStatus.SERVICE_UNAVAILABLE, sentence=sentence)
        ticket = object()
        self._coming[ticket] = (session, size)
        return ticket

    def end(self, ticket: object) -> None:
        """An upload has arrived, or was given up."""
        self._coming.pop(ticket, None)


def _too_large(sentence: str) -> UploadRefused:
    return UploadRefused(status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE, sentence=sentence)


def kept_bytes() -> Mapping[str, int]:
    """Bytes of the files that Streamlit keeps, by session."""
    if not exists():
        return {}
    runtime = get_instance()
    assert isinstance(runtime, Runtime)
    storage = getattr(runtime.uploaded_file_mgr, "file_storage", {})
    return {session: sum(len(file.data) for file in files.values()) for session, files in list(storage.items())}


def _forget_ended(kept: Mapping[str, int]) -> None:
    """Sessions are many in the long run: those that have ended are no longer admitted."""
    if len(_admitted) < 1000:
        return
    runtime = get_instance()
    with _lock:
        for session in [one for one in _admitted if one not in kept and not runtime.is_active_session(one)]:
            _admitted.discard(session)
