"""The scenario of a command: a file, or the number of one in the library with the step times accepted for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from collectors.errors import InvalidSource
from collectors.source import Source, load_source
from sharing.bonds import Calibrations
from sharing.bonds.records import LearnedCalibration
from sharing.errors import InvalidEntry, SharingError
from sizing.base.errors import InvalidScenario, SizingError
from sizing.scenario.file import load_scenario
from sizing.scenario.schema import Scenario

if TYPE_CHECKING:
    from sharing.library import Library

LONGEST_NUMBER = 20
"""Digits that are read as the number of a scenario; the library says that it has none so large."""

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class ChosenScenario:
    """A scenario, its number in the library (None: it is a file's), and the step times accepted for it."""

    scenario: Scenario
    number: int | None = None
    learned: LearnedCalibration | None = None


def number_of(text: str) -> int | None:
    """The number that an argument names; None where it is a file. Raises InvalidEntry."""
    if not text.isdecimal() or Path(text).exists():
        return None
    if len(text) > LONGEST_NUMBER:
        raise InvalidEntry(f"There is no scenario of a number with {len(text)} digits: give a file, or its number.")
    return int(text)


@contextmanager
def opened(place: str | None) -> Iterator[Library]:
    """The library at a place, else that of the environment. A folder that was typed must be there: a mistyped one is
    no new library. Raises SharingError."""
    from sharing.library import open_library

    if place and "://" not in place and not Path(place).expanduser().absolute().parent.is_dir():
        raise InvalidEntry(f"{place}: there is no such folder for a library. Make it first, or name another place.")
    with closing(open_library(place)) as library:
        yield library


def chosen_of(scenario: str, source: Path, library: str | None = None) -> tuple[ChosenScenario, Source]:
    """The scenario and the source of a command. Raises InvalidScenario with the problems of both, SharingError."""
    number = number_of(scenario)
    if number is None:
        planned, live = files(Path(scenario), source)
        return ChosenScenario(scenario=planned), live
    live = load_source(source)
    with opened(library) as kept:
        accepted = Calibrations(kept).of_scenario(number)
        planned = kept.version(number).scenario()
    return ChosenScenario(
        scenario=planned, number=number, learned=None if accepted is None else accepted.calibration
    ), live


def files(scenario: Path, source: Path) -> tuple[Scenario, Source]:
    """Reads both files. Raises InvalidScenario with the problems of both at once."""
    problems: list[str] = []

    def read(load: Callable[[Path], T], path: Path) -> T | None:
        try:
            return load(path)
        except (InvalidScenario, InvalidSource) as invalid:
            problems.extend(invalid.problems)
        except (SizingError, SharingError) as error:
            problems.append(" ".join(str(error).split()))
        return None

    planned, live = read(load_scenario, scenario), read(load_source, source)
    if planned is None or live is None:
        raise InvalidScenario(problems)
    return planned, live
