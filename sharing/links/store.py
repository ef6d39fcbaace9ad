"""Frozen links for those who own scenarios: made, listed and revoked. Opened: :mod:`sharing.links.holder`."""

from collections.abc import Iterator

from sqlalchemy import ColumnElement, and_, insert, select, update

from sharing.access import Actor, Right, demand, may
from sharing.access.tokens import new_token, token_hash
from sharing.audit import Act, record
from sharing.errors import InvalidEntry, NotInLibrary
from sharing.library.reading import version
from sharing.library.records import NAME_LENGTH, json_text
from sharing.library.schema import LINKS
from sharing.library.store import Library
from sharing.links.records import Link, Made, Terms
from sharing.links.rows import LISTED, link_of, link_where
from sharing.links.secrets import password_hash
from sharing.report.content import Report


class Links:
    """The frozen links of a library. Every method raises LibraryUnavailable, and then has written nothing."""

    def __init__(self, library: Library) -> None:
        self.library = library

    def make(self, scenario_id: int, number: int, report: Report, terms: Terms, *, by: Actor) -> Made:
        """A link to the report of a version. Raises NotAllowed, NotInLibrary, InvalidEntry."""
        token = new_token()
        password = password_hash(terms.password) if terms.password else None
        with self.library.writing(by, Right.SHARE) as (connection, signed):
            if terms.expires_at is not None and terms.expires_at <= signed.at:
                raise InvalidEntry("A link that has expired already shows nothing: choose a later day.")
            version(connection, scenario_id, number)
            row = {
                "scenario_id": scenario_id,
                "version": number,
                "token_hash": token_hash(token),
                "made_by": signed.author,
                "made_at": signed.at,
                "released": report.released.value,
                "engine_version": report.engine_version,
                "data_version": report.data_version,
                "expires_at": terms.expires_at,
                "password": password,
                "guesses": 0,
                "views": 0,
                "report": json_text(report.model_dump(mode="json")),
            }
            made = connection.execute(insert(LINKS).values(**row).returning(*LISTED)).one()
            record(Act.SHARED, by, f"link {made.id} to scenario {scenario_id}, version {number}")
            return Made(link=link_of(made), token=token)

    def of_scenario(self, scenario_id: int, *, by: Actor) -> tuple[Link, ...]:
        """The links of a scenario that somebody may see, the latest first: their own, or everybody's."""
        demand(by, Right.READ)
        wanted = and_(LINKS.c.scenario_id == scenario_id, *_visible_to(by))
        with self.library.database.reading() as connection:
            rows = connection.execute(select(*LISTED).where(wanted).order_by(LINKS.c.id.desc())).all()
        return tuple(map(link_of, rows))

    def revoke(self, link_id: int, *, by: Actor) -> Link:
        """Make the link show nothing from now on. Raises NotAllowed, NotInLibrary."""
        wanted = and_(LINKS.c.id == link_id, *_visible_to(by))
        with self.library.writing(by, Right.REVOKE) as (connection, signed):
            still_open = update(LINKS).where(wanted, LINKS.c.revoked_at.is_(None))
            connection.execute(still_open.values(revoked_at=signed.at, revoked_by=signed.author))
            link = link_where(connection, wanted)
            record(Act.REVOKED, by, f"link {link_id}")
        if link is None:
            raise NotInLibrary(f"There is no link {link_id}.")
        return link


def _visible_to(actor: Actor) -> Iterator[ColumnElement[bool]]:
    if not may(actor.role, Right.SEE_ALL_LINKS):
        yield LINKS.c.made_by == (actor.name.strip()[:NAME_LENGTH] or "unknown")
