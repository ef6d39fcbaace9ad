"""What a person types for a number, and how a number is written back into a field."""

from __future__ import annotations

import math
import re

_NUMBER = re.compile(r"([+-]?)(\d[\d.,'’]*|[.,]\d+)(e[+-]?\d{1,3})?\s*([a-zµ%/]*)", re.IGNORECASE)
_GROUPED = re.compile(r"\d{1,3}([,'’]\d{3})+(\.\d+)?")
_MULTIPLES = {"": 1.0, "k": 1e3, "m": 1e6}
"""What a letter behind a number multiplies it with."""

_UNIT_FACTORS = {"ms": {"ms": 1.0, "s": 1000.0}, "billions": {"b": 1.0}, "%": {"%": 1.0}, "tokens": {"tokens": 1.0}}
"""Units that may be typed into a field, by the field's own unit, and how much of it each is."""


class NotANumber(ValueError):
    """The text is not a number; the message says what was typed."""


def parse_number(text: str, *, unit: str = "") -> float:
    """The number in ``text``: "3500", "3,500", "3.5k", "1e6"; in a field in ms also "3 s", in percent "80 %".

    A single comma that does not separate thousands is a decimal comma ("2,4"). Raises NotANumber.
    """
    match = _NUMBER.fullmatch(re.sub(r"[\s_\u00a0\u202f]+", "", text))
    if not match:
        raise NotANumber(text)
    sign, digits, exponent, suffix = match.groups()
    factors = _UNIT_FACTORS.get(unit, {}) | _MULTIPLES
    if suffix.lower() not in factors:
        raise NotANumber(text)
    try:
        value = float(f"{sign}{_plain(digits)}{exponent or ''}") * factors[suffix.lower()]
    except ValueError:
        raise NotANumber(text) from None
    if not math.isfinite(value):
        raise NotANumber(text)
    return value


def show_number(value: float | None) -> str:
    """The shortest text that reads back as ``value``; "" for None."""
    if value is None:
        return ""
    return f"{value:.0f}" if value == int(value) and abs(value) < 1e15 else f"{value:.10g}"


def _plain(digits: str) -> str:
    """Digits without thousands separators, with a decimal point."""
    if _GROUPED.fullmatch(digits):
        return re.sub(r"[,'’]", "", digits)
    if digits.count(",") == 1 and "." not in digits:
        return digits.replace(",", ".")
    return digits
