"""A deleted scenario out of the tables for good: what is left of it is its number, which no other scenario gets."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, delete, select, update

from sharing.errors import StillInUse
from sharing.library.reading import GONE, entry
from sharing.library.schema import BONDS, CALIBRATIONS, COMPARISONS, LINKS, PROJECTS, SCENARIOS, TAGS, VERSIONS
from sharing.library.writing import Signed

_EMPTIED = {
    **dict.fromkeys(("name", "model", "model_words", "words", "updated_by"), ""),
    **dict.fromkeys(("project_id", "gpus", "usd_per_month", "power_kw")),
    "latest": GONE,
}


@dataclass(frozen=True, kw_only=True)
class Removed:
    """What is gone: all versions of a scenario, and the reports of its frozen links."""

    versions: int
    links: int


def remove(connection: Connection, scenario_id: int, signed: Signed) -> Removed:
    """Remove a scenario that was deleted before, and revoke its links. Raises NotInLibrary, StillInUse."""
    name = entry(connection, scenario_id).name
    deleted = (SCENARIOS.c.id == scenario_id, SCENARIOS.c.deleted_at.is_not(None))
    if connection.execute(update(SCENARIOS).where(*deleted).values(updated_at=signed.at, **_EMPTIED)).rowcount == 0:
        raise StillInUse(f"Scenario {scenario_id} ({name[:60]}) is in use: delete it first, then remove it for good.")
    for table in (TAGS, BONDS, COMPARISONS, CALIBRATIONS):
        connection.execute(delete(table).where(table.c.scenario_id == scenario_id))
    its = VERSIONS.c.scenario_id == scenario_id
    projects = connection.scalars(select(VERSIONS.c.project_id).where(its).distinct()).all()
    versions = connection.execute(delete(VERSIONS).where(its)).rowcount
    _remove_unused(connection, [number for number in projects if number is not None])
    return Removed(versions=versions, links=_revoke_links(connection, scenario_id, signed))


def _revoke_links(connection: Connection, scenario_id: int, signed: Signed) -> int:
    """Who holds one is told that it was withdrawn, and when; the report behind it is gone."""
    its = LINKS.c.scenario_id == scenario_id
    still_open = update(LINKS).where(its, LINKS.c.revoked_at.is_(None))
    connection.execute(still_open.values(revoked_at=signed.at, revoked_by=signed.author))
    return connection.execute(update(LINKS).where(its).values(report="", made_by="", password=None)).rowcount


def _remove_unused(connection: Connection, projects: Sequence[int]) -> None:
    """A customer's name goes with the last scenario that was of that customer."""
    used = (select(table.c.project_id).where(table.c.project_id.in_(projects)) for table in (SCENARIOS, VERSIONS))
    no_more = [PROJECTS.c.id.not_in(numbers) for numbers in used]
    connection.execute(delete(PROJECTS).where(PROJECTS.c.id.in_(projects), *no_more))
