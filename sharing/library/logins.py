"""Logins that were ended before their time: whoever has a copy of their cookie gets in no more, on no replica."""

from datetime import datetime

from sqlalchemy import delete, insert, select

from sharing.library.schema import ENDED_LOGINS
from sharing.library.store import Library


def end_login(library: Library, login: str, until: datetime) -> None:
    """Remember that a login has ended, until it would have by itself. Raises LibraryUnavailable."""
    with library.database.writing() as connection:
        connection.execute(delete(ENDED_LOGINS).where(ENDED_LOGINS.c.until < library.now()))
        connection.execute(delete(ENDED_LOGINS).where(ENDED_LOGINS.c.login == login))
        connection.execute(insert(ENDED_LOGINS).values(login=login, until=until))


def ended_logins(library: Library) -> frozenset[str]:
    """All of them that are worth knowing. Raises LibraryUnavailable."""
    with library.database.reading() as connection:
        return frozenset(connection.scalars(select(ENDED_LOGINS.c.login)))
