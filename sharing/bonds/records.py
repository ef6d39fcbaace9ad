"""A bond, a comparison that was kept, learned step times that were accepted: frozen values, checked on entry."""

import math
from dataclasses import dataclass
from datetime import datetime

from sharing.errors import InvalidEntry
from sharing.library.records import checked

SOURCE_LENGTH, DEPLOYMENT_LENGTH = 200, 500
"""Characters of the name of a source, as in its file, and of one of its deployments."""


@dataclass(frozen=True, kw_only=True)
class SourcePlace:
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
    place: SourcePlace
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
class StoredFinding:
    """A finding in the library."""

    id: int
    scenario_id: int
    finding: Finding


@dataclass(frozen=True, kw_only=True)
class LearnedCalibration:
    """Step times that ``windows`` live windows of ``window_s`` each taught, from ``since`` to ``until``.

    ``decode``, ``prefill``: how many times as long as the engine of ``basis`` (configuration and engine version) says;
    ``front`` the same of what a request takes before the engine has it. ``covariance`` (3, 3) of the logarithms of the
    first two and of the third; ``benchmark``: the windows as a measured curve of a scenario, in JSON. ``sequence_ms``:
    what each running sequence adds to a step beyond the plan, and ``sequence_covariance`` (4,) its covariances with the
    other three and its own variance; none where it was not looked for, as in every record of earlier versions.
    """

    source: str
    basis: str
    since: datetime
    until: datetime
    window_s: float
    windows: int
    decode: float
    prefill: float
    front: float
    covariance: tuple[tuple[float, ...], ...]
    benchmark: str
    sequence_ms: float = 0.0
    sequence_covariance: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "source", checked(self.source, "The name of the source", SOURCE_LENGTH))
        factors = (self.decode, self.prefill, self.front, *(value for row in self.covariance for value in row))
        factors += (self.sequence_ms, *self.sequence_covariance)
        if not all(map(math.isfinite, factors)) or min(self.decode, self.prefill) <= 0.0 or self.front < 0.0:
            raise InvalidEntry("Learned step times must be numbers, and factors above 0.")
        if self.sequence_ms < 0.0:
            raise InvalidEntry("A running sequence takes no time away from a step: what it adds must be 0 or more.")
        if len(self.sequence_covariance) not in (0, 4):
            raise InvalidEntry("A learned time per sequence needs four covariances.")
        if len(self.covariance) != 3 or any(len(row) != 3 for row in self.covariance):
            raise InvalidEntry("Learned step times need a covariance of three by three numbers.")


@dataclass(frozen=True, kw_only=True)
class Accepted:
    """A calibration that somebody accepted for a scenario; ``undone_by`` and ``undone_at`` where it counts no more."""

    id: int
    scenario_id: int
    calibration: LearnedCalibration
    accepted_by: str
    accepted_at: datetime
    undone_by: str | None = None
    undone_at: datetime | None = None
