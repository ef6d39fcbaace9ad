"""What others publish of their resources and files: whole, and heard where a file has it otherwise."""

import copy
import json
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest

from tests.sharing.manifests.cases import documents, written
from tests.sharing.manifests.validation import PUBLISHED, check_published


def of_kind(case: str, file: str, kind: str) -> Any:
    (found,) = [one for one in documents(case, file) if one["kind"] == kind]
    return copy.deepcopy(found["spec"])


WRITTEN: dict[str, Callable[[], Any]] = {
    "ScaledObject": lambda: of_kind("vllm", "keda.yaml", "ScaledObject"),
    "PrometheusRule": lambda: of_kind("vllm", "prometheus-rules.yaml", "PrometheusRule"),
    "HTTPRoute": lambda: of_kind("vllm", "llm-d.yaml", "HTTPRoute"),
    "DynamoGraphDeploymentRequest": lambda: of_kind("trtllm", "dynamo-request.yaml", "DynamoGraphDeploymentRequest"),
    "compose": lambda: copy.deepcopy(documents("vllm drafts", "compose.yaml")[0]),
    "grafana-dashboard": lambda: json.loads(written("vllm")["grafana-dashboard.json"]),
}


def test_every_published_schema_has_a_file_that_it_is_for() -> None:
    assert PUBLISHED.keys() == WRITTEN.keys()
    for schema in PUBLISHED.values():
        jsonschema.validators.validator_for(schema).check_schema(schema)


@pytest.mark.parametrize("name", WRITTEN)
def test_a_field_that_is_not_published_is_refused(name: str) -> None:
    value = WRITTEN[name]()
    check_published(name, value)
    value["maxReplicas"] = 3
    with pytest.raises(jsonschema.ValidationError, match="maxReplicas"):
        check_published(name, value)


@pytest.mark.parametrize(
    ("name", "path", "wrong"),
    [
        ("ScaledObject", ("triggers", 0, "metadata", "threshold"), 3.5),
        ("ScaledObject", ("maxReplicaCount",), 0),
        ("ScaledObject", ("triggers",), []),
        ("PrometheusRule", ("groups", 0, "interval"), "half a minute"),
        ("PrometheusRule", ("groups", 0, "rules", 0, "labels"), {"severity": 1}),
        ("HTTPRoute", ("rules", 0, "matches", 0, "path", "type"), "Prefix"),
        ("HTTPRoute", ("parentRefs", 0), {"group": "gateway.networking.k8s.io"}),
        ("DynamoGraphDeploymentRequest", ("hardware", "gpuSku"), "H100"),
        ("DynamoGraphDeploymentRequest", ("workload", "isl"), 1.5),
        ("compose", ("services",), []),
        ("grafana-dashboard", ("panels", 0, "gridPos", "w"), "12"),
        ("grafana-dashboard", ("schemaVersion",), "41"),
    ],
)
def test_a_wrong_value_is_refused(name: str, path: tuple[str | int, ...], wrong: object) -> None:
    value = place = WRITTEN[name]()
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = wrong
    with pytest.raises(jsonschema.ValidationError):
        check_published(name, value)
