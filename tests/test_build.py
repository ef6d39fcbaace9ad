"""The first command a newcomer types fails with an instruction, never with a riddle."""

import os
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[1]


def ensure_venv(folder: Path, python: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ROOT / ".ci/ensure-venv", "requirements.txt"],
        env={**os.environ, "PYTHON": python, "VENV": str(folder / "venv")},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


@pytest.mark.parametrize("fault", ["missing", "fails like a pyenv shim"])
def test_without_a_working_python_it_says_what_to_install(tmp_path: Path, fault: str) -> None:
    python = tmp_path / "python3"
    if fault != "missing":
        python.write_text("#!/bin/sh\nexit 127\n")
        python.chmod(0o755)
    made = ensure_venv(tmp_path, str(python))
    assert made.returncode == 1
    assert "No working Python 3.11, 3.12 or 3.13" in made.stderr
    assert "apt-get install python3 python3-venv" in made.stderr
    assert not (tmp_path / "venv").exists()


def test_supported_pythons_are_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == ">=3.11,<3.14"
    assert "(3, 11) <= sys.version_info[:2] < (3, 14)" in (ROOT / ".ci/ensure-venv").read_text()
