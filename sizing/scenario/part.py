"""What every part of a scenario has in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator


class Part(BaseModel):
    """Base of every part of a scenario: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth_value(cls, value: object, about: ValidationInfo) -> object:
        """YAML reads a bare yes or no as true or false, which would pass as the number 1 or 0."""
        is_truth = isinstance(value, bool) or (isinstance(value, list) and any(isinstance(v, bool) for v in value))
        if is_truth and cls.model_fields[about.field_name or ""].annotation is not bool:
            raise ValueError("must be a number or text, not true or false (yes and no count as such)")
        return value
