"""What OpenAPI says of requests, whose bodies the engine reads itself: their keys are those of a scenario file."""

from collections.abc import Collection, Mapping
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel, Field
from pydantic.json_schema import models_json_schema

from api.problems import MEDIA_TYPE, Problem
from sizing.decision.comparison import MOST_COMPARED
from sizing.scenario.schema import Scenario

OPENAPI = "/openapi.json"
JSON, YAML, CSV = "application/json", "application/yaml", "text/csv"

_REFERENCE = "#/components/schemas/{model}"


class Scenarios(BaseModel):
    """Scenarios to compare; the first is what the others are compared with."""

    scenarios: list[Scenario] = Field(min_length=2, max_length=MOST_COMPARED)


def body(name: str, media_types: Collection[str]) -> dict[str, Any]:
    """The body of a request in each of these types: a schema by name, or text where it is none of JSON."""
    schema = {"type": "string"} if CSV in media_types else {"$ref": _REFERENCE.format(model=name)}
    return {"requestBody": {"required": True, "content": {kind: {"schema": schema} for kind in media_types}}}


def problems() -> dict[int | str, dict[str, Any]]:
    """What every question may be answered instead."""
    texts: Mapping[str, str] = {
        "401": "A token is needed.",
        "403": "Not for the role of this token.",
        "408": "The body comes too slowly.",
        "413": "The body is too large.",
        "415": "The body is of another type.",
        "421": "Sent to a name that this server does not answer for.",
        "422": "The input cannot be used: a sentence and a path for each fault.",
        "503": "As many answers are computed as are allowed.",
        "504": "The answer takes too long.",
    }
    content = {MEDIA_TYPE: {"schema": {"$ref": _REFERENCE.format(model=Problem.__name__)}}}
    return {status: {"description": text, "content": content} for status, text in texts.items()}


def describe_bodies(app: FastAPI) -> None:
    """Put the schemas of bodies and problems into the document that FastAPI makes of the rest."""
    generated = app.openapi

    def described() -> dict[str, Any]:
        document = generated()
        models = [(Scenarios, "validation"), (Problem, "serialization")]
        _, schemas = models_json_schema(models, ref_template=_REFERENCE)  # type: ignore[arg-type]
        document["components"]["schemas"] |= schemas["$defs"]
        return document

    app.openapi = described  # type: ignore[method-assign]
