"""The Helm chart, rendered by Go's own templates and sprig, is what Kubernetes takes; what cannot work is refused."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml

from sharing.settings import variables
from sizing.base.version import ENGINE_VERSION
from tests.deploy.files import DEPLOY

CHART = DEPLOY / "helm" / "inference-sizing"
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
KUBERNETES = "1.33"
GO = {"GO111MODULE": "off", "GOFLAGS": "", "GOPATH": "/usr/share/gocode"}
OPEN = {"withoutLogin": True, "replicas": 1}
WHOLE: Mapping[str, Any] = {
    "database": {"secret": "sizing-db"},
    "login": {"secret": "sizing-login"},
    "hosts": ["sizing.acme.com", "gpus.acme.com"],
    "access": {"admin": {"emails": ["ann@acme.com"]}},
    "sources": {"prod.yaml": {"name": "Production", "prometheus": "http://prometheus:9090"}},
    "sourceSecrets": "source-secrets",
    "env": {"SIZING_UPLOAD_MB": "64"},
    "envSecret": "sizing-env",
    "probes": ["10.0.0.0/8"],
    "ingress": {"enabled": True, "tlsSecret": "sizing-tls"},
    "autoscaling": {"enabled": True},
    "networkPolicy": {"from": [{"namespaceSelector": {}}], "to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]},
    "nodeSelector": {"kubernetes.io/arch": "arm64"},
    "tolerations": [{"key": "web", "operator": "Exists"}],
    "image": {"repository": "registry.acme.com/sizing", "tag": "1", "pullSecrets": ["pull"]},
    "serviceAccount": {"annotations": {"a": "b"}},
    "podAnnotations": {"c": "d"},
}


@pytest.fixture(scope="session")
def renderer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of render.go, with the libraries that Debian packages."""
    if shutil.which("go") is None or not Path(GO["GOPATH"], "src/github.com/Masterminds/sprig").is_dir():
        pytest.skip("needs Go and sprig: tests/install_system_packages.sh")
    program = tmp_path_factory.mktemp("chart") / "render"
    source = Path(__file__).with_name("render.go")
    cache = {"GOCACHE": str(program.parent / "cache")}
    subprocess.run(["go", "build", "-o", program, source], check=True, env={**os.environ, **GO, **cache})
    return program


def rendered(renderer: Path, values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The objects of a release by their kinds, each once; the values hold the chart's schema, as Helm checks them."""
    whole = yaml.safe_load((CHART / "values.yaml").read_text())
    jsonschema.validate(whole | values, SCHEMA)
    run = subprocess.run(
        [renderer, CHART, "sizing"], input=yaml.safe_dump(dict(values)), capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    objects = [one for one in yaml.safe_load_all(run.stdout) if one]
    for one in objects:
        kubernetes_validate.validate(one, KUBERNETES, strict=True)
    assert len({one["kind"] for one in objects}) == len(objects)
    return {one["kind"]: one for one in objects}


def test_one_replica_keeps_its_library_on_a_volume(renderer: Path) -> None:
    objects = rendered(renderer, OPEN)
    assert objects.keys() == {
        *("ConfigMap", "Deployment", "NetworkPolicy", "PersistentVolumeClaim", "Service", "ServiceAccount")
    }
    pod = objects["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert {one["name"]: one["value"] for one in container["env"]} == {
        "SIZING_HOSTS": "sizing.example.com",
        "SIZING_WITHOUT_LOGIN": "yes",
        "SIZING_WORKERS": "2",
    }
    assert container["image"] == f"inference-sizing:{ENGINE_VERSION}"
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert pod["securityContext"]["runAsNonRoot"]
    mounted = {one["name"] for one in container["volumeMounts"]}
    assert mounted == {one["name"] for one in pod["volumes"]} == {"data", "tmp"}


def test_everything_at_once(renderer: Path) -> None:
    objects = rendered(renderer, WHOLE)
    assert objects.keys() == {
        *("ConfigMap", "Deployment", "HorizontalPodAutoscaler", "Ingress", "NetworkPolicy", "PodDisruptionBudget"),
        *("Service", "ServiceAccount"),
    }
    pod = objects["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    environment = {one["name"] for one in container["env"]}
    assert environment == {*("SIZING_HOSTS", "SIZING_PROBES", "SIZING_WORKERS", "SHARING_DATABASE", "SIZING_UPLOAD_MB")}
    assert environment <= variables().keys(), "settings that the product refuses"
    assert {one["name"] for one in container["volumeMounts"]} == {one["name"] for one in pod["volumes"]}
    kept = objects["ConfigMap"]["data"]
    assert yaml.safe_load(kept["access.yaml"]) == WHOLE["access"]
    assert yaml.safe_load(kept["source.prod.yaml"]) == WHOLE["sources"]["prod.yaml"]
    assert [rule["host"] for rule in objects["Ingress"]["spec"]["rules"]] == WHOLE["hosts"]
    selector = objects["Deployment"]["spec"]["selector"]["matchLabels"]
    assert selector == objects["Service"]["spec"]["selector"]
    assert selector == objects["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"]
    assert selector.items() <= objects["Deployment"]["spec"]["template"]["metadata"]["labels"].items()


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"withoutLogin": True}, "Several replicas need one library"),
        ({"replicas": 1}, "Nobody could log in"),
        (OPEN | {"autoscaling": {"enabled": True}}, "Several replicas need one library"),
        (
            OPEN | {"database": {"secret": "db"}, "autoscaling": {"enabled": True, "minReplicas": 9}},
            "minReplicas is larger than autoscaling.maxReplicas",
        ),
    ],
)
def test_what_cannot_work_is_refused_before_it_is_installed(
    renderer: Path, values: Mapping[str, Any], said: str
) -> None:
    run = subprocess.run(
        [renderer, CHART, "sizing"], input=yaml.safe_dump(dict(values)), capture_output=True, text=True
    )
    assert run.returncode == 1
    assert said in run.stderr


@pytest.mark.parametrize(
    "values",
    [
        {"replica": 2},
        {"replicas": 0},
        {"hosts": []},
        {"hosts": ["https://sizing.acme.com"]},
        {"probes": ["everyone"]},
        {"sources": {"../prod.yaml": {}}},
        {"database": {"secrets": "x"}},
        {"env": {"SIZING_UPLOAD_MB": 64}},
    ],
)
def test_values_that_are_mistyped_are_refused(values: Mapping[str, Any]) -> None:
    whole = yaml.safe_load((CHART / "values.yaml").read_text())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(whole | values, SCHEMA)


def test_the_chart_is_of_this_engine() -> None:
    assert yaml.safe_load((CHART / "Chart.yaml").read_text())["appVersion"] == ENGINE_VERSION
