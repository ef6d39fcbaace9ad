"""Connections to PostgreSQL that do not wait for ever for a server that has stopped in the middle of something.

A time-out of the server does not help there: it is the server that would have to notice. Neither does one of the
network: the machine goes on to acknowledge what it is sent.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:  # the driver is not everywhere
    from psycopg import Connection
    from psycopg.abc import PQGen

STALL_S = 40.0
"""How long one statement may take. Chosen: longer than a writer waits for the others (``BUSY_S``)."""

RV = TypeVar("RV")


@cache
def timely_connection() -> type[Connection[Any]]:
    """The class of connections that are given up where the server does not answer."""
    import psycopg

    class TimelyConnection(psycopg.Connection[Any]):
        """A connection of psycopg that waits no longer than :data:`STALL_S`."""

        def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
            """Raises OperationalError after :data:`STALL_S`."""
            try:
                return super().wait(gen, interval, STALL_S if timeout is None else timeout)
            except psycopg.errors._WaitTimeout:
                if timeout is not None:
                    raise
                self.pgconn.finish()  # to close it in order would be to wait once more
                raise psycopg.OperationalError("the server does not answer") from None

    return TimelyConnection
