"""A frozen link as its owner sees it, and what whoever holds it may get."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sharing.report.content import Released, Report


class LinkState(StrEnum):
    """Whether a link shows its report."""

    OPEN = "open"
    EXPIRED = "expired"
    REVOKED = "revoked"


@dataclass(frozen=True, kw_only=True)
class Link:
    """A frozen link without its content: who made it of which version, what opens it, and how often it was opened."""

    id: int
    scenario_id: int
    version: int
    made_by: str
    made_at: datetime
    released: Released
    engine_version: str
    data_version: str
    expires_at: datetime | None
    revoked_at: datetime | None
    revoked_by: str | None
    has_password: bool
    views: int
    viewed_at: datetime | None

    def state(self, now: datetime) -> LinkState:
        """What the link does at this moment."""
        if self.revoked_at is not None:
            return LinkState.REVOKED
        return LinkState.EXPIRED if self.expires_at is not None and self.expires_at <= now else LinkState.OPEN


@dataclass(frozen=True, kw_only=True)
class Made:
    """A link that was just made, with the token that is nowhere kept."""

    link: Link
    token: str


@dataclass(frozen=True, kw_only=True)
class Unlocked:
    """Proof that the password of a link was given."""

    link_id: int


@dataclass(frozen=True, kw_only=True)
class Terms:
    """On what a report is shared: until when, and behind which password; none where it is empty."""

    expires_at: datetime | None = None
    password: str = ""


@dataclass(frozen=True, kw_only=True)
class Shared:
    """What whoever holds a link gets."""

    link: Link
    report: Report
