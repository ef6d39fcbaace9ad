"""The source files of the product, as the rules of the house read them."""

import ast
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Made by tools, never by us.
NOT_OURS = {".git", ".venv", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis"}
# What make screens and the benchmarks leave behind.
NOT_OURS |= {"screens", "out"}


@dataclass(frozen=True, kw_only=True)
class Source:
    """One Python file: its path in the repository and its text."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, self.path)

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Every node of the tree: a walk takes longer than what most rules look for."""
        return tuple(ast.walk(self.tree))

    @cached_property
    def imports(self) -> frozenset[str]:
        """Dotted names of everything imported anywhere in the file; each rule asks for them."""
        return frozenset(imported_modules(self.nodes))

    @property
    def package(self) -> str:
        return self.path.split("/")[0].removesuffix(".py")

    @property
    def name(self) -> str:
        return Path(self.path).stem

    @property
    def lines(self) -> int:
        return len(self.text.splitlines())

    @property
    def module(self) -> str:
        return self.path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")

    @property
    def room(self) -> str:
        """The folder within the package, or the module itself at its top."""
        return self.path.removesuffix(".py").split("/")[1] if "/" in self.path else self.package

    @property
    def is_page(self) -> bool:
        return self.package == "pages" and self.name != "__init__"


def files() -> Iterator[Path]:
    """Every file of ours, by a walk: a source archive without git obeys the same rules."""
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in NOT_OURS]
        yield from (Path(folder) / name for name in names if name not in NOT_OURS)


@cache
def sources() -> tuple[Source, ...]:
    return tuple(
        Source(path=path.relative_to(ROOT).as_posix(), text=path.read_text())
        for path in sorted(files())
        if path.suffix == ".py"
    )


def imported_modules(nodes: Iterable[ast.AST]) -> set[str]:
    """Dotted names of everything imported anywhere in the file, relative imports (within the package) left out."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def is_within(module: str, parents: set[str]) -> bool:
    return any(module == parent or module.startswith(f"{parent}.") for parent in parents)
