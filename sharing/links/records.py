"""A frozen link as its owner sees it, and what whoever holds it may get."""

import json
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, select

from sharing.errors import UnreadableVersion
from sharing.library.schema import LINKS
from sharing.report.content import FORMAT_VERSION, Released, Report


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


LISTED = [column for column in LINKS.c if column is not LINKS.c.report]
"""All but the report, which is large."""

_PLAIN = tuple(name for name in Link.__dataclass_fields__ if name not in ("released", "has_password"))


def link_where(connection: Connection, wanted: ColumnElement[bool]) -> Link | None:
    """The one link of this kind, None where there is none."""
    row = connection.execute(select(*LISTED).where(wanted)).one_or_none()
    return None if row is None else link_of(row)


def link_of(row: Row[Any]) -> Link:
    """The link of a row."""
    plain = {name: getattr(row, name) for name in _PLAIN}
    return Link(**plain, released=Released(row.released), has_password=row.password is not None)


def report_of(text: str) -> Report:
    """A report that was kept. Raises UnreadableVersion for one of a newer version."""
    kept = json.loads(text)
    if kept["format_version"] > FORMAT_VERSION:
        raise UnreadableVersion(("This report was stored by a newer version of the product: update to open it.",))
    return Report.model_validate(kept)
