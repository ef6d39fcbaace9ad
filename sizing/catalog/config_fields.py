"""Reading single facts out of a config.json: names differ per model family, values are not to be trusted.

Every problem is an InvalidModelConfig with one sentence that says what to change.
"""

import json
import math
import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, NoReturn

from commandline.foreign_text import shown
from sizing.base.errors import InvalidModelConfig, nearest_names
from sizing.base.units import MIB
from sizing.catalog.files import DATA_DIR, read_yaml

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
    if config[:4] in ("GGUF", b"GGUF"):
        raise InvalidModelConfig("This is a GGUF file: use the config.json of the model that it was converted from.")
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


@cache
def class_defaults() -> Mapping[str, Mapping[str, Any]]:
    """What classes of transformers hold where a file is silent, by ``model_type`` (class_defaults.yaml)."""
    lines = (DATA_DIR / "class_defaults.yaml").read_text(encoding="utf-8").splitlines()
    # JSON is YAML, too, and each line holds some: read as JSON the file takes a millisecond, not a third of a second.
    return MappingProxyType(json.loads(f"{{{','.join(line for line in lines if not line.startswith('#'))}}}"))


class ConfigFields:
    """The facts of one configuration by our names.

    They are looked for in the section of the language model, in the sections around it, and where the file is silent
    among the defaults of its class, which are remembered: :meth:`taken_from_class` says which counted.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.outer = config
        self.sections = language_sections(config)
        self.inner = self.sections[0]
        self.class_name, self._defaults = self._class()
        self._taken: dict[str, Any] = {}

    def _class(self) -> tuple[str, Mapping[str, Any]]:
        """The ``model_type`` whose class speaks for silent fields, and its defaults; that of a whole model leads to the
        language model inside."""
        for section in self.sections:
            name = section.get("model_type")
            name = name.lower() if isinstance(name, str) else ""
            known = class_defaults().get(name, {}) if name != "source" else {}
            name = str(known.get("text", name))
            if known:
                untied = {"tie_word_embeddings": False} if self._whole_model_unties() else {}
                return name, {**class_defaults().get(name, {}), **untied}
        return "", {}

    def _whole_model_unties(self) -> bool:
        """Whether the class of a section around the language model has separate output embeddings."""
        outer = (str(section.get("model_type", "")).lower() for section in self.sections)
        return any(
            "text" in known and known.get("tie_word_embeddings") is False
            for known in (class_defaults().get(name, {}) for name in outer)
        )

    def taken_from_class(self) -> str:
        """One sentence on the defaults that stand in for silent fields; "" where none counted."""
        if not self._taken:
            return ""
        source = class_defaults()["source"]
        listed = [f"{key} {json.dumps(value)}" for key, value in self._taken.items()]
        several = len(listed) > 1
        named = " and ".join([", ".join(listed[:-1]), listed[-1]] if several else listed)
        verb, noun = ("are", "defaults") if several else ("is", "default")
        return f"{named} {verb} not in the file: {noun} of {self.class_name} in {source['library']} {source['version']}"

    def default(self, key: str) -> Any:
        """What the class holds under a config.json name that the file leaves out; None where it has null or nothing."""
        if key not in self._defaults or any(key in section for section in self.sections):
            return None
        return self._defaults[key]

    def class_list(self, key: str, count: int) -> list[Any]:
        """The list over ``count`` layers that the class fills in where the file has none; empty without a rule."""
        if any(section.get(key) is not None for section in self.sections):
            return []
        every = self._defaults.get("every", {}).get(key)
        listed = self._defaults.get("lists", {}).get(key, [])
        fits = len(listed) == count or bool(listed and isinstance(listed[0], int) and count == self._class_layers())
        names = [every[i % len(every)] for i in range(count)] if every else list(listed) if fits else []
        if names:
            self._taken[key] = "as the class lays them out"
        return names

    def _class_layers(self) -> int | None:
        return next((n for key in field_names()["layers"] if isinstance(n := self._defaults.get(key), int)), None)

    def _taking(self, key: str) -> Any:
        value = self.default(key)
        if value is not None and value is not False:
            self._taken[key] = value
        return value

    def rule(self, key: str, value: int | None) -> int | None:
        """A number that the class sets where the file is silent, which no default declares; noted like a default."""
        if value is None or any(key in section for section in self.sections):
            return None
        self._taken[key] = value
        return value

    def raw(self, key: str) -> Any:
        """The value under a config.json name, from the innermost section; None when absent or null."""
        return next((section[key] for section in self.sections if section.get(key) is not None), None)

    def flag(self, key: str, default: bool = False) -> bool:
        """A true/false value under a config.json name; anything else counts as the class's, then as ``default``."""
        value = self.raw(key)
        if value is None:
            value = self._taking(key)
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
        """A whole number by our name for it, checked against its range; None when neither file nor class says it.

        ``fact`` may also be a config.json name that is the same everywhere. A list that repeats one number for every
        layer is that number.
        """
        names = field_names().get(fact, (fact,))
        for key in names:
            value = self.raw(key)
            if value is not None:
                value = _of_text(key, _repeated(value, least=1 if fact == "experts" else 2))
                return checked_whole(key, value, low, high)
        stated = any(key in section for key in names for section in self.sections)
        if stated or (fact == "max_context" and len(self.sections) == 1):  # every published file says its own context
            return None
        value = next((taken for key in names if (taken := self._taking(key)) is not None), None)
        return value if isinstance(value, int) and low <= value <= high else None

    def given(self, fact: str) -> bool:
        """Whether the file itself says a fact by one of its names."""
        return any(self.raw(key) is not None for key in field_names().get(fact, (fact,)))

    def needed(self, fact: str, *, low: int = 1, high: int = 10**7) -> int:
        """Like :meth:`whole`, but file or class must say it."""
        value = self.whole(fact, low=low, high=high)
        own = fact in ("hidden_size", "layers") and len(self.sections) == 1  # of a nested section the class may say it
        if value is None or (own and not self.given(fact)):
            raise InvalidModelConfig(self._missing(fact))
        return value

    def _missing(self, fact: str) -> str:
        """What was looked for, and what of the file sounds like it."""
        names = field_names()[fact]
        null = next((key for key in names for section in self.sections if key in section), None)
        if null:
            return f"config.json says {null} = null: give the number, which the model cannot be counted without."
        kind = self.text("model_type")
        alike = nearest_names(names[0], map(str, self.inner), 1, cutoff=0.75)
        hint = f" It has {shown(alike[0])}, which is not understood." if alike else ""
        return (
            f"config.json has no {names[0]}{f' for type “{shown(kind)}”' if kind else ''} (looked for: "
            f"{', '.join(names[:6])}).{hint} Use the config.json of the language model itself, with all its fields."
        )


_LANGUAGE_KEYS = (
    "text_config",
    "llm_config",
    "language_config",
    "thinker_config",
    "language_model",
    "llm",
    "llm_cfg",
    "text",
)
"""Names that whole models give to the section of their language model, asked first."""
_NO_LANGUAGE = re.compile(
    r"vision|visual|image|vit|audio|speech|sound|talker|token2wav|code2wav|vocoder|projector|quant|rope|draft|mtp"
)
"""Sections that hold widths and layers of something else."""
_DEEPEST, _MOST_SECTIONS = 6, 500
"""How far sections are searched. Chosen: the deepest published language model lies two sections down."""


def language_sections(config: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """The section of the language model and those around it, innermost first: a nested one of a known name or, where
    the file itself has no width, the first that has a width and a number of layers, at any depth."""
    paths: list[tuple[Mapping[str, Any], ...]] = [(config,)]
    candidates: list[tuple[Mapping[str, Any], ...]] = []
    for path in paths:  # grows while it is read: nearer sections come first
        if len(path) > _DEEPEST or len(paths) > _MOST_SECTIONS:
            break
        for key, nested in _ordered(path[0]):
            if isinstance(nested, Mapping) and nested and not _NO_LANGUAGE.search(str(key)):
                deeper = (nested, *path)
                paths.append(deeper)
                sized = _has(nested, "hidden_size") and _has(nested, "layers")
                if sized or key in _LANGUAGE_KEYS[:3]:
                    candidates.append(deeper)
    named = [path for path in candidates if any(path[1].get(key) is path[0] for key in _LANGUAGE_KEYS)]
    complete = [path for path in named if _has(path[0], "hidden_size") and _has(path[0], "layers")]
    if complete or named:
        return (complete or named)[0]
    if (_has(config, "hidden_size") and _has(config, "layers")) or not candidates:
        return (config,)
    return candidates[0]


def _ordered(section: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Entries of a section, those that name a language model first."""
    return sorted(section.items(), key=lambda item: item[0] not in _LANGUAGE_KEYS)


def _has(section: Mapping[str, Any], fact: str) -> bool:
    return any(section.get(key) is not None for key in field_names()[fact])


def _repeated(value: Any, *, least: int) -> Any:
    """The number that a list of ``least`` items repeats for every layer (Skywork writes one of experts); anything else
    unchanged."""
    same = isinstance(value, list) and len(value) >= least and all(item == value[0] for item in value[1:])
    return value[0] if same else value


def _of_text(key: str, value: Any) -> Any:
    """The first of a pair that says how many experts, and how wide, serve text and images (ERNIE 4.5 VL)."""
    return value[0] if key.startswith("moe_") and isinstance(value, list) and len(value) == 2 else value


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
