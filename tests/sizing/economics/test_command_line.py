"""``cost`` and ``plan --check`` as a user or a pipeline runs them."""

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from sizing.cli import main
from sizing.economics.allowance import Allowance
from tests.sizing.asking import raw

ROOT = Path(__file__).parents[3]

SCENARIO = raw(
    {"name": "NeMo 43B GPT", "params_b": 43},
    limits={"ttft_ms": 3000},
    measured={"system": "dgx_h100", "rps_per_system": 2.4, "ttft_ms": 2606, "itl_ms": 21.4},
)
"""A measured record: 13 systems of 8 GPUs, and nothing is simulated."""

CONTRACT = {
    "usd_per_month",
    "low",
    "high",
    "parts",
    "cash",
    "usd_per_million_output_tokens",
    "break_even",
    "lens",
    "sources",
}


def written(folder: Path, name: str, keys: Any) -> str:
    path = folder / name
    path.write_text(yaml.safe_dump(keys))
    return str(path)


def test_json_of_a_cost_has_every_key_of_the_contract(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", written(tmp_path, "a.yaml", SCENARIO), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer.keys() >= CONTRACT
    assert answer["lens"] == "allocated"
    assert len(answer["cash"]) == 36
    assert math.fsum(answer["parts"].values()) == answer["usd_per_month"]
    assert answer["low"] <= answer["usd_per_month"] <= answer["high"]
    assert all(source.keys() >= {"source", "date"} for source in answer["sources"])


def test_a_cost_as_text_and_as_markdown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, "a.yaml", SCENARIO)
    assert main(["cost", path, "--on", "2026-11-22"]) == 0
    assert "a month" in capsys.readouterr().out
    assert main(["cost", path, "--md"]) == 0
    assert "| Part | USD a month |" in capsys.readouterr().out


@pytest.mark.parametrize(("gpus", "code"), [(104, 0), (96, 1)])
def test_a_plan_is_held_against_what_is_allowed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], gpus: int, code: int
) -> None:
    allowed = written(tmp_path, "limits.yaml", {"gpus": gpus, "usd_per_month": 1e9})
    assert main(["plan", written(tmp_path, "a.yaml", SCENARIO), "--check", allowed]) == code
    out = capsys.readouterr().out
    assert f"| gpus | {gpus} | 104 | {104 - gpus:+} |" in out
    assert "| usd_per_month | 1,000,000,000.00 | " in out
    assert ("exceeded" in out) == bool(code)


def test_money_beyond_what_is_allowed_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    allowed = written(tmp_path, "limits.yaml", {"usd_per_month": 1})
    assert main(["plan", written(tmp_path, "a.yaml", SCENARIO), "--check", allowed, "--json"]) == 1
    checked = json.loads(capsys.readouterr().out)
    assert checked["kept"] is False
    assert [line["name"] for line in checked["lines"]] == ["usd_per_month"]


def test_a_plan_that_nothing_serves_is_more_than_is_allowed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenario = written(tmp_path, "a.yaml", raw(limits={"ttft_ms": 0.001}, deployment={"gpus": ["l4"]}))
    assert main(["plan", scenario, "--analytic", "--check", written(tmp_path, "b.yaml", {"gpus": 1000})]) == 1
    assert "Nothing serves the scenario" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({}, "give at least one of gpus"),
        ({"gpus": None, "systems": None}, "give at least one of gpus"),
        ([8], "must hold keys such as gpus and usd_per_month: it is a list"),
        ({"gpu": 8}, "gpu: unknown key. Known: gpus"),
        ({"gpus": -1}, "gpus: must be at least 0"),
        ({"usd_per_month": "much"}, "usd_per_month: must be a number"),
    ],
)
def test_limits_that_cannot_be_read_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], limits: Any, words: str
) -> None:
    path = written(tmp_path, "limits.yaml", limits)
    assert main(["plan", written(tmp_path, "a.yaml", SCENARIO), "--check", path]) == 2
    (problem,) = capsys.readouterr().err.splitlines()
    assert words in problem


def test_every_key_of_the_limits_stands_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    example = next(block for block in readme.split("```") if "usd_per_million_output_tokens:" in block)
    named = set(re.findall(r"([a-z_]+):", example))
    assert named == set(Allowance.model_fields)


def test_limits_that_cannot_be_read_cost_no_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sizing.planning.plan.plan", lambda *_, **__: pytest.fail("it was planned first"))
    path = written(tmp_path, "limits.yaml", {"gpu": 8})
    assert main(["plan", written(tmp_path, "a.yaml", SCENARIO), "--check", path]) == 2


def test_a_day_that_is_none_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        main(["cost", written(tmp_path, "a.yaml", SCENARIO), "--on", "tomorrow"])
    assert refused.value.code == 2
    assert "must be a day such as 2026-11-30" in capsys.readouterr().err
