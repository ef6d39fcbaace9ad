"""Bad input to ``cost`` and ``compare``: exit code 2 and one clear line, never a traceback."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from sizing.cli import main
from tests.sizing.asking import raw

MEASURED = {"limits": {"ttft_ms": 3000}, "measured": {"system": "dgx_h100", "rps_per_system": 2.4, "ttft_ms": 2606}}
CONTRACT = {"differences", "scenarios"}


def scenario(**more: Any) -> dict[str, Any]:
    return raw({"name": "NeMo 43B GPT", "params_b": 43}, **(MEASURED | more))


def written(folder: Path, name: str, keys: dict[str, Any]) -> str:
    path = folder / name
    path.write_text(yaml.safe_dump(keys))
    return str(path)


@pytest.mark.parametrize(
    ("bad", "names"),
    [
        ({"prices": {"system": "dgx_h100", "system_usd": -1}}, "system_usd"),
        ({"prices": {"system_usd": "much"}}, "system_usd"),
        ({"prices": {"system": "no such server", "system_usd": 1}}, "no such server"),
        ({"costs": {"electricity_usd_per_kwh": -0.1}}, "electricity_usd_per_kwh"),
        ({"costs": {"power_utilization": -1}}, "power_utilization"),
        ({"costs": {"growth_percent_per_year": 1e12}}, "growth"),
        ({"costs": {"region": "atlantis"}}, "atlantis"),
        ({"deployment": {"max_utilization": 0}}, "max_utilization"),
    ],
)
@pytest.mark.parametrize("command", ["cost", "compare"])
def test_what_cannot_be_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, bad: dict[str, Any], names: str
) -> None:
    good, wrong = written(tmp_path, "good.yaml", scenario()), written(tmp_path, "bad.yaml", scenario(**bad))
    paths = [wrong] if command == "cost" else [good, wrong]
    assert main([command, *paths, "--json"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert names in captured.err
    assert len(captured.err.strip().splitlines()) == 1
    assert "Traceback" not in captured.err


def test_json_of_a_comparison_has_every_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = scenario(name="one"), scenario(name="other", prices={"depreciation_years": 3})
    assert main(["compare", written(tmp_path, "a.yaml", one), written(tmp_path, "b.yaml", other), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer.keys() >= CONTRACT
    assert [entry["name"] for entry in answer["scenarios"]] == ["one", "other"]
    assert answer["differences"][0]["key"] == "prices.depreciation_years"
