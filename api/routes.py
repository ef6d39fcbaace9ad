"""The HTTP API: what the command line answers, to programs. Faults are problem details (RFC 9457)."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from datetime import date
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, Field
from pydantic.json_schema import models_json_schema
from starlette.exceptions import HTTPException

from api import questions
from api.limits import Slots, body_of, demand_host, demand_media_type, demand_page
from api.problems import MEDIA_TYPE, Fault, Problem, RequestRefused, faults_in, faults_of, refused
from commandline.foreign_text import shown
from commandline.run import JsonAnswer, as_json
from sizing.base.errors import SizingError, UnknownName
from sizing.base.result import Plan
from sizing.base.version import ENGINE_VERSION
from sizing.catalog.finding import ModelsFound, find_models
from sizing.decision.comparison import MOST_COMPARED, Comparison
from sizing.decision.optimised import Optimised
from sizing.economics.results import CostAnswer
from sizing.scenario.schema import Scenario

OPENAPI = "/openapi.json"
JSON, YAML, CSV = "application/json", "application/yaml", "text/csv"

_REFERENCE = "#/components/schemas/{model}"

_TOKEN = HTTPBearer(auto_error=False, description="Asked for where the server has a file of rules (docs/ACCESS.md).")

SECURITY = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
"""What every answer tells a browser that comes here after all: nothing in it is a page."""

DOCUMENTS = (JSON, YAML)
"""What a scenario may be sent as."""

Token = Annotated[HTTPAuthorizationCredentials | None, Depends(_TOKEN)]
Analytic = Annotated[bool, Query(description="The analytic load model only, nothing simulated.")]


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


def application(names: Collection[str], at_once: int, seconds: float) -> FastAPI:
    """The API. ``names``: of this server; ``at_once``: answers computed at a time; ``seconds``: that one may take."""
    app = FastAPI(
        title="Inference sizing",
        version=ENGINE_VERSION,
        openapi_url=OPENAPI,
        docs_url=None,
        redoc_url=None,
        responses=problems(),
        dependencies=[Depends(_known_parameters)],
    )
    _add_doors(app, names)
    _add_faults(app)
    slots = Slots(at_once, seconds)
    _add_plans(app, slots)
    _add_levers(app, slots)
    _add_tables(app, slots)
    describe_bodies(app)
    return app


def _known_parameters(request: Request) -> None:
    """Raises Refused for a parameter that the question does not have: what is mistyped would change nothing."""
    known = [field.name for field in request.scope["route"].dependant.query_params]
    faults = [
        Fault(path=f"query.{shown(name)}", detail=f"{UnknownName('parameter', name, known)}")
        for name in request.query_params
        if name not in known
    ]
    if faults:
        raise RequestRefused(HTTPStatus.UNPROCESSABLE_ENTITY, *faults)


def may_ask(page: str) -> Any:
    """A dependency: who asks may see the page that answers the same question."""

    def demand(token: Token) -> None:
        demand_page(token.credentials if token else None, page)

    return Depends(demand)


def _add_doors(app: FastAPI, names: Collection[str]) -> None:
    """Before anything is looked at: whether the request was sent to this server."""

    @app.middleware("http")
    async def named(request: Request, go_on: Callable[[Request], Awaitable[Response]]) -> Response:
        try:
            demand_host(request, names)
        except RequestRefused as refusal:
            response = _response(refusal)
        else:
            response = await go_on(request)
        response.headers.update(SECURITY)
        return response


def _add_faults(app: FastAPI) -> None:
    """Every fault as problem details; of a bug the log has the traceback, and the caller nothing."""

    @app.exception_handler(RequestRefused)
    async def no(_: Request, refusal: RequestRefused) -> Response:
        return _response(refusal)

    @app.exception_handler(SizingError)
    async def malformed(_: Request, error: SizingError) -> Response:
        return _response(RequestRefused(HTTPStatus.UNPROCESSABLE_ENTITY, *faults_of(error)))

    @app.exception_handler(RequestValidationError)
    async def parameters(_: Request, error: RequestValidationError) -> Response:
        return _response(RequestRefused(HTTPStatus.UNPROCESSABLE_ENTITY, *faults_in(error.errors())))

    @app.exception_handler(HTTPException)
    async def status(request: Request, error: HTTPException) -> Response:
        known = HTTPStatus(error.status_code)
        sentence = f"{request.method} {request.url.path[:100]}: {known.phrase.lower()}; {OPENAPI} lists what there is."
        return _response(RequestRefused(known, Fault(path="", detail=sentence), headers=error.headers))

    @app.exception_handler(Exception)
    async def bug(_: Request, error: Exception) -> Response:
        return _response(refused(HTTPStatus.INTERNAL_SERVER_ERROR, "A fault of this server: its log says more."))


def _add_plans(app: FastAPI, slots: Slots) -> None:
    """The questions about scenarios, each answered in a slot."""

    @app.post(
        "/v1/plan", dependencies=[may_ask("size")], response_model=Plan, openapi_extra=body("Scenario", DOCUMENTS)
    )
    async def plan(
        request: Request,
        alternatives: Annotated[int | None, Query(ge=0, le=1000, description="Ranked alternatives.")] = None,
        analytic: Analytic = False,
        second_opinion: Annotated[bool, Query(description="The deployment by the roofline alone, too.")] = False,
    ) -> Response:
        """The plan of a scenario, as ``python -m sizing plan SCENARIO --json``."""
        content = await _body(request, DOCUMENTS)
        compute = partial(
            questions.planned, content, alternatives=alternatives, analytic=analytic, second_opinion=second_opinion
        )
        return await _answered(slots, compute)

    @app.post(
        "/v1/cost", dependencies=[may_ask("cost")], response_model=CostAnswer, openapi_extra=body("Scenario", DOCUMENTS)
    )
    async def cost(
        request: Request,
        analytic: Analytic = False,
        on: Annotated[date | None, Query(description="Day whose offers count.")] = None,
    ) -> Response:
        """What the plan of a scenario costs, as ``python -m sizing cost SCENARIO --json``."""
        content = await _body(request, DOCUMENTS)
        return await _answered(slots, partial(questions.priced, content, analytic=analytic, on=on))

    @app.post(
        "/v1/compare",
        dependencies=[may_ask("compare")],
        response_model=Comparison,
        openapi_extra=body("Scenarios", DOCUMENTS),
    )
    async def compare(request: Request) -> Response:
        """Scenarios side by side, as ``python -m sizing compare A B --json``."""
        content = await _body(request, DOCUMENTS)
        return await _answered(slots, partial(questions.compared, content))


def _add_levers(app: FastAPI, slots: Slots) -> None:
    """The question about levers, answered in a slot."""

    @app.post(
        "/v1/levers",
        dependencies=[may_ask("compare")],
        response_model=Optimised,
        openapi_extra=body("Scenario", DOCUMENTS),
    )
    async def levers(request: Request, analytic: Analytic = False) -> Response:
        """What each lever would save, and NIM beside open source, as ``python -m sizing levers SCENARIO --json``."""
        content = await _body(request, DOCUMENTS)
        return await _answered(slots, partial(questions.levers_of, content, analytic=analytic))


def _add_tables(app: FastAPI, slots: Slots) -> None:
    """The questions about measured configurations and about the catalogue."""

    @app.post(
        "/v1/predict",
        dependencies=[may_ask("benchmarks")],
        response_class=Response,
        openapi_extra=body("Table", (CSV,)),
    )
    async def predict(request: Request) -> Response:
        """What benchmarks would measure: a CSV in and out, as ``python -m sizing predict``."""
        content = await _body(request, (CSV,))
        return Response(await slots.answer(partial(questions.predicted, content)), media_type=CSV)

    @app.get("/v1/models", dependencies=[may_ask("size")], response_model=ModelsFound)
    def models(q: Annotated[str, Query(min_length=1, max_length=200, description="Words of a name.")]) -> Response:
        """Models of the catalogue, as ``python -m sizing models TEXT --json``."""
        return Response(_printed(find_models(q)), media_type=JSON)


async def _body(request: Request, allowed: Collection[str]) -> bytes:
    demand_media_type(request, allowed)
    return await body_of(request)


async def _answered(slots: Slots, compute: Callable[[], JsonAnswer]) -> Response:
    """An answer, computed and written out in a slot: a large one takes its time, in which others are heard."""
    return Response(await slots.answer(lambda: _printed(compute())), media_type=JSON)


def _printed(answer: JsonAnswer) -> str:
    """The text that the command line prints for the same question, to the byte."""
    return f"{as_json(answer)}\n"


def _response(refusal: RequestRefused) -> Response:
    problem = refusal.problem
    return Response(
        problem.model_dump_json(),
        status_code=problem.status,
        media_type=MEDIA_TYPE,
        headers=dict(refusal.headers or {}),
    )
