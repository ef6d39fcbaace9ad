"""Rules for every test: a skipped one is never silent, and none leaves its ``__main__`` to the next."""

import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S

HERE = Path(__file__).parent
SKIPPING = """
import pytest

def test_passes():
    pass

@pytest.mark.skip(reason="no chromium here")
def test_needs_chromium():
    pass
"""


@cache
def run_pytest(source: str, *, ci: bool) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key != "CI" and not key.startswith("PYTEST")}
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(HERE / "conftest.py", folder)
        Path(folder, "test_sample.py").write_text(source)
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", folder],
            cwd=folder,
            env=environment | ({"CI": "true"} if ci else {}),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )


@pytest.mark.parametrize("ci", [False, True])
def test_skipped_test_is_listed_with_its_reason(ci: bool) -> None:
    out = run_pytest(SKIPPING, ci=ci).stdout
    assert "1 SKIPPED" in out
    assert "test_sample.py::test_needs_chromium: no chromium here" in out


def test_skip_fails_the_run_only_in_ci() -> None:
    assert run_pytest(SKIPPING, ci=False).returncode == 0
    assert run_pytest(SKIPPING, ci=True).returncode == 1


def test_skipped_module_counts() -> None:
    run = run_pytest("import pytest\npytest.skip('not today', allow_module_level=True)\n", ci=True)
    assert "test_sample.py: not today" in run.stdout
    assert run.returncode != 0


def test_run_without_skips_passes_in_ci() -> None:
    run = run_pytest("def test_passes():\n    pass\n", ci=True)
    assert run.returncode == 0
    assert "SKIPPED" not in run.stdout


PAGES = """
import sys

import pytest

MAIN = sys.modules["__main__"]

def test_runs_a_page():
    sys.modules["__main__"] = sys.modules[__name__]

@pytest.fixture(scope="module")
def processes():
    return sys.modules["__main__"]

@pytest.fixture
def page():
    sys.modules["__main__"] = sys.modules[__name__]

def test_starts_processes(processes, page):
    assert processes is sys.modules["__main__"] is MAIN
"""


def test_processes_of_a_test_run_no_page_of_another() -> None:
    run = run_pytest(PAGES, ci=False)
    assert run.returncode == 0, run.stdout
