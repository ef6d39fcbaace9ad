"""Connections to PostgreSQL that do not wait for ever for a server that has stopped in the middle of something.

A time-out of the server does not help there: it is the server that would have to notice. Neither does one of the
network: the machine goes on to acknowledge what it is sent.
"""

from __future__ import annotations

from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen

STALL_S = 40.0
"""How long one statement may take. Chosen: longer than a writer waits for the others (``BUSY_S``)."""

RV = TypeVar("RV")


class TimelyConnection(psycopg.Connection[Any]):
    """One that is given up where the server does not answer."""

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        """As psycopg has it. Raises OperationalError after :data:`STALL_S`."""
        try:
            return super().wait(gen, interval, STALL_S if timeout is None else timeout)
        except psycopg.errors._WaitTimeout:
            if timeout is not None:
                raise
            self.pgconn.finish()  # to close it in order would be to wait once more
            raise psycopg.OperationalError("the server does not answer") from None
