"""A bond, and one comparison that was kept: frozen values, checked where they enter."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sharing.errors import InvalidEntry
from sharing.library.records import checked

SOURCE_LENGTH, DEPLOYMENT_LENGTH = 200, 500
"""Characters of the name of a source, as in its file, and of one of its deployments."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a scenario runs: the name of a source, and of one of its deployments, empty where it has one alone."""

    source: str
    deployment: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "source", checked(self.source, "The name of the source", SOURCE_LENGTH))
        object.__setattr__(
            self, "deployment", checked(self.deployment, "The name of the deployment", DEPLOYMENT_LENGTH)
        )
        if not self.source:
            raise InvalidEntry("A bond needs the name of a source.")


@dataclass(frozen=True, kw_only=True)
class Bond:
    """Who said when that a scenario runs there."""

    scenario_id: int
    place: Place
    made_by: str
    made_at: datetime


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What one comparison says: its state and sentence, and the whole as JSON."""

    source: str
    at: datetime
    state: str
    judged: bool
    answer: str
    comparison: str


@dataclass(frozen=True, kw_only=True)
class Kept:
    """A finding in the library."""

    id: int
    scenario_id: int
    finding: Finding
