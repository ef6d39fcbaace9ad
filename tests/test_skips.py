"""A skipped test is never silent, and fails the run in CI."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SKIPPING = """
import pytest

def test_passes():
    pass

@pytest.mark.skip(reason="no chromium here")
def test_needs_chromium():
    pass
"""


def run_pytest(folder: Path, source: str, *, ci: bool) -> subprocess.CompletedProcess[str]:
    shutil.copy(HERE / "conftest.py", folder)
    (folder / "test_sample.py").write_text(source)
    environment = {key: value for key, value in os.environ.items() if key != "CI" and not key.startswith("PYTEST")}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(folder)],
        cwd=folder,
        env=environment | ({"CI": "true"} if ci else {}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("ci", [False, True])
def test_skipped_test_is_listed_with_its_reason(tmp_path: Path, ci: bool) -> None:
    out = run_pytest(tmp_path, SKIPPING, ci=ci).stdout
    assert "1 SKIPPED" in out
    assert "test_sample.py::test_needs_chromium: no chromium here" in out


def test_skip_fails_the_run_only_in_ci(tmp_path: Path) -> None:
    assert run_pytest(tmp_path, SKIPPING, ci=False).returncode == 0
    assert run_pytest(tmp_path, SKIPPING, ci=True).returncode == 1


def test_skipped_module_counts(tmp_path: Path) -> None:
    run = run_pytest(tmp_path, "import pytest\npytest.skip('not today', allow_module_level=True)\n", ci=True)
    assert "test_sample.py: not today" in run.stdout
    assert run.returncode != 0


def test_run_without_skips_passes_in_ci(tmp_path: Path) -> None:
    run = run_pytest(tmp_path, "def test_passes():\n    pass\n", ci=True)
    assert run.returncode == 0
    assert "SKIPPED" not in run.stdout
