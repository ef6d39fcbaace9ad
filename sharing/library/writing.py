"""Versions into the tables, each on top of the one it was made from or not at all; deleted scenarios out of them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from importlib import import_module
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from sharing.document import model_name, whole_document
from sharing.errors import StillInUse
from sharing.library.reading import GONE, changes, entry, values_of_draft, values_of_version, version, version_saved_as
from sharing.library.records import (
    Conflict,
    KeyChange,
    LibraryAction,
    Project,
    ScenarioDraft,
    StoredFigures,
    Version,
    json_text,
)
from sharing.library.schema import BONDS, CALIBRATIONS, COMPARISONS, LINKS, PROJECTS, SCENARIOS, TAGS, VERSIONS
from sharing.library.text import printable, words

_EMPTIED = {
    **dict.fromkeys(("name", "model", "model_words", "words", "updated_by"), ""),
    **dict.fromkeys(("project_id", "gpus", "usd_per_month", "power_kw")),
    "latest": GONE,
}


@dataclass(frozen=True, kw_only=True)
class Signed:
    """Who does something, and when."""

    author: str
    at: datetime


def create(connection: Connection, draft: ScenarioDraft, signed: Signed) -> Version:
    """A new scenario with its first version; the one that the same act has made before, if it has."""
    earlier = version_saved_as(connection, draft.key)
    if earlier is not None:
        return earlier
    project_id = _project_id(connection, draft.project)
    row = _row_of_draft(draft, project_id, signed)
    scenario_id = connection.execute(insert(SCENARIOS).values(latest=1, **row).returning(SCENARIOS.c.id)).scalar_one()
    _keep_tags(connection, scenario_id, draft)
    first = changes({}, values_of_draft(whole_document(draft.scenario), draft))
    _append(connection, scenario_id, 1, draft, project_id, signed, LibraryAction.CREATED, first)
    return version(connection, scenario_id)


def save(
    connection: Connection, scenario_id: int, base: int, draft: ScenarioDraft, signed: Signed
) -> Version | Conflict:
    """A version on top of ``base``, or the conflict with whoever saved first. Raises NotInLibrary."""
    earlier = version_saved_as(connection, draft.key)
    if earlier is not None:
        return earlier
    started_from = version(connection, scenario_id, base)
    mine = changes(values_of_version(started_from), values_of_draft(whole_document(draft.scenario), draft))
    project_id = _project_id(connection, draft.project)
    row = _row_of_draft(draft, project_id, signed)
    if not _move_on(connection, scenario_id, base, row):
        return _conflict(connection, started_from, draft, mine)
    _keep_tags(connection, scenario_id, draft)
    _append(connection, scenario_id, base + 1, draft, project_id, signed, LibraryAction.SAVED, mine)
    return version(connection, scenario_id)


def mark(
    connection: Connection, scenario_id: int, base: int, signed: Signed, action: LibraryAction
) -> Version | Conflict:
    """Delete or restore: a version with the content of ``base``. Raises NotInLibrary."""
    started_from = version(connection, scenario_id, base)
    deleted_at = signed.at if action is LibraryAction.DELETED else None
    row = {"updated_at": signed.at, "updated_by": signed.author, "deleted_at": deleted_at}
    key = f"{scenario_id}-{base}-{action.value}"
    if not _move_on(connection, scenario_id, base, row):
        return version_saved_as(connection, key) or _conflict(connection, started_from, None, ())
    kept = select(
        VERSIONS.c.scenario_id,
        VERSIONS.c.schema_version,
        VERSIONS.c.document,
        VERSIONS.c.project_id,
        VERSIONS.c.tags,
        VERSIONS.c.figures,
    ).where(VERSIONS.c.scenario_id == scenario_id, VERSIONS.c.number == base)
    copied = dict(connection.execute(kept).one()._mapping)
    signature = {"author": signed.author, "at": signed.at, "action": action.value, "changes": "[]"}
    connection.execute(insert(VERSIONS).values(number=base + 1, save_key=key, **copied, **signature))
    return version(connection, scenario_id)


def _move_on(connection: Connection, scenario_id: int, base: int, row: dict[str, Any]) -> bool:
    """Whether ``base`` still was the latest version. The row stays locked until the transaction ends."""
    here = (SCENARIOS.c.id == scenario_id, SCENARIOS.c.latest == base)
    return connection.execute(update(SCENARIOS).where(*here).values(latest=base + 1, **row)).rowcount == 1


def _conflict(
    connection: Connection, base: Version, mine: ScenarioDraft | None, my_changes: tuple[KeyChange, ...]
) -> Conflict:
    theirs = version(connection, base.scenario_id)
    their_changes = changes(values_of_version(base), values_of_version(theirs))
    return Conflict(mine=mine, base=base, theirs=theirs, my_changes=my_changes, their_changes=their_changes)


def _row_of_draft(draft: ScenarioDraft, project_id: int | None, signed: Signed) -> dict[str, Any]:
    """What the list shows of a scenario."""
    name, model, project = draft.scenario.name, model_name(draft.scenario), draft.project
    filed = (project.name, project.customer) if project else ()
    figures = draft.figures or StoredFigures(answer="", engine_version="")
    return {
        "project_id": project_id,
        "name": printable(name),
        "model": printable(model),
        "model_words": words(model),
        "words": words(name, model, *filed, *draft.tags),
        "gpus": figures.gpus,
        "usd_per_month": figures.usd_per_month,
        "power_kw": figures.power_kw,
        "updated_at": signed.at,
        "updated_by": signed.author,
        "deleted_at": None,
    }


def _append(
    connection: Connection,
    scenario_id: int,
    number: int,
    draft: ScenarioDraft,
    project_id: int | None,
    signed: Signed,
    action: LibraryAction,
    made: tuple[KeyChange, ...],
) -> None:
    document = whole_document(draft.scenario)
    connection.execute(
        insert(VERSIONS).values(
            scenario_id=scenario_id,
            number=number,
            author=signed.author,
            at=signed.at,
            action=action.value,
            changes=json_text([asdict(change) for change in made]),
            schema_version=document["schema_version"],
            document=json_text(document),
            project_id=project_id,
            tags=json_text(list(draft.tags)),
            figures=json_text(asdict(draft.figures)) if draft.figures else None,
            save_key=draft.key,
        )
    )


def _keep_tags(connection: Connection, scenario_id: int, draft: ScenarioDraft) -> None:
    connection.execute(delete(TAGS).where(TAGS.c.scenario_id == scenario_id))
    if draft.tags:
        connection.execute(insert(TAGS), [{"scenario_id": scenario_id, "tag": tag} for tag in draft.tags])


def _project_id(connection: Connection, project: Project | None) -> int | None:
    """The number of a project, made where it is new."""
    if project is None:
        return None
    row = {"name": project.name, "customer": project.customer}
    searched = {"name_words": words(project.name), "customer_words": words(project.customer)}
    make = insert_of(connection)(PROJECTS).values(**row, **searched)
    connection.execute(make.on_conflict_do_nothing(index_elements=["name", "customer"]))
    same = (PROJECTS.c.name == project.name, PROJECTS.c.customer == project.customer)
    return int(connection.execute(select(PROJECTS.c.id).where(*same)).scalar_one())


def insert_of(connection: Connection) -> Any:
    """The INSERT that knows ON CONFLICT, of the dialect that is spoken. Loaded when it is: PostgreSQL's takes 0.1 s,
    and every start of the dashboard would wait for it."""
    return import_module(f"sqlalchemy.dialects.{connection.dialect.name}").insert


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
