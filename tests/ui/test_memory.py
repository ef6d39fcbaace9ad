"""What is freed stays with the server: the next answer finds its memory ready."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TABLES, TABLE_BYTES = 24, 2 * 2**20

HELD_AFTERWARDS = f"""
import resource, sys
from pathlib import Path
from ui.state.memory import keep_freed_memory
if sys.argv[1] == "kept":
    assert keep_freed_memory()
def held():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
before = held()
tables = [b"1" * {TABLE_BYTES} for _ in range({TABLES})]
del tables
print(held() - before)
"""
"""Fills tables and frees them; prints by how much more memory the process then holds."""


def held_afterwards(how: str) -> int:
    found = subprocess.run(
        [sys.executable, "-c", HELD_AFTERWARDS, how], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return int(found.stdout)


@pytest.mark.skipif("CS_GNU_LIBC_VERSION" not in os.confstr_names, reason="only glibc can be told to keep memory")
def test_the_memory_of_an_answer_stays_for_the_next() -> None:
    assert held_afterwards("kept") > 0.8 * TABLES * TABLE_BYTES
    assert held_afterwards("plain") < 0.5 * TABLES * TABLE_BYTES
