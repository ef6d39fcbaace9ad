"""What an API server would say of the files: Kubernetes' own schemas, and those of the custom resources."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import kubernetes_validate.utils
import yaml

# Of its own accord it reads the definitions of Kubernetes from the disk for every object.
kubernetes_validate.utils.schema_contents = cache(kubernetes_validate.utils.schema_contents)

KUBERNETES = "1.37"
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
HERE = Path(__file__).parent
PUBLISHED = {path.stem: json.loads(path.read_text()) for path in (HERE / "published").glob("*.json")}
"""Schemas of others, by kind or by the stem of the file: ``published/README.md`` says whose."""
CUSTOM = yaml.safe_load((HERE / "schemas.yaml").read_text())
FILES = yaml.safe_load((HERE / "file_schemas.yaml").read_text())
NAME = {"type": "string", "maxLength": 63, "pattern": "^[a-z]([-a-z0-9]*[a-z0-9])?$"}
METADATA = {"type": "object", "required": ["name"], "properties": {"name": NAME, "labels": {"type": "object"}}}


def closed(schema: Any) -> Any:
    """The schema with unknown fields refused; pods are let through, Kubernetes' own schema has them."""
    if not isinstance(schema, Mapping):
        return schema
    if "pod" in schema:
        return {"type": "object"}
    out = {key: value for key, value in schema.items() if key != "properties"}
    for key in ("items", "additionalProperties"):
        if key in out:
            out[key] = closed(out[key])
    if "properties" in schema:
        out["properties"] = {name: closed(inner) for name, inner in schema["properties"].items()}
        out.setdefault("additionalProperties", False)
    return out


def pods(schema: Any, value: Any) -> Iterator[tuple[str, Any]]:
    """Every pod in a value, where its schema says that one is."""
    if not isinstance(schema, Mapping) or value is None:
        return
    if "pod" in schema:
        yield schema["pod"], value
    for name, inner in schema.get("properties", {}).items():
        if isinstance(value, Mapping) and name in value:
            yield from pods(inner, value[name])
    for one in value if isinstance(value, list) and "items" in schema else []:
        yield from pods(schema["items"], one)


@cache
def custom(kind: str) -> Any:
    """What reads a custom resource whole, made once: looking whether a schema is one takes longer than to use it."""
    known = CUSTOM[kind]
    properties = {
        "apiVersion": {"const": known["apiVersion"]},
        "kind": {"const": kind},
        "metadata": closed(METADATA),
        "spec": closed(known["spec"]),
    }
    return reader(
        {"type": "object", "required": list(properties), "properties": properties, "additionalProperties": False}
    )


@cache
def published(name: str) -> Any:
    """What reads a value as others publish it."""
    return reader(PUBLISHED[name], jsonschema.validators.validator_for(PUBLISHED[name]))


@cache
def file_reader(name: str) -> Any:
    """What reads a file that holds no Kubernetes object."""
    return reader(closed(FILES[name]["schema"]))


def reader(schema: Any, validator: Any = jsonschema.Draft202012Validator) -> Any:
    """A validator of a schema that is one."""
    validator.check_schema(schema)
    return validator(schema)


def check_object(one: Mapping[str, Any]) -> None:
    """Raises for a Kubernetes object that is not valid."""
    known = CUSTOM.get(one["kind"])
    if known is None:
        kubernetes_validate.validate(dict(one), KUBERNETES, strict=True)
        jsonschema.validate(one["metadata"], METADATA)
        return
    custom(one["kind"]).validate(one)
    check_published(one["kind"], one["spec"])
    for kind, pod in pods(known["spec"], one["spec"]):
        template = pod if kind == "template" else {"spec": pod}
        spec = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "pod"}, "template": template}
        kubernetes_validate.validate(spec, KUBERNETES, strict=True)


def check_published(name: str, value: Any) -> None:
    """Raises where a schema that others publish has it otherwise."""
    if name in PUBLISHED:
        published(name).validate(value)


def check_files(contents: Mapping[str, str]) -> None:
    """Raises for any file that is not valid."""
    for file, text in contents.items():
        if file in FILES:
            (value,) = [json.loads(text)] if file.endswith(".json") else yaml.load_all(text, LOADER)
            file_reader(file).validate(value)
            check_published(Path(file).stem, value)
        elif file.endswith(".yaml"):
            for one in yaml.load_all(text, LOADER):
                check_object(one)
