"""Results are checked: mypy finds a missing field and a wrong type in every result type of the product."""

import importlib
import pkgutil
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import reality
import sizing
from sizing.base.quantity import Estimate, Result
from tests.tools.type_checker import type_errors

ERROR = re.compile(r"planted\.py:(\d+): error: .*\[([a-z-]+)\]$")
HEAD = """
from typing import Any

from sizing.base.quantity import Result, quantity

class Wrong: ...
def any() -> Any: ...
"""
DEFAULT_THAT_IS_NONE = (
    'class Old(Result):\n    value: float = quantity("Value", help="Metadata as if it were a default.")'
)


def result_types() -> list[type[Result]]:
    """Every result type of the product, wherever it stands."""
    for package in (sizing, reality):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith(".__main__"):
                importlib.import_module(module.name)
    return [one for one in subclasses(Result) if one.__module__.split(".")[0] in ("sizing", "reality")]


def subclasses(of: type[Result]) -> Iterator[type[Result]]:
    for one in of.__subclasses__():
        yield one
        yield from subclasses(one)


def planted(one: type[Result]) -> Iterator[tuple[str, set[str]]]:
    """Calls of a result type with the errors that each is to give: none, and one for each field in turn."""

    def call(*, without: str = "", wrong: str = "") -> str:
        values = (f"{name}={'Wrong()' if name == wrong else 'any()'}" for name in one.model_fields if name != without)
        return f"{one.__module__}.{one.__qualname__}({', '.join(values)})"

    yield call(), set()
    for name, field in one.model_fields.items():
        if field.is_required():
            yield call(without=name), {"call-arg"}
        if field.annotation is not Any:  # a value of the scenario, which may be anything
            yield call(wrong=name), {"arg-type"}


def errors_of(text: str, folder: Path) -> dict[int, set[str]]:
    """The kinds of error by line that mypy finds in a file of this text."""
    (folder / "planted.py").write_text(text)
    by_line: defaultdict[int, set[str]] = defaultdict(set)
    for line in type_errors(folder, str(folder / "planted.py")).splitlines():
        if match := ERROR.search(line):
            by_line[int(match[1])].add(match[2])
    return by_line


def test_mypy_finds_a_missing_field_and_a_wrong_type_in_every_result(tmp_path: Path) -> None:
    types = result_types()
    assert Estimate in types
    head = HEAD + "\n".join(sorted({f"import {one.__module__}" for one in types}))
    calls = [(DEFAULT_THAT_IS_NONE, {"assignment"}), *(call for one in types for call in planted(one))]
    text = "\n".join([head, *(code for code, _ in calls)]) + "\n"
    lines = text.splitlines()
    given = errors_of(text, tmp_path)
    wanted = {lines.index(code.splitlines()[-1]) + 1: errors for code, errors in calls}
    assert {kind for errors in wanted.values() for kind in errors} == {"assignment", "call-arg", "arg-type"}
    assert [(lines[n - 1], given[n], errors) for n, errors in wanted.items() if given[n] != errors] == []
