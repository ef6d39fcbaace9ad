"""One field of the form, and short ways to write it down.

``path`` is the scenario key that a field sets; ``scale`` turns what is typed into what the scenario holds (percent
into a fraction). Fields without a path take part in a value that several of them make up (see :mod:`ui.form.read`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["number", "text", "choice", "many", "switch"]


LONGEST_NUMBER = 40
"""Characters of a number field: room for every notation, and none for a pasted text."""


@dataclass(frozen=True, kw_only=True)
class Field:
    """One input. ``blank`` is its value when the scenario says nothing; ``private`` keeps it out of links.

    ``longest``: characters that a text may have.
    """

    key: str
    kind: Kind
    label: str
    help: str
    unit: str = ""
    path: str = ""
    scale: float = 1.0
    example: str = ""
    private: bool = False
    short: str = ""
    longest: int = 120

    @property
    def title(self) -> str:
        """The label with its unit, as it stands above the widget."""
        name = self.short or self.label
        return f"{name} ({self.unit})" if self.unit else name

    @property
    def leaf(self) -> str:
        """The last part of the scenario key: the name of the value in its part of the scenario."""
        return self.path.rpartition(".")[2]

    @property
    def blank(self) -> str | bool | list[str]:
        """What the widget holds when it says nothing."""
        empty: dict[Kind, str | bool | list[str]] = {"switch": False, "many": []}
        return empty.get(self.kind, "")


def number(
    key: str,
    label: str,
    unit: str,
    example: str,
    help: str,
    path: str = "",
    *,
    short: str = "",
    scale: float = 1.0,
    private: bool = False,
) -> Field:
    """A number with its unit."""
    return Field(
        key=key,
        kind="number",
        label=label,
        unit=unit,
        example=example,
        help=help,
        path=path,
        short=short,
        scale=scale,
        private=private,
    )


def choice(key: str, label: str, help: str, path: str = "") -> Field:
    """One of several options."""
    return Field(key=key, kind="choice", label=label, help=help, path=path)


def many(key: str, label: str, help: str, path: str) -> Field:
    """Any number of options."""
    return Field(key=key, kind="many", label=label, help=f"{help} Empty: all are considered.", path=path)


def switch(key: str, label: str, help: str) -> Field:
    """Yes or no."""
    return Field(key=key, kind="switch", label=label, help=help)
