"""The manifests of a mixed fleet: those of each fleet under names of its own, and the router in front of them."""

import json
from dataclasses import replace
from functools import cache

import pytest
import yaml

from sharing.manifests import fleets, manifests
from sharing.manifests.bundle import INDEX, README
from sizing import Scenario, plan
from sizing.planning.answered import Answer
from sizing.question.understand import understand
from tests.sharing.manifests.cases import objects
from tests.sharing.manifests.validation import LOADER, check_files
from tests.sizing.mixed import cheaper


@cache
def with_vllm() -> Answer:
    """A mix on vLLM, which takes a name that it serves a model as."""
    keys = cheaper.KEYS | {
        "deployment": cheaper.KEYS["deployment"] | {"engines": ["vllm"]},
        "workload": cheaper.KEYS["workload"] | {"peak_rps": 100},
        "prices": {"gpu": "l4", "gpu_hour_usd": 0.05},
    }
    scenario = Scenario.model_validate(keys)
    answer = Answer(understand(scenario), plan(scenario))
    assert answer.fleets, "this mix is to be cheaper"
    return answer


@pytest.mark.parametrize("asked", [cheaper.answer, with_vllm])
def test_every_fleet_has_valid_files_of_its_own(asked: object) -> None:
    assert callable(asked)
    written = manifests(asked())
    for number, part in enumerate(asked().fleets, start=1):
        own = {name.removeprefix(fleets.prefix(number)): text for name, text in written.items()
               if name.startswith(fleets.prefix(number))}  # fmt: skip
        check_files(own)
        assert {"kubernetes.yaml", README, "benchmarks.sh"} <= set(own)
        (engine,) = (one for file, one in objects(own) if (file, one["kind"]) == ("kubernetes.yaml", "Deployment"))
        assert engine["spec"]["replicas"] == part.plan.deployment.instances
        selector = engine["spec"]["template"]["spec"]["nodeSelector"]
        assert ("L4" if number == 1 else "H100") in next(iter(selector.values()))
    assert set(json.loads(written[INDEX])["sha256"]) == set(written) - {INDEX}
    assert written == manifests(asked())


def test_no_object_of_one_fleet_has_the_name_of_anothers() -> None:
    written = manifests(with_vllm())
    named = []
    for number in (1, 2):
        own = {name: text for name, text in written.items() if name.startswith(fleets.prefix(number))}
        named.append({(one["kind"], one["metadata"]["name"]) for _, one in objects(own)})
    assert named[0]
    assert not named[0] & named[1]


def test_prompts_go_to_the_fleet_that_is_planned_for_them() -> None:
    answer = with_vllm()
    written = manifests(answer)
    check_files({"litellm.yaml": written[fleets.ROUTER]})
    config = yaml.load(written[fleets.ROUTER], LOADER)
    short, long = config["model_list"]
    below = answer.plan.mixed.parts[0].ranges[-1].below_tokens
    assert short["model_info"]["max_input_tokens"] == below - 1
    assert "model_info" not in long
    assert [one["litellm_params"]["order"] for one in (short, long)] == [1, 2]
    assert config["router_settings"]["enable_pre_call_checks"] is True
    assert short["model_name"] == long["model_name"]
    for number, one in enumerate((short, long), start=1):
        file = yaml.safe_load_all(written[f"{fleets.prefix(number)}kubernetes.yaml"])
        there = {each["kind"]: each for each in file}
        name, served = there["Service"]["metadata"]["name"], one["litellm_params"]["model"].removeprefix("openai/")
        assert one["litellm_params"]["api_base"] == f"http://{name}:8000/v1"
        command = there["Deployment"]["spec"]["template"]["spec"]["containers"][0]["command"]
        assert command[command.index("--served-model-name") + 1] == served
    assert "tells prompts apart by their length" in written[README]


def test_alike_requests_go_by_their_shares() -> None:
    answer = cheaper.answer()
    mixed = answer.plan.mixed
    shares = zip(mixed.parts, (30.0, 10.0), strict=True)
    parts = tuple(part.model_copy(update={"ranges": (), "rps": rps}) for part, rps in shares)
    alike = replace(answer, plan=answer.plan.model_copy(update={"mixed": mixed.model_copy(update={"parts": parts})}))
    config = yaml.load(manifests(alike)[fleets.ROUTER], LOADER)
    check_files({"litellm.yaml": manifests(alike)[fleets.ROUTER]})
    assert [one["litellm_params"]["weight"] for one in config["model_list"]] == [3, 1]
    assert config["router_settings"]["enable_pre_call_checks"] is False


def test_what_has_no_file_is_said() -> None:
    said = manifests(cheaper.answer())[README]
    assert cheaper.answer().plan.mixed is not None
    assert "Prefill and decode on two GPU types, which the plan names beside, have no files" in said
    assert "serves a model by the name of its checkpoint" in said
    assert "$" not in said
