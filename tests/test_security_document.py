"""docs/SECURITY.md: every attack has a test that exists."""

import ast
import re

from tests.tools.source_files import ROOT

ROWS = re.findall(
    r"^\| (?P<attack>.+) \| (?P<now>.+) \| `(?P<file>tests/[\w/]+\.py)(?:::(?P<test>\w+))?` \|$",
    (ROOT / "docs" / "SECURITY.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)


def test_every_attack_names_a_test_that_exists() -> None:
    assert len(ROWS) >= 30
    missing = [f"{file}::{test}" for _, _, file, test in ROWS if not _exists(file, test)]
    assert missing == []


def _exists(file: str, test: str) -> bool:
    path = ROOT / file
    if not path.is_file():
        return False
    defined = {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)}
    return not test or test in defined


def test_every_row_of_the_table_is_read() -> None:
    section = (ROOT / "docs" / "SECURITY.md").read_text(encoding="utf-8").partition("## What was tried")[2]
    lines = [line for line in section.partition("\n## ")[0].splitlines() if line.startswith("| ")]
    assert len(lines) == len(ROWS) + 1  # the head
