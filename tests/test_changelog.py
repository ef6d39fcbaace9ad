"""CHANGELOG.md is cut into releases, and a version rises with its results."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from sizing.base.version import ENGINE_VERSION

ROOT = Path(__file__).parents[1]
MARK = "- Results changed"
HEADING = re.compile(r"## (?P<version>\d+\.\d+\.\d+) - (?P<date>\d{4}-\d{2}-\d{2})")
MOST_LINES = 2
MOST_CHARACTERS = 180

Release = tuple[int, int, int]


def sections(text: str) -> dict[str, list[str]]:
    """Lines below each heading, the latest release after Next."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.startswith("## "):
            found[line] = []
        elif found:
            found[next(reversed(found))].append(line)
    return found


def number(heading: str) -> Release:
    match = HEADING.fullmatch(heading)
    assert match, f"{heading}: a release is '## 1.2.3 - 2026-11-26'"
    major, minor, patch = map(int, match["version"].split("."))
    return major, minor, patch


def faults(text: str, engine: str) -> list[str]:
    """What is wrong with a changelog beside this version of the engine."""
    found = sections(text)
    next_up, *releases = found
    wrong = [] if next_up == "## Next" else ["The first section is Next."]
    for later, earlier in pairwise(releases):
        changed = any(line.startswith(MARK) for line in found[later])
        if number(later) <= number(earlier):
            wrong.append(f"{later} stands above {earlier}.")
        if changed is not (number(later)[:2] != number(earlier)[:2]):
            wrong.append(f"{later}: the minor number rises where results changed, and only there.")
    latest, today = number(releases[0]), tuple(map(int, engine.split(".")))
    changed = any(line.startswith(MARK) for line in found[next_up])
    if changed is not (today[:2] > latest[:2]) or today < latest:
        wrong.append(
            f"ENGINE_VERSION is {engine} and the latest release {releases[0][3:]}: "
            f"results {'changed' if changed else 'did not change'} under Next."
        )
    return wrong


def long_entries(text: str) -> list[str]:
    """Entries of more than two lines, and lines that are too long."""
    entries = re.findall(r"^- .*(?:\n  .*)*", text, re.MULTILINE)
    wide = [line for entry in entries for line in entry.splitlines() if len(line) > MOST_CHARACTERS]
    return [entry for entry in entries if entry.count("\n") >= MOST_LINES] + wide


def test_releases_and_the_version_of_the_engine_belong_together() -> None:
    assert faults((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), ENGINE_VERSION) == []


def test_entries_are_short() -> None:
    assert long_entries((ROOT / "CHANGELOG.md").read_text(encoding="utf-8")) == []


RELEASED = (
    "## 0.2.1 - 2026-02-02\n\n- A page.\n\n## 0.2.0 - 2026-02-01\n\n- Results changed: a.\n\n## 0.1.0 - 2026-01-01\n"
)


@pytest.mark.parametrize(
    ("text", "engine", "wrong"),
    [
        (f"## Next\n\n{RELEASED}", "0.2.1", ""),
        (f"## Next\n\n- Results changed: b.\n\n{RELEASED}", "0.3.0", ""),
        (f"## Next\n\n- A page.\n\n{RELEASED}", "0.2.2", ""),
        (f"## Next\n\n- Results changed: b.\n\n{RELEASED}", "0.2.1", "results changed under Next"),
        (f"## Next\n\n{RELEASED}", "0.3.0", "results did not change under Next"),
        (f"## Next\n\n{RELEASED}", "0.2.0", "results did not change under Next"),
        (RELEASED, "0.2.0", "The first section is Next"),
        (f"## Next\n\n{RELEASED.replace('0.2.1', '0.3.0')}", "0.3.0", "rises where results changed"),
        (f"## Next\n\n{RELEASED.replace('0.2.0', '0.1.1')}", "0.2.1", "rises where results changed"),
        (f"## Next\n\n{RELEASED.replace('0.2.1', '0.1.9')}", "0.2.0", "stands above"),
    ],
)
def test_a_version_that_does_not_move_with_its_results_is_seen(text: str, engine: str, wrong: str) -> None:
    assert (wrong in " ".join(faults(text, engine))) if wrong else faults(text, engine) == []


def test_an_entry_of_three_lines_is_seen() -> None:
    assert long_entries("- a\n  b\n- c\n") == []
    assert long_entries("- a\n  b\n  c\n- d\n") == ["- a\n  b\n  c"]
    assert len(long_entries("- " + "x" * MOST_CHARACTERS)) == 1
