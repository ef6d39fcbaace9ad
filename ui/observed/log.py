"""The log of the process: as text, or a line of JSON for each record with the request and session that it belongs to.

A session is named by a digest: Streamlit's own name of it is a key to its uploads. No record holds what was typed.
"""

import hashlib
import logging
import re
import sys
import uuid
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Literal

from pythonjsonlogger.json import JsonFormatter
from streamlit.runtime.scriptrunner import get_script_run_ctx

from ui.observed.figures import LOGGED

_REQUEST: ContextVar[str] = ContextVar("request", default="")
_GIVEN = re.compile(r"[A-Za-z0-9._-]{1,64}")
_OURS = ("ui", "sharing", "api", "collectors", "reality", "sizing")
"""Loggers of the product, each by its package."""
_SERVER = ("streamlit", "uvicorn", "websockets")
_TEXT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_FIELDS = "%(asctime)s %(levelname)s %(name)s %(message)s %(request)s %(session)s"
_NAMES = {"asctime": "at", "levelname": "level", "name": "logger"}


def request_id(given: str | None) -> str:
    """The id of the request that is answered now: the proxy's (``X-Request-ID``) where it is one, else a new one."""
    one = given if given is not None and _GIVEN.fullmatch(given) else uuid.uuid4().hex
    _REQUEST.set(one)
    return one


def session_digest(session: str) -> str:
    """How a session is called in the log."""
    return hashlib.sha256(session.encode()).hexdigest()[:12]


class _Belonging(logging.Filter):
    """Notes which request and which session a record belongs to (empty where it is none's), and counts problems."""

    def filter(self, record: logging.LogRecord) -> bool:
        context = get_script_run_ctx(suppress_warning=True)
        record.request = _REQUEST.get()
        record.session = session_digest(context.session_id) if context else ""
        if record.levelno >= logging.WARNING:
            LOGGED.labels(record.name, record.levelname).inc()
        return True


def set_up_log(form: Literal["text", "json"]) -> None:
    """From now on the product logs to standard error in this form; called once the server has started.

    As JSON there is a record of each run of a page and of each act of the audit log as well, and the records of the
    server are in the same form; as text only warnings and errors are told, as whoever starts it at a terminal expects.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(_Belonging())
    structured = JsonFormatter(_FIELDS, rename_fields=_NAMES, json_ensure_ascii=False)
    handler.setFormatter(structured if form == "json" else logging.Formatter(_TEXT))
    for name in _OURS:
        logger = logging.getLogger(name)
        logger.setLevel(logging.INFO if form == "json" else logging.WARNING)
        logger.handlers[:], logger.propagate = [handler], False
    if form == "json":
        for logger in _of_server():
            logger.handlers[:] = [handler] if logger.handlers else []


def _of_server() -> Iterator[logging.Logger]:
    for name, logger in list(logging.Logger.manager.loggerDict.items()):
        if name.partition(".")[0] in _SERVER and isinstance(logger, logging.Logger):
            yield logger
