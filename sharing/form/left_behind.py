"""What a link names and cannot carry: a trace, a benchmark and prices, which were given to the session that wrote it.

Another session, on another replica as well, is told of them: without, its answer would be another one and not say why.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from sharing.form.fields import FIELDS
from sharing.form.presets import defaults

NAMED_TRACE = "trace"
"""Parameter that names the trace that filled the inputs in."""

GIVEN = "given"
"""Parameter with the kinds of what else was given."""

KINDS: Mapping[str, str] = MappingProxyType(
    {"benchmark": "a benchmark", "price_list": "a list of prices", "prices": "prices of its own"}
)
"""What may be given, by its word in the parameter, and as a sentence names it."""

_PRIVATE = tuple(key for key, field in FIELDS.items() if field.private)


def given(values: Mapping[str, Any], *, benchmark: object, price_book: object) -> tuple[str, ...]:
    """The kinds that these inputs count with."""
    prices = [key for key in _PRIVATE if values[key] != defaults()[key]]
    held = {"benchmark": benchmark, "price_list": price_book, "prices": prices}
    return tuple(kind for kind in KINDS if held[kind])
