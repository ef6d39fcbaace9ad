"""Pools in the simulation, in whole systems, and with a named batch limit."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sizing import plan
from sizing.base.errors import InvalidScenario
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer
from sizing.planning.text import as_text
from sizing.prices.packing import systems_for_both, systems_needed
from sizing.question.understand import understand
from sizing.replay.day import day
from sizing.replay.simulate import planned, simulate
from sizing.search.pools_refine import with_fewest
from sizing.search.pools_simulated import case_of
from sizing.search.serving import screened
from sizing.simulator.run_length import HEAVIEST
from sizing.simulator.stability import stable_rps_of
from tests.sizing.asking import LLAMA_8B, LLAMA_70B
from tests.sizing.planning.pooled import ONLY, gpus, scenario


def test_the_simulation_decides_both_counts_and_confirms_them() -> None:
    asked = scenario(deployment={**ONLY, "engines": ["vllm"]})
    found = plan(asked)
    chosen = planned(Answer(understand(asked), found))
    assert (chosen.prefill.working, chosen.working) == (
        found.deployment.prefill.instances,
        found.deployment.decode.instances,
    )
    assert "simulated" in found.source
    assert found.latency.ttft_ms.at_percentile <= 3000
    assert found.latency.itl_ms.at_percentile <= 30
    result = simulate(Answer(understand(asked), found), seed=3)
    assert result.meets_limits
    assert result.instances == found.deployment.instances


def test_the_simulated_answer_compares_both_kinds() -> None:
    found = plan(scenario())
    assert found.deployment.serving == "disaggregated"
    assert found == plan(scenario())
    little = plan(scenario(workload={"peak_rps": 1}))
    assert little.deployment.serving == "aggregated"


def test_of_every_gpu_type_the_better_kind_of_serving_is_listed() -> None:
    """Pools of A100 are cheaper than instances that do both, and stand in their place although no GPU of another type
    is split."""
    asked = scenario(
        model=LLAMA_8B,
        workload={"input_tokens": 3000, "output_tokens": 300, "peak_rps": 40},
        limits={"ttft_ms": 2000, "itl_ms": 21},
        deployment={"gpus": ["h200_sxm", "a100_sxm_80g"]},
    )
    found = plan(asked)
    listed = next(a for a in found.alternatives if a.deployment.gpu == "a100_sxm_80g")
    alone = analytic_plan(
        scenario(**asked.model_dump(include={"model", "workload", "limits"}), deployment={"gpus": ["a100_sxm_80g"]})
    )
    assert (found.deployment.gpu, found.deployment.serving) == ("h200_sxm", "aggregated")
    assert listed.deployment.serving == alone.deployment.serving == "disaggregated"
    assert listed.hardware_usd_per_month == pytest.approx(alone.cost.hardware_usd_per_month)


def test_pools_alone_have_other_pairs_as_alternatives() -> None:
    """Behind the first, whose own pair is not listed a second time with the instances of its estimate."""
    found = plan(scenario(deployment=ONLY))
    chosen, others = found.deployment, [a.deployment for a in found.alternatives]
    assert {one.serving for one in others} == {"disaggregated"}
    assert min(one.hardware_usd_per_month for one in found.alternatives) >= found.cost.hardware_usd_per_month

    def pair(one: Any) -> tuple[Any, ...]:
        return (
            one.gpu,
            one.engine,
            one.weight_precision,
            one.kv_precision,
            *((p.tp, p.pp, p.ep, p.dp) for p in (one.prefill, one.decode)),
        )

    assert pair(chosen) not in [pair(one) for one in others]
    assert len({pair(one) for one in others}) == len(others)


def test_the_terminal_names_both_kinds_of_instances() -> None:
    text = as_text(analytic_plan(scenario(), alternatives=3))
    assert " prefill x h100_sxm" in text
    assert " decode x h100_sxm" in text


def test_what_looks_at_single_instances_says_so() -> None:
    assert "Only aggregated serving" in analytic_plan(scenario(), second_opinion=True).cross_check.message
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
    near = 1.02  # how near the screen is; plans are simulated
    assert (pools.itl_s <= 0.05 * near).all()
    assert (pools.ttft_s <= question.limits.ttft_s * near).all()


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
    chosen = planned(Answer(question, plan(question.scenario)))
    assert chosen.replica.max_sequences == 8
    assert chosen.prefill.replica.max_sequences > 8


def test_without_an_itl_limit_the_named_batch_limit_is_what_limits() -> None:
    asked = {"ttft_ms": 3000, "itl_ms": None}
    found = analytic_plan(scenario(LLAMA_8B, limits=asked, deployment={**ONLY, "batch_limits": [8]}))
    assert found.limited_by.endswith("the batch limit of 8 (decode)")


def test_a_limit_that_nobody_asked_for_limits_no_pool() -> None:
    asked = {"ttft_ms": 2000, "itl_ms": None}
    found = plan(scenario(workload={"peak_rps": 40, "output_tokens": 800}, limits=asked, deployment=ONLY))
    assert found.deployment.decode.instances > 1
    assert found.limited_by.endswith("and memory for the KV cache (decode)")


@pytest.mark.parametrize("model", [LLAMA_8B, LLAMA_70B, "deepseek-ai/DeepSeek-R1"])
@pytest.mark.parametrize(
    "lengths",
    [{"input_tokens": 3500, "output_tokens": 500}, {"input_tokens": {"p50": 300, "p95": 2000}, "output_tokens": 900}],
)
def test_instances_never_carry_more_than_what_rules_pools_out(model: str, lengths: dict[str, Any]) -> None:
    """Pools that lose even with so few instances are not simulated, so no simulation may find fewer."""
    deployment = {"gpus": ["h200_sxm"], "confidence": 50}
    question = understand(
        scenario(model, workload={**lengths, "peak_rps": 100}, limits={"itl_ms": 60}, deployment=deployment)
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
