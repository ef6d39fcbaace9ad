"""What a person types for a number, and how a number is written back into a field."""

import math
import re
from decimal import Decimal

_NUMBER = re.compile(r"([+-]?)(\d[\d.,'’]*|[.,]\d+)(e[+-]?\d{1,3})?\s*([a-zµ%/]*)", re.IGNORECASE)
_GROUPED = re.compile(r"[1-9]\d{0,2}([,'’]\d{3})+(\.\d+)?")
_GROUPED_BY_POINTS = re.compile(r"[1-9]\d{0,2}(\.\d{3})+(,\d+)?")
_SPACES = re.compile(r"[\s_\u00a0\u202f]+")
_SPACED = re.compile(r"(?<![\d.,])[1-9]\d{0,2}([\s_\u00a0\u202f]\d{3})+(?!\d)")
_APART = re.compile(r"\d[\s_\u00a0\u202f]+\d")
_DECIMAL_COMMA = re.compile(r"\d*,\d+")
_MULTIPLES = {"": 1.0, "k": 1e3, "m": 1e6}
"""What a letter behind a number multiplies it with."""

_UNIT_FACTORS = {"ms": {"ms": 1.0, "s": 1000.0}, "billions": {"b": 1.0}, "%": {"%": 1.0}, "tokens": {"tokens": 1.0}}
"""Units that may be typed into a field, by the field's own unit, and how much of it each is."""


class NotANumber(ValueError):
    """The text is not a number; the message says what was typed."""


class AmbiguousNumber(NotANumber):
    """The text is one number to some readers and another, or none, to others: "3.000", "2,5".

    ``readings`` are the numbers it may mean, each written so that it can mean nothing else; the likeliest first.
    """

    def __init__(self, text: str, readings: tuple[str, ...]) -> None:
        super().__init__(text)
        self.readings = readings


def parse_number(text: str, *, unit: str = "") -> float:
    """The number in ``text``: "3500", "3,500", "3.5k", "1e6"; in a field in ms also "3 s", in percent "80 %".

    A point is a decimal point and a comma separates thousands. What may be meant the other way round is never taken:
    raises AmbiguousNumber for it, NotANumber for anything else that is no number.
    """
    closed_up = _SPACED.sub(lambda group: _SPACES.sub("", group[0]), text)
    if _APART.search(closed_up):  # several numbers, of which one was meant
        raise NotANumber(text)
    match = _NUMBER.fullmatch(_SPACES.sub("", closed_up))
    if not match:
        raise NotANumber(text)
    sign, digits, exponent, suffix = match.groups()
    factors = _UNIT_FACTORS.get(unit, {}) | _MULTIPLES
    if suffix.lower() not in factors:
        raise NotANumber(text)
    if readings := _readings(digits):
        raise AmbiguousNumber(text, tuple(f"{sign}{digits}{exponent or ''}{suffix}" for digits in readings))
    try:
        value = float(f"{sign}{_without_separators(digits)}{exponent or ''}") * factors[suffix.lower()]
    except ValueError:
        raise NotANumber(text) from None
    if not math.isfinite(value):
        raise NotANumber(text)
    return value


def times(value: float, scale: float) -> float:
    """``value`` x ``scale`` in decimals, as people compute: 57 % are 0.57, and not the last bit more."""
    return float(Decimal(repr(float(value))) * Decimal(repr(scale)))


def over(value: float, scale: float) -> float:
    """``value`` / ``scale`` in decimals: what :func:`times` makes ``value`` of."""
    return float(Decimal(repr(float(value))) / Decimal(repr(scale)))


def show_number(value: float | None) -> str:
    """The shortest text that reads back as ``value``, and as nothing else; "" for None."""
    if value is None:
        return ""
    short = f"{value:.0f}" if value == int(value) and abs(value) < 1e15 else f"{value:.10g}"
    text = short if float(short) == value else repr(float(value))
    return f"{text}0" if _GROUPED_BY_POINTS.fullmatch(text.lstrip("-")) else text


def _readings(digits: str) -> tuple[str, ...]:
    """What digits mean if point and comma have changed places, and what as they stand; nothing where that is clear."""
    if _GROUPED_BY_POINTS.fullmatch(digits):
        thousands = digits.translate({ord("."): ",", ord(","): "."})
        as_it_stands = digits.count(".") == 1 and "," not in digits
        return (thousands, f"{digits.rstrip('0')}0") if as_it_stands else (thousands,)
    if _DECIMAL_COMMA.fullmatch(digits) and not _GROUPED.fullmatch(digits):
        return (digits.replace(",", "."),)
    return ()


def _without_separators(digits: str) -> str:
    """Digits without thousands separators."""
    return re.sub(r"[,'’]", "", digits) if _GROUPED.fullmatch(digits) else digits
