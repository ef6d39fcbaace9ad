"""Where the numbers of an answer come from: facts on every result, words made of them."""

from typing import Any

import pytest

from sizing import Plan, Scenario, plan
from sizing.base.provenance import Provenance, StepSource
from sizing.planning.analytic import analytic_plan
from sizing.planning.sentences import source_of
from tests.sizing.asking import LLAMA_8B, LLAMA_70B, ask, raw

H100: dict[str, Any] = {"gpus": ["h100_sxm"], "engines": ["vllm"]}


def test_the_sentence_names_the_step_times_and_what_was_simulated() -> None:
    steps = StepSource(kind="roofline", name="roofline 2026")
    assert source_of(Provenance(step_times=steps)) == "roofline 2026"
    simulated = Provenance(step_times=steps, load_model="simulation", requests=12_000)
    assert source_of(simulated) == "roofline 2026; simulated, 12,000 requests"


def of(keys: dict[str, Any], *, simulated: bool) -> Plan:
    scenario = Scenario.model_validate(keys)
    return plan(scenario, alternatives=4) if simulated else analytic_plan(scenario, alternatives=4)


POOLS = raw(LLAMA_70B, limits={"ttft_ms": 3000, "itl_ms": 30}, deployment={**H100, "serving": ["disaggregated"]})


@pytest.mark.parametrize("keys", [raw(LLAMA_8B, deployment=H100), POOLS], ids=["aggregated", "pools"])
@pytest.mark.parametrize("simulated", [False, True], ids=["estimate", "simulated"])
def test_every_result_says_what_its_numbers_come_from(keys: dict[str, Any], simulated: bool) -> None:
    found = of(keys, simulated=simulated)
    assert found.provenance.step_times.kind == "roofline"
    assert found.provenance.load_model == found.decided_by == ("simulation" if simulated else "analytic")
    assert (found.provenance.requests is not None) == simulated
    for one in (*found.alternatives, *found.trade_off):
        assert one.decided_by == one.provenance.load_model
    for one in (found, *found.alternatives, *found.trade_off):
        assert one.provenance is not None
        assert one.source == source_of(one.provenance)


def test_a_simulated_plan_assumes_nothing_of_the_analytic_load_model_for_its_percentiles() -> None:
    for keys in (raw(LLAMA_8B, deployment=H100), POOLS):
        assert any(a.startswith("Percentiles come from the analytic") for a in of(keys, simulated=False).assumptions)
        simulated = of(keys, simulated=True).assumptions
        assert not any(a.startswith("Percentiles come from the analytic") for a in simulated)
        assert any(a.startswith("Percentiles are simulated") for a in simulated)


def test_a_measured_record_stands_for_step_times_and_load_model() -> None:
    found = ask(measured={"system": "dgx_h100", "rps_per_system": 2.4, "source": "lab"}, limits={"ttft_ms": 5000})
    assert (found.provenance.step_times.kind, found.provenance.load_model) == ("measured", "measured")
    assert found.source == "measured: lab"


def test_nothing_deployed_comes_from_nowhere() -> None:
    found = ask(limits={"ttft_ms": 0.001})
    assert found.deployment is None
    assert found.provenance is None
    assert found.source == ""
