"""What targets of the Makefile and commands of the README start has what they install, as in a fresh clone."""

import re
import shlex
from functools import cache
from pathlib import Path

import pytest

from tests.commands import run
from tests.tools.environments import ROOT, distributions, environment, run_in

IMPORT = "import importlib, sys; [importlib.import_module(name) for name in sys.argv[1:]]"
IMPORT_ALL = (
    "import importlib, pkgutil, sys\n"
    "for name in sys.argv[1:]:\n"
    "    package = importlib.import_module(name)\n"
    "    for each in pkgutil.walk_packages(package.__path__, name + '.'):\n"
    "        if '__main__' not in each.name and '.migrations.' not in each.name:  # run at once, or by alembic alone\n"
    "            importlib.import_module(each.name)\n"
)
BASE = ("requirements.txt",)


@cache
def targets() -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Of each target that makes an environment: the requirements files, and the modules that it then starts."""
    parts = re.findall(r"^(\w[\w-]*):[^\n]*\n((?:\t[^\n]*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    found = {}
    for name, recipe in parts:
        files = tuple(re.findall(r"requirements[\w-]*\.txt", recipe))
        modules = tuple(dict.fromkeys(re.findall(r"\$\((?:IN_VENV|IN_TESTS)\) ([\w.]+)", recipe)))
        if files:
            found[name] = (files, modules)
    return found


STARTED = sorted({(files, module) for files, modules in targets().values() for module in modules})
OURS = [(files, module) for files, module in STARTED if (ROOT / module.replace(".", "/").split("/")[0]).is_dir()]
TOOLS = [(files, module) for files, module in STARTED if (files, module) not in OURS]


@pytest.fixture(scope="module")
def environments(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, ...], Path]:
    kinds = {files for files, _ in STARTED} | {BASE}
    return {files: environment(tmp_path_factory.mktemp("packages"), *files) for files in kinds}


def test_every_target_is_known() -> None:
    assert targets().keys() >= {"run", "test", "bench", "chain", "prices", "calibrate", "docs", "screens"}
    assert targets()["run"] == (BASE, ("ui",))
    assert all(modules for _, modules in targets().values())


@pytest.mark.parametrize(("files", "module"), OURS, ids=lambda part: part if isinstance(part, str) else "")
def test_a_target_has_what_its_program_imports(
    environments: dict[tuple[str, ...], Path], files: tuple[str, ...], module: str
) -> None:
    place = ROOT / module.replace(".", "/")
    entries = [f"{module}.{name}" for name in ("cli", "__main__") if (place / f"{name}.py").is_file()] or [module]
    started = run_in(environments[files], "-c", IMPORT, entries[0])
    assert (started.returncode, started.stderr) == (0, "")


@pytest.mark.parametrize(("files", "module"), TOOLS, ids=lambda part: part if isinstance(part, str) else "")
def test_a_target_has_the_tools_that_it_runs(files: tuple[str, ...], module: str) -> None:
    assert module in distributions(*files)


def test_make_bench_after_make_run_names_every_benchmark(environments: dict[tuple[str, ...], Path]) -> None:
    files, _ = targets()["bench"]
    listed = run_in(environments[files], "-m", "bench")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert {"plan_speed", "page_latency", "sweep"} <= set(re.findall(r"^  (\w+) ", listed.stdout, re.MULTILINE))


def test_the_dashboard_and_the_command_lines_need_the_base_alone(environments: dict[tuple[str, ...], Path]) -> None:
    started = run_in(environments[BASE], "-c", IMPORT_ALL, "collectors", "reality", "sharing", "ui")
    assert (started.returncode, started.stderr) == (0, "")


@pytest.mark.parametrize(("server", "extra"), [("http", "api"), ("mcp", "mcp")])
def test_a_server_without_its_framework_says_what_to_install(
    environments: dict[tuple[str, ...], Path], server: str, extra: str
) -> None:
    refused = run_in(environments[BASE], "-m", "api", server)
    assert refused.returncode == 2
    sentence = f"This server needs more: pip install -r requirements-{extra}.txt, or inference-sizing[{extra}].\n"
    assert refused.stderr == sentence


def test_what_is_not_installed_is_not_there(environments: dict[tuple[str, ...], Path]) -> None:
    missing = run_in(environments[BASE], "-c", IMPORT, "psycopg")
    assert "No module named 'psycopg'" in missing.stderr


README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = [line for line in README.splitlines() if line.startswith("python -m ")]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_readme_has_these_options(command: str) -> None:
    _, _, package, subcommands, *_ = shlex.split(command)
    for subcommand in subcommands.split("|"):
        told = run(package, subcommand, "--help").stdout
        assert told
        assert set(re.findall(r"--[a-z][\w-]*", command)) <= set(re.findall(r"--[a-z][\w-]*", told))


@pytest.mark.parametrize("target", re.findall(r"^make ([\w-]+)", README, re.MULTILINE))
def test_a_target_of_the_readme_exists(target: str) -> None:
    assert target in targets()
