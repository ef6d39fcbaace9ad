"""Warnings about the kind of hardware: what stands in the facts is said with every plan on it."""

import dataclasses

import pytest

from sizing.base.format import usd
from sizing.catalog import gpus, systems
from sizing.planning.rules_hardware import about_kind
from sizing.prices.hardware import HardwareOption, options
from sizing.scenario.prices import Prices
from tests.sizing.asking import LLAMA_8B, LLAMA_70B, ask


def option_of(gpu_id: str, location: str = "on_prem") -> HardwareOption:
    return options(gpus()[gpu_id], location, Prices())[0]


def said(gpu_id: str, location: str = "on_prem") -> dict[str, str]:
    return {warning.code: warning.message for warning in about_kind(option_of(gpu_id, location))}


def codes(plan: object) -> set[str]:
    return {warning.code for warning in plan.warnings}


@pytest.mark.parametrize("gpu_id", [gpu.id for gpu in gpus().values() if gpu.consumer])
@pytest.mark.parametrize("location", ["on_prem", "cloud"])
def test_a_card_for_players_says_what_its_licence_does_not_allow(gpu_id: str, location: str) -> None:
    assert "licence of its driver does not allow" in said(gpu_id, location)["consumer_card"]


@pytest.mark.parametrize("gpu_id", [gpu.id for gpu in gpus().values() if gpu.status == "preliminary"])
def test_a_preliminary_product_says_that_nobody_has_measured_it(gpu_id: str) -> None:
    assert "announced, not sold" in said(gpu_id)["preliminary_hardware"]


def test_systems_cooled_by_liquid_and_racks_above_forty_kilowatts_say_so() -> None:
    for system in (one for one in systems().values() if one.cooling == "liquid"):
        assert "liquid" in said(system.gpu_id)["liquid_cooling"], system.id
    assert "155 kW in one rack" in said("gb300")["rack_power"]
    assert "132 kW in one rack" in said("gb200")["rack_power"]
    assert "rack_power" not in said("mi355x")  # 8 x 1.4 kW x 1.82 = 20.4 kW
    assert not {"liquid_cooling", "rack_power"} & set(said("h100_sxm"))


def test_what_a_provider_cools_and_orders_is_no_concern_of_who_rents_it() -> None:
    assert said("gb200", "cloud") == {}
    assert said("h100_sxm", "cloud") == {}


def test_lead_times_are_told_with_what_contradicts_them() -> None:
    assert "36 to 52 weeks" in said("h100_sxm")["lead_time"]
    assert "widely available" in said("h100_sxm")["lead_time"]
    assert "allocated through the second half of 2027" in said("b200_sxm")["lead_time"]
    assert "second quarter of 2027" in said("mi455x")["lead_time"]
    assert "lead_time" not in said("l40s")


def test_a_workstation_is_called_one() -> None:
    assert "stands in no rack" in said("rtx_pro_6000_workstation")["workstation_only"]
    assert "workstation_only" not in said("rtx_pro_6000_server")


def test_nothing_is_said_of_an_accelerator_of_ones_own() -> None:
    own = dataclasses.replace(option_of("h100_sxm"), gpu_id="my_card")
    assert list(about_kind(own)) == []


def test_a_price_on_another_basis_than_the_others_is_said_with_the_answer() -> None:
    alone = ask(LLAMA_70B, deployment={"gpus": ["mi355x"]})
    (warning,) = (w for w in alone.warnings if w.code == "price_basis")
    assert "rests on an average selling price, not on what a seller asks. Sellers ask" in warning.message
    beside = ask(LLAMA_70B, deployment={"gpus": ["mi355x", "t4"]})
    (warning,) = (w for w in beside.warnings if w.code == "price_basis")
    assert "while other GPUs are compared at retail and list prices" in warning.message
    assert "price_basis" not in codes(ask(LLAMA_70B, deployment={"gpus": ["h100_sxm"]}))
    assert alone.cost.price_basis == "asp"


def test_an_instance_of_one_gpu_hears_nothing_of_links() -> None:
    """A model above 13 billion parameters on one card: there is nothing for a link to join."""
    one = ask({"name": "32B", "params_b": 32}, deployment={"gpus": ["rtx_pro_6000_server"], "tp": [1], "pp": [1]})
    assert one.deployment.tp * one.deployment.pp * one.deployment.dp == 1
    assert not {code for code in codes(one) if code in ("large_model_on_pcie", "tp_without_nvlink", "tp_beyond_bridge")}
    several = ask(LLAMA_70B, deployment={"gpus": ["l40s"]}, workload={"peak_rps": 1})
    assert "large_model_on_pcie" in codes(several)


def test_what_is_assumed_is_called_what_it_is() -> None:
    for gpu_id, what in (("rtx_4090", "workstation that is assumed"), ("a30", "an 8-GPU server that is assumed")):
        plan = ask(
            LLAMA_8B, workload={"peak_rps": 1}, deployment={"gpus": [gpu_id], "precisions": ["fp16", "int4_awq"]}
        )
        (warning,) = (w for w in plan.warnings if w.code == "system_assumed")
        assert what in warning.message


def test_no_plan_on_a_card_for_players_buys_a_server_of_eight() -> None:
    plan = ask(LLAMA_8B, workload={"peak_rps": 40}, deployment={"gpus": ["rtx_4090"]})
    assert plan.deployment.gpus > 4
    assert plan.deployment.gpus_bought <= 4 * plan.deployment.systems
    assert "workstation" in plan.deployment.system
    assert "consumer_card" in codes(plan)


@pytest.mark.parametrize(
    ("location", "purchase", "hours", "told"),
    [
        ("cloud", "on_demand", 8.0, True),
        ("cloud", "spot", 12.0, True),
        ("cloud", "on_demand", 24.0, False),
        ("cloud", "reserved_1y", 8.0, False),
        ("on_prem", "on_demand", 8.0, False),
    ],
)
def test_a_batch_that_pays_for_more_than_its_window_is_told_what_the_window_costs(
    location: str, purchase: str, hours: float, told: bool
) -> None:
    found = ask(
        LLAMA_8B,
        workload={"peak_rps": None, "batch": {"documents_per_month": 1e6, "hours_per_day": hours}},
        deployment={"location": location, "gpus": ["h100_sxm"]},
        costs={"purchase": purchase},
    )
    assert ("batch_window" in codes(found)) is told
    if told:
        month, window = (
            found.cost.usd_per_hour * hours * 365 / 12,
            next(w.message for w in found.warnings if w.code == "batch_window"),
        )
        assert usd(month) in window
