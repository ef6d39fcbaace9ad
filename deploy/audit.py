"""Known advisories of what a deployment installs, without a network: ``python deploy/audit.py ADVISORIES``.

ADVISORIES is a zip or a folder of advisories in the OSV format, such as
https://osv-vulnerabilities.storage.googleapis.com/PyPI/all.zip, taken along from a machine with a network. Exit code 0
without one, 1 with some, 2 where the file cannot be read.
"""

import argparse
import json
import re
import sys
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

LOCK = Path(__file__).with_name("requirements.lock")
_PINNED = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^\s;\\]+)", re.M)

Advisory = Mapping[str, Any]


class Unreadable(ValueError):
    """What was given holds no advisories."""


def locked(text: str) -> dict[str, set[str]]:
    """The versions of every package in a lock file; of different platforms there may be several."""
    out: dict[str, set[str]] = {}
    for name, version in _PINNED.findall(text):
        out.setdefault(canonicalize_name(name), set()).add(version)
    return out


def advisories(place: Path) -> Iterator[Advisory]:
    """Every advisory of a zip or a folder. Raises Unreadable."""
    try:
        if place.is_dir():
            texts = (file.read_bytes() for file in sorted(place.glob("*.json")))
            yield from map(json.loads, texts)
            return
        with zipfile.ZipFile(place) as archive:
            for name in sorted(archive.namelist()):
                if name.endswith(".json"):
                    yield json.loads(archive.read(name))
    except (OSError, zipfile.BadZipFile, ValueError) as error:
        raise Unreadable(f"{place} cannot be read as advisories in the OSV format: {error}.") from None


def concerned(advisory: Advisory, installed: Mapping[str, set[str]]) -> Iterator[tuple[str, str, str]]:
    """Package, version and the first version that is fixed ("" where there is none) of what an advisory is about."""
    if advisory.get("withdrawn"):
        return
    for affected in advisory.get("affected", ()):
        package = affected.get("package", {})
        name = canonicalize_name(str(package.get("name", "")))
        if package.get("ecosystem") != "PyPI":
            continue
        for version in sorted(installed.get(name, ())):
            if version in affected.get("versions", ()) or any(_within(version, r) for r in affected.get("ranges", ())):
                yield name, version, _fixed(affected)


def _within(version: str, one: Mapping[str, Any]) -> bool:
    """Whether a version lies between events of a range: introduced, then fixed or last affected."""
    if one.get("type") != "ECOSYSTEM":
        return False
    here, inside = Version(version), False
    for event in one.get("events", ()):
        try:
            if "introduced" in event:
                inside = inside or event["introduced"] == "0" or here >= Version(event["introduced"])
            elif "fixed" in event:
                inside = inside and here < Version(event["fixed"])
            elif "last_affected" in event:
                inside = inside and here <= Version(event["last_affected"])
        except InvalidVersion:
            continue
    return inside


def _fixed(affected: Mapping[str, Any]) -> str:
    events = [event for one in affected.get("ranges", ()) for event in one.get("events", ())]
    return next((str(event["fixed"]) for event in events if "fixed" in event), "")


def main(arguments: list[str] | None = None) -> int:
    """Print a line for each advisory that concerns what is installed."""
    parser = argparse.ArgumentParser(prog="python deploy/audit.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("advisories", type=Path, help="zip or folder in the OSV format")
    parser.add_argument("--lock", type=Path, default=LOCK, help="lock file; default: requirements.lock beside this")
    given = parser.parse_args(arguments)
    installed, known, lines = locked(given.lock.read_text(encoding="utf-8")), 0, []
    try:
        for advisory in advisories(given.advisories):
            known += 1
            for name, version, fixed in concerned(advisory, installed):
                mended = f"mended in {fixed}" if fixed else "not mended yet"
                summary = " ".join(str(advisory.get("summary") or advisory.get("details", "")).split())[:100]
                lines.append(f"{name} {version}: {advisory.get('id')} ({mended}) {summary}")
        if not known:
            raise Unreadable(f"{given.advisories} holds no advisories.")
    except Unreadable as problem:
        print(problem, file=sys.stderr)
        return 2
    print("\n".join(sorted(lines)) or f"None of {known:,} advisories concerns the {len(installed)} packages installed.")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
