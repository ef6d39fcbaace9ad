"""The syntax tree of an expression."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Matcher:
    """One label matcher; regular expressions are anchored at both ends."""

    label: str
    sign: str
    value: str

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(self.value, re.DOTALL)

    def matches(self, text: str) -> bool:
        """Whether a label value (empty when the label is absent) passes."""
        if self.sign == "=":
            return text == self.value
        if self.sign == "!=":
            return text != self.value
        matches = self._pattern.fullmatch(text) is not None
        return matches if self.sign == "=~" else not matches


@dataclass(frozen=True)
class Number:
    """A literal number."""

    value: float


@dataclass(frozen=True)
class Text:
    """A literal string, as an argument of a function."""

    value: str


@dataclass(frozen=True)
class Selector:
    """Series of a metric; with ``range_s``, their samples of that long before the moment."""

    matchers: tuple[Matcher, ...]
    name: str = ""
    range_s: float | None = None


@dataclass(frozen=True)
class Subquery:
    """An expression evaluated at every ``step_s`` of the last ``range_s``."""

    inner: Node
    range_s: float
    step_s: float


@dataclass(frozen=True)
class Call:
    """A function with its arguments, such as ``rate(x[5m])``."""

    function: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True)
class Aggregate:
    """An aggregation; ``without`` tells whether ``labels`` are kept or dropped; None keeps none."""

    how: str
    inner: Node
    labels: tuple[str, ...] | None = None
    without: bool = False
    parameter: Node | None = None


@dataclass(frozen=True)
class Binary:
    """Two sides and an operator; ``on`` limits the labels that must agree (None: all)."""

    sign: str
    left: Node
    right: Node
    on: tuple[str, ...] | None = None
    ignoring: tuple[str, ...] = ()
    as_bool: bool = False


@dataclass(frozen=True)
class Negative:
    """Minus an expression."""

    inner: Node


Node = Number | Text | Selector | Subquery | Call | Aggregate | Binary | Negative
