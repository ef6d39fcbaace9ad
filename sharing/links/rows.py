"""A row of the table of links as what it stands for."""

import json
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, select

from sharing.errors import UnreadableVersion
from sharing.library.schema import LINKS
from sharing.links.records import Link
from sharing.report.content import FORMAT_VERSION, Released, Report

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
