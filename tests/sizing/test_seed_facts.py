"""The worked examples of the NVIDIA decks that the product must reproduce (../shared/data/seed_facts.md), by row."""

import numpy as np
import pytest

from sizing import Scenario
from sizing.base.constants import constant
from sizing.catalog import gpus, systems
from sizing.catalog.engines import engines
from sizing.catalog.precisions import precisions
from sizing.deployments.candidates import table
from sizing.prices.packing import systems_needed
from sizing.question.configuration import Configuration
from sizing.question.traffic import Traffic
from sizing.scenario.lengths import WORDS_PER_TOKEN
from sizing.scenario.schema import Limits
from sizing.steps.efficiency import efficiencies
from sizing.steps.roofline import Roofline
from tests.sizing.asking import LLAMA_8B, LLAMA_70B, ask, model_named

NEMO = {"name": "NeMo 43B GPT", "params_b": 43}
NEMO_RECORD = {"system": "dgx_h100", "rps_per_system": 2.4, "ttft_ms": 2606, "itl_ms": 21.4}
LLAMA_RECORD = {"system": "dgx_h100", "rps_per_system": 70.7, "ttft_ms": 489.5, "itl_ms": 29.9}


def the_customer(**changes):
    return ask(NEMO, **{"limits": {"ttft_ms": 3000}, "measured": NEMO_RECORD, **changes})


def test_row_1_thirteen_dgx_h100_for_the_43b_customer():
    found = the_customer()
    assert found.feasible
    assert found.deployment.system == systems()["dgx_h100"].name
    assert found.deployment.systems == 13  # ceil(31 / 2.4)
    assert found.deployment.gpus_bought == 104
    assert found.answer.startswith("13 x ")


def test_row_1_generation_takes_10_7_s_and_e2e_adds_ttft():
    latency = the_customer().latency
    generation = latency.e2e_ms.at_percentile - latency.ttft_ms.at_percentile
    assert generation == pytest.approx(21.4 * 500, rel=0.005)  # 10.7 s to three digits
    assert latency.e2e_ms.at_percentile == pytest.approx(2606 + 10_700, rel=0.005)


def test_row_1_a_record_that_misses_the_limit_is_not_an_answer():
    found = the_customer(limits={"ttft_ms": 2000})
    assert not found.feasible
    assert "2.61 s" in found.answer
    assert "limit 2 s" in found.answer


@pytest.mark.parametrize(("row", "mean", "peak", "above"), [(2, 64, 77, 0.20), (3, 7, 12, 0.71)])
def test_rows_2_and_3_poisson_peak_at_the_95th_percentile(row, mean, peak, above):
    found = ask(workload={"peak_rps": None, "average_rps": mean, "peak_percentile": 95})
    assert found.peak_rps == peak
    assert found.peak_rps / mean - 1 == pytest.approx(above, abs=0.005)


def test_row_4_requests_and_users_a_day_from_the_measured_record():
    found = ask(
        LLAMA_8B,
        workload={"input_tokens": 2000, "output_tokens": 200, "peak_rps": 70.7},
        limits={"ttft_ms": 500, "itl_ms": 200},
        measured=LLAMA_RECORD,
    )
    assert found.feasible
    assert found.deployment.systems == 1
    assert found.business.requests_per_day == pytest.approx(70.7 * 3600 * 8)
    assert found.business.requests_per_day == pytest.approx(2.04e6, rel=0.005)
    assert found.business.daily_users == pytest.approx(679e3, rel=0.005)
    assert found.business.input_tokens_per_day == pytest.approx(4.07e9, rel=0.005)
    assert found.business.output_tokens_per_day == pytest.approx(407e6, rel=0.005)


def llama_70b_tp4_batch_8():
    """Step times of row 5 with the software of the deck's time: (prefill of 8 prompts, decode step of 8) in seconds."""
    row = Configuration(
        gpu=gpus()["h100_sxm"], engine=engines()["trtllm"], precision=precisions()["fp16"], kv_precision="fp16", tp=4
    )
    one = table([row])
    traffic = Traffic(input_tokens=3500, output_tokens=2)
    roofline = Roofline(efficiencies(), software_year=2024.0)
    times = roofline.times(model_named(LLAMA_70B), one, traffic, np.array([[8.0]]))
    return float(times.prefill_s[0] + 7 * times.prefill_work_s[0]), float(times.decode_s[0, 0])


def test_row_5_the_roofline_is_near_the_measured_70b():
    prefill, decode = llama_70b_tp4_batch_8()
    assert prefill == pytest.approx(2.6, rel=0.35)
    assert decode == pytest.approx(26.8e-3, rel=0.35)


def test_row_5_a_prompt_of_3500_tokens_costs_about_99_generated_ones():
    prefill, decode = llama_70b_tp4_batch_8()
    assert prefill / decode == pytest.approx(99, rel=0.35)


@pytest.mark.parametrize(("tp", "instances"), [(1, 8), (2, 4), (4, 2), (8, 1)])
def test_row_6_instances_times_tp_fill_an_8_gpu_server(tp, instances):
    assert systems_needed([instances, instances + 1], tp, 8).tolist() == [1, 2]
    found = ask(LLAMA_8B, deployment={"gpus": ["h100_sxm"], "tp": [tp], "pp": [1]}, workload={"peak_rps": 0.1})
    spares = ask(
        LLAMA_8B,
        workload={"peak_rps": 0.1},
        deployment={"gpus": ["h100_sxm"], "tp": [tp], "pp": [1], "spare_instances": instances - 1},
    )
    assert found.deployment.systems == spares.deployment.systems == 1
    assert spares.deployment.instances * tp == spares.deployment.gpus == 8


@pytest.mark.parametrize("gpu", ["a100_pcie_80g", "a10", "a30", "h100_pcie"])
def test_row_6_pcie_cards_without_a_catalogued_server_are_normalised_to_8_gpu_servers(gpu):
    found = ask(LLAMA_8B, deployment={"gpus": [gpu]}, workload={"peak_rps": 1})
    assert found.deployment.gpus_bought == 8 * found.deployment.systems


def test_row_7_words_and_tokens():
    assert WORDS_PER_TOKEN == 0.75
    assert constant("fast_reading_ms_per_token") == 90
    assert constant("average_reading_ms_per_token") == 200


def test_row_8_llama_8b_weights_are_16_gb_and_fit_beside_a_kv_cache_on_an_80_gb_h100():
    found = ask(LLAMA_8B, deployment={"gpus": ["h100_sxm"], "precisions": ["bf16"], "tp": [1], "pp": [1]})
    assert found.per_instance.weights_gb == pytest.approx(16, rel=0.02)
    assert found.per_instance.kv_gb > 40


@pytest.mark.parametrize(("use", "itl_ms"), [("reading speed", 250), ("data output", 35)])
def test_row_9_tpot_limits_hold_at_the_99th_percentile(use, itl_ms):
    found = ask(limits={"itl_ms": itl_ms, "percentile": 99}, deployment={"gpus": ["h100_sxm"]})
    assert found.feasible
    assert found.latency.itl_ms.at(99) <= itl_ms * (1 + 1e-9)
    assert found.latency.itl_ms.at_percentile == found.latency.itl_ms.at(99)


def codes(found):
    return {w.code for w in found.warnings}


def test_row_10_above_13_billion_nvlink_is_preferred_to_pcie():
    assert "large_model_on_pcie" in codes(ask(LLAMA_70B, deployment={"gpus": ["l40s"]}, workload={"peak_rps": 1}))
    assert "large_model_on_pcie" not in codes(ask(LLAMA_70B, deployment={"gpus": ["h100_sxm"]}))
    assert "large_model_on_pcie" not in codes(ask(LLAMA_8B, deployment={"gpus": ["l40s"]}))


def test_row_10_above_tp2_nvlink_is_strongly_preferred():
    on_pcie = ask(LLAMA_70B, deployment={"gpus": ["l40s"], "tp": [4, 8]}, workload={"peak_rps": 1})
    assert "tp_without_nvlink" in codes(on_pcie)
    assert "tp_without_nvlink" not in codes(ask(LLAMA_70B, deployment={"gpus": ["h100_sxm"], "tp": [4]}))
    assert "tp_without_nvlink" not in codes(ask(LLAMA_8B, deployment={"gpus": ["l40s"], "tp": [2]}))


def test_row_10_llama_70b_at_16_bit_needs_at_least_tp2():
    alone = ask(LLAMA_70B, deployment={"gpus": ["h100_sxm"], "precisions": ["fp16"], "tp": [1], "pp": [1]})
    assert not alone.feasible
    assert "GB" in alone.excluded[0].reason
    needed = 70.6e9 * 2
    assert gpus()["h100_sxm"].memory_bytes < needed < 2 * gpus()["h100_sxm"].memory_bytes


def test_row_10_streaming_only_ttft_matters_below_reading_speed():
    relaxed = ask(limits={"ttft_ms": 3000, "itl_ms": 90}, deployment={"gpus": ["h100_sxm"]})
    assert not codes(relaxed) & {"slower_than_reading", "slower_than_fast_reading"}
    slow = ask(limits={"ttft_ms": 60_000, "itl_ms": None}, deployment={"gpus": ["t4"], "max_utilization": 1.0})
    assert (slow.latency.itl_ms.at_percentile > 90) == bool(
        codes(slow) & {"slower_than_reading", "slower_than_fast_reading"}
    )


def test_row_10_sequential_only_e2e_matters():
    limits = {"ttft_ms": 1, "itl_ms": 1, "e2e_ms": 30_000}
    assert ask(workload={"mode": "sequential"}, limits=limits, deployment={"gpus": ["h100_sxm"]}).feasible
    assert not ask(workload={"mode": "streaming"}, limits=limits, deployment={"gpus": ["h100_sxm"]}).feasible


def test_row_10_on_premises_is_priced_per_system_cloud_per_hour():
    bought = ask(deployment={"gpus": ["h100_sxm"], "location": "on_prem"})
    rented = ask(deployment={"gpus": ["h100_sxm"], "location": "cloud"})
    hybrid = ask(deployment={"gpus": ["h100_sxm"], "location": "hybrid"})
    assert bought.cost.purchase_usd is not None
    assert rented.cost.purchase_usd is None
    assert rented.cost.usd_per_hour > 0
    assert any("ybrid" in a for a in hybrid.assumptions)


def test_row_11_the_six_questions_are_a_scenario():
    six = {
        "model": LLAMA_8B,
        "workload": {"input_tokens": 3500, "output_tokens": 500, "peak_rps": 31},
        "limits": {"ttft_ms": 3000, "e2e_ms": 20_000},
        "deployment": {"gpus": ["h100_sxm"]},
    }
    asked = Scenario.model_validate(six)
    assert asked.workload.mode == "streaming"
    assert asked.limits.percentile == 95
    assert set(Limits.model_fields) >= {"ttft_ms", "itl_ms", "e2e_ms"}
