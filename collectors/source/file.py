"""Reading SOURCE.yaml: every problem in a file is one sentence; an unknown key names the nearest."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from collectors.errors import InvalidSource
from collectors.names import nearest
from collectors.source.schema import Source
from commandline.faults import MOST_PROBLEMS, keys_at, path_of, wrong_with
from commandline.foreign_text import has_half_character, shown
from commandline.yaml_text import BadYaml, read_yaml

SCHEMA_VERSION = 1
"""Version of the source file that is read; any other is refused."""
MAX_FILE_BYTES = 1_000_000
"""Chosen: a thousand times a long source file; what is larger is another file."""

LONGEST_KEY, LONGEST_PATH = 80, 200
"""Characters of a key and of a path of keys that a sentence shows."""


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
        raw = json.loads(text) if path.suffix == ".json" else read_yaml(text, path.name)
    except BadYaml as error:
        raise InvalidSource([str(error)]) from None
    except RecursionError:
        raise InvalidSource([f"{path.name} is nested too deeply to be a source file."]) from None
    except ValueError:
        raise InvalidSource([f"{path.name} is not valid JSON."]) from None
    if not isinstance(raw, dict):
        raise InvalidSource([f"{path.name} must hold keys such as prometheus and selector."])
    return source_from(raw, folder=path.parent)


def source_from(raw: Mapping[str, Any], *, folder: Path = Path()) -> Source:
    """A validated source from parsed keys; files in it are relative to ``folder``. Raises InvalidSource."""
    if has_half_character(raw):
        raise InvalidSource(["A text or key holds half a character (a lone surrogate): type it again."])
    version = raw.get("schema_version")
    if version is None:
        raise InvalidSource([f"schema_version is missing: write schema_version: {SCHEMA_VERSION}."])
    if version != SCHEMA_VERSION or isinstance(version, bool):
        raise InvalidSource([f"schema_version is {shown(version, 20)}; this version reads {SCHEMA_VERSION}."])
    if "folder" in raw:
        raise InvalidSource(["Unknown key folder."])
    try:
        return Source.model_validate({**raw, "folder": folder})
    except ValidationError as invalid:
        raise InvalidSource(_problems(invalid)) from None


def _problems(invalid: ValidationError) -> list[str]:
    """One sentence per problem: the first few, and how many more there are."""
    faults = invalid.errors(include_url=False, include_input=False)
    problems = list(dict.fromkeys(_sentence(fault) for fault in faults[:MOST_PROBLEMS]))
    more = len(faults) - MOST_PROBLEMS
    return [*problems, f"{more:,} more problems of this kind."] if more > 0 else problems


def _sentence(fault: Any) -> str:
    """One problem of pydantic as a sentence without the offending value, which may be a secret."""
    path = path_of(fault, Source)
    where = shown(".".join(path), LONGEST_PATH)
    if fault["type"] == "extra_forbidden":
        known = [name for name in keys_at(Source, path[:-1]) if name != "folder"]
        near = nearest(path[-1][:LONGEST_KEY], known)
        return f"Unknown key {where}" + (f": did you mean {near}?" if near else ".")
    if fault["type"] == "missing":
        return f"{where} is missing."
    wrong = wrong_with(fault).rstrip(".")
    end = "" if wrong.endswith("?") else "."
    return f"{where}: {wrong}{end}" if where else f"{wrong[:1].upper()}{wrong[1:]}{end}"
