"""Reading SOURCE.yaml: every problem in a file is one sentence; an unknown key names the nearest."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError

from collectors.errors import InvalidSource
from collectors.names import nearest
from collectors.source.schema import Source

SCHEMA_VERSION = 1
"""Version of the source file that is read; any other is refused."""
MAX_FILE_BYTES = 1_000_000
"""Chosen: a thousand times a long source file; what is larger is another file."""

LONGEST_KEY = 80
"""Characters of a key that a sentence shows."""


def load_source(path: Path) -> Source:
    """The source in a file. Raises InvalidSource when it cannot be read, with one sentence per problem."""
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise InvalidSource([f"{path.name} is larger than 1 MB: that is not a source file."])
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InvalidSource([f"There is no file {path}."]) from None
    except (OSError, UnicodeDecodeError):
        raise InvalidSource([f"{path} cannot be read as text."]) from None
    try:
        raw = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise InvalidSource([f"{path.name} is not valid YAML{f' at line {mark.line + 1}' if mark else ''}."]) from None
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):  # PyYAML's, of broken values
        raise InvalidSource([f"{path.name} is not valid YAML or JSON."]) from None
    if not isinstance(raw, dict):
        raise InvalidSource([f"{path.name} must hold keys such as prometheus and selector."])
    return source_from(raw, folder=path.parent)


def source_from(raw: Mapping[str, Any], *, folder: Path = Path()) -> Source:
    """A validated source from parsed keys; files in it are relative to ``folder``. Raises InvalidSource."""
    version = raw.get("schema_version")
    if version is None:
        raise InvalidSource([f"schema_version is missing: write schema_version: {SCHEMA_VERSION}."])
    if version != SCHEMA_VERSION or isinstance(version, bool):
        raise InvalidSource([f"schema_version is {version!s:.20}; this version reads {SCHEMA_VERSION}."])
    if "folder" in raw:
        raise InvalidSource(["Unknown key folder."])
    try:
        return Source.model_validate({**raw, "folder": folder})
    except ValidationError as invalid:
        problems = [_sentence(error) for error in invalid.errors(include_url=False, include_input=False)]
        raise InvalidSource(list(dict.fromkeys(problems))) from None


def _sentence(error: Any) -> str:
    """One problem of pydantic as a sentence without the offending value, which may be a secret."""
    path = [str(part) for part in error["loc"] if not str(part).startswith(("function-", "list[", "SecretStr"))]
    where = ".".join(part[:LONGEST_KEY] for part in path)
    if error["type"] == "extra_forbidden":
        near = nearest(path[-1], _fields_at(path[:-1]))
        return f"Unknown key {where[:80]}" + (f": did you mean {near}?" if near else ".")
    if error["type"] == "missing":
        return f"{where} is missing."
    message = str(error["msg"]).removeprefix("Value error, ").rstrip(".")
    end = "" if message.endswith("?") else "."
    return f"{where}: {message}{end}" if where else f"{message[0].upper()}{message[1:]}{end}"


def _fields_at(path: list[str]) -> list[str]:
    """The keys known at a place in the file."""
    model: type[BaseModel] = Source
    for part in path:
        field = model.model_fields.get(part)
        inner = [] if field is None else [field.annotation, *get_args(field.annotation)]
        inner += [arg for kind in list(inner) for arg in get_args(kind)]
        models = [kind for kind in inner if isinstance(kind, type) and issubclass(kind, BaseModel)]
        if not models:
            return []
        model = models[0]
    return [name for name in model.model_fields if name != "folder"]
