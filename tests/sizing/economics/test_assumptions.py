"""Constants of the cost model: each has a source in the data, was chosen, or is said to be a gap."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from sizing.catalog.files import read_yaml
from sizing.cli import main
from sizing.economics.assumptions import FILE, SPOT, Assumption, assumptions_for, used_in
from sizing.economics.dates import age_of, first_and_last_day
from sizing.scenario.costs import Costs
from tests.sizing.asking import raw

EVERY = assumptions_for(Costs())

MEASURED = {"limits": {"ttft_ms": 3000}, "measured": {"system": "dgx_h100", "rps_per_system": 2.4, "ttft_ms": 2606}}
CONTRACT = {"differences", "scenarios"}


@pytest.mark.parametrize("one", EVERY.values(), ids=lambda one: one.name)
def test_every_constant_can_be_given_and_says_where_it_comes_from(one: Assumption) -> None:
    assert one.name in Costs.model_fields
    assert one.meaning.endswith(".")
    assert one.unit
    assert one.source
    if one.basis == "gap":
        assert one.amount is None or one.amount.value == 0
    else:
        assert one.date
        assert 0 <= one.amount.low <= one.amount.value <= one.amount.high


def test_what_the_scenario_gives_has_no_range() -> None:
    given = assumptions_for(Costs(pue=1.3))["pue"]
    assert given.basis == "scenario"
    assert (given.amount.low, given.amount.high) == (1.3, 1.3)


@pytest.mark.parametrize("region", read_yaml(FILE)["regions"])
def test_every_region_has_a_price_of_electricity(region: str) -> None:
    every = assumptions_for(Costs(region=region))
    assert 0.05 < every.amount("electricity_usd_per_kwh").value < 0.5
    assert every["carbon_g_per_kwh"].amount is not None or "carbon" not in read_yaml(FILE)["regions"][region]


def test_constants_that_a_way_rests_on() -> None:
    assert "electricity_usd_per_kwh" not in used_in("cloud", Costs())
    assert set(SPOT) | {"spot_without_capacity_percent"} <= set(used_in("cloud", Costs(purchase="spot")))
    assert not set(SPOT) & set(used_in("cloud", Costs()))
    assert "colocation_usd_per_kw_month" in used_in("on_prem", Costs(facility="colocation"))
    assert "reserved_3y_discount_percent" in used_in("hybrid", Costs(hybrid_base="reserved_3y"))
    assert "burst_start_up_minutes" in used_in("hybrid", Costs())
    assert "burst_start_up_minutes" not in used_in("cloud", Costs())
    assert set(used_in("on_prem", Costs())) <= set(EVERY)


@pytest.mark.parametrize(
    ("written", "first", "last"),
    [
        ("2026-07-20", date(2026, 7, 20), date(2026, 7, 20)),
        ("2026-02", date(2026, 2, 1), date(2026, 2, 28)),
        ("Q2 2025", date(2025, 4, 1), date(2025, 6, 30)),
        ("mid-2026", date(2026, 5, 1), date(2026, 8, 31)),
        ("late 2023", date(2023, 9, 1), date(2023, 12, 31)),
        ("2024-2026", date(2024, 1, 1), date(2026, 12, 31)),
    ],
)
def test_dates_as_sources_write_them(written: str, first: date, last: date) -> None:
    assert first_and_last_day(written) == (first, last)


def test_age_of_a_price() -> None:
    on = date(2026, 11, 20)
    assert age_of(["2026-08-23"], on) == "fresh"
    assert age_of(["2026-08-21"], on) == "stale"
    assert age_of(["2026"], on) == "unclear"
    assert age_of(["2026-11-01", "2024"], on) == "stale"
    assert age_of(["undated (read 2026-11-20)"], on) == "undated"
    assert age_of([], on) == "undated"


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
