"""A measured record replaces the prediction."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizing.base.errors import InvalidScenario
from sizing.catalog import systems
from tests.sizing.asking import LLAMA_8B, ask

RECORD = {"system": "dgx_h100", "rps_per_system": 2.4, "ttft_ms": 2606, "itl_ms": 21.4}
LOOSE = {"ttft_ms": 3000}


def measured(record=RECORD, **sections):
    return ask(LLAMA_8B, **{"limits": LOOSE, "measured": record, **sections})


@given(peak=st.floats(0.01, 1e4), rate=st.floats(0.01, 1e3))
def test_systems_are_the_peak_over_the_measured_rate(peak, rate):
    found = measured({**RECORD, "rps_per_system": rate}, workload={"peak_rps": peak})
    assert found.deployment.systems == max(math.ceil(peak / rate - 1e-9), 1)
    assert found.deployment.gpus_bought == 8 * found.deployment.systems
    assert found.gpus_low <= found.deployment.gpus_bought <= found.gpus_high


def test_latencies_are_those_measured_at_every_percentile():
    latency = measured().latency
    assert latency.ttft_ms.at(50) == latency.ttft_ms.at(99) == 2606
    assert latency.itl_ms.at_percentile == 21.4
    assert latency.e2e_ms.at_percentile == pytest.approx(2606 + 499 * 21.4)
    assert latency.ttft_ms.low < 2606 < latency.ttft_ms.high


def test_what_was_not_measured_stays_unknown():
    found = measured({"system": "dgx_h100", "rps_per_system": 2.4})
    assert found.feasible
    assert (
        found.latency.ttft_ms.at_percentile
        is found.latency.itl_ms.at_percentile
        is found.latency.e2e_ms.at_percentile
        is None
    )
    assert "TTFT" not in found.answer


def test_a_system_may_be_named_as_it_is_sold():
    assert measured({**RECORD, "system": systems()["dgx_h100"].name}).deployment == measured().deployment


def test_an_unknown_system_names_the_nearest():
    with pytest.raises(InvalidScenario, match=r"measured\.system: Unknown system “dgx_h10”\. Did you mean dgx_h100"):
        measured({**RECORD, "system": "dgx_h10"})


@pytest.mark.parametrize(("limit", "value"), [("ttft_ms", 2000), ("itl_ms", 20), ("e2e_ms", 10_000)])
def test_a_missed_limit_is_infeasible_with_the_reason(limit, value):
    found = measured(limits={**LOOSE, limit: value})
    assert not found.feasible
    assert found.excluded[0].gpu == "h100_sxm"
    assert found.warnings[0].severity == "error"


def test_sequential_use_ignores_the_first_token():
    assert measured(limits={"ttft_ms": 100, "e2e_ms": 60_000}, workload={"mode": "sequential"}).feasible


def test_offline_use_has_no_limit():
    assert measured(limits={"ttft_ms": 1, "itl_ms": 1, "e2e_ms": 1}, workload={"mode": "offline"}).feasible


@pytest.mark.parametrize("cap", [0.5, 0.8, 1.0])
def test_the_utilisation_cap_applies(cap):
    found = measured(deployment={"max_utilization": cap})
    assert found.deployment.systems == math.ceil(31 / (2.4 * cap))


@pytest.mark.parametrize("spares", [0, 1, 5])
def test_spares_are_added(spares):
    assert measured(deployment={"spare_instances": spares}).deployment.systems == 13 + spares


def test_a_split_of_the_system_is_shown():
    found = measured(deployment={"tp": [2]})
    assert (found.deployment.tp, found.deployment.instances) == (2, 52)
    assert any("4 instances of TP2" in a for a in found.assumptions)


def test_the_source_of_the_record_is_on_the_answer():
    found = measured({**RECORD, "source": "GenAI-Perf, 3 March"})
    assert "GenAI-Perf, 3 March" in found.source
    assert "as measured" in found.answer


@pytest.mark.parametrize("location", ["on_prem", "cloud", "hybrid"])
def test_a_record_can_be_priced_anywhere(location):
    found = measured(deployment={"location": location})
    assert found.deployment.gpus_bought >= 104
    assert found.cost.hardware_usd_per_month > 0
