"""Image, compose file, unit and install script agree with each other and with the settings of the product."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from sharing.settings import PREFIXES, variables
from tests.deploy.files import DEPLOY, ROOT
from tests.patience import PATIENCE_S

DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
UNIT = DEPLOY / "systemd" / "inference-sizing.service"
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
GENERIC = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}


def test_every_setting_in_a_file_is_one_of_the_product() -> None:
    texts = [path.read_text() for path in DEPLOY.rglob("*") if path.is_file() and path.suffix not in (".lock", ".json")]
    named = {name for text in texts for name in re.findall(rf"\b(?:{'|'.join(PREFIXES)})[A-Z_]+\b", text)}
    assert named
    assert named <= variables().keys()


def test_what_the_image_copies_is_what_the_wheel_is_built_from() -> None:
    """The context holds every file of the package, and neither tests nor what a checkout gathers."""
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    package = (ROOT / "pyproject.toml").read_text()
    only = re.search(r"only-include = \[([^\]]+)\]", package)
    assert only
    included = {*re.findall(r'"([^"]+)"', only[1]), *re.findall(r'^"([^"]+)" = "ui/dashboard', package, re.M)}
    assert included <= set(kept)
    assert not {"tests", "docs", ".git", ".venv"} & set(kept)
    copied = re.findall(r"^COPY (deploy/\S+)", DOCKERFILE, re.M)
    assert copied
    assert set(copied) <= set(kept)


def test_the_code_that_is_compiled_in_the_image_is_found_where_it_runs() -> None:
    script = (DEPLOY / "install.sh").read_text()
    for name, value in GENERIC.items():
        assert f"{name}={value} " in script.replace("\\\n", " ")
        assert re.search(rf"^\s*(ENV )?{name}={value}(\s|\\|$)", DOCKERFILE, re.M)
        assert f"{name}={value}" in UNIT.read_text()


def test_nobody_is_root_and_nothing_but_data_is_written() -> None:
    user = re.search(r"^USER (\d+):(\d+)$", DOCKERFILE, re.M)
    assert user
    assert user.groups() == ("10001", "10001")
    for name in ("dashboard-1", "dashboard-2", "demo"):
        assert COMPOSE["services"][name]["read_only"]
        assert COMPOSE["services"][name]["cap_drop"] == ["ALL"]
    assert COMPOSE["networks"]["inside"] == {"internal": True}
    assert [name for name, one in COMPOSE["services"].items() if "ports" in one] == ["nginx"]
    assert COMPOSE["services"]["nginx"]["ports"] == ["${PUBLISHED:-127.0.0.1:8080}:8080"]


def test_files_that_compose_mounts_are_there() -> None:
    for name, service in COMPOSE["services"].items():
        for volume in service.get("volumes", ()):
            place = volume.partition(":")[0]
            assert place in COMPOSE["volumes"] or (DEPLOY / place).exists(), f"{name}: {place}"


def test_the_unit_is_one_that_systemd_understands(tmp_path: Path) -> None:
    sections = re.findall(r"^\[(\w+)\]$", UNIT.read_text(), re.M)
    assert sections == ["Unit", "Service", "Install"]
    if shutil.which("systemd-analyze") is None:  # machines without systemd read no more of it
        return
    program = shutil.which("true")
    unit = tmp_path / UNIT.name
    unit.write_text(re.sub(r"^ExecStart=\S+", f"ExecStart={program}", UNIT.read_text(), flags=re.M))
    checked = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, timeout=PATIENCE_S)
    assert (checked.returncode, [line for line in checked.stderr.splitlines() if unit.name in line]) == (0, [])


def test_health_is_said_by_the_exit_code() -> None:
    program = [sys.executable, DEPLOY / "healthy"]
    nobody = subprocess.run(
        program, env={**os.environ, "PORT": "1"}, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert nobody.returncode == 1
    assert "localhost:1/_stcore/script-health-check" in nobody.stderr


@pytest.mark.slow
def test_what_is_installed_answers_warm_and_is_never_written_to(tmp_path: Path) -> None:
    """As in the image: installed from the lock file, then read alone, by a process with another processor's name."""
    target = tmp_path / "opt"
    subprocess.run([DEPLOY / "install.sh", target], check=True, timeout=20 * PATIENCE_S)
    before = {path: path.stat().st_mtime_ns for path in target.rglob("*")}
    scenario = ROOT / "reality" / "data" / "demo_scenario.yaml"
    told = subprocess.run(
        [target / "bin" / "inference-sizing", "plan", scenario],
        env={**os.environ, **GENERIC, "PYTHONDONTWRITEBYTECODE": "1", "NUMBA_DEBUG_CACHE": "1", "PYTHONPATH": ""},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=5 * PATIENCE_S,
    )
    assert told.returncode == 0, told.stderr
    assert "data loaded from" in told.stdout
    assert "data saved to" not in told.stdout, "compiled again"
    assert {path: path.stat().st_mtime_ns for path in target.rglob("*")} == before
