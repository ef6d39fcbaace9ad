"""Reading single facts out of a config.json: names differ per model family, values are not to be trusted.

Every problem is an InvalidModelConfig with one sentence that says what to change.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, NoReturn

from commandline.foreign_text import shown
from sizing.base.errors import InvalidModelConfig
from sizing.base.units import MIB
from sizing.catalog.files import read_yaml

MAX_CONFIG_BYTES = MIB
"""A config.json is a few kilobytes, 100 kB at most; a file over 1 MB is something else (weights, a tokenizer)."""


@cache
def field_names() -> Mapping[str, tuple[str, ...]]:
    """Facts, and the names that model families give them in config.json, the common one first."""
    return MappingProxyType({fact: tuple(names) for fact, names in read_yaml("config_fields.yaml").items()})


def load_config(config: Mapping[str, Any] | str | bytes) -> dict[str, Any]:
    """The configuration as a dictionary, whatever form it came in.

    Raises InvalidModelConfig when it is over 1 MB, not JSON, or JSON that is not an object.
    """
    if isinstance(config, Mapping):
        return {str(key): value for key, value in config.items()}
    size = len(config)
    if size > MAX_CONFIG_BYTES:
        raise InvalidModelConfig("config.json is larger than 1 MB: use the one beside the weights; it has a few KB.")
    try:
        parsed = json.loads(config)
    except (ValueError, RecursionError) as error:
        where = f" (line {error.lineno}, column {error.colno})" if isinstance(error, json.JSONDecodeError) else ""
        raise InvalidModelConfig(
            f"config.json is not valid JSON{where}: paste or upload the unchanged file of the model."
        ) from None
    if not isinstance(parsed, dict):
        raise InvalidModelConfig("config.json must be a JSON object with braces: paste the whole file of the model.")
    return parsed


class Fields:
    """The facts of one configuration by our names; nested text models are looked into first."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.outer = config
        nested = next((config[k] for k in ("text_config", "llm_config", "language_config") if _holds(config, k)), None)
        self.inner: Mapping[str, Any] = nested if isinstance(nested, Mapping) else config

    def raw(self, key: str) -> Any:
        """The value under a config.json name, from the text model first; None when absent or null."""
        value = self.inner.get(key)
        return self.outer.get(key) if value is None else value

    def flag(self, key: str, default: bool = False) -> bool:
        """A true/false value under a config.json name; anything else counts as the default."""
        value = self.raw(key)
        return value if isinstance(value, bool) else default

    def text(self, key: str) -> str:
        """A text under a config.json name, in lower case; "" when absent or not a text."""
        value = self.raw(key)
        return value.lower() if isinstance(value, str) else ""

    def section(self, key: str) -> Mapping[str, Any]:
        """A nested object under a config.json name; empty when absent."""
        value = self.raw(key)
        return value if isinstance(value, Mapping) else {}

    def items(self, key: str) -> list[Any]:
        """A list under a config.json name; empty when absent."""
        value = self.raw(key)
        return list(value) if isinstance(value, list) else []

    def whole(self, fact: str, *, low: int = 1, high: int = 10**7) -> int | None:
        """A whole number by our name for it, checked against its range; None when the file does not say.

        ``fact`` may also be a config.json name that is the same everywhere.
        """
        for key in field_names().get(fact, (fact,)):
            value = self.raw(key)
            if value is not None:
                return checked_whole(key, value, low, high)
        return None

    def needed(self, fact: str, *, low: int = 1, high: int = 10**7) -> int:
        """Like :meth:`whole`, but the file must say it."""
        value = self.whole(fact, low=low, high=high)
        if value is None:
            names = field_names()[fact]
            raise InvalidModelConfig(
                f"config.json has no {names[0]} (nor {', '.join(names[1:3])}): use the config.json of the language "
                "model itself, not of an adapter, a tokenizer or a pipeline."
            )
        return value


def checked_whole(name: str, value: Any, low: int, high: int) -> int:
    """``value`` as a whole number between ``low`` and ``high``, or InvalidModelConfig naming the field."""
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    if not low <= number <= high or number != int(number):
        reject(name, value, f"a whole number between {low:,} and {high:,}")
    return int(number)


def checked_number(name: str, value: Any, low: float, high: float) -> float:
    """``value`` as a number between ``low`` and ``high``, or InvalidModelConfig naming the field."""
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    if not low <= number <= high:
        reject(name, value, f"a number between {low:g} and {high:g}")
    return float(number)


def reject(name: str, value: Any, expected: str) -> NoReturn:
    """Raise InvalidModelConfig: the field, what it holds (shortened) and what it should hold."""
    try:
        content = json.dumps(value, default=str, ensure_ascii=False)
    except (ValueError, RecursionError):
        content = "a value"
    raise InvalidModelConfig(f"config.json says {name} = {shown(content)}: change it to {expected}.")


def _holds(config: Mapping[str, Any], key: str) -> bool:
    return isinstance(config.get(key), Mapping) and bool(config[key])
