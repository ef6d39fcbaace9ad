"""Writing PromQL safely: label values are always escaped, names are checked, durations and steps are computed."""

import math
import re
from collections.abc import Mapping, Sequence

from collectors.units import S_PER_DAY

MAX_POINTS = 1_000
"""The most points of a line. Chosen: finer than a chart; Prometheus itself refuses more than 11,000."""
LABEL_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
SHORTEST_STEP_S = 0.001
"""Prometheus counts time in milliseconds."""

NICE_STEPS_S = (1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400)
"""Steps that a person reads at a glance, up to a day."""

_REGEX_SIGNS = re.compile(r"[\\.+*?()|\[\]{}^$]")
_CONTROLS = {chr(code): f"\\x{code:02x}" for code in (*range(32), 127)}
_ESCAPES = str.maketrans({**_CONTROLS, "\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})

LabelValue = str | Sequence[str]


class AnyCase(tuple[str, ...]):
    """Values of a label that match in any case: some software writes the name of a model in small letters."""


def quoted(text: str) -> str:
    """``text`` as a PromQL string: quotes, backslashes and control characters escaped, so that it cannot end early."""
    return f'"{text.translate(_ESCAPES)}"'


def regex_quoted(text: str) -> str:
    """``text`` as a regular expression that matches exactly it (RE2)."""
    return _REGEX_SIGNS.sub(lambda sign: "\\" + sign.group(), text)


def matcher(label: str, value: LabelValue) -> str:
    """One label matcher; several values become an alternation. Raises ValueError for a label that cannot be one."""
    if not LABEL_NAME.fullmatch(label):
        raise ValueError(f"“{label[:60]}” is not a label name: letters, digits and underscores, no digit first.")
    if isinstance(value, str):
        return f"{label}={quoted(value)}"
    values = "|".join(regex_quoted(v) for v in value)
    return f"{label}=~{quoted(f'(?i:{values})' if isinstance(value, AnyCase) else values)}"


def matchers(labels: Mapping[str, LabelValue]) -> str:
    """Label matchers without braces, in the order given."""
    return ",".join(matcher(label, value) for label, value in labels.items())


def duration(seconds: float) -> str:
    """A range of at least one second as PromQL writes it; fractions become milliseconds."""
    if seconds <= 0 or not math.isfinite(seconds):
        raise ValueError(f"a range must be above 0 s, not {seconds}")
    return f"{int(seconds)}s" if float(seconds).is_integer() else f"{max(1, round(seconds * 1000))}ms"


def step_for(span_s: float, *, interval_s: float = 1.0, points: int = MAX_POINTS) -> float:
    """The smallest round step of at least the scrape interval that gives at most ``points`` points over ``span_s``."""
    least = max(interval_s, span_s / max(1, points - 1), SHORTEST_STEP_S)
    for nice in NICE_STEPS_S:
        if nice >= least:
            return float(nice)
    return math.ceil(least / S_PER_DAY) * S_PER_DAY
