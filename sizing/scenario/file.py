"""Reading scenarios from YAML or JSON files: size limit, migration, unknown keys, one sentence per problem."""

import json
import math
from collections import Counter
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from commandline.faults import MOST_PROBLEMS, keys_at, models_in, path_of, wrong_with
from commandline.foreign_text import shown
from commandline.yaml_text import BadYaml, read_yaml
from sizing.base.errors import InvalidScenario, MissingKey, nearest_names
from sizing.scenario.beside import path_beside
from sizing.scenario.schema import SCHEMA_VERSION, Scenario
from sizing.scenario.traces import with_traces

MAX_FILE_MB = 1
MAX_FILE_BYTES = MAX_FILE_MB * 1_000_000
"""A scenario is a page of text; with an inline config.json still far below this."""

MOST_PLACES = 2
"""Places of a key that a sentence names."""
ELSEWHERE = 0.8
"""How alike a key of another section has to be to be proposed. Chosen: it is the same key in the wrong place, or one
letter off; for less, the keys of the section itself say more."""
LONGEST_KEY, LONGEST_PATH, LONGEST_VALUE = 80, 200, 60
"""Characters of a key, of a path of keys and of a value that a sentence shows."""

MOST_VALUES = 500_000
"""Values with every alias written out: half as many as a file has bytes, which is all that it can hold without."""


def load_scenario(source: str | PathLike[str] | Mapping[str, Any] | Scenario) -> Scenario:
    """The scenario in a YAML or JSON file, or in the keys of one: lengths in tokens, rates in requests/s, limits in ms,
    prices in USD. Files that it names (a trace, a config.json) lie beside it.

    Raises InvalidScenario when it cannot be read, with one sentence per problem; an unknown key names the nearest one.
    """
    if isinstance(source, Scenario):
        return source
    if isinstance(source, Mapping):
        return scenario_from(source)
    if not isinstance(source, str | PathLike):
        kind = type(source).__name__
        raise InvalidScenario([f"A scenario is read from a file or from a mapping of keys, not from the type {kind}."])
    return _in_file(Path(source))


def _in_file(path: Path) -> Scenario:
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
        ((twice, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise InvalidScenario([f"The key {shown(twice)} stands twice: keep one of them."])
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
        return read_yaml(text, name)
    except BadYaml as error:
        raise InvalidScenario([str(error)]) from None
    except RecursionError:
        raise _nested(name) from None


def scenario_from(raw: Mapping[str, Any]) -> Scenario:
    """A validated scenario from parsed keys. Raises InvalidScenario with one sentence per problem."""
    try:
        return Scenario.model_validate(migrated(raw))
    except ValidationError as error:
        faults = faults_of(error)
        raise InvalidScenario([sentence for _, sentence in faults], [path for path, _ in faults]) from None


def migrated(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """The keys in today's schema version. Version 1 is the first, so there is nothing older to migrate yet."""
    version = raw.get("schema_version", SCHEMA_VERSION)
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise InvalidScenario(
            [f"schema_version must be a whole number from 1 to {SCHEMA_VERSION}, not '{shown(version)}'."],
            ["schema_version"],
        )
    if version > SCHEMA_VERSION:
        raise InvalidScenario(
            [f"schema_version {shown(version)} is newer than this engine knows ({SCHEMA_VERSION}): update the engine."],
            ["schema_version"],
        )
    return raw


def _config_beside(scenario: Path, name: str) -> dict[str, Any]:
    """The config.json a scenario file points to, relative to the scenario."""
    file = shown(name, LONGEST_KEY)
    try:
        content = _start_of(path_beside(scenario.parent, name), MAX_FILE_BYTES)
    except (OSError, ValueError):
        raise InvalidScenario(
            [f"model.config: there is no readable file {file} beside the scenario or in a folder below."]
        ) from None
    if len(content) > MAX_FILE_BYTES:
        raise InvalidScenario([f"model.config: {file} is larger than a config.json can be."])
    try:
        config = json.loads(content)
    except (ValueError, RecursionError):
        raise InvalidScenario([f"model.config: {file} is not valid JSON."]) from None
    if not isinstance(config, dict):
        raise InvalidScenario([f"model.config: {file} must be a JSON object."])
    return config


def problems_of(error: ValidationError, *, of_keys: bool = False) -> list[str]:
    """What is wrong with a scenario: the sentences of :func:`faults_of` without their places."""
    return [sentence for _, sentence in faults_of(error, of_keys=of_keys)]


def faults_of(error: ValidationError, *, of_keys: bool = False) -> list[tuple[str, str]]:
    """Path and one sentence per fault of a pydantic error, in the order of the file, without pydantic's own vocabulary.

    The first few; a last sentence counts the rest. ``of_keys``: only the faults of keys that are unknown, or missing
    where one is needed. The path of what is wrong with the scenario as a whole is "".
    """
    problems: dict[str, str] = {}
    more: set[str] = set()
    for fault in error.errors(include_url=False):
        path = path_of(fault, Scenario)
        if of_keys and not _is_of_key(fault, path):
            continue
        where = ".".join(path)
        if where not in problems and len(problems) == MOST_PROBLEMS:
            more.add(where)
        elif fault["type"] == "extra_forbidden":
            problems[where] = _unknown_key(path)
        else:
            problems.setdefault(where, f"{shown(where or 'scenario', LONGEST_PATH)}: {_sentence(fault)}")
    return [*problems.items(), *([("", f"{len(more):,} more problems of this kind.")] if more else ())]


def _is_of_key(fault: Any, path: list[str]) -> bool:
    """Whether a fault is a key that is unknown or missing, rather than a value."""
    match fault["type"]:
        case "missing":
            return True
        case "extra_forbidden":
            return path[-1] not in keys_at(Scenario, path[:-1])
        case _:
            return isinstance(fault.get("ctx", {}).get("error"), MissingKey)


def _sentence(fault: Any) -> str:
    """What is wrong and what to give instead."""
    given = fault.get("input")
    says_enough = fault["type"] in ("missing", "too_long", "too_short", "value_error") or isinstance(given, dict | list)
    value = "" if says_enough else f" (found '{shown(given, LONGEST_VALUE)}')"
    return f"{wrong_with(fault)}{value}."


CALLED_ELSEWHERE: Mapping[str, str] = {
    other: place
    for place, others in {
        "workload.peak_rps": "requests_per_second requests_per_sec request_rate req_per_s qps rate throughput",
        "workload.input_tokens": "prompt_tokens prompt_length prompt_len isl input_length input_len random_input_len",
        "workload.output_tokens": "completion_tokens max_tokens max_new_tokens osl output_length output_len "
        "random_output_len",
        "workload.users": "concurrent_users concurrency num_users",
        "limits.ttft_ms": "ttft time_to_first_token first_token_ms",
        "limits.itl_ms": "itl tpot tpot_ms inter_token_latency time_per_output_token",
        "limits.e2e_ms": "e2e e2el e2el_ms latency latency_ms request_latency",
        "deployment.gpus": "gpu gpu_type gpu_types hardware accelerator accelerators",
        "deployment.engines": "engine backend framework",
        "deployment.precisions": "precision quantization quantisation dtype weight_precision",
        "deployment.tp": "tensor_parallel_size tensor_parallel",
        "deployment.pp": "pipeline_parallel_size pipeline_parallel",
        "model": "model_name model_id",
    }.items()
    for other in others.split()
}
"""What benchmarks, engines and APIs call a key (arguments of vLLM and SGLang and their benchmarks, OpenAI's API), and
where it stands in a scenario."""

ASKED = ("workload", "limits", "deployment")
"""Sections in which a key of :data:`CALLED_ELSEWHERE` means what it does there; it may also stand beside them."""


def _unknown_key(path: list[str]) -> str:
    """An unknown key, with the nearest known key of its section."""
    section, key = path[:-1], path[-1]
    known = keys_at(Scenario, section)
    where = shown(".".join(path), LONGEST_PATH)
    if key in known:
        beside = shown(section[-1], LONGEST_KEY) if section else "the scenario"
        return f"{where}: cannot stand beside the other keys of {beside}: keep one of them."
    longer = [one for one in known if key in one.split("_")]
    of_question = not section or (section[0] in ASKED and len(section) == 1)
    elsewhere = CALLED_ELSEWHERE.get(key.lower().replace("-", "_")) if of_question else None
    near = [elsewhere] if elsewhere else nearest_names(key, known) or longer
    if not near and len(section) < 2:  # a key of another section, put beside sections or into the wrong one
        places = _places(Scenario)
        near = [place for one in nearest_names(key, places, cutoff=ELSEWHERE) for place in places[one]][:MOST_PLACES]
    hint = f" Did you mean {' or '.join(near)}?" if near else f" Known keys: {', '.join(sorted(known))}."
    return f"{where}: unknown key.{hint}"


def _places(part: type[BaseModel], inside: str = "") -> dict[str, list[str]]:
    """Every key of the scenario at any depth, and where it stands: "gpus" in "deployment.gpus"."""
    places: dict[str, list[str]] = {}
    for name, field in part.model_fields.items():
        places.setdefault(name, []).append(inside + name)
        for below in models_in(field.annotation):
            for key, deeper in _places(below, f"{inside}{name}.").items():
                places.setdefault(key, []).extend(place for place in deeper if place not in places.get(key, []))
    return places
