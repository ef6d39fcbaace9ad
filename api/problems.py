"""What is wrong with a request as problem details (RFC 9457): one sentence per fault, with the path of its field."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from commandline.faults import wrong_with
from commandline.foreign_text import shown
from sizing.base.errors import InvalidScenario, SizingError

MEDIA_TYPE = "application/problem+json"


class Fault(BaseModel):
    """One thing that is wrong."""

    model_config = ConfigDict(frozen=True)

    path: str = Field(description="Keys that lead to the field, as workload.peak_rps; empty where it is no one field.")
    detail: str = Field(description="The sentence that the command line prints.")


class Problem(BaseModel):
    """Problem details (RFC 9457)."""

    model_config = ConfigDict(frozen=True)

    type: str = Field(default="about:blank", description="Always about:blank: title and status say the kind.")
    title: str = Field(description="The words of the HTTP status.")
    status: int = Field(description="The HTTP status.")
    detail: str = Field(description="Every sentence, one a line.")
    problems: tuple[Fault, ...] = Field(default=(), description="The sentences with the fields that they are about.")


class RequestRefused(Exception):
    """A request that gets no answer, with the problem to send and its headers."""

    def __init__(self, status: HTTPStatus, *faults: Fault, headers: Mapping[str, str] | None = None) -> None:
        self.problem = Problem(
            title=status.phrase, status=status, detail="\n".join(fault.detail for fault in faults), problems=faults
        )
        self.headers = headers
        super().__init__(self.problem.detail)


def refused(status: HTTPStatus, sentence: str, headers: Mapping[str, str] | None = None) -> RequestRefused:
    """A request that gets no answer for one reason, which is about no field."""
    return RequestRefused(status, Fault(path="", detail=sentence), headers=headers)


def faults_of(error: SizingError, within: str = "") -> tuple[Fault, ...]:
    """The faults of the question that an error holds; ``within`` leads to the scenario in the request."""
    paths = (".".join(filter(None, (within, path))) for path in error.paths)
    return tuple(Fault(path=path, detail=problem) for path, problem in zip(paths, error.problems, strict=True))


def faults_in(errors: Sequence[Mapping[str, Any]]) -> tuple[Fault, ...]:
    """The faults that pydantic names of arguments, in the words of a scenario file's."""
    return tuple(_fault(error) for error in errors)


def invalid_arguments(error: ValidationError) -> InvalidScenario:
    """Arguments of a tool that cannot be used, as one error with a sentence for each."""
    faults = faults_in(error.errors(include_url=False))
    return InvalidScenario([fault.detail for fault in faults], [fault.path for fault in faults])


def _fault(error: Mapping[str, Any]) -> Fault:
    path = ".".join(str(part) for part in error["loc"])
    value = error.get("input")
    is_shown = error["type"] not in ("missing", "extra_forbidden") and not isinstance(value, dict | list)
    given = f" (found '{shown(value)}')" if is_shown else ""
    wrong = "unknown key" if error["type"] == "extra_forbidden" else wrong_with(error)
    return Fault(path=path, detail=f"{shown(path, 200)}: {wrong}{given}.")
