"""What a request may take: size, name, time, how many at once; and which program may ask, by its token."""

import asyncio
import logging
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path
from threading import BoundedSemaphore
from typing import TypeVar

from starlette.requests import Request

from api.problems import refused
from sharing.access import Right, Role, may
from sharing.access.rules import Rules, file_of_rules, read_rules
from sharing.errors import InvalidRules
from sizing.scenario.file import MAX_FILE_BYTES

MOST_BODY_MB = 4
MOST_BODY_BYTES = MOST_BODY_MB * MAX_FILE_BYTES
"""The longest body of a request. Chosen: five scenarios to compare, or some ten thousand configurations to predict."""

BODY_S = 30.0
"""Seconds in which a request has to arrive. Chosen: 4 MB over a poor line."""

T = TypeVar("T")

_LOG = logging.getLogger(__name__)


def demand_host(request: Request, names: Collection[str]) -> None:
    """Raises Refused where the request was sent to a name that is not this server's."""
    called = request.url.hostname or ""
    if called.lower() not in names:
        raise refused(
            HTTPStatus.MISDIRECTED_REQUEST,
            f"This server does not answer for the name “{called[:100]}”: start it with --host.",
        )


def demand_media_type(request: Request, allowed: Collection[str]) -> None:
    """Raises Refused for a body of another type; those that are allowed no page of another site may send unasked."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type not in allowed:
        raise refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"Content-Type must be {' or '.join(allowed)}.")


async def body_of(request: Request, seconds: float = BODY_S) -> bytes:
    """The body. Raises Refused, and reads no further, where it is larger than a request may be or comes too slowly."""
    content = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.stream():
                content += chunk
                if len(content) > MOST_BODY_BYTES:
                    raise refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"A request may have {MOST_BODY_MB} MB.")
    except TimeoutError:
        raise refused(HTTPStatus.REQUEST_TIMEOUT, f"A request has to arrive within {seconds:g} s.") from None
    return bytes(content)


class Slots:
    """Answers that are computed at a time, each in a thread; who finds none free is told to come back."""

    def __init__(self, at_once: int, seconds: float) -> None:
        self._free, self._seconds = BoundedSemaphore(at_once), seconds
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="answer")

    async def answer(self, compute: Callable[[], T]) -> T:
        """What ``compute`` returns. Raises Refused where no slot is free or the time is over.

        A thread cannot be stopped: an answer that is given up keeps its slot until it has come to its end.
        """
        if not self._free.acquire(blocking=False):
            raise refused(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "As many answers are being computed as this server allows: try again in a second.",
                {"Retry-After": "1"},
            )
        future = self._threads.submit(compute)
        future.add_done_callback(lambda _: self._free.release())
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self._seconds)
        except TimeoutError:
            raise refused(
                HTTPStatus.GATEWAY_TIMEOUT,
                f"The answer takes longer than {self._seconds:g} s: ask for the analytic answer, or for fewer rows.",
            ) from None


def demand_page(token: str | None, page: str) -> None:
    """Raises Refused where whoever holds this token may not see the page that answers the same question.

    Without a file of rules nobody needs a token, as on the pages nobody has to log in; one that cannot be read keeps
    everybody out.
    """
    file = file_of_rules()
    if file is None:
        return
    try:
        rules = _rules_in(file, file.stat().st_mtime_ns)
    except (InvalidRules, OSError) as invalid:
        _LOG.error("Nobody gets in: %s", invalid)
        raise refused(
            HTTPStatus.SERVICE_UNAVAILABLE,
            "Nobody gets in: how this server is set up cannot be used. Its log says why.",
        ) from None
    role = rules.role_of_token(token) if token else None
    if role is None:
        what = "This token has no role here" if token else "This server asks for a token (Authorization: Bearer ...)"
        ask = f"ask {rules.ask or 'whoever runs it'} for one."
        raise refused(HTTPStatus.UNAUTHORIZED, f"{what}: {ask}", {"WWW-Authenticate": "Bearer"})
    _demand(rules, role, page)


def _demand(rules: Rules, role: Role, page: str) -> None:
    if not (may(role, Right.READ) and rules.shows(role, page)):
        raise refused(HTTPStatus.FORBIDDEN, f"What the page {page} answers is not for the role {role.value}.")


@lru_cache(maxsize=4)
def _rules_in(file: Path, changed_at: int) -> Rules:
    return read_rules(file)
