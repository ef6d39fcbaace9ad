"""A proxy in front of the instances of one server: every instance with its weight, in the planned routing."""

import re

import pytest
import yaml

from sharing.manifests import balancer, manifests
from sharing.manifests.facts import facts_of
from sizing import Scenario
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer
from sizing.queueing.balancing import balanced
from tests.sharing.manifests.cases import LLAMA_8B, case
from tests.sharing.manifests.validation import LOADER, check_files


def planned(rps: float = 6, **deployment: object) -> Answer:
    keys = case(LLAMA_8B, "h100_sxm", "vllm", precisions=["bf16"], tp=[1], workload={"peak_rps": rps}, **deployment)
    return Answer.of(Scenario.model_validate(keys), analytic_plan)


@pytest.mark.parametrize(
    ("routing", "method", "strategy"),
    [
        ("least_loaded", "least_conn;", "least-busy"),
        ("round_robin", "", "simple-shuffle"),
        ("weighted", "", "simple-shuffle"),
        ("random", "random;", "simple-shuffle"),
    ],
)
def test_every_instance_is_behind_the_proxy(routing: str, method: str, strategy: str) -> None:
    answer = planned(routing=routing)
    written = manifests(answer)
    check_files(written)
    services = yaml.load(written["compose.yaml"], LOADER)["services"]
    servers = re.findall(r"server ([\w-]+):8000 weight=(\d+);", written["nginx.conf"])
    assert [name for name, _ in servers] == list(services)
    assert len(servers) == answer.plan.deployment.instances > 1
    assert {weight for _, weight in servers} == {"1"}
    assert (method in written["nginx.conf"]) if method else "least_conn" not in written["nginx.conf"]
    config = yaml.load(written["litellm.yaml"], LOADER)
    assert [one["litellm_params"]["api_base"] for one in config["model_list"]] == [
        f"http://{name}:8000/v1" for name in services
    ]
    assert config["router_settings"]["routing_strategy"] == strategy


def test_one_instance_has_no_load_to_share() -> None:
    written = manifests(planned(rps=0.2))
    assert "nginx.conf" not in written
    assert "there is no load to share" in written["README.md"]


def test_weights_of_instances_that_differ_are_written_as_whole_numbers() -> None:
    facts, weights = facts_of(planned()), balanced([10.0, 4.0]).weights
    assert weights == (5, 2)
    assert [line.split("weight=")[1] for line in balancer.nginx(facts, weights).splitlines() if "weight=" in line] == [
        "5;",
        "2;",
    ]
    assert [one["litellm_params"]["weight"] for one in balancer.litellm(facts, weights)["model_list"]] == [5, 2]
