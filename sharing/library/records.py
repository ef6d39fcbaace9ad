"""What goes into the library and what comes out: frozen values, checked where they enter."""

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from sharing.errors import InvalidEntry, UnreadableVersion
from sizing import Plan, Scenario
from sizing.base.errors import InvalidScenario
from sizing.scenario.file import scenario_from

NAME_LENGTH = 120
TAG_LENGTH = 40
MOST_TAGS = 20


class LibraryAction(StrEnum):
    """How a version came to be."""

    CREATED = "created"
    SAVED = "saved"
    DELETED = "deleted"
    RESTORED = "restored"


def checked(text: str, what: str, most: int) -> str:
    """The text without blanks around it. Raises InvalidEntry where it is too long or holds control characters."""
    text = text.strip()
    if len(text) > most:
        raise InvalidEntry(f"{what} is longer than {most} characters.")
    if not text.isprintable():
        raise InvalidEntry(f"{what} holds characters that cannot be printed.")
    return text


@dataclass(frozen=True, kw_only=True)
class Project:
    """Scenarios that belong together, mostly of one customer."""

    name: str
    customer: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", checked(self.name, "The name of the project", NAME_LENGTH))
        object.__setattr__(self, "customer", checked(self.customer, "The customer", NAME_LENGTH))
        if not self.name:
            raise InvalidEntry("A project needs a name.")


@dataclass(frozen=True, kw_only=True)
class StoredFigures:
    """What the engine answered to a version: enough for a table and the total of a project."""

    answer: str
    engine_version: str
    gpus: int | None = None
    usd_per_month: float | None = None
    power_kw: float | None = None


def figures_of(plan: Plan) -> StoredFigures:
    """The figures of a plan that are kept with a version."""
    deployed, cost = plan.deployment, plan.cost
    return StoredFigures(
        answer=plan.answer,
        engine_version=plan.engine_version,
        gpus=deployed.gpus if deployed else None,
        usd_per_month=cost.hardware_usd_per_month if cost else None,
        power_kw=cost.power_kw if cost else None,
    )


@dataclass(frozen=True, kw_only=True)
class ScenarioDraft:
    """A scenario as its author wants it kept.

    ``key`` names this act of saving: the same draft saved again, after an answer that never came, is one version.
    """

    scenario: Scenario
    project: Project | None = None
    tags: Sequence[str] = ()
    figures: StoredFigures | None = None
    key: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __post_init__(self) -> None:
        tags = sorted({tag for tag in (checked(t, "A tag", TAG_LENGTH).casefold() for t in self.tags) if tag})
        if len(tags) > MOST_TAGS:
            raise InvalidEntry(f"A scenario has at most {MOST_TAGS} tags.")
        object.__setattr__(self, "tags", tuple(tags))


@dataclass(frozen=True, kw_only=True)
class KeyChange:
    """One key that a version changed, its values as text."""

    key: str
    before: str | None
    after: str | None


@dataclass(frozen=True, kw_only=True)
class Version:
    """One version of a scenario: who saved it, when, what it changed, and all of it."""

    scenario_id: int
    number: int
    author: str
    at: datetime
    action: LibraryAction
    changes: tuple[KeyChange, ...]
    document: Mapping[str, Any]
    project: Project | None
    tags: tuple[str, ...]
    figures: StoredFigures | None
    key: str

    def scenario(self) -> Scenario:
        """The scenario itself. Raises UnreadableVersion, of a newer version of the product among others."""
        try:
            return scenario_from(self.document)
        except InvalidScenario as invalid:
            raise UnreadableVersion(tuple(invalid.problems)) from None

    def draft(self) -> ScenarioDraft:
        """What was saved, to be changed and saved again. Raises UnreadableVersion."""
        return ScenarioDraft(scenario=self.scenario(), project=self.project, tags=self.tags, figures=self.figures)


@dataclass(frozen=True, kw_only=True)
class Conflict:
    """Somebody else saved first: nothing was written. ``mine`` is what was to be saved, ``theirs`` what now stands.

    ``my_changes`` and ``their_changes`` both start from the version ``mine`` was made from. To keep mine all the
    same, save it on top of ``theirs.number``: theirs stays in the history.
    """

    mine: ScenarioDraft | None
    base: Version
    theirs: Version
    my_changes: tuple[KeyChange, ...]
    their_changes: tuple[KeyChange, ...]


@dataclass(frozen=True, kw_only=True)
class LibraryEntry:
    """One scenario in the list, as its latest version has it."""

    id: int
    version: int
    name: str
    model: str
    project: Project | None
    tags: tuple[str, ...]
    gpus: int | None
    usd_per_month: float | None
    power_kw: float | None
    updated_at: datetime
    updated_by: str
    deleted_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class ScenarioQuery:
    """Which scenarios to list, the latest changed first; empty: every one. Case does not matter.

    ``text``: words that name, model, project, customer or tags contain; ``model`` a part of its name.
    """

    text: str = ""
    customer: str = ""
    project: str = ""
    tag: str = ""
    model: str = ""
    deleted: bool = False
    limit: int = 100
    offset: int = 0


@dataclass(frozen=True, kw_only=True)
class Listed:
    """One page of a list, and how many there are on all pages."""

    entries: tuple[LibraryEntry, ...]
    total: int


@dataclass(frozen=True, kw_only=True)
class ProjectTotal:
    """The scenarios of a project together. Those without a figure are counted in ``without_...``, not as zero."""

    project: Project
    scenarios: int
    gpus: int
    without_gpus: int
    usd_per_month: float
    without_usd: int
    power_kw: float
    without_power: int


def json_text(value: object) -> str:
    """A value as JSON in ASCII, which every database keeps as it is."""
    return json.dumps(value, separators=(",", ":"))
