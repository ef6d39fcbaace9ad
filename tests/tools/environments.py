"""Environments of some requirements files and nothing else, as links to what is installed here: nothing is fetched."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[2]


def files_within(file: str) -> list[str]:
    """A requirements file, and those that it takes in by ``-r``, at any depth."""
    inside = re.findall(r"^-r\s+(\S+)", (ROOT / file).read_text(), re.MULTILINE)
    return list(dict.fromkeys([file, *(deeper for one in inside for deeper in files_within(one))]))


def requirements(file: str) -> list[Requirement]:
    """The requirements that a file itself lists."""
    lines = (line.split(" #")[0].strip() for line in (ROOT / file).read_text().splitlines())
    return [Requirement(line) for line in lines if line and not line.startswith(("#", "-"))]


def distributions(*files: str) -> dict[str, metadata.Distribution]:
    """What ``pip install -r`` of these files installs, with all that it depends on, as far as it is installed here."""
    reached: dict[str, metadata.Distribution] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [(one, "") for file in files for part in files_within(file) for one in requirements(part)]
    while waiting:
        one, extra = waiting.pop()
        if one.marker and not one.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(one.name)
        try:
            reached[name] = reached.get(name) or metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        for asked in {"", *one.extras}:
            if (name, asked) not in seen:
                seen.add((name, asked))
                waiting += [(Requirement(text), asked) for text in reached[name].requires or ()]
    return reached


def environment(folder: Path, *files: str) -> Path:
    """The folder, filled with links to what these requirements files install: a ``site-packages`` of their own."""
    for distribution in distributions(*files).values():
        for name in set(_tops(distribution)):
            link = folder / name
            if not link.exists():
                link.symlink_to(Path(str(distribution.locate_file(name))).resolve())
    return folder


def run_in(packages: Path, *arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Python in the checkout with these packages and no others."""
    return subprocess.run(
        [sys.executable, "-S", *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(packages)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        **options,
    )


def _tops(distribution: metadata.Distribution) -> Iterator[str]:
    """Files and folders at the top of site-packages that belong to a distribution."""
    for path in distribution.files or ():
        if path.parts[0] not in ("..", "__pycache__"):
            yield path.parts[0]
