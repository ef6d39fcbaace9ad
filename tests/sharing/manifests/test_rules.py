"""Prometheus' own tool reads the rules, and fires the alerts of a series that burns, and none of one that does not."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from sharing.manifests import manifests
from sizing import Scenario
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer
from tests.sharing.manifests.cases import CASES, LLAMA_8B, case, documents, planned, written

pytestmark = pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
MINUTES = 13 * 60
RULED = ("vllm", "vllm amd", "vllm experts", "vllm apart over nodes", "trtllm", "vllm ranks", "e2e alone")


def promtool(*command: object) -> str:
    done = subprocess.run(["promtool", *map(str, command)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def rule_file(folder: Path, name: str = "vllm") -> Path:
    (rule,) = documents(name, "prometheus-rules.yaml")
    path = folder / "rules.yaml"
    path.write_text(yaml.safe_dump(rule["spec"]))
    return path


@pytest.mark.parametrize("name", RULED)
def test_promtool_takes_the_rules(name, tmp_path):
    assert "SUCCESS" in promtool("check", "rules", rule_file(tmp_path, name))


def test_promtool_parses_every_other_expression(tmp_path):
    texts = set()
    for name in CASES:
        files = written(name)
        for panel in json.loads(files.get("grafana-dashboard.json", '{"panels": []}'))["panels"]:
            texts |= {target["expr"].replace("$__rate_interval", "5m") for target in panel["targets"]}
        for scaled in documents(name, "keda.yaml") if "keda.yaml" in files else []:
            texts |= {one["metadata"]["query"] for one in scaled["spec"]["triggers"]}
        for level in documents(name, "pyrra.yaml") if "pyrra.yaml" in files else []:
            latency = level["spec"]["indicator"]["latency"]
            texts |= {latency["success"]["metric"], latency["total"]["metric"]}
    rules = [{"record": f"checked:{i}", "expr": text} for i, text in enumerate(sorted(texts))]
    path = tmp_path / "rules.yaml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "all", "rules": rules}]}))
    promtool("check", "rules", path)


def fired(folder: Path, share_slow: float, per_minute: int = 600) -> list[str]:
    """Severity and long window of the TTFT alerts that fire after 13 hours with this share of slow requests."""
    rules = rule_file(folder)
    model = planned("vllm").scenario
    selector = f'model_name="{model.model}"'
    family = "vllm:time_to_first_token_seconds"
    within = round(per_minute * (1 - share_slow))
    series = [
        {"series": f'{family}_bucket{{le="2.5",{selector}}}', "values": f"0+{within}x{MINUTES}"},
        {"series": f"{family}_count{{{selector}}}", "values": f"0+{per_minute}x{MINUTES}"},
    ]
    seen = []
    for severity, window in (("page", "1h"), ("page", "6h"), ("ticket", "1d"), ("ticket", "3d")):
        alerts = yaml.safe_load(rules.read_text())["groups"][0]["rules"]
        (alert,) = (one for one in alerts if one.get("labels", {}).get("long_window") == window)
        expected = {"exp_labels": alert["labels"], "exp_annotations": alert["annotations"]}
        check = {"eval_time": f"{MINUTES}m", "alertname": alert["alert"], "exp_alerts": [expected]}
        only = folder / "only.yaml"
        recordings = [one for one in alerts if "record" in one]
        only.write_text(yaml.safe_dump({"groups": [{"name": "only", "rules": [*recordings, alert]}]}))
        tests = {
            "rule_files": [str(only)],
            "evaluation_interval": "5m",
            "tests": [{"interval": "1m", "input_series": series, "alert_rule_test": [check]}],
        }
        path = folder / "tests.yaml"
        path.write_text(yaml.safe_dump(tests))
        done = subprocess.run(["promtool", "test", "rules", str(path)], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            seen.append(f"{severity} {window}")
        else:
            assert "got:[]" in "".join((done.stdout + done.stderr).split()), done.stdout + done.stderr
    return seen


def test_a_series_that_burns_fires_and_one_that_does_not_is_silent(tmp_path):
    assert fired(tmp_path, 0.9) == ["page 1h", "page 6h", "ticket 1d", "ticket 3d"]
    assert fired(tmp_path, 0.2) == ["ticket 1d", "ticket 3d"]
    assert fired(tmp_path, 0.01) == []


def test_a_few_slow_requests_are_no_alert(tmp_path):
    assert fired(tmp_path, 1.0, per_minute=0) == []


def alerts_of(percentile: float) -> list[dict]:
    limits = {"ttft_ms": 2000, "itl_ms": None, "percentile": percentile}
    scenario = Scenario.model_validate(case(LLAMA_8B, "h100_sxm", "vllm", limits=limits))
    (rule,) = yaml.safe_load_all(manifests(Answer.of(scenario, analytic_plan))["prometheus-rules.yaml"])
    return [one for group in rule["spec"]["groups"] for one in group["rules"] if "alert" in one]


def test_alerts_that_no_traffic_can_reach_are_left_out():
    """A median may be missed by half of the requests: twice that is all of them."""
    assert [one["labels"]["long_window"] for one in alerts_of(50)] == ["3d"]
    assert len(alerts_of(99)) == 4


def test_the_edge_at_which_a_limit_is_judged_is_named():
    (first, *_) = alerts_of(95)
    assert "judged at 2.5 s" in first["annotations"]["description"]
    assert 'le="2.5"' in written("vllm")["prometheus-rules.yaml"]
