"""Who did what, and when: one line for every act, for whoever answers for the library.

Each goes to the logger ``sharing.audit`` and, where ``SHARING_AUDIT`` names a file, to its end as one line of JSON.
Scenarios and links are named by their numbers: what they hold is not written down.
"""

import json
import logging
import os
from datetime import UTC, datetime
from enum import StrEnum

from sharing.access import Actor
from sharing.errors import AuditUnavailable

VARIABLE = "SHARING_AUDIT"
"""Environment variable: the file to whose end acts are written."""

_LOG = logging.getLogger(__name__)


class Act(StrEnum):
    """What can be done that is written down."""

    LOGGED_IN = "logged_in"
    LOGGED_OUT = "logged_out"
    TURNED_AWAY = "turned_away"
    ROLE_CHANGED = "role_changed"
    SAVED = "saved"
    DELETED = "deleted"
    RESTORED = "restored"
    PURGED = "purged"
    BOUND = "bound"
    CALIBRATED = "calibrated"
    UNDONE = "undone"
    SHARED = "shared"
    REVOKED = "revoked"
    LINK_READ = "link_read"
    WRONG_PASSWORD = "wrong_password"
    EXPORTED = "exported"


def record(act: Act, by: Actor, subject: str, *, address: str = "") -> None:
    """Write an act down. ``subject``: what it was done to, such as "scenario 12, version 3"; ``address``: the network
    address of somebody who has no name here.

    Raises AuditUnavailable where the file cannot be written: within a transaction nothing is written then.
    """
    role = by.role.value if by.role else ""
    line = {
        "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "act": act.value,
        "by": by.name or "unknown",
        "role": role,
        "subject": subject,
        "address": address,
    }
    if path := os.environ.get(VARIABLE, "").strip():
        _append(path, json.dumps(line) + "\n")
    _LOG.info("%s: %s by %s", act.value, subject, line["by"], extra={"audit": line})


def note(act: Act, by: Actor, subject: str, *, address: str = "") -> None:
    """As :func:`record`, of what happens in any case: where it cannot be written down, the log says so."""
    try:
        record(act, by, subject, address=address)
    except AuditUnavailable as error:
        _LOG.error("%s", error)


def _append(path: str, line: str) -> None:
    """One write at the end of the file, so that lines of several processes do not mix; its user alone may read it."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            written = os.write(descriptor, content := line.encode())
        finally:
            os.close(descriptor)
    except OSError as error:
        raise AuditUnavailable(f"The audit log cannot be written ({error.strerror}): nothing was done.") from None
    if written < len(content):
        raise AuditUnavailable("The audit log cannot be written (its disk is full): nothing was done.")
