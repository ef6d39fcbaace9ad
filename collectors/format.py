"""Numbers in sentences: what ``str.format`` writes, and shares in per cent as everywhere in the product."""

import math
from string import Formatter
from typing import Any

PERCENT, DURATION, BE = "percent", "duration", "be"
"""How a template names a share (``{share:percent}``), a duration in ms (``{queue_ms:duration}``), and the verb after
names (``{replicas} {replicas:be} down``)."""

SMALLEST = 0.001
"""Per cent below which a share reads "< 0.001 %"."""


def percent(fraction: float) -> str:
    """A share given as a fraction: 0.62 is "62 %", 0.0123 is "1.2 %"; just under one stays under "100 %"."""
    value = 100.0 * fraction
    if 99.0 < value < 100.0:
        return f"{min(math.floor(10.0 * value) / 10.0, 99.9):g} %"
    if 0.0 < value < SMALLEST:
        return f"< {SMALLEST} %"
    return f"{value:.0f} %" if value >= 100.0 else f"{float(f'{value:.2g}'):g} %"


def duration_ms(value: float) -> str:
    """A duration given in ms: "480 ms" below a second, from there on "2.61 s"."""
    return f"{value:.3g} ms" if value < 999.5 else f"{float(f'{value / 1000.0:.3g}'):,g} s"


class _Sentences(Formatter):
    """``str.format`` with :data:`PERCENT`, :data:`DURATION` and :data:`BE`."""

    def format_field(self, value: Any, format_spec: str) -> Any:
        match format_spec:
            case "percent":
                return percent(value)
            case "duration":
                return duration_ms(value)
            case "be":
                return "is" if len(getattr(value, "names", (value,))) == 1 else "are"
        return super().format_field(value, format_spec)


def sentence(template: str, *values: object, **facts: object) -> str:
    """The template with its values; ``{share:percent}`` writes "12 %"."""
    return _Sentences().format(template, *values, **facts)
