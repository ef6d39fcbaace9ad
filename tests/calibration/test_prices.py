"""``make prices``: a recorded map becomes rows, malformed rows are refused, and nothing is written unless told."""

import csv
import json
import sys
import zipfile
from datetime import date
from pathlib import Path
from types import SimpleNamespace

import pytest

from calibration.prices import __main__ as command
from calibration.prices import hunted, wheel
from calibration.prices.api_map import offers
from calibration.prices.api_rows import api_rows
from calibration.prices.cloud_rows import HuntedOffer, edition, renewed
from calibration.prices.difference import changes, table
from sizing.catalog import models
from sizing.catalog.files import read_rows, read_yaml

RECORDED = json.loads(Path(__file__).with_name("litellm_map.json").read_text())
"""Entries of litellm 1.110.2, shortened to what is read of them."""

DAY = "2026-11-25"


def rows(entries=RECORDED):
    return {row["model"]: row for row in api_rows(offers(entries)[0], "1.110.2", DAY)}


def packed(folder: Path, entries: object) -> Path:
    path = folder / "litellm-1.110.2-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(wheel.MAP_FILE, json.dumps(entries))
    return path


@pytest.mark.parametrize(
    ("offer", "model", "use"),
    [
        ("ovhcloud/Qwen3-32B", "Qwen/Qwen3-32B", "yes"),
        ("qwen.qwen3-32b-v1:0", "Qwen/Qwen3-32B", "yes"),
        ("empiriolabs/glm-5-1", "zai-org/GLM-5.1", "yes"),
        ("mistral/mistral-large-2512", "mistralai/Mistral-Large-3-675B-Instruct-2512", "yes"),
        ("deepinfra/mistralai/Mixtral-8x7B-Instruct-v0.1", "mistralai/Mixtral-8x7B-v0.1", "yes"),
        ("azure_ai/deepseek-v3.2-speciale", "deepseek-ai/DeepSeek-V3.2", "check"),
        ("anyscale/mistralai/Mixtral-8x7B-Instruct-v0.1", "mistralai/Mixtral-8x7B-v0.1", "check"),
        ("fireworks_ai/accounts/fireworks/models/ernie-4p5-300b-a47b-pt", "baidu/ERNIE-4.5-300B-A47B-PT", "check"),
        ("lambda_ai/llama3.1-8b-instruct", "meta-llama/Meta-Llama-3.1-8B", "no"),
        ("gpt-5", "", "check"),
    ],
)
def test_an_offer_prices_the_model_of_its_own_name(offer, model, use):
    row = rows()[offer]
    assert (row["catalogue_model"], row["use"]) == (model, use)
    assert row["use_note"] or use == "yes"
    assert (row["date"], "litellm 1.110.2" in row["source"]) == (DAY, True)


def test_prices_are_per_million_tokens_and_nothing_else_is_taken():
    row = rows()["ovhcloud/Qwen3-32B"]
    assert (row["input_usd_per_mtok"], row["output_usd_per_mtok"]) == ("0.08", "0.23")
    assert set(rows()) & {"sample_spec", "elevenlabs/eleven_v4", "gpt-4o-audio-preview-2024-12-17"} == set()


def test_what_is_retired_on_the_day_is_left_out():
    assert RECORDED["cerebras/llama3.1-8b"]["deprecation_date"] <= DAY
    assert "cerebras/llama3.1-8b" not in rows()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"input_cost_per_token": -1e-7}, "its price is below zero"),
        ({"output_cost_per_token": "cheap"}, "its price is not a number"),
        ({"output_cost_per_token": float("nan")}, "its price is not a number"),
        ({"input_cost_per_token": 0.08}, "its price is out of range"),
        ({"cache_read_input_token_cost": -1.0}, "its price is below zero"),
        ({"litellm_provider": ""}, "it names no provider"),
        ({"deprecation_date": "soon"}, "its date is none of the calendar"),
    ],
)
def test_a_malformed_entry_is_refused_by_name_and_reason(change, said):
    name = "ovhcloud/Qwen3-32B"
    kept, refused = offers({name: RECORDED[name] | change, "deepinfra": RECORDED["deepinfra/Qwen/Qwen3-32B"]})
    assert [offer.model for offer in kept] == ["deepinfra"]
    assert [one.sentence.startswith(f"{name}: refused, {said}") for one in refused] == [True]


def test_an_entry_without_a_price_holds_a_place_and_is_no_fault():
    free = RECORDED["ovhcloud/Qwen3-32B"] | {"input_cost_per_token": 0}
    assert offers({"free": free, "unpriced": {"mode": "chat"}, "text": "no entry"}) == ([], [])


def test_the_table_shows_new_gone_and_moved_prices_the_largest_first():
    old = [dict(row) for row in rows().values()]
    old[0]["output_usd_per_mtok"] = "1000"
    new = [row for row in rows().values() if row["model"] != "gpt-5"]
    found = changes(command.API, [row for row in old if row["model"] != "empiriolabs/glm-5-1"], new)
    assert [(c.kind, c.row.split()[-1]) for c in found] == [
        ("price", old[0]["model"]),
        ("new", "empiriolabs/glm-5-1"),
        ("gone", "gpt-5"),
    ]
    assert "-> " in table(command.API, found)
    assert "price: 1\n" in table(command.API, found)
    assert table(command.API, []) == "api_prices.csv: nothing has changed."


def test_nothing_is_written_unless_told(tmp_path, monkeypatch, capsys):
    kept = []
    monkeypatch.setattr(command, "keep", kept.append)
    path = packed(tmp_path, RECORDED)
    assert command.main(["--only", "api", "--wheel", str(path)]) == 0
    assert "api_prices.csv is as it was: --keep writes it." in capsys.readouterr().out
    assert not kept
    assert command.main(["--only", "api", "--wheel", str(path), "--keep"]) == 0
    assert [len(one.rows) for one in kept] == [len(rows())]


def test_what_is_kept_is_read_again_as_it_was(tmp_path, monkeypatch):
    path = packed(tmp_path, RECORDED)
    renewed_file = command.api_offers(path, date.fromisoformat(DAY))
    command.keep(renewed_file, tmp_path)
    with (tmp_path / "api_prices.csv").open(newline="", encoding="utf-8") as handle:
        assert list(csv.DictReader(handle)) == renewed_file.rows
    assert list(read_rows("api_prices.csv")[0]) == list(renewed_file.rows[0])


@pytest.mark.parametrize("entries", [["no", "map"], None])
def test_a_file_that_is_no_map_is_one_sentence(tmp_path, entries, capsys):
    path = packed(tmp_path, entries) if entries else tmp_path / "litellm-1.0-x.whl"
    assert command.main(["--only", "api", "--wheel", str(path)]) == command.FAILED
    assert capsys.readouterr().err.count("\n") == 1


def test_without_a_provider_that_answers_rents_stay(monkeypatch, capsys):
    def offline(provider: str) -> tuple[HuntedOffer, ...]:
        raise hunted.NoCatalogue(f"The catalogue of {provider} could not be fetched: no route.")

    monkeypatch.setattr(hunted, "offers", offline)
    assert command.main(["--only", "cloud"]) == command.FAILED
    assert "No provider of cloud instances could be asked: their rents stay." in capsys.readouterr().err


def test_a_catalogue_gives_instances_with_gpus_and_its_day(monkeypatch):
    def item(**facts):
        machine = {"instance_name": "p5.48xlarge", "location": "us-east-1", "price": 50.0, "spot": False}
        return SimpleNamespace(**(machine | {"gpu_count": 8, "gpu_name": "H100", "gpu_memory": 80.0} | facts))

    class Catalog:
        def __init__(self, auto_reload: bool) -> None:
            assert auto_reload is False

        def _load_provider(self, url, provider, version):
            if provider == "gcp":
                raise OSError("no route")
            items = [item(), item(gpu_count=0, gpu_name=None, gpu_memory=None)]
            return SimpleNamespace(version="20261124-31", items=items)

    internal = SimpleNamespace(CATALOG_URL="https://prices.example")
    monkeypatch.setitem(sys.modules, "gpuhunt", SimpleNamespace(Catalog=Catalog))
    monkeypatch.setitem(sys.modules, "gpuhunt._internal", SimpleNamespace(catalog=internal))
    monkeypatch.setitem(sys.modules, "gpuhunt._internal.catalog", internal)
    assert hunted.offers("aws") == (hunted_offer(),)
    with pytest.raises(hunted.NoCatalogue, match="The catalogue of gcp could not be fetched: no route"):
        hunted.offers("gcp")


LISTED = {
    "provider": "aws",
    "instance_type": "p5.48xlarge",
    "gpu_id": "h100_sxm",
    "gpu_count": "8",
    "region": "us-east-1",
    "on_demand_usd_per_hour": "55.04",
    "spot_usd_per_hour": "",
    "usd_per_gpu_hour": "6.88",
    "date": "2026-07-20",
    "source": "by hand",
    "license": "",
}


def hunted_offer(**change) -> HuntedOffer:
    facts = {
        "provider": "aws",
        "instance": "p5.48xlarge",
        "region": "us-east-1",
        "gpu": "H100",
        "gpus": 8,
        "gpu_memory_gib": 80.0,
        "usd_per_hour": 50.0,
        "spot": False,
        "day": "2026-11-24",
    }
    return HuntedOffer(**(facts | change))


def test_a_listed_instance_gets_the_rent_of_today():
    offers = [hunted_offer(), hunted_offer(spot=True, usd_per_hour=20.0), hunted_offer(instance="p9.new")]
    (row,), refused = renewed([LISTED], offers, date(2026, 11, 25))
    assert not refused
    assert (row["on_demand_usd_per_hour"], row["spot_usd_per_hour"], row["usd_per_gpu_hour"]) == ("50", "20", "6.25")
    assert row["date"] == "2026-11-24"
    assert "gpuhunt" in row["source"]
    assert renewed([LISTED], [], date(2026, 11, 25)) == ([LISTED], [])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"gpu_memory_gib": 16.0}, "unknown_edition"),
        ({"gpus": 4}, "unknown_edition"),
        ({"day": "2027-01-01"}, "future"),
        ({"day": "today"}, "no_date"),
        ({"usd_per_hour": -1.0}, "negative_price"),
        ({"usd_per_hour": float("inf")}, "no_number"),
        ({"usd_per_hour": 50_000.0}, "price_out_of_range"),
    ],
)
def test_a_malformed_rent_is_refused_and_the_old_one_stays(change, reason):
    (row,), refused = renewed([LISTED], [hunted_offer(**change)], date(2026, 11, 25))
    assert row == LISTED
    assert [one.reason for one in refused] == [reason]


def test_the_edition_of_a_gpu_is_told_by_its_memory():
    assert edition("A100", 40.0, "a100_pcie_40g").id == "a100_pcie_40g"
    assert edition("A100", 80.0, "a100_sxm_40g").id == "a100_sxm_80g"
    assert edition("V100", 80.0) is None
    assert edition("no such card", 24.0) is None


def test_every_rule_names_what_the_list_knows():
    listed, rules = read_rows("api_prices.csv"), read_yaml("api_offers.yaml")
    assert set(rules["looked_at"]) <= {row["model"] for row in listed if row["use"] == "yes"}
    assert set(rules["closed"]) <= {row["provider"] for row in listed}
    assert set(rules["names"].values()) <= set(models())
