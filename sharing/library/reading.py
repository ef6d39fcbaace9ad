"""Questions to the tables: one scenario, its history, a list, the totals of projects."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, func, select

from sharing.errors import NotInLibrary
from sharing.library.records import (
    KeyChange,
    LibraryAction,
    LibraryEntry,
    Listed,
    Project,
    ProjectTotal,
    ScenarioDraft,
    ScenarioQuery,
    StoredFigures,
    Version,
    json_text,
)
from sharing.library.schema import PROJECTS, SCENARIOS, TAGS, VERSIONS
from sharing.library.text import ESCAPE, containing, printable
from sizing.decision.keys import WHOLE

AnyRow = Row[Any]
GONE = 0
"""Latest version of a scenario that was removed for good: it has none, its number stays taken."""
LARGEST = 2**31 - 1
"""Number beyond which no database has a scenario, or can be asked for one."""
PROJECT = (PROJECTS.c.name.label("project"), PROJECTS.c.customer)

TEXT_LENGTH = 200
"""Longest value in a history; the version itself has all of it."""

Values = Mapping[str, Any]


def version(connection: Connection, scenario_id: int, number: int | None = None) -> Version:
    """One version, the latest where no number is given. Raises NotInLibrary."""
    _possible(scenario_id)
    wanted = VERSIONS.c.number == number
    if number is None:
        latest = select(SCENARIOS.c.latest).where(SCENARIOS.c.id == scenario_id).scalar_subquery()
        wanted = VERSIONS.c.number == latest
    row = connection.execute(_versions().where(VERSIONS.c.scenario_id == scenario_id, wanted)).one_or_none()
    if row is None:
        which = f"no scenario {scenario_id}" if number is None else f"no version {number} of scenario {scenario_id}"
        raise NotInLibrary(f"The library has {which}.")
    return _version(row)


def _possible(scenario_id: int) -> None:
    if not 0 <= scenario_id <= LARGEST:
        raise NotInLibrary(f"The library has no scenario {str(scenario_id)[:20]}: numbers end at {LARGEST}.")


def version_saved_as(connection: Connection, key: str) -> Version | None:
    """The version that this act of saving has made, if it has."""
    row = connection.execute(_versions().where(VERSIONS.c.save_key == key)).one_or_none()
    return None if row is None else _version(row)


def history(connection: Connection, scenario_id: int) -> tuple[Version, ...]:
    """Every version, the latest first. Raises NotInLibrary."""
    _possible(scenario_id)
    rows = connection.execute(
        _versions().where(VERSIONS.c.scenario_id == scenario_id).order_by(VERSIONS.c.number.desc())
    ).all()
    if not rows:
        raise NotInLibrary(f"The library has no scenario {scenario_id}.")
    return tuple(map(_version, rows))


def entry(connection: Connection, scenario_id: int) -> LibraryEntry:
    """One line of the list, deleted or not. Raises NotInLibrary."""
    _possible(scenario_id)
    rows = connection.execute(_entries().where(SCENARIOS.c.id == scenario_id, SCENARIOS.c.latest > GONE)).all()
    if not rows:
        raise NotInLibrary(f"The library has no scenario {scenario_id}.")
    return _with_tags(connection, rows)[0]


def search(connection: Connection, query: ScenarioQuery) -> Listed:
    """A page of the list, the latest changed first."""
    wanted = and_(*_conditions(query))
    joined = SCENARIOS.outerjoin(PROJECTS)
    total = connection.execute(select(func.count()).select_from(joined).where(wanted)).scalar_one()
    order = (SCENARIOS.c.updated_at.desc(), SCENARIOS.c.id.desc())
    rows = connection.execute(_entries().where(wanted).order_by(*order).limit(query.limit).offset(query.offset)).all()
    return Listed(entries=_with_tags(connection, rows), total=total)


def totals(connection: Connection) -> tuple[ProjectTotal, ...]:
    """Every project with scenarios that are not deleted, by customer and name."""
    figures = (SCENARIOS.c.gpus, SCENARIOS.c.usd_per_month, SCENARIOS.c.power_kw)
    sums = [value for column in figures for value in (func.sum(column), func.count(column))]
    rows = connection.execute(
        select(*PROJECT, func.count(), *sums)
        .select_from(SCENARIOS.join(PROJECTS))
        .where(SCENARIOS.c.deleted_at.is_(None))
        .group_by(PROJECTS.c.id, *PROJECT)
        .order_by(PROJECTS.c.customer, PROJECTS.c.name)
    )
    return tuple(_total(row) for row in rows)


def _total(row: AnyRow) -> ProjectTotal:
    name, customer, scenarios, gpus, with_gpus, usd, with_usd, power, with_power = tuple[Any, ...](row)
    return ProjectTotal(
        project=Project(name=name, customer=customer),
        scenarios=scenarios,
        gpus=int(gpus or 0),
        without_gpus=scenarios - with_gpus,
        usd_per_month=float(usd or 0.0),
        without_usd=scenarios - with_usd,
        power_kw=float(power or 0.0),
        without_power=scenarios - with_power,
    )


def _conditions(query: ScenarioQuery) -> Iterable[ColumnElement[bool]]:
    yield SCENARIOS.c.latest > GONE
    yield SCENARIOS.c.deleted_at.is_not(None) if query.deleted else SCENARIOS.c.deleted_at.is_(None)
    for word in query.text.split():
        yield SCENARIOS.c.words.like(containing(word), escape=ESCAPE)
    if query.model.strip():
        yield SCENARIOS.c.model_words.like(containing(query.model.strip()), escape=ESCAPE)
    if query.customer.strip():
        yield PROJECTS.c.customer_words == query.customer.strip().casefold()
    if query.project.strip():
        yield PROJECTS.c.name_words == query.project.strip().casefold()
    if query.tag.strip():
        tagged = select(TAGS.c.scenario_id).where(TAGS.c.tag == query.tag.strip().casefold())
        yield SCENARIOS.c.id.in_(tagged)


def _entries() -> Any:
    return select(SCENARIOS, *PROJECT).select_from(SCENARIOS.outerjoin(PROJECTS))


def _versions() -> Any:
    return select(VERSIONS, *PROJECT).select_from(VERSIONS.outerjoin(PROJECTS, VERSIONS.c.project_id == PROJECTS.c.id))


def _project(row: AnyRow) -> Project | None:
    return None if row.project is None else Project(name=row.project, customer=row.customer)


def _version(row: AnyRow) -> Version:
    return Version(
        scenario_id=row.scenario_id,
        number=row.number,
        author=row.author,
        at=row.at,
        action=LibraryAction(row.action),
        changes=tuple(KeyChange(**change) for change in json.loads(row.changes)),
        document=json.loads(row.document),
        project=_project(row),
        tags=tuple(json.loads(row.tags)),
        figures=None if row.figures is None else StoredFigures(**json.loads(row.figures)),
        key=row.save_key,
    )


def _with_tags(connection: Connection, rows: Sequence[AnyRow]) -> tuple[LibraryEntry, ...]:
    tags: dict[int, list[str]] = {row.id: [] for row in rows}
    tagged = select(TAGS).where(TAGS.c.scenario_id.in_(tags)).order_by(TAGS.c.tag)
    for scenario_id, tag in connection.execute(tagged):
        tags[scenario_id].append(tag)
    return tuple(_entry(row, tuple(tags[row.id])) for row in rows)


def _entry(row: AnyRow, tags: tuple[str, ...]) -> LibraryEntry:
    return LibraryEntry(
        id=row.id,
        version=row.latest,
        name=row.name,
        model=row.model,
        project=_project(row),
        tags=tags,
        gpus=row.gpus,
        usd_per_month=row.usd_per_month,
        power_kw=row.power_kw,
        updated_at=row.updated_at,
        updated_by=row.updated_by,
        deleted_at=row.deleted_at,
    )


def values_of_draft(document: Mapping[str, Any], draft: ScenarioDraft) -> dict[str, Any]:
    """Every value of a version to be, by dotted key: those of the scenario, project, customer and tags."""
    return _values(document, draft.project, tuple(draft.tags))


def values_of_version(version: Version) -> dict[str, Any]:
    """The same of a version that is kept."""
    return _values(version.document, version.project, version.tags)


def changes(before: Values, after: Values) -> tuple[KeyChange, ...]:
    """Keys whose values differ, in the order of the scenario; those that are gone come last."""
    keys = dict.fromkeys([*after, *before])
    return tuple(
        KeyChange(key=key, before=_text(key, before.get(key)), after=_text(key, after.get(key)))
        for key in keys
        if before.get(key) != after.get(key)
    )


def _values(document: Values, project: Project | None, tags: tuple[str, ...]) -> dict[str, Any]:
    filed = {
        "project": project.name if project else None,
        "customer": (project.customer if project else "") or None,
        "tags": list(tags) or None,
    }
    return {key: value for key, value in [*_opened("", document), *filed.items()] if value is not None}


def _opened(prefix: str, document: Values) -> Iterator[tuple[str, Any]]:
    for name, value in document.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict) and key not in WHOLE:
            yield from _opened(f"{key}.", value)
        elif value not in (None, []):
            yield key, value


def _text(key: str, value: Any) -> str | None:
    from sharing.form.stages_text import stages_text
    from sizing.decision.text import shown  # the engine, which no list of scenarios waits for

    if value is None:
        return None
    written = shown(key, value) if isinstance(value, int | float) else value
    written = stages_text(value) if key == "pipeline" else written
    text = printable(written if isinstance(written, str) else json_text(written))
    return text if len(text) <= TEXT_LENGTH else f"{text[: TEXT_LENGTH - 1]}…"
