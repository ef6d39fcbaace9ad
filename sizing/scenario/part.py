"""What every part of a scenario has in common."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator

Rule = Literal["cached_part_is_shorter", "some_hour_has_load", "p95_is_not_shorter"]
"""Rules between several values, which no bound of one field states."""


class BrokenRule(ValueError):
    """A scenario breaks a :data:`Rule`. The message speaks of the keys of a file; a form has words of its own."""

    def __init__(self, rule: Rule, message: str) -> None:
        self.rule: Rule = rule
        super().__init__(message)


class Part(BaseModel):
    """Base of every part of a scenario: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth_value(cls, value: object, about: ValidationInfo) -> object:
        """YAML reads a bare yes or no as true or false, which would pass as the number 1 or 0."""
        asked = cls.model_fields[about.field_name or ""].annotation
        if asked is not bool and any(isinstance(v, bool) for v in (value if isinstance(value, list) else [value])):
            raise ValueError("must be a number or text, not true or false (yes and no count as such)")
        return value
