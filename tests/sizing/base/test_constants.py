import re
from pathlib import Path

import pytest

import sizing
from sizing.base.constants import CONSTANTS, TABLE, Constant, constant

PACKAGE = Path(sizing.__file__).parent
USED = {
    name
    for path in PACKAGE.rglob("*.py")
    for name in re.findall(r'constant\(\s*"(\w+)"\s*\)', path.read_text(encoding="utf-8"))
    if path.name != "constants.py"
}


@pytest.mark.parametrize("item", CONSTANTS.values(), ids=lambda item: item.name)
def test_every_constant_says_what_it_is_and_where_it_comes_from(item: Constant) -> None:
    assert item.unit
    assert item.meaning.endswith(".")
    assert item.source
    assert re.fullmatch(r"20\d\d(-\d\d){0,2}", item.date)


@pytest.mark.parametrize("name", CONSTANTS)
def test_every_constant_is_used(name: str) -> None:
    assert name in USED


def test_no_constant_stands_there_twice() -> None:
    assert len(CONSTANTS) == len(TABLE.read_text(encoding="utf-8").splitlines()) - 1


def test_every_constant_the_engine_asks_for_exists() -> None:
    assert set(CONSTANTS) >= USED
    assert all(constant(name) == CONSTANTS[name].value for name in USED)
