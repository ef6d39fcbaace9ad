"""Plans with prefill and decode in pools of their own."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sizing import Plan, Scenario, plan
from sizing.base.errors import InvalidScenario
from sizing.catalog.engines import engines
from sizing.planning.analytic import analytic_plan
from sizing.planning.second_opinion import with_second_opinion
from sizing.planning.text import as_text
from sizing.prices.packing import systems_for_both, systems_needed
from sizing.question.understand import understand
from sizing.replay.day import day
from sizing.replay.planned_deployment import planned
from sizing.replay.simulate import simulate
from sizing.scenario.file import scenario_from
from sizing.search.pools_refine import with_fewest
from sizing.search.pools_search import smallest_pools
from sizing.search.pools_simulated import case_of
from sizing.search.screen import all_configurations, evaluate
from sizing.search.serving import screened
from sizing.search.trials import HEAVIEST
from sizing.simulator.stability import stable_rps_of
from tests.sizing.asking import LLAMA_8B, LLAMA_70B, raw

H100: dict[str, Any] = {"gpus": ["h100_sxm"]}
TIGHT: dict[str, Any] = {"ttft_ms": 3000, "itl_ms": 30}
ONLY = {**H100, "serving": ["disaggregated"]}


def scenario(model: str = LLAMA_70B, **sections: Any) -> Scenario:
    return Scenario.model_validate(raw(model, **{"limits": TIGHT, "deployment": H100, **sections}))


def gpus(found: Plan) -> int:
    assert found.deployment
    return found.deployment.gpus


def test_an_e2e_limit_is_met_by_whichever_pair_grows_into_it() -> None:
    """At 4 requests/s the smallest pair of pools misses the E2E limit however many instances it gets, another meets it:
    with the smallest alone tried, 4 requests/s took 32 GPUs and 5 took 18."""
    limits = {"ttft_ms": 50, "itl_ms": 6, "e2e_ms": 557, "percentile": 99}

    def needed(rps: int) -> int:
        workload = {"input_tokens": 651, "output_tokens": 97, "peak_rps": rps, "arrivals": {"gamma": {"cv": 0.5}}}
        deployment = {**H100, "max_utilization": 0.6, "location": "on_prem", "objective": "gpus"}
        asked = raw("google/gemma-3-27b-it", workload=workload, limits=limits, deployment=deployment)
        return gpus(analytic_plan(Scenario.model_validate(asked)))

    found = [needed(rps) for rps in range(1, 9)]
    assert found == sorted(found)


def test_pools_win_where_a_tight_itl_limit_keeps_batches_small() -> None:
    found, together = analytic_plan(scenario()), analytic_plan(scenario(deployment={**H100, "serving": ["aggregated"]}))
    assert found.deployment is not None
    assert found.deployment.serving == "disaggregated"
    assert found.deployment.systems < together.deployment.systems
    prefill, decode = found.deployment.prefill, found.deployment.decode
    assert prefill.gpus + decode.gpus == gpus(found)
    assert prefill.instances + decode.instances == found.deployment.instances
    assert f"{prefill.gpus} prefill + {decode.gpus} decode GPUs" in found.answer
    assert (found.deployment.tp, found.deployment.pp) == (decode.tp, decode.pp)
    for pool in (prefill, decode):
        assert pool.rps <= pool.max_rps
        assert pool.gpus == pool.instances * pool.tp * pool.pp * pool.dp
    assert found.latency.ttft_ms.at_percentile <= 3000
    assert found.latency.itl_ms.at_percentile <= 30


@pytest.mark.parametrize(
    "keys",
    [
        {"workload": {"peak_rps": 1}},
        {"model": LLAMA_8B, "workload": {"input_tokens": 500}, "limits": {"itl_ms": 100}},
        {"workload": {"mode": "offline"}},
        {"workload": {"output_tokens": 1}},
    ],
    ids=["little load", "loose limits", "offline", "one token"],
)
def test_aggregated_serving_stays_first_where_nothing_is_gained(keys: dict[str, Any]) -> None:
    found = analytic_plan(scenario(**keys))
    assert found.deployment is not None
    assert found.deployment.serving == "aggregated"
    assert found.deployment.prefill is None


def test_serving_is_as_the_scenario_says() -> None:
    split = analytic_plan(scenario(workload={"peak_rps": 1}, deployment=ONLY))
    assert split.deployment.serving == "disaggregated"
    assert {a.deployment.serving for a in split.alternatives} <= {"disaggregated"}
    together = analytic_plan(scenario(deployment={**H100, "serving": ["aggregated"]}))
    assert {a.deployment.serving for a in together.alternatives} == {"aggregated"}


def test_the_other_kind_is_among_the_alternatives() -> None:
    assert "aggregated" in {a.deployment.serving for a in analytic_plan(scenario()).alternatives}
    little = analytic_plan(scenario(workload={"peak_rps": 2}))
    assert "disaggregated" in {a.deployment.serving for a in little.alternatives}


def test_the_json_contract_holds_and_names_both_pools() -> None:
    found = json.loads(analytic_plan(scenario()).model_dump_json())["deployment"]
    assert {
        "gpu",
        "engine",
        "weight_precision",
        "kv_precision",
        "tp",
        "pp",
        "ep",
        "dp",
        "instances",
        "gpus",
        "system",
        "systems",
        "serving",
        "prefill",
        "decode",
    } <= set(found)
    assert {"tp", "pp", "ep", "dp", "instances", "gpus"} <= set(found["prefill"]) & set(found["decode"])


def test_spares_are_kept_in_both_pools() -> None:
    base, spared = (
        analytic_plan(
            scenario(
                deployment={
                    **ONLY,
                    "engines": ["vllm"],
                    "tp": [4],
                    "pp": [1],
                    "precisions": ["fp8"],
                    "spare_instances": n,
                }
            )
        )
        for n in (0, 2)
    )
    for kind in ("prefill", "decode"):
        assert getattr(spared.deployment, kind).instances == getattr(base.deployment, kind).instances + 2


def test_sequential_use_meets_the_e2e_limit() -> None:
    found = analytic_plan(scenario(workload={"mode": "sequential"}, limits={"e2e_ms": 15_000}, deployment=ONLY))
    assert found.feasible
    assert found.latency.e2e_ms.at_percentile <= 15_000


def test_offline_pools_are_sized_at_their_throughput_when_asked_for() -> None:
    found = analytic_plan(scenario(workload={"mode": "offline"}, deployment=ONLY))
    assert found.deployment.serving == "disaggregated"
    assert "matrix rate (prefill)" in found.limited_by


@pytest.mark.parametrize(
    ("deployment", "workload", "reason"),
    [
        ({**ONLY, "engines": ["tgi"]}, {}, "documented to run prefill and decode apart"),
        (ONLY, {"output_tokens": 1}, "Answers of one token"),
    ],
    ids=["engine", "one token"],
)
def test_what_pools_cannot_do_is_excluded_with_a_reason(
    deployment: dict[str, Any], workload: dict[str, Any], reason: str
) -> None:
    found = analytic_plan(scenario(deployment=deployment, workload=workload))
    assert not found.feasible
    assert reason in found.excluded[0].reason
    assert found.excluded[0].fix is not None
    assert found.excluded[0].fix.key == "deployment.serving"


def test_a_gpu_that_only_pools_make_fast_enough_is_not_excluded() -> None:
    question = understand(scenario(limits={"ttft_ms": 3000, "itl_ms": 12}, deployment={"engines": ["vllm"]}))
    base = evaluate(question, all_configurations(question))
    pools = smallest_pools(question, base)
    served = {base.candidates.rows[i].gpu.id for i in pools.decode} if pools else set()
    found = analytic_plan(question.scenario)
    assert not served & {e.gpu for e in found.excluded}


@pytest.mark.parametrize("value", ["both", "Aggregated"])
def test_an_unknown_way_of_serving_is_one_clear_sentence(value: str) -> None:
    with pytest.raises(InvalidScenario) as error:
        scenario_from(raw(LLAMA_8B, deployment={"serving": [value]}))
    assert list(error.value.problems) == [
        f"deployment.serving.0: must be 'aggregated' or 'disaggregated' (found '{value}')."
    ]


def test_every_engine_that_splits_says_where_that_is_documented() -> None:
    for engine in engines().values():
        assert bool(engine.disaggregated) == bool(engine.disaggregated_source)
        assert bool(engine.batch_option) == bool(engine.batch_source)
        assert set(engine.disaggregated) <= set(engine.families)


def test_more_load_never_needs_fewer_gpus() -> None:
    counts = [
        gpus(analytic_plan(scenario(workload={"peak_rps": rate}, deployment={**ONLY, "objective": "gpus"})))
        for rate in (1, 5, 20, 60, 200)
    ]
    assert counts == sorted(counts)


def test_the_simulation_decides_both_counts_and_confirms_them() -> None:
    asked = scenario(deployment={**ONLY, "engines": ["vllm"]})
    found = plan(asked)
    chosen = planned(understand(asked), found)
    assert chosen is not None
    assert chosen.prefill is not None
    assert (chosen.prefill.working, chosen.working) == (
        found.deployment.prefill.instances,
        found.deployment.decode.instances,
    )
    assert "simulated" in found.source
    assert found.latency.ttft_ms.at_percentile <= 3000
    assert found.latency.itl_ms.at_percentile <= 30
    result = simulate(asked, plan=found, seed=3)
    assert result.meets_limits
    assert result.instances == found.deployment.instances


def test_the_simulated_answer_compares_both_kinds() -> None:
    found = plan(scenario())
    assert found.deployment.serving == "disaggregated"
    assert found == plan(scenario())
    little = plan(scenario(workload={"peak_rps": 1}))
    assert little.deployment.serving == "aggregated"


def test_the_terminal_names_both_kinds_of_instances() -> None:
    text = as_text(analytic_plan(scenario(), alternatives=3))
    assert " prefill x h100_sxm" in text
    assert " decode x h100_sxm" in text


def test_what_looks_at_single_instances_says_so() -> None:
    assert "aggregated serving only" in with_second_opinion(scenario(), analytic_plan(scenario())).cross_check.message
    profile = [1.0] * 12 + [2.0] * 12
    with pytest.raises(InvalidScenario, match="only aggregated instances are planned"):
        day(scenario(workload={"arrivals": {"profile": profile}}, deployment=ONLY))


@pytest.mark.parametrize(
    ("first", "second", "size", "systems"),
    [
        ((3, 4), (5, 2), 8, 3),
        ((1, 8), (8, 1), 8, 2),
        ((2, 16), (1, 1), 8, 5),
        ((3, 2), (10, 1), 8, 2),
        ((1, 3), (1, 5), 8, 1),
    ],
)
def test_smaller_instances_fill_what_the_larger_leave(
    first: tuple[int, int], second: tuple[int, int], size: int, systems: int
) -> None:
    assert systems_for_both(first, second, size) == systems
    assert systems_for_both(second, first, size) == systems


@settings(max_examples=200)
@given(
    a=st.integers(0, 40),
    b=st.integers(0, 40),
    large=st.integers(1, 16),
    small=st.integers(1, 16),
    size=st.sampled_from([4, 8, 16, 72]),
)
def test_shared_systems_hold_everything_and_never_cost_more(a: int, b: int, large: int, small: int, size: int) -> None:
    found = int(systems_for_both((a, large), (b, small), size))
    assert found * size >= a * large + b * small
    assert found <= int(systems_needed(a, large, size)) + int(systems_needed(b, small, size))


def test_pools_are_found_for_a_mixture_of_experts() -> None:
    question = understand(
        scenario(
            "deepseek-ai/DeepSeek-R1",
            workload={"peak_rps": 100},
            limits={"itl_ms": 50},
            deployment={"gpus": ["h200_sxm"]},
        )
    )
    (pools,) = screened(question).pools
    assert np.isfinite(pools.e2e_s).all()
    assert (pools.itl_s <= 0.05 * (1 + 1e-9)).all()
    assert (pools.ttft_s <= question.limits.ttft_s * (1 + 1e-9)).all()


@pytest.mark.parametrize("answered_by", [analytic_plan, plan])
def test_a_named_batch_limit_holds_in_decode_instances(answered_by: Any) -> None:
    """Little's law: rate x decode time requests hold a slot of a decode instance, so few instances cannot do."""
    found = answered_by(scenario(LLAMA_8B, deployment={**ONLY, "batch_limits": [8]}))
    decode, one = found.deployment.decode, found.per_instance
    assert found.deployment.batch_limit == 8
    assert decode.rps * 499 * one.decode_step_ms / 1000 <= 8
    assert one.max_concurrency == 8
    free = answered_by(scenario(LLAMA_8B, deployment=ONLY))
    assert gpus(found) > gpus(free)


def test_a_named_batch_limit_is_simulated() -> None:
    question = understand(scenario(LLAMA_8B, deployment={**ONLY, "batch_limits": [8]}))
    chosen = planned(question, plan(question.scenario))
    assert chosen.replica.max_sequences == 8
    assert chosen.prefill.replica.max_sequences > 8


def test_without_an_itl_limit_the_named_batch_limit_is_what_limits() -> None:
    asked = {"ttft_ms": 3000, "itl_ms": None}
    found = analytic_plan(scenario(LLAMA_8B, limits=asked, deployment={**ONLY, "batch_limits": [8]}))
    assert found.limited_by.endswith("the batch limit of 8 (decode)")


@pytest.mark.parametrize("model", [LLAMA_8B, LLAMA_70B, "deepseek-ai/DeepSeek-R1"])
@pytest.mark.parametrize(
    "lengths",
    [{"input_tokens": 3500, "output_tokens": 500}, {"input_tokens": {"p50": 300, "p95": 2000}, "output_tokens": 900}],
)
def test_instances_never_carry_more_than_what_rules_pools_out(model: str, lengths: dict[str, Any]) -> None:
    """Pools that lose even with so few instances are not simulated, so no simulation may find fewer."""
    question = understand(
        scenario(model, workload={**lengths, "peak_rps": 100}, limits={"itl_ms": 60}, deployment={"gpus": ["h200_sxm"]})
    )
    (pools,) = screened(question).pools
    fewest = with_fewest(question, pools.pools)
    for k in np.unique(pools.pools.decode, return_index=True)[1][:3]:
        case = case_of(question, pools, int(k), seed=0)
        roles = ((case.prefill, fewest.prefill_instances, True), (case.decode, fewest.decode_instances, False))
        for replica, instances, prefill in roles:
            carried = stable_rps_of(replica, case.lengths, prefill_only=prefill, decode_only=not prefill)
            assert instances[k] <= math.ceil(100 / (HEAVIEST * carried) - 1e-9)


def test_pools_say_that_they_are_sized_for_random_routing() -> None:
    def assumed(routing: str) -> str:
        return " ".join(plan(scenario(deployment={**ONLY, "routing": routing}), alternatives=0).assumptions)

    assert "any instance at random" in assumed("random")
    assert "sized without the gain" not in assumed("random")
    assert "goes to the instance with the fewest requests" in assumed("least_loaded")
    assert "sized without the gain" in assumed("least_loaded")
