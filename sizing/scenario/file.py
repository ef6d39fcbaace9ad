"""Reading scenarios from YAML or JSON files: size limit, migration, unknown keys, one sentence per problem."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError

from sizing.base.errors import InvalidScenario, MissingKey, nearest_names
from sizing.scenario.schema import SCHEMA_VERSION, Scenario
from sizing.scenario.traces import with_traces
from sizing.scenario.yaml_loader import ScenarioLoader

MAX_FILE_MB = 1
MAX_FILE_BYTES = MAX_FILE_MB * 1_000_000
"""A scenario is a page of text; with an inline config.json still far below this."""

TEXTS = {"string_too_long": "is longer than {max_length} characters", "string_too_short": "is empty"}
"""What is wrong with a text, by pydantic's type of fault."""

MOST_VALUES = 500_000
"""Values with every alias written out: half as many as a file has bytes, which is all that it can hold without."""


def load_scenario(path: Path) -> Scenario:
    """The scenario in a file. Raises InvalidScenario when it cannot be read, with one sentence per problem."""
    text = text_of(path, MAX_FILE_BYTES, "a scenario")
    raw = parse(text, path.name)
    model = raw.get("model")
    if isinstance(model, dict) and isinstance(model.get("config"), str):
        raw = {**raw, "model": {**model, "config": _config_beside(path, model["config"])}}
    return scenario_from(with_traces(raw, path.parent))


def text_of(path: Path, most_bytes: int, what: str) -> str:
    """The text of a file of at most so many bytes. Raises InvalidScenario with one sentence when there is none."""
    try:
        content = _start_of(path, most_bytes)
    except FileNotFoundError:
        raise InvalidScenario([f"There is no file {path}."]) from None
    except OSError as error:
        raise InvalidScenario([f"{path} cannot be read: {error.strerror}."]) from None
    if len(content) > most_bytes:
        raise InvalidScenario([f"{path.name} is larger than {most_bytes // 1_000_000} MB: that is not {what}."])
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidScenario([f"{path.name} is not a text file in UTF-8."]) from None


def _start_of(path: Path, most_bytes: int) -> bytes:
    """The file, or one byte more than is allowed: the size of a pipe or device is not known beforehand."""
    with path.open("rb") as file:
        return file.read(most_bytes + 1)


def parse(text: str, name: str = "scenario", *, such_as: str = "model and workload") -> dict[str, Any]:
    """YAML or JSON text as a mapping. Raises InvalidScenario, naming keys ``such_as`` it should have."""
    raw = _from_json(text)
    if raw is None:
        raw = _from_yaml(text, name)
    if not isinstance(raw, dict):
        content = {type(None): "it is empty", list: "it is a list"}.get(type(raw), "it is a single value")
        raise InvalidScenario([f"{name} must hold keys such as {such_as}: {content}."])
    try:
        values = _values_written_out(raw, {})
    except RecursionError:
        raise _nested(name) from None
    if values > MOST_VALUES:
        raise InvalidScenario([f"{name} repeats itself by aliases to more than a scenario can hold."])
    return raw


def _nested(name: str) -> InvalidScenario:
    return InvalidScenario([f"{name} is nested too deeply to be a scenario."])


def _from_json(text: str) -> Any:
    """JSON read as such: YAML would make halves of characters that it escapes in pairs. None where it is not JSON."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except InvalidScenario:
        raise
    except (ValueError, RecursionError):  # YAML in braces, or a fault that the YAML parser names with its line
        return None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = dict(pairs)
    if len(keys) < len(pairs):
        names = [key for key, _ in pairs]
        twice = next(key for key in names if names.count(key) > 1)
        raise InvalidScenario([f"The key {twice:.40} stands twice: keep one of them."])
    return keys


def _values_written_out(value: Any, counted: dict[int, float]) -> float:
    """Values in a mapping or list with every alias written out; infinite for one that holds itself."""
    if not isinstance(value, dict | list):
        return 1.0
    if id(value) not in counted:
        counted[id(value)] = math.inf
        inside = value.values() if isinstance(value, dict) else value
        counted[id(value)] = 1.0 + sum(_values_written_out(v, counted) for v in inside)
    return counted[id(value)]


def _from_yaml(text: str, name: str) -> Any:
    """YAML text as what it holds. Raises InvalidScenario."""
    try:
        return yaml.load(text, Loader=ScenarioLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark is not None else ""
        raise InvalidScenario([f"{name} is not valid YAML or JSON{where}."]) from None
    except RecursionError:
        raise _nested(name) from None


def scenario_from(raw: Mapping[str, Any]) -> Scenario:
    """A validated scenario from parsed keys. Raises InvalidScenario with one sentence per problem."""
    try:
        return Scenario.model_validate(migrated(raw))
    except ValidationError as error:
        raise InvalidScenario(problems_of(error)) from None


def migrated(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """The keys in today's schema version. Version 1 is the first, so there is nothing older to migrate yet."""
    version = raw.get("schema_version", SCHEMA_VERSION)
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise InvalidScenario(
            [f"schema_version must be a whole number from 1 to {SCHEMA_VERSION}, not {str(version)[:40]!r}."]
        )
    if version > SCHEMA_VERSION:
        raise InvalidScenario(
            [f"schema_version {version} is newer than this engine knows ({SCHEMA_VERSION}): update the engine."]
        )
    return raw


def _config_beside(scenario: Path, name: str) -> dict[str, Any]:
    """The config.json a scenario file points to, relative to the scenario."""
    path = scenario.parent / name
    try:
        content = _start_of(path, MAX_FILE_BYTES)
    except OSError:
        raise InvalidScenario([f"model.config: there is no readable file {name} beside the scenario."]) from None
    if len(content) > MAX_FILE_BYTES:
        raise InvalidScenario([f"model.config: {name} is larger than a config.json can be."])
    try:
        config = json.loads(content)
    except (ValueError, RecursionError):
        raise InvalidScenario([f"model.config: {name} is not valid JSON."]) from None
    if not isinstance(config, dict):
        raise InvalidScenario([f"model.config: {name} must be a JSON object."])
    return config


def problems_of(error: ValidationError, *, of_keys: bool = False) -> list[str]:
    """One sentence per fault of a pydantic error, in the order of the file, without pydantic's own vocabulary.

    ``of_keys``: only the faults of keys that are unknown, or missing where one is needed.
    """
    out: dict[str, str] = {}
    for fault in error.errors(include_url=False):
        path = [str(p) for p in fault["loc"] if not _is_branch(p)]
        if of_keys and not _is_of_key(fault, path):
            continue
        where = ".".join(path) or "scenario"
        if fault["type"] == "extra_forbidden":
            out[where] = _unknown_key(path)
        else:
            out.setdefault(where, f"{where}: {_sentence(fault)}")
    return list(out.values())


def _is_of_key(fault: Any, path: list[str]) -> bool:
    """Whether a fault is a key that is unknown or missing, rather than a value."""
    match fault["type"]:
        case "missing":
            return True
        case "extra_forbidden":
            return path[-1] not in _keys_of(path[:-1])
        case _:
            return isinstance(fault.get("ctx", {}).get("error"), MissingKey)


def _is_branch(part: object) -> bool:
    """Whether a part of an error's path is the tag of a form (see the schema) or pydantic's mark of a bad key."""
    return isinstance(part, str) and part.startswith("[")


def _sentence(fault: Any) -> str:
    """What is wrong and what to give instead."""
    kind, context, given = fault["type"], fault.get("ctx", {}), fault.get("input")
    shown = f" (found {str(given)[:60]!r})" if not isinstance(given, dict | list) else ""
    match kind:
        case "missing":
            return "is required."
        case "greater_than":
            return f"must be greater than {context['gt']:g}{shown}."
        case "greater_than_equal":
            return f"must be at least {context['ge']:g}{shown}."
        case "less_than":
            return f"must be less than {context['lt']:g}{shown}."
        case "less_than_equal":
            return f"must be at most {context['le']:g}{shown}."
        case "finite_number":
            return f"must be a finite number{shown}."
        case "int_parsing" | "int_type" | "int_from_float":
            return f"must be a whole number{shown}."
        case "float_parsing" | "float_type" | "decimal_parsing":
            return f"must be a number{shown}."
        case "literal_error":
            return f"must be {context['expected']}{shown}."
        case "string_type":
            return f"must be text{shown}."
        case "too_long" | "too_short":
            wanted = context.get("max_length", context.get("min_length"))
            few = "at most" if kind == "too_long" else "at least"
            return f"must have {few} {wanted} values, not {context['actual_length']}."
        case "string_too_long" | "string_too_short":
            return f"{TEXTS[kind].format(**context)}{shown}."
        case "list_type":
            return f"must be a list, in brackets{shown}."
        case "dict_type" | "model_type":
            return f"must be a group of keys{shown}."
        case "value_error":
            return f"{context.get('error', fault['msg'])}."
        case _:
            return f"{fault['msg'][0].lower()}{fault['msg'][1:]}{shown}."


def _unknown_key(path: list[str]) -> str:
    """An unknown key, with the nearest known key of its section."""
    section, key = path[:-1], path[-1]
    if key in _keys_of(section):
        return f"{'.'.join(path)}: cannot stand beside the other keys of {section[-1]}: keep one of them."
    near = nearest_names(key, _keys_of(section)) or nearest_names(key, _all_keys(Scenario))
    hint = f" Did you mean {' or '.join(near)}?" if near else f" Known keys: {', '.join(sorted(_keys_of(section)))}."
    return f"{'.'.join(path)}: unknown key.{hint}"


def _keys_of(section: Iterable[str]) -> list[str]:
    """Keys of the part of the scenario that a path leads to."""
    parts: list[type[BaseModel]] = [Scenario]
    for name in section:
        inside = [m for p in parts if name in p.model_fields for m in _parts_in(p.model_fields[name].annotation)]
        parts = inside or parts
    return list(dict.fromkeys(key for part in parts for key in part.model_fields))


def _parts_in(annotation: object) -> list[type[BaseModel]]:
    """The parts (pydantic models) that an annotation allows."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [part for arg in get_args(annotation) for part in _parts_in(arg)]


def _all_keys(part: type[BaseModel]) -> list[str]:
    """Every key of the scenario at any depth."""
    inside = [p for field in part.model_fields.values() for p in _parts_in(field.annotation)]
    return [*part.model_fields, *(key for p in inside for key in _all_keys(p))]
