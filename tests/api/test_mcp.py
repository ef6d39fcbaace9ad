"""The tools of an agent, called by the SDK's own client over stdin and stdout."""

import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import jsonschema
import pytest
from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp_types import CallToolResult

from tests.api.scenarios import BAD, OTHER, SCENARIO
from tests.commands import run
from tests.loops import awaited

ROOT = Path(__file__).parents[2]
LINK = "http://localhost:8501/size?model=llama+3.3+70b&isl=3.5k&osl=500&rps=20&ttft=1.5s&gpu=h100,h200"

T = TypeVar("T")


def asked(question: Callable[[ClientSession], Awaitable[T]]) -> T:
    """What an agent learns from a server of its own."""

    async def session() -> T:
        server = StdioServerParameters(command=sys.executable, args=["-m", "api", "mcp"], cwd=ROOT)
        async with stdio_client(server) as (incoming, outgoing), ClientSession(incoming, outgoing) as client:
            await client.initialize()
            return await question(client)

    return awaited(session)


@pytest.fixture(scope="module")
def answers() -> dict[str, CallToolResult]:
    """The answers of one session to all the questions below."""

    async def all_of(client: ClientSession) -> dict[str, CallToolResult]:
        return {name: await client.call_tool(tool, given) for name, (tool, given) in QUESTIONS.items()}

    return asked(all_of)


QUESTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "plan": ("plan", {"scenario": SCENARIO}),
    "plan of a text": ("plan", {"scenario": json.dumps(SCENARIO)}),
    "compare": ("compare", {"scenarios": [SCENARIO, OTHER]}),
    "levers": ("levers", {"scenario": SCENARIO, "analytic": True}),
    "explain": ("explain", {"scenario": SCENARIO, "figures": ["gpus", "weights_gb"]}),
    "explain all": ("explain", {"scenario": SCENARIO}),
    "find": ("find_model", {"query": "Hermes-3-Llama-3.1-8B"}),
    "find nothing": ("find_model", {"query": "lama 9 70b"}),
    "open": ("open_link", {"link": LINK}),
    "open what is no link": ("open_link", {"link": "hm"}),
    "no scenario": ("plan", {}),
    "other arguments": ("plan", {"scenario": SCENARIO, "alternatives": -1, "fast": True}),
    "no such figure": ("explain", {"scenario": SCENARIO, "figures": ["gpu"]}),
    "second is bad": ("compare", {"scenarios": [SCENARIO, BAD["a rate below 0"][0]]}),
    "no such tool": ("plam", {}),
    "brackets without end": ("plan", {"scenario": "[" * 100_000}),
    **{fault: ("plan", {"scenario": scenario}) for fault, (scenario, _) in BAD.items()},
}


def line(answer: CallToolResult) -> str:
    (content,) = answer.content
    assert content.type == "text"
    return content.text


def test_tools_say_what_they_take_and_give() -> None:
    async def listed(client: ClientSession) -> list[Any]:
        return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in asked(listed)}
    assert set(tools) == {"plan", "compare", "levers", "explain", "find_model", "open_link"}
    for tool in tools.values():
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        assert tool.description
        assert tool.output_schema
    takes = jsonschema.Draft202012Validator(tools["plan"].input_schema)
    assert takes.is_valid({"scenario": SCENARIO})
    assert not takes.is_valid({"scenario": BAD["a rate below 0"][0]})
    assert (
        len(json.dumps({name: tool.input_schema for name, tool in tools.items()})) < 50_000
    )  # an agent reads all of it


def test_a_plan_is_that_of_the_command_line(answers: dict[str, CallToolResult], tmp_path: Path) -> None:
    file = tmp_path / "scenario.json"
    file.write_text(json.dumps(SCENARIO))
    printed = json.loads(run("sizing", "plan", file, "--json", "--alternatives", "3").stdout)
    for name in ("plan", "plan of a text"):
        assert answers[name].structured_content == printed
        assert line(answers[name]) == printed["answer"]


def test_levers_are_those_of_the_command_line(answers: dict[str, CallToolResult], tmp_path: Path) -> None:
    file = tmp_path / "asked.json"
    file.write_text(json.dumps(SCENARIO))
    printed = json.loads(run("sizing", "levers", file, "--analytic", "--json").stdout)
    assert answers["levers"].structured_content == printed
    assert "2:4 sparsity: two of every four weights zero" in line(answers["levers"])


def test_a_comparison_is_that_of_the_command_line(answers: dict[str, CallToolResult], tmp_path: Path) -> None:
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    for file, scenario in zip(files, (SCENARIO, OTHER), strict=True):
        file.write_text(json.dumps(scenario))
    assert answers["compare"].structured_content == json.loads(run("sizing", "compare", *files, "--json").stdout)
    assert line(answers["compare"]) in run("sizing", "compare", *files).stdout


def test_figures_are_explained_as_in_the_plan(answers: dict[str, CallToolResult]) -> None:
    plan = answers["plan"].structured_content
    by_name = {one["name"]: one for one in plan["explained"]}
    assert answers["explain all"].structured_content["explained"] == plan["explained"]
    assert answers["explain"].structured_content["explained"] == [by_name["gpus"], by_name["weights_gb"]]
    gpus = by_name["gpus"]
    assert line(answers["explain"]).startswith(f"gpus: {gpus['value']} ({gpus['formula']}); weights_gb: ")
    assert line(answers["explain all"]) == plan["answer"]


def test_a_model_is_found_by_its_name(answers: dict[str, CallToolResult]) -> None:
    known = answers["find"].structured_content
    assert known["taken_for"]["model"] == "meta-llama/Meta-Llama-3.1-8B"
    assert line(answers["find"]) == "A scenario with this name is planned for meta-llama/Meta-Llama-3.1-8B."
    assert line(answers["find nothing"]).startswith("No model of the catalogue is called so. Did you mean ")


def test_a_link_is_opened_as_on_the_command_line(answers: dict[str, CallToolResult], tmp_path: Path) -> None:
    assert run("sharing", "open", LINK, "--to", tmp_path / "opened.json").returncode == 0
    opened = answers["open"].structured_content
    assert opened["scenario"] == json.loads((tmp_path / "opened.json").read_text())
    refused = run("sharing", "open", "hm", "--to", tmp_path / "none.json").stderr.strip()
    assert answers["open what is no link"].is_error
    assert line(answers["open what is no link"]) == refused


@pytest.mark.parametrize("fault", BAD)
def test_bad_input_is_the_sentence_of_the_command_line(
    answers: dict[str, CallToolResult], fault: str, tmp_path: Path
) -> None:
    scenario, paths = BAD[fault]
    file = tmp_path / "scenario.json"
    file.write_text(json.dumps(scenario))
    refused = answers[fault]
    assert refused.is_error
    assert line(refused) + "\n" == run("sizing", "plan", file).stderr
    assert [one["path"] for one in refused.structured_content["problems"]] == paths


@pytest.mark.parametrize(
    ("name", "sentences", "paths"),
    [
        ("no scenario", "scenario: is required.", ["scenario"]),
        (
            "other arguments",
            "alternatives: must be at least 0 (found '-1').\nfast: unknown key.",
            ["alternatives", "fast"],
        ),
        ("no such figure", "Unknown figure “gpu”. Did you mean gpus?", ["figures.0"]),
        ("second is bad", "workload.peak_rps: must be greater than 0 (found '-1').", ["scenarios.1.workload.peak_rps"]),
        ("no such tool", "Unknown tool “plam”. Did you mean plan?", [""]),
        ("brackets without end", f"scenario: must be a group of keys (found '{'[' * 37}...').", ["scenario"]),
    ],
)
def test_arguments_that_cannot_be_used(
    answers: dict[str, CallToolResult], name: str, sentences: str, paths: list[str]
) -> None:
    refused = answers[name]
    assert refused.is_error
    assert line(refused) == sentences
    assert [one["path"] for one in refused.structured_content["problems"]] == paths
