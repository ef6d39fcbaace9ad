"""Formulas read from the docstrings of the engine, from its source text: nothing is imported or run.

A docstring has one sentence, then prose, ``Equation: ...``, ``Valid: ...`` and ``Source: ...``; each of the three runs
to the end of its paragraph or to the next one. Without ``Equation:`` the part that reads like mathematics is taken.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent

_KEY = re.compile(r"\b(Equation|Valid|Sources?):{1,2}\s+")
_RAISES = re.compile(r"\bRaises [A-Z]\w+.*?\.(?=\s|$)\s*")
_ROLE = re.compile(r":\w+:`~?\.?([^`]+)`")
_MATHS = re.compile(r" = | [x+/] |\w\)?\^|\b(ceil|floor|max|min|argmax|mean)\w*\(|\bsmallest n\b")


@dataclass(frozen=True, kw_only=True)
class Documented:
    """One function and what its docstring says: summary, explanation, equation, where it is valid, source."""

    module: str
    name: str
    summary: str
    text: str
    equation: str
    valid: str
    source: str


@dataclass(frozen=True, kw_only=True)
class Module:
    """One module of the engine: its dotted name, the first paragraph of its docstring, and its documented formulas."""

    name: str
    summary: str
    source: str
    formulas: tuple[Documented, ...]


def read_module(path: Path) -> Module:
    """The formulas of one source file, in file order: public functions and methods with mathematics or a source."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    name = module_name(path)
    summary, _, keys = _parts(ast.get_docstring(tree) or "")
    documented = (document(name, qualified, doc) for qualified, doc in _functions(tree))
    formulas = tuple(d for d in documented if d.equation or d.source)
    return Module(name=name, summary=summary, source=keys.get("Source", ""), formulas=formulas)


def document(module: str, name: str, docstring: str) -> Documented:
    """What one docstring says, taken apart; ``equation`` is "" where it holds no mathematics."""
    summary, text, keys = _parts(docstring)
    equation = keys.get("Equation", "")
    if not equation and _MATHS.search(text):
        equation, text = text, ""
    elif not equation and _MATHS.search(summary):
        head, colon, tail = summary.partition(": ")
        equation, summary = (tail, f"{head}.") if colon and _MATHS.search(tail) else (summary, "")
    return Documented(
        module=module,
        name=name,
        summary=summary,
        text=text,
        equation=equation,
        valid=keys.get("Valid", ""),
        source=keys.get("Source", ""),
    )


def module_name(path: Path) -> str:
    """The dotted name of a module of the package: ``.../sizing/steps/roofline.py`` is ``sizing.steps.roofline``."""
    return ".".join(path.resolve().relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def _functions(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Name and docstring of every public function, and of every public method of a public class."""
    for node in tree.body:
        inside = node.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_") else [node]
        prefix = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        for item in inside:
            if isinstance(item, ast.FunctionDef) and not item.name.startswith("_"):
                yield prefix + item.name, ast.get_docstring(item) or ""


def _parts(docstring: str) -> tuple[str, str, dict[str, str]]:
    """Summary, remaining text, and the keyed parts of a docstring; markup removed, lines joined."""
    summary, text, keys = "", [], {}
    for number, paragraph in enumerate(plain_text(docstring).split("\n\n")):
        head, *keyed = _KEY.split(_RAISES.sub("", " ".join(paragraph.split())))
        for key, value in zip(keyed[::2], keyed[1::2], strict=True):
            keys[key.rstrip("s")] = value.strip()
        head = head.strip()
        if number == 0:
            summary = head
        elif head:
            text.append(head)
    return summary, " ".join(text), keys


def plain_text(docstring: str) -> str:
    """A docstring without the markup of cross-references; code keeps one backtick on either side."""
    return _ROLE.sub(lambda role: f"`{role.group(1)}`", docstring).replace("``", "`")
