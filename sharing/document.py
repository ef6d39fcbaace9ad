"""A scenario as a file, out and in: what Size and the library export, Size, the library and the command line open."""

import json
import re
from collections.abc import Mapping
from typing import Any

import yaml

from sizing.base.errors import InvalidScenario
from sizing.scenario.file import MAX_FILE_BYTES, parse, scenario_from
from sizing.scenario.schema import SCHEMA_VERSION, Scenario

STEM_LENGTH = 60
FILES = (".yaml", ".yml", ".json")
"""Ends of the names of scenario files."""


def keys_of(scenario: Scenario) -> dict[str, Any]:
    """The keys of a scenario file: what differs from the defaults, and the version of the schema."""
    return scenario.model_dump(mode="json", exclude_defaults=True) | {"schema_version": SCHEMA_VERSION}


def to_yaml(scenario: Scenario) -> str:
    """The scenario as the YAML file that ``python -m sizing plan`` reads."""
    return yaml.safe_dump(keys_of(scenario), sort_keys=False, allow_unicode=True)


def to_json(scenario: Scenario) -> str:
    """The scenario as the JSON file that ``python -m sizing plan`` reads."""
    return json.dumps(keys_of(scenario), indent=2) + "\n"


def read_document(content: bytes, name: str) -> Scenario:
    """The scenario in a file that was uploaded. Raises InvalidScenario with one sentence per problem."""
    if len(content) > MAX_FILE_BYTES:
        raise InvalidScenario([f"{name} is larger than {MAX_FILE_BYTES // 1_000_000} MB: that is not a scenario."])
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidScenario([f"{name} is not a text file in UTF-8."]) from None
    return scenario_from(parse(text, name))


def is_file_name(text: str) -> bool:
    """Whether a scenario is named by its file, rather than by what the library calls it."""
    return text.lower().endswith(FILES)


def file_stem(name: str) -> str:
    """A file name from a scenario's name: lower case, digits and hyphens, nothing that leads to another folder."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:STEM_LENGTH].strip("-") or "scenario"


def model_name(scenario: Scenario) -> str:
    """What the scenario calls its model."""
    return scenario.model if isinstance(scenario.model, str) else scenario.model.name


def whole_document(scenario: Scenario) -> Mapping[str, Any]:
    """Every key with its value: what is kept must not follow a default that changes later."""
    return scenario.model_dump(mode="json") | {"schema_version": SCHEMA_VERSION}
