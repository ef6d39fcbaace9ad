"""The engine as tools of an agent, by the Model Context Protocol: answers are JSON, beside a line that sums them up."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import anyio
import anyio.to_thread
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams, TextContent, Tool
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, WithJsonSchema

from api.problems import Fault, RequestRefused, faults_of, invalid_arguments
from api.questions import comparison_of, plan_of
from commandline.run import as_json
from sharing.document import keys_of
from sharing.errors import InvalidLink
from sharing.links.opening import scenario_of
from sizing.base.errors import InvalidScenario, SizingError, UnknownName
from sizing.base.quantity import Result, quantity
from sizing.base.result import Explained, Plan
from sizing.base.version import ENGINE_VERSION
from sizing.catalog.finding import ModelsFound, find_models, summary
from sizing.decision.added_up import comparison_added_up
from sizing.decision.comparison import MOST_COMPARED, Comparison
from sizing.decision.lever_text import LEVERS, tried
from sizing.decision.optimised import Optimised, optimised
from sizing.decision.text import driver_sentences
from sizing.planning.analytic import analytic_plan
from sizing.scenario.file import scenario_from
from sizing.scenario.schema import Scenario

FEW = 3
"""Alternatives of a plan, unless more are asked for. Chosen: an agent reads every one of them."""

INSTRUCTIONS = (
    "Sizes LLM inference deployments. Give a scenario to plan; its smallest form has model and workload "
    "{input_tokens, output_tokens, peak_rps}. A plan that is not feasible is an answer, and says what to relax."
)


def _mapping(given: object) -> object:
    """The keys of a scenario, also where they were sent as the text of a JSON object, which some agents do."""
    if not isinstance(given, str):
        return given
    try:
        return json.loads(given)
    except (ValueError, RecursionError):
        return given


AnyScenario = Annotated[
    dict[str, Any],
    BeforeValidator(_mapping),
    WithJsonSchema({"type": "object", "description": "As that of the tool plan."}),
]


class _Arguments(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PlanArguments(_Arguments):
    """Arguments of ``plan``."""

    scenario: Annotated[dict[str, Any], BeforeValidator(_mapping)] = Field(description="The keys of a scenario file.")
    alternatives: int = Field(FEW, ge=0, le=1000, description="Ranked alternatives to the answer.")
    analytic: bool = Field(False, description="The analytic load model only, nothing simulated: faster.")


class CompareArguments(_Arguments):
    """Arguments of ``compare``."""

    scenarios: list[AnyScenario] = Field(
        min_length=2, max_length=MOST_COMPARED, description="The first is the reference."
    )


class LeversArguments(_Arguments):
    """Arguments of ``levers``."""

    scenario: AnyScenario
    analytic: bool = Field(False, description="Plans by the analytic load model: faster.")


class ExplainArguments(_Arguments):
    """Arguments of ``explain``."""

    scenario: AnyScenario
    figures: list[str] = Field(
        [], max_length=50, description="Such as gpus, ttft_ms or usd_per_month; empty: every figure."
    )


class FindModelArguments(_Arguments):
    """Arguments of ``find_model``."""

    query: str = Field(min_length=1, max_length=200, description="A name, or words of one.")


class OpenLinkArguments(_Arguments):
    """Arguments of ``open_link``."""

    link: str = Field(min_length=1, max_length=20_000, description="Address of a page of the dashboard with inputs.")


class Explanations(Result):
    """Figures of a plan, each from the inputs to the formula to the source."""

    answer: Annotated[str, quantity("Answer", help="The sentence of the plan.")]
    explained: Annotated[tuple[Explained, ...], quantity("Explained", help="The figures that were asked for.")]


class OpenedLink(Result):
    """What a live link means."""

    scenario: Annotated[
        dict[str, Any], quantity("Scenario", help="As a scenario file has it: what differs from the defaults.")
    ]


@dataclass(frozen=True, kw_only=True)
class AgentTool:
    """One tool: what it takes, what it answers, and the line that sums the answer up."""

    does: str
    takes: type[BaseModel]
    gives: type[Result]
    answer: Callable[[Any], tuple[Result, str]]

    def described(self, name: str) -> Tool:
        """The tool as an agent is told of it."""
        return Tool(
            name=name,
            description=self.does,
            input_schema=_input_schema(self.takes),
            output_schema=self.gives.model_json_schema(mode="serialization"),
        )


def _plan(given: PlanArguments) -> tuple[Plan, str]:
    answer = plan_of(scenario_from(given.scenario), given.alternatives, analytic=given.analytic)
    return answer, answer.answer


def _compare(given: CompareArguments) -> tuple[Comparison, str]:
    answer = comparison_of(given.scenarios)
    return answer, " ".join(driver_sentences(comparison_added_up(answer)))


def _explain(given: ExplainArguments) -> tuple[Explanations, str]:
    answer = plan_of(scenario_from(given.scenario), 0)
    known = {each.name: each for each in answer.explained}
    unknown = {
        f"figures.{n}": UnknownName("figure", name, known) for n, name in enumerate(given.figures) if name not in known
    }
    if unknown:
        raise InvalidScenario([str(error) for error in unknown.values()], list(unknown))
    explained = tuple(known[name] for name in given.figures or known)
    lines = [f"{each.name}: {each.value} ({each.formula})" for each in explained] if given.figures else [answer.answer]
    return Explanations(answer=answer.answer, explained=explained), "; ".join(lines)


def _levers(given: LeversArguments) -> tuple[Optimised, str]:
    answer = optimised(scenario_from(given.scenario), analytic_plan if given.analytic else None)
    return answer, "; ".join(f"{LEVERS[row.name]}: {tried(row)}" for row in answer.levers)


def _find_model(given: FindModelArguments) -> tuple[ModelsFound, str]:
    answer = find_models(given.query)
    return answer, summary(answer)


def _open_link(given: OpenLinkArguments) -> tuple[OpenedLink, str]:
    scenario = scenario_of(given.link)
    return OpenedLink(scenario=keys_of(scenario)), f"The scenario “{scenario.name}”."


QUESTIONS = {
    "plan": AgentTool(
        does="GPUs and systems that serve a scenario, at what latency and cost, what limits it, and how sure that is.",
        takes=PlanArguments,
        gives=Plan,
        answer=_plan,
    ),
    "compare": AgentTool(
        does="Two to five scenarios side by side, and which input drives the difference in cost.",
        takes=CompareArguments,
        gives=Comparison,
        answer=_compare,
    ),
    "levers": AgentTool(
        does="What each lever would save (caching, drafts, sparsity, smaller or pruned models, ...), and NIM beside "
        "open source.",
        takes=LeversArguments,
        gives=Optimised,
        answer=_levers,
    ),
    "explain": AgentTool(
        does="Figures of a plan, each with formula, numbers and source.",
        takes=ExplainArguments,
        gives=Explanations,
        answer=_explain,
    ),
    "find_model": AgentTool(
        does="Models of the catalogue by name: what a name is taken for, and what is known of it.",
        takes=FindModelArguments,
        gives=ModelsFound,
        answer=_find_model,
    ),
    "open_link": AgentTool(
        does="The scenario that a live link of the dashboard means, to plan, compare or explain.",
        takes=OpenLinkArguments,
        gives=OpenedLink,
        answer=_open_link,
    ),
}


def called(name: str, arguments: dict[str, Any]) -> CallToolResult:
    """The answer of a tool; of bad input the sentences of the command line, with the paths of their fields."""
    try:
        if name not in QUESTIONS:
            raise UnknownName("tool", name, QUESTIONS)
        question = QUESTIONS[name]
        answer, line = question.answer(_validated(question.takes, arguments))
    except SizingError as error:
        return _refusal(faults_of(error))
    except RequestRefused as refusal:
        return _refusal(refusal.problem.problems)
    except InvalidLink as error:
        return _refusal(tuple(Fault(path="link", detail=problem) for problem in error.problems))
    return CallToolResult(content=[TextContent(text=line)], structured_content=json.loads(as_json(answer)))


def serve() -> None:
    """Answer on stdin and stdout until the agent leaves."""
    anyio.run(_serve)


async def _serve() -> None:
    server = Server(
        "inference-sizing",
        version=ENGINE_VERSION,
        instructions=INSTRUCTIONS,
        on_list_tools=_list_tools,
        on_call_tool=_call_tool,
    )
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


async def _list_tools(_: ServerRequestContext[Any], params: PaginatedRequestParams | None) -> ListToolsResult:
    return ListToolsResult(tools=[question.described(name) for name, question in QUESTIONS.items()])


async def _call_tool(_: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
    return await anyio.to_thread.run_sync(called, params.name, params.arguments or {})


def _validated(takes: type[BaseModel], arguments: dict[str, Any]) -> BaseModel:
    """Arguments that can be used. Raises InvalidScenario with a sentence for each that cannot."""
    try:
        return takes.model_validate(arguments)
    except ValidationError as error:
        raise invalid_arguments(error) from None


def _refusal(faults: tuple[Fault, ...]) -> CallToolResult:
    problems = [fault.model_dump() for fault in faults]
    text = "\n".join(fault.detail for fault in faults)
    return CallToolResult(content=[TextContent(text=text)], structured_content={"problems": problems}, is_error=True)


def _input_schema(takes: type[BaseModel]) -> dict[str, Any]:
    """The schema of arguments, that of ``plan`` with every key of a scenario: once, as agents read all of it."""
    schema = takes.model_json_schema()
    if takes is PlanArguments:
        scenario = Scenario.model_json_schema()
        schema["$defs"] = scenario.pop("$defs")
        schema["properties"]["scenario"] = scenario
    return schema
