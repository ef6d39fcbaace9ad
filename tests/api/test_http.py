"""The HTTP API, asked by a client: the answers of the command line to the byte, and one sentence for every fault."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import requests
import yaml

from api.problems import MEDIA_TYPE
from tests.api.scenarios import BAD, NAMING_FILES, OTHER, SCENARIO
from tests.commands import run
from tests.patience import PATIENCE_S

POINTS = """model,gpu,engine,precision,tp,gpus,mode,isl,osl,concurrency
meta-llama/Meta-Llama-3-8B,h100_sxm,vllm,fp8,1,1,fixed_concurrency,1000,100,8
nobody's model,h100_sxm,vllm,fp8,1,1,fixed_concurrency,1000,100,8
"""


def post(server: str, path: str, body: object, **parameters: Any) -> requests.Response:
    return requests.post(f"{server}/v1/{path}", json=body, params=parameters, timeout=PATIENCE_S)


def command_line(folder: Path, command: str, *scenarios: object, options: tuple[str, ...] = ()) -> Any:
    files = [folder / f"{n}.json" for n in range(len(scenarios))]
    for file, scenario in zip(files, scenarios, strict=True):
        file.write_text(json.dumps(scenario))
    return run("sizing", command, *files, *options, "--json")


@pytest.mark.parametrize(
    ("options", "parameters"),
    [
        ((), {}),
        (("--alternatives", "2", "--analytic"), {"alternatives": 2, "analytic": "true"}),
        (("--second-opinion",), {"second_opinion": "true"}),
    ],
)
def test_a_plan_is_that_of_the_command_line_to_the_byte(
    server: str, tmp_path: Path, options: tuple[str, ...], parameters: dict[str, Any]
) -> None:
    answer = post(server, "plan", SCENARIO, **parameters)
    assert answer.status_code == 200
    assert answer.content == command_line(tmp_path, "plan", SCENARIO, options=options).stdout.encode()


def test_yaml_is_read_as_json_is(server: str) -> None:
    as_yaml = {"data": yaml.safe_dump(SCENARIO), "headers": {"Content-Type": "application/yaml"}}
    answer = requests.post(f"{server}/v1/plan", **as_yaml, timeout=PATIENCE_S)
    assert answer.content == post(server, "plan", SCENARIO).content


def test_costs_and_comparisons_are_those_of_the_command_line(server: str, tmp_path: Path) -> None:
    cost = post(server, "cost", SCENARIO, on="2026-11-20")
    assert cost.content == command_line(tmp_path, "cost", SCENARIO, options=("--on", "2026-11-20")).stdout.encode()
    compared = post(server, "compare", {"scenarios": [SCENARIO, OTHER]})
    assert compared.content == command_line(tmp_path, "compare", SCENARIO, OTHER).stdout.encode()


def test_levers_are_those_of_the_command_line(server: str, tmp_path: Path) -> None:
    answer = post(server, "levers", SCENARIO, analytic="true")
    assert answer.status_code == 200
    assert answer.content == command_line(tmp_path, "levers", SCENARIO, options=("--analytic",)).stdout.encode()
    measured = {**SCENARIO, "measured": {"system": "dgx_h100", "rps_per_system": 2.4}}
    refused = problem(post(server, "levers", measured), 422)
    assert refused["detail"] + "\n" == command_line(tmp_path, "levers", measured).stderr
    assert "holds for its own deployment alone" in refused["detail"]


def test_predictions_are_the_file_that_the_command_line_writes(server: str, tmp_path: Path) -> None:
    points, out = tmp_path / "points.csv", tmp_path / "out.csv"
    points.write_text(POINTS)
    assert run("sizing", "predict", points, "--out", out).returncode == 0
    csv = {"data": POINTS.encode(), "headers": {"Content-Type": "text/csv"}}
    answer = requests.post(f"{server}/v1/predict", **csv, timeout=PATIENCE_S)
    assert answer.content == out.read_bytes()
    assert answer.text.count("\n") == 3


def test_models_are_found_as_on_the_command_line(server: str) -> None:
    answer = requests.get(f"{server}/v1/models", params={"q": "llama 70b"}, timeout=PATIENCE_S)
    assert answer.text == run("sizing", "models", "llama", "70b", "--json").stdout
    assert "meta-llama/Llama-3.3-70B-Instruct" in [one["model"] for one in answer.json()["models"]]


def test_no_name_of_a_model_is_a_file(server: str) -> None:
    answer = requests.get(f"{server}/v1/models", params={"q": "tests/api/conftest.py"}, timeout=PATIENCE_S).json()
    assert (answer["taken_for"], answer["models"]) == (None, [])


def problem(answer: requests.Response, status: int) -> dict[str, Any]:
    assert answer.status_code == status
    assert answer.headers["content-type"] == MEDIA_TYPE
    content: dict[str, Any] = answer.json()
    assert content["status"] == status
    assert content["detail"] == "\n".join(one["detail"] for one in content["problems"])
    return content


@pytest.mark.parametrize("fault", BAD)
@pytest.mark.parametrize("question", ["plan", "cost"])
def test_bad_input_is_named_by_path_and_sentence(server: str, tmp_path: Path, question: str, fault: str) -> None:
    scenario, paths = BAD[fault]
    refused = problem(post(server, question, scenario), 422)
    assert [one["path"] for one in refused["problems"]] == paths
    assert refused["detail"] + "\n" == command_line(tmp_path, question, scenario).stderr


def test_the_path_tells_which_of_several_scenarios_is_wrong(server: str, tmp_path: Path) -> None:
    scenario, paths = BAD["an unknown model and engine"]
    refused = problem(post(server, "compare", {"scenarios": [SCENARIO, scenario]}), 422)
    assert [one["path"] for one in refused["problems"]] == [f"scenarios.1.{path}" for path in paths]
    assert refused["detail"] + "\n" == command_line(tmp_path, "compare", SCENARIO, scenario).stderr
    too_few = problem(post(server, "compare", {"scenarios": [SCENARIO]}), 422)
    assert too_few["detail"] == "Two to 5 scenarios can be compared, not 1."
    assert problem(post(server, "compare", {}), 422)["problems"][0]["path"] == "scenarios"


@pytest.mark.parametrize("fault", NAMING_FILES)
def test_no_file_of_the_server_is_read(server: str, fault: str) -> None:
    scenario, paths = NAMING_FILES[fault]
    assert [one["path"] for one in problem(post(server, "plan", scenario), 422)["problems"]] == paths


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"{", "scenario is not valid YAML or JSON at line 1."),
        (b"[]", "scenario must hold keys such as model and workload: it is a list."),
        (b"\xff\xfe\xfa", "scenario is not a text file in UTF-8."),
        (b"x: " + b"a" * 1_000_001, "scenario is larger than 1 MB: that is not a scenario."),
        (b"[" * 100_000, "scenario is nested too deeply to be a scenario."),
    ],
)
def test_what_is_no_scenario_is_one_sentence(server: str, content: bytes, sentence: str) -> None:
    headers = {"Content-Type": "application/yaml"}
    answer = requests.post(f"{server}/v1/plan", data=content, headers=headers, timeout=PATIENCE_S)
    assert problem(answer, 422)["detail"] == sentence


def test_parameters_are_named_like_keys(server: str) -> None:
    refused = problem(post(server, "plan", SCENARIO, alternatives="many", analytic="perhaps"), 422)
    assert [(one["path"], one["detail"]) for one in refused["problems"]] == [
        ("query.alternatives", "query.alternatives: must be a whole number (found 'many')."),
        ("query.analytic", "query.analytic: must be true or false (found 'perhaps')."),
    ]


def test_what_is_no_question_is_a_problem_too(server: str) -> None:
    assert "/openapi.json lists" in problem(requests.get(f"{server}/v2/plan", timeout=PATIENCE_S), 404)["detail"]
    problem(requests.get(f"{server}/v1/plan", timeout=PATIENCE_S), 405)
    problem(requests.post(f"{server}/v1/plan", data="x", timeout=PATIENCE_S), 415)
    large = requests.post(
        f"{server}/v1/plan", data=b" " * 4_000_001, headers={"Content-Type": "application/json"}, timeout=PATIENCE_S
    )
    assert problem(large, 413)["detail"] == "A request may have 4 MB."


@pytest.mark.parametrize("path", ["/openapi.json", "/v1/models?q=llama"])
def test_a_name_that_leads_here_from_elsewhere_is_not_answered(server: str, path: str) -> None:
    answer = requests.get(f"{server}{path}", headers={"Host": "evil.example"}, timeout=PATIENCE_S)
    assert "evil.example" in problem(answer, 421)["detail"]


def test_every_answer_is_no_page(server: str) -> None:
    for host in ("localhost", "evil.example"):
        answer = requests.get(f"{server}/openapi.json", headers={"Host": host}, timeout=PATIENCE_S)
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Content-Security-Policy"] == "default-src 'none'; frame-ancestors 'none'"


def test_the_document_describes_questions_and_answers(server: str) -> None:
    document = requests.get(f"{server}/openapi.json", timeout=PATIENCE_S).json()
    assert set(document["paths"]) == {
        f"/v1/{name}" for name in ("plan", "compare", "cost", "levers", "predict", "models")
    }
    references = set(_references(document))
    schemas = document["components"]["schemas"]
    assert {reference.removeprefix("#/components/schemas/") for reference in references} <= schemas.keys()
    assert "#/components/schemas/Scenario" in references
    validator = jsonschema.Draft202012Validator(
        {"$ref": "#/components/schemas/Scenario", "components": {"schemas": schemas}}
    )
    assert validator.is_valid(SCENARIO)
    assert not validator.is_valid(BAD["a rate below 0"][0])
    answer = jsonschema.Draft202012Validator({"$ref": "#/components/schemas/Plan", "components": {"schemas": schemas}})
    answer.validate(post(server, "plan", SCENARIO).json())


def _references(part: object) -> list[str]:
    if isinstance(part, list):
        return [reference for one in part for reference in _references(one)]
    if not isinstance(part, dict):
        return []
    inside = [reference for value in part.values() for reference in _references(value)]
    return [*inside, part["$ref"]] if isinstance(part.get("$ref"), str) else inside


@pytest.mark.parametrize(
    ("path", "body", "parameters", "where", "said"),
    [
        ("plan", SCENARIO, {"alternativs": 1}, "query.alternativs", "Did you mean alternatives?"),
        ("cost", SCENARIO, {"on": "xx"}, "query.on", "must be a date such as 2026-11-30"),
        ("compare", {"scenarios": [SCENARIO, OTHER], "analytic": True}, {}, "analytic", "unknown key"),
    ],
)
def test_what_a_question_does_not_have_is_not_passed_over(
    server: str, path: str, body: object, parameters: dict[str, Any], where: str, said: str
) -> None:
    answer = post(server, path, body, **parameters)
    assert (answer.status_code, [one["path"] for one in answer.json()["problems"]]) == (422, [where])
    assert said in answer.json()["detail"]
