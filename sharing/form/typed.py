"""Numbers as they were typed into the form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sharing.form.fields import FIELDS
from sharing.form.numbers import AmbiguousNumber, NotANumber, parse_number
from sharing.form.problems import no_number, unclear_number

Values = Mapping[str, Any]
"""What the form holds, by the key of the field."""


def needed(values: Values, key: str) -> float:
    """The number of a field. Raises BadInput where it is none, or empty."""
    return parsed(key, str(values[key]))


def optional(values: Values, key: str) -> float | None:
    """As :func:`needed`; None where the field is empty."""
    text = str(values[key])
    return parsed(key, text) if text.strip() else None


def parsed(key: str, text: str) -> float:
    """The number that a text means in a field. Raises BadInput."""
    try:
        return parse_number(text, unit=FIELDS[key].unit)
    except AmbiguousNumber as unclear:
        raise unclear_number(FIELDS[key], text, unclear.readings) from None
    except NotANumber:
        raise no_number(FIELDS[key], text) from None
