"""Packages of Office with the day of their report in them instead of the time at which they were written."""

from __future__ import annotations

import io
import re
import zipfile
from datetime import UTC, datetime

_TIME = re.compile(rb"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z")
OLDEST = 1980
"""The first year that a zip archive can hold."""


def dated(content: bytes, moment: datetime) -> bytes:
    """The package as if written at a moment, workbooks inside it too: the same report gives the same bytes."""
    at = moment.astimezone(UTC)
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as given, zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as out:
        for name in given.namelist():
            part = given.read(name)
            if name.endswith(".xlsx"):
                part = dated(part, moment)
            elif name == "docProps/core.xml":
                part = _TIME.sub(f"{at:%Y-%m-%dT%H:%M:%SZ}".encode(), part)
            entry = zipfile.ZipInfo(name, (max(at.year, OLDEST), at.month, at.day, at.hour, at.minute, at.second))
            entry.compress_type = zipfile.ZIP_DEFLATED
            out.writestr(entry, part)
    return written.getvalue()
