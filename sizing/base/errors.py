"""What can go wrong in the sizing engine.

SizingError (ValueError)
├── InvalidScenario      the question itself is malformed; carries one problem per line
│   └── InvalidBenchmark its benchmark cannot have run as it is described
├── ForeignPlan          a plan that answers another scenario than the one it is put beside
├── UnknownName          a model, GPU, engine or precision that is not in the catalogue
├── InvalidModelConfig   a config.json that does not describe a transformer we can size
├── InvalidPoints        a table given to ``predict`` that cannot be read
└── InvalidTrace         a trace of requests that cannot be read; carries one problem per line

What can be expected to fail while sizing (a model that does not fit) is a value, not an exception:
see :class:`sizing.base.result.Excluded`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Literal

from commandline.foreign_text import printable, shown

LONGEST_NAME = 120
"""Characters of a name that are shown, and compared with those that are known."""


class SizingError(ValueError):
    """Root of every error the engine raises on purpose. ``problems`` holds one clear sentence per fault.

    ``paths`` holds for each the keys of the scenario that it is about, as ``workload.peak_rps``; "" where it is about
    none in particular.
    """

    def __init__(self, *problems: str, paths: Sequence[str] = ()) -> None:
        self.problems = tuple(printable(problem) for problem in problems)  # some quote what stands in a file
        self.paths = tuple(map(printable, paths)) or ("",) * len(self.problems)
        super().__init__("\n".join(self.problems))

    def __reduce__(self) -> tuple[Any, ...]:
        """As it stands, for another process: what a subclass was made of is not among ``args``."""
        return type(self).__new__, (type(self), *self.args), self.__dict__


class InvalidScenario(SizingError):
    """The scenario is malformed; each problem stands on one line."""

    def __init__(self, problems: Sequence[str], paths: Sequence[str] = ()) -> None:
        super().__init__(*(" ".join(problem.split()) for problem in problems), paths=paths)

    @classmethod
    def at(cls, path: str, problem: object) -> InvalidScenario:
        """One problem with the value at a path of keys, which the sentence begins with."""
        return InvalidScenario([f"{path}: {problem}"], [path])


class InvalidBenchmark(InvalidScenario):
    """A benchmark that cannot have run as it is described: key of the file to sentence. ``sentences`` have no keys."""

    def __init__(self, faults: Mapping[str, str]) -> None:
        self.sentences = tuple(faults.values())
        paths = [f"benchmark.{key}" for key in faults]
        super().__init__([f"{path}: {fault}" for path, fault in zip(paths, faults.values(), strict=True)], paths)


class ForeignPlan(SizingError):
    """A plan that answers another scenario than the one it is put beside; the message names both."""


class MissingKey(ValueError):
    """A key of a scenario that another key makes necessary; validation turns it into an InvalidScenario."""


RuleName = Literal["cached_part_is_shorter", "some_hour_has_load", "p95_is_not_shorter"]
"""Rules between several values, which no bound of one field states."""


class BrokenRule(ValueError):
    """A scenario breaks a :data:`RuleName`. The message speaks of the keys of a file; a form has words of its own."""

    def __init__(self, rule: RuleName, message: str) -> None:
        self.rule: RuleName = rule
        super().__init__(message)


class UnknownName(SizingError):
    """A name that the catalogue does not hold; the message offers the three nearest of ``known``, or ``nearest``, after
    ``why`` it is not there, or says in ``instead`` how what is meant is asked for."""

    def __init__(
        self,
        kind: str,
        name: str,
        known: Iterable[str] = (),
        *,
        nearest: Sequence[str] = (),
        why: str = "",
        instead: str = "",
    ) -> None:
        self.kind, self.name = kind, name
        self.nearest = list(nearest) or nearest_names(name, known, 3)
        hint = f" Did you mean {alternatives(self.nearest)}?" if self.nearest else ""
        if instead:
            hint = f" {instead}"
        reason = f" {why}" if why else ""
        super().__init__(f"Unknown {kind} “{shown(name, LONGEST_NAME)}”.{reason}{hint}")


class InvalidModelConfig(SizingError):
    """A Hugging Face config.json that is not JSON, not a language model, or inconsistent."""


class InvalidPoints(SizingError):
    """The table given to ``predict`` cannot be read as measured configurations."""


class InvalidTrace(SizingError):
    """A trace of requests is malformed."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(*problems)


def alternatives(names: Sequence[str]) -> str:
    """Names to choose between: "a, b or c"."""
    return ", ".join([*names[:-2], " or ".join(names[-2:])])


def nearest_names(name: str, known: Iterable[str], count: int = 2, *, cutoff: float = 0.55) -> list[str]:
    """The ``count`` known names closest to ``name``, ignoring case; those less alike than ``cutoff`` are left out."""
    by_lower = {k.lower(): k for k in known}
    return [by_lower[m] for m in get_close_matches(name[:LONGEST_NAME].lower(), list(by_lower), n=count, cutoff=cutoff)]
