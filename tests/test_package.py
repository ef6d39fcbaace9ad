"""The package as a stranger builds and installs it: what it holds, and that it answers outside the checkout."""

import json
import os
import re
import shlex
import subprocess
import sys
import tarfile
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
import requests
from mcp import ClientSession, StdioServerParameters, stdio_client
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from sizing.base.version import ENGINE_VERSION
from tests.api.conftest import answering
from tests.commands import run
from tests.e2e.dashboard import running_dashboard
from tests.loops import awaited
from tests.patience import PATIENCE_S
from tests.tools.environments import ROOT, files_within, requirements

PACKAGES = ("api", "collectors", "commandline", "reality", "sharing", "sizing", "ui")
DASHBOARD = "ui/dashboard"
MOST_BYTES = 4_000_000
"""Of either archive. Chosen: half as much again as today; recordings, pictures or a model's weights would be more."""
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(
    r"```\w+\n(.*?)```", README.partition("## Use it from elsewhere")[2].partition("\n## ")[0], re.DOTALL
)
SCENARIO = next(block for block in re.findall(r"```yaml\n(.*?)```", README, re.DOTALL) if "schema_version" in block)


def built(source: Path, kind: str, folder: Path) -> Path:
    """The archive that the build backend makes of a source tree."""
    made = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", folder],
        cwd=source,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    (archive,) = folder.iterdir()
    return archive


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands of an environment with the wheel, which finds what it depends on where that is installed already."""
    home = tmp_path_factory.mktemp("installed")
    venv.create(home, with_pip=False)
    python = home / "bin" / "python"
    (packages,) = home.glob("lib/python*/site-packages")
    here = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "dependencies.pth").write_text("".join(f"import site; site.addsitedir({path!r})\n" for path in here))
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", "--quiet", wheel]
    subprocess.run(pip, check=True, timeout=PATIENCE_S)
    return python.parent


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A folder with the scenario of the README, far from the checkout."""
    (tmp_path / "SCENARIO.yaml").write_text(SCENARIO)
    return tmp_path


def said(programs: Path, folder: Path, *words: str) -> str:
    """What an installed command prints."""
    name, *arguments = words
    answer = subprocess.run(
        [programs / name, *arguments], cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    return answer.stdout


def test_the_wheel_holds_the_product_and_nothing_else(wheel: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    product = {path for package in PACKAGES for path in (ROOT / package).rglob("*") if path.is_file()}
    expected = {path.relative_to(ROOT).as_posix() for path in product if path.suffix not in (".pyc", ".nbi", ".nbc")}
    pages = {f"{DASHBOARD}/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "pages").glob("*.py")}
    served = {f"{DASHBOARD}/{name}" for name in ("app.py", ".streamlit/config.toml")}
    settings = served | {"inference_sizing.py"}
    assert names == expected | pages | settings
    assert wheel.stat().st_size < MOST_BYTES


def test_the_source_archive_makes_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    archive = built(ROOT, "sdist", tmp_path / "made")
    assert archive.stat().st_size < MOST_BYTES
    with tarfile.open(archive) as sources:
        sources.extractall(tmp_path, filter="data")
    again = built(tmp_path / archive.name.removesuffix(".tar.gz"), "wheel", tmp_path / "again")
    first, second = (
        {info.filename: info.CRC for info in zipfile.ZipFile(one).infolist() if "/RECORD" not in info.filename}
        for one in (wheel, again)
    )
    assert first == second


def test_extras_are_the_requirements_files(wheel: Path) -> None:
    distribution = next(metadata.Distribution.discover(path=[str(wheel)]))
    assert distribution.version == ENGINE_VERSION
    base, extras = (
        set(map(_plain, requirements("requirements.txt"))),
        set(distribution.metadata.get_all("Provides-Extra")),
    )
    stated = [Requirement(text) for text in distribution.requires or ()]
    assert {_plain(one) for one in stated if "extra" not in str(one.marker)} == base
    # vLLM's build for processors comes from no index, by a script of its own.
    files = {path.stem.removeprefix("requirements-"): path.name for path in ROOT.glob("requirements-*.txt")}
    assert extras == files.keys() - {"chain"}
    for extra in extras:
        listed = {_plain(one) for part in files_within(files[extra]) for one in requirements(part)} - base
        named = {_plain(one) for one in stated if f'extra == "{extra}"' in str(one.marker)}
        assert named == listed, extra


def _plain(one: Requirement) -> tuple[str, str, str]:
    return canonicalize_name(one.name), ",".join(sorted(one.extras)), str(one.specifier)


def test_it_answers_the_scenario_of_the_readme(programs: Path, elsewhere: Path) -> None:
    answer = said(programs, elsewhere, "inference-sizing", "plan", "SCENARIO.yaml", "--json")
    assert answer == run("sizing", "plan", elsewhere / "SCENARIO.yaml", "--json").stdout
    assert said(programs, elsewhere, "inference-sizing", "--version") == f"inference-sizing {ENGINE_VERSION}\n"


def test_the_other_commands_are_there(programs: Path, elsewhere: Path) -> None:
    link = said(programs, elsewhere, "sharing", "link", "SCENARIO.yaml")
    assert link == run("sharing", "link", elsewhere / "SCENARIO.yaml").stdout
    for name in ("reality", "collectors"):
        assert said(programs, elsewhere, name, "--help").startswith("usage: ")


def test_the_dashboard_runs_from_the_package(programs: Path, elsewhere: Path) -> None:
    program = [programs / "inference-sizing", "run", "--"]
    with running_dashboard(elsewhere, root=elsewhere, program=program) as dashboard:
        assert requests.get(f"{dashboard.url}/_stcore/script-health-check", timeout=PATIENCE_S).text == "ok"
        assert dashboard.bugs() == ""


def test_the_examples_of_the_readme_are_those_tested_here() -> None:
    install, curl, agent = EXAMPLES
    lines = install.splitlines()
    assert lines[0] == 'pip install ".[api,mcp]"'
    assert lines[1:] == ["inference-sizing plan SCENARIO.yaml --json", "inference-sizing run"]
    assert curl.startswith("curl ")
    assert json.loads(agent)


def test_the_http_example_of_the_readme(programs: Path, elsewhere: Path) -> None:
    _, flag, header, data_flag, data, address = shlex.split(EXAMPLES[1])
    assert (flag, data_flag, data) == ("-H", "--data-binary", "@SCENARIO.yaml")
    name, value = header.split(": ")
    server = [programs / "inference-sizing", "http", "--port", "0"]
    with answering(server, cwd=elsewhere) as place:
        url = address.replace("http://localhost:8600", place)
        answer = requests.post(url, data=SCENARIO.encode(), headers={name: value}, timeout=PATIENCE_S)
    printed = run("sizing", "plan", elsewhere / "SCENARIO.yaml", "--json", "--alternatives", "3").stdout
    assert answer.text == printed


def test_the_example_for_an_agent_in_the_readme(programs: Path, elsewhere: Path) -> None:
    entry = json.loads(EXAMPLES[2])["mcpServers"]["inference-sizing"]
    server = StdioServerParameters(
        command=entry["command"], args=entry["args"], cwd=elsewhere, env={"PATH": f"{programs}:{os.environ['PATH']}"}
    )

    async def names() -> set[str]:
        async with stdio_client(server) as (incoming, outgoing), ClientSession(incoming, outgoing) as client:
            await client.initialize()
            return {tool.name for tool in (await client.list_tools()).tools}

    assert awaited(names) == {"plan", "compare", "explain", "find_model", "levers", "open_link"}
