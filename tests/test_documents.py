"""What the documents name exists: files, folders, modules with their functions, make targets."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.test_import_graph import ROOMS

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted(
    ["README.md", "CONTRIBUTING.md", "NOTICE", *(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md"))]
)
PACKAGES = (
    *("sizing", "collectors", "reality", "sharing", "commandline", "api", "ui", "pages"),
    *("calibration", "bench", "tests"),
)
FOLDERS = (*PACKAGES, "docs", ".ci")

CODE = re.compile(r"```\w*\n(?P<block>.*?)```|`(?P<span>[^`]+)`|\]\((?P<link>[^)\s]+)\)", re.DOTALL)
PATH = re.compile(rf"(?<![\w./-])((?:{'|'.join(map(re.escape, FOLDERS))})/[\w./*-]*)")
FILE = re.compile(r"(?<![\w./-])([a-z_][\w-]*\.(?:py|md|toml|txt))(?![\w./])")
DOTTED = re.compile(rf"(?<![\w./-])((?:{'|'.join(PACKAGES)})(?!\.py\b)(?:\.[A-Za-z_]\w*)+)(?![\w/])")
COMMAND = re.compile(r"python -m ([\w.]+)")
TARGET = re.compile(r"(?:^|`)make ([a-z]+)", re.MULTILINE)


def code(text: str) -> Iterator[str]:
    """Code spans, code blocks and the targets of links: the places where things are named exactly."""
    for match in CODE.finditer(text):
        yield next(part for part in match.group("block", "span", "link") if part is not None)


@cache
def file_names() -> frozenset[str]:
    folders = [ROOT / folder for folder in FOLDERS]
    return frozenset(
        path.name for folder in [*folders, ROOT] for path in folder.glob("**/*" if folder != ROOT else "*")
    )


def names_in(module: Path) -> set[str]:
    """Names that a module defines or imports, and the fields and methods of its classes as ``Class.name``."""
    found: set[str] = set()
    body = ast.parse(module.read_text()).body
    for node in [*body, *(inner for block in body if isinstance(block, ast.If) for inner in block.body)]:
        if isinstance(node, ast.ImportFrom | ast.Import):
            found |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
            members = node.body if isinstance(node, ast.ClassDef) else []
            found |= {f"{node.name}.{m.name}" for m in members if isinstance(m, ast.FunctionDef)}
            found |= {
                f"{node.name}.{m.target.id}"
                for m in members
                if isinstance(m, ast.AnnAssign) and isinstance(m.target, ast.Name)
            }
    return found


def is_known(dotted: str) -> bool:
    """Whether it is a package, a module, or something inside one."""
    place, parts = ROOT, dotted.split(".")
    for i, part in enumerate(parts):
        if (place / f"{part}.py").is_file():
            inside = ".".join(parts[i + 1 :])
            return not inside or inside in names_in(place / f"{part}.py")
        if not (place / part).is_dir():
            inside = ".".join(parts[i:])
            return (place / "__init__.py").is_file() and inside in names_in(place / "__init__.py")
        place /= part
    return True


def targets() -> set[str]:
    return set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def unknown(text: str) -> list[str]:
    """What a document names and the repository does not have."""
    found: list[str] = []
    for part in code(text):
        found += [path for path in PATH.findall(part) if not any(ROOT.glob(path.rstrip("/.")))]
        found += [name for name in FILE.findall(part) if name not in file_names()]
        found += [dotted for dotted in DOTTED.findall(part) if not is_known(dotted)]
        found += [name for name in COMMAND.findall(part) if name.split(".")[0] in PACKAGES and not is_known(name)]
        found += [f"make {name}" for name in TARGET.findall(part) if name not in targets()]
    return found


@pytest.mark.parametrize("document", DOCUMENTS)
def test_everything_that_a_document_names_exists(document: str) -> None:
    assert unknown((ROOT / document).read_text(encoding="utf-8")) == []


def test_the_architecture_names_every_room() -> None:
    text = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`?((?:sizing|collectors|reality|sharing|commandline|api|ui)/(?:\w+/)?)", text))
    packages = [ROOT / name for name in ("sizing", "collectors", "reality", "commandline", "api", "ui")]
    folders = [folder for package in packages for folder in (package, *package.iterdir())]
    rooms = {f"{f.relative_to(ROOT).as_posix()}/" for f in folders if (f / "__init__.py").is_file()}
    assert rooms - named == set()
    assert re.findall(r"^\| `sizing/(\w+)/` \| (?!the facts)", text, re.MULTILINE) == ROOMS["sizing"]


@pytest.mark.parametrize(
    "text",
    [
        "`sizing/nowhere.py`",
        "[the map](docs/NOWHERE.md)",
        "`nowhere.py`",
        "`sizing.nowhere`",
        "`sizing.plan.nothing`",
        "`sizing.catalog.engines.Nothing`",
        "`python -m bench.nothing`",
        "```sh\nmake nothing\n```",
    ],
)
def test_a_planted_fault_is_found(text: str) -> None:
    assert unknown(text)


@pytest.mark.parametrize(
    "text",
    [
        "`sizing/data/*.csv`, `docs/LIVE.md`, `app.py`",
        "`sizing.plan`, `sizing.catalog.engines.Engine.evicts`, `sizing.catalog.engines.engines`",
        "a sentence on sizing/nothing and make nothing of it",
        "`make test`, `python -m sizing plan SCENARIO.yaml`, `python -m pytest`",
    ],
)
def test_what_exists_passes(text: str) -> None:
    assert unknown(text) == []
