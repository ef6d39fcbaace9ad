"""A frozen link for whoever holds its token, without a role: looked at, unlocked, shown, and counted."""

import ipaddress
from datetime import datetime, timedelta

from sqlalchemy import Connection, delete, insert, select, update

from sharing.access import Actor
from sharing.access.tokens import token_hash
from sharing.audit import Act, record
from sharing.errors import LinkRefusal, LinkRefused
from sharing.library import reading
from sharing.library.records import Version
from sharing.library.schema import GUESSES, LINKS
from sharing.library.store import Library
from sharing.links.records import Link, LinkState, Shared, Unlocked
from sharing.links.rows import link_where, report_of
from sharing.links.secrets import LONGEST_TOKEN, is_password

FREE_GUESSES = 5
"""Wrong passwords before a link makes whoever guesses wait. Chosen: enough for typing errors."""
MANY_GUESSES = 1000
"""Wrong passwords of all together from which on a link gives nobody more than one: who knows it needs no more."""
FIRST_WAIT = timedelta(seconds=30)
LONGEST_WAIT = timedelta(hours=1)
"""Waits double up to this: some 24 guesses a day."""
FORGOTTEN_AFTER = timedelta(days=1)
"""After the end of a wait. Chosen: 24 guesses a day and no table that grows for ever."""

NOWHERE = "This link leads nowhere: it is incomplete, or there is none like it."
LOCKED = "This link needs a password."
WRONG = "That is not the password of this link."


class Holder:
    """What a token opens, and nothing else of the library. Every method raises LibraryUnavailable.

    ``address`` is where whoever holds it comes from: guesses of one do not keep another waiting.
    """

    def __init__(self, library: Library, token: str, address: str = "") -> None:
        self.database, self.now, self.token = library.database, library.now, token
        self._who = token_hash(f"{token[:LONGEST_TOKEN]} {_network(address)}")
        self._address = address

    def look(self) -> Link:
        """The link of the token, without what it shows. Raises LinkRefused."""
        with self.database.reading() as connection:
            here = LINKS.c.token_hash == token_hash(self.token[:LONGEST_TOKEN])
            link = link_where(connection, here)
        if link is None:
            raise LinkRefused(LinkRefusal.UNKNOWN, NOWHERE)
        match link.state(self.now()):
            case LinkState.REVOKED:
                raise LinkRefused(LinkRefusal.REVOKED, f"This link was withdrawn on {link.revoked_at:%Y-%m-%d}.")
            case LinkState.EXPIRED:
                raise LinkRefused(
                    LinkRefusal.EXPIRED, f"This link has expired on {link.expires_at:%Y-%m-%d %H:%M} UTC."
                )
        return link

    def unlock(self, password: str) -> Unlocked:
        """Take the password of a link. Raises LinkRefused, and makes whoever guesses wrong wait longer and longer.

        A guess is counted before it is looked at, so that many at a time are no more than one after the other.
        """
        link = self.look()
        here = LINKS.c.id == link.id
        with self.database.writing() as connection:
            kept = _counted_guess(connection, link.id, self._who, self.now())
        if kept is not None and not is_password(password, kept):
            self._record(Act.WRONG_PASSWORD, link)
            raise LinkRefused(LinkRefusal.WRONG_PASSWORD, WRONG)
        with self.database.writing() as connection:
            connection.execute(update(LINKS).where(here).values(guesses=LINKS.c.guesses - 1))
            connection.execute(delete(GUESSES).where(GUESSES.c.link_id == link.id, GUESSES.c.holder == self._who))
        return Unlocked(link_id=link.id)

    def show(self, unlocked: Unlocked | None = None) -> Shared:
        """What the link shows. Raises LinkRefused, UnreadableVersion for a report of a newer version."""
        link = self.look()
        if link.has_password and unlocked != Unlocked(link_id=link.id):
            raise LinkRefused(LinkRefusal.LOCKED, LOCKED)
        with self.database.reading() as connection:
            text = connection.execute(select(LINKS.c.report).where(LINKS.c.id == link.id)).scalar_one()
        return Shared(link=link, report=report_of(text))

    def version(self, link: Link) -> Version:
        """The version that the link is of, all of it: for computing with it, never for showing it."""
        with self.database.reading() as connection:
            return reading.version(connection, link.scenario_id, link.version)

    def count_view(self, link: Link) -> None:
        """Count that somebody has opened the link, and when."""
        with self.database.writing() as connection:
            seen = {"views": LINKS.c.views + 1, "viewed_at": self.now()}
            connection.execute(update(LINKS).where(LINKS.c.id == link.id).values(**seen))
            self._record(Act.LINK_READ, link)

    def _record(self, act: Act, link: Link) -> None:
        record(act, Actor(name="holder of the link", role=None), f"link {link.id}", address=self._address)


def _counted_guess(connection: Connection, link_id: int, holder: str, now: datetime) -> str | None:
    """Count a guess; what is kept of the password. Raises LinkRefused while the link makes whoever guesses wait."""
    here, own = LINKS.c.id == link_id, (GUESSES.c.link_id == link_id, GUESSES.c.holder == holder)
    in_all, kept = connection.execute(select(LINKS.c.guesses, LINKS.c.password).where(here).with_for_update()).one()
    before = connection.execute(select(GUESSES.c.guesses, GUESSES.c.blocked_until).where(*own)).one_or_none()
    guesses, blocked_until = before or (0, now)
    if blocked_until > now:
        until = f"{blocked_until:%Y-%m-%d %H:%M:%S} UTC"
        raise LinkRefused(LinkRefusal.WAIT, f"Too many wrong passwords: try again after {until}.")
    beyond = guesses + 1 - (1 if in_all >= MANY_GUESSES else FREE_GUESSES)
    wait = min(FIRST_WAIT * 2 ** min(beyond, 16), LONGEST_WAIT) if beyond >= 0 else timedelta()
    forgotten = (GUESSES.c.link_id == link_id, GUESSES.c.blocked_until < now - FORGOTTEN_AFTER)
    connection.execute(delete(GUESSES).where(*forgotten))
    connection.execute(delete(GUESSES).where(*own))
    row = {"link_id": link_id, "holder": holder, "guesses": guesses + 1, "blocked_until": now + wait}
    connection.execute(insert(GUESSES).values(**row))
    connection.execute(update(LINKS).where(here).values(guesses=in_all + 1))
    return None if kept is None else str(kept)


def _network(address: str) -> str:
    """The part of an address that one user cannot choose: of IPv6 the first half."""
    try:
        at = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return ""
    return str(ipaddress.ip_network((at, 64), strict=False)) if at.version == 6 else str(at)
