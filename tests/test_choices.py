"""A choice is closed: mypy finds a new one wherever code branches on it, and no table lacks one."""

import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, get_args, get_origin

import pytest

import collectors
import reality
import sharing
import sizing
import ui
from tests.tools.type_checker import ROOT, type_errors

CHOICE = re.compile(r"^(\w+ = Literal\[)", re.MULTILINE)
CLOSED = re.compile(r"assert_never\(\w+\)")
PARTIAL = {
    "sizing.catalog.encoders._WORDS": "no guard is told by its name: many of them are language models",
    "reality.diagnosis.causes.FIELDS": "what is unexplained changes nothing",
    "sharing.manifests.balancer.LITELLM_METHODS": "the others are what LiteLLM does unasked: a pick by weight",
    "sharing.manifests.balancer.NGINX_METHODS": "the others are what nginx does unasked: in turn, by weight",
    "sizing.decision.lever_text.RUNS": "the others change no software that has to run them",
    "sharing.form.problems._AT": "the sentence on a p95 stands under the length that it is of",
    "sizing.catalog.layer_lists._NAMES": "no file names a layer that is not there",
    "sizing.decision.keep_hardware._KEYS": "the load has the key that it was given by",
    "sizing.evidence.cases.NEAR_WORDS": "nothing near is not named",
    "sizing.planning.sentences.BINDS": "the others are sentences with numbers",
    "sizing.planning.sentences.OF_POOL": "the others are said as of any instance",
    "sizing.replay.day.STANDING_BY": "instances that are switched off need no note",
    "ui.access.door._SENTENCES": "with the others somebody is in, or is refused by name",
    "ui.explore.frontier._COUNTED": "of one axis every GPU is counted",
}
"""Tables that say nothing of some choices, and why."""


def source_files() -> list[Path]:
    return [
        file for room in ("sizing", "collectors", "reality", "sharing", "ui") for file in (ROOT / room).rglob("*.py")
    ]


def test_mypy_finds_a_new_choice_wherever_code_branches_on_one(tmp_path: Path) -> None:
    """Every choice gets one more, and each branch that is closed has to miss it."""
    shadows, closed = [], list[Path]()
    for number, file in enumerate(source_files()):
        text = file.read_text()
        if CLOSED.search(text):
            closed.append(file)
        more = CHOICE.sub(r'\1"planted", ', text)
        if more != text:
            shadow = tmp_path / f"{number}.py"
            shadow.write_text(more)
            shadows += ["--shadow-file", str(file.relative_to(ROOT)), str(shadow)]
    lines = type_errors(tmp_path, *shadows, *(str(file.relative_to(ROOT)) for file in closed))
    found = set(re.findall(r'^(\S+?:\d+): error: Argument 1 to "assert_never"', lines, re.MULTILINE))
    wanted = {
        f"{file.relative_to(ROOT)}:{number}"
        for file in closed
        for number, line in enumerate(file.read_text().splitlines(), start=1)
        if CLOSED.search(line)
    }
    assert wanted
    assert wanted - found == set()


def choices(annotation: Any) -> frozenset[Any]:
    """What a choice may be; nothing for what is none."""
    if get_origin(annotation) is Literal:
        return frozenset(get_args(annotation))
    return frozenset(annotation) if isinstance(annotation, type) and issubclass(annotation, Enum) else frozenset()


def tables(module: ModuleType) -> Iterator[tuple[str, frozenset[Any], frozenset[Any]]]:
    """Each table of a module whose keys are a choice: its name, its keys, and what they may be."""
    for name, written in vars(module).get("__annotations__", {}).items():
        if not str(written).startswith(("Mapping[", "dict[", "typing.", "collections.")):
            continue
        annotation = eval(written, vars(module)) if isinstance(written, str) else written
        if get_origin(annotation) in (dict, Mapping) and (all_of_them := choices(get_args(annotation)[0])):
            yield f"{module.__name__}.{name}", frozenset(getattr(module, name)), all_of_them


@cache
def modules() -> tuple[ModuleType, ...]:
    names = (
        one.name
        for package in (sizing, collectors, reality, sharing, ui)
        for one in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        if not one.name.endswith("__main__") and ".migrations" not in one.name  # those run in alembic alone
    )
    return tuple(importlib.import_module(name) for name in names)


def test_a_table_of_choices_holds_all_of_them() -> None:
    found = [table for module in modules() for table in tables(module)]
    lacking = {name: wanted - keys for name, keys, wanted in found if keys != wanted}
    assert len(found) > 50
    assert {name: missing for name, missing in lacking.items() if name not in PARTIAL} == {}
    assert set(PARTIAL) - set(lacking) == set(), "it holds all of them now"


@pytest.mark.parametrize("keys", [("a",), ("a", "b", "c")])
def test_a_table_that_lacks_a_choice_or_has_another_is_found(keys: tuple[str, ...]) -> None:
    module = ModuleType("planted")
    exec(
        "from typing import Literal\nX = Literal['a', 'b']\nTABLE: dict[X, int] = {}\nOTHER: dict[str, int] = {}",
        vars(module),
    )
    vars(module)["TABLE"] = dict.fromkeys(keys)
    assert list(tables(module)) == [("planted.TABLE", frozenset(keys), frozenset("ab"))]
