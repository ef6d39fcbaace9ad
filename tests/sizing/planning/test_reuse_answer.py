"""Plans of sessions: what they count on, their own caches hold."""

import json
from pathlib import Path
from typing import Any

import pytest

import sizing
from sizing import Scenario
from sizing.base.result import Plan
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer
from sizing.planning.settled import CLOSE
from sizing.question.reused import CacheState
from sizing.question.understand import understand, with_caches
from sizing.scenario.file import load_scenario
from tests.sizing.asking import raw
from tests.sizing.scenario.test_sessions import scenario


def planned(routing: str, **changed: Any) -> tuple[sizing.Scenario, Plan]:
    deployment = {"gpus": ["h100_sxm"], "routing": routing}
    one = load_scenario({**scenario(**changed), "deployment": deployment, "limits": {"ttft_ms": 5000}})
    return one, sizing.plan(one)


def test_what_is_counted_on_is_held_by_the_plan_itself() -> None:
    for routing in ("least_loaded", "prefix_aware"):
        one, plan = planned(routing)
        working = plan.deployment.instances - plan.deployment.spare_instances
        held = CacheState(capacity_tokens=plan.reuse.kv_capacity_tokens, replicas=working, service_s=15.0)
        there = with_caches(understand(one), held).reused
        assert there.rows.hit_share >= plan.reuse.hit_share - 2 * CLOSE
        assert Answer.of(one, lambda _, plan=plan: plan).question.traffic.cached_tokens == pytest.approx(
            plan.reuse.hit_share * plan.reuse.mean_prompt_tokens
        )


def test_routing_by_prefix_saves_instances_and_the_answer_says_so() -> None:
    _, at_random = planned("least_loaded")
    _, by_prefix = planned("prefix_aware")
    assert at_random.reuse.hit_share < 0.7 < by_prefix.reuse.hit_share
    assert by_prefix.deployment.gpus < at_random.deployment.gpus
    first = at_random.reuse.savings[0]
    assert first.name == "prefix_aware_routing"
    of_one = at_random.deployment.gpus / at_random.deployment.instances
    assert abs(first.instances * of_one - by_prefix.deployment.gpus) <= of_one
    assert any("Routing by prefix" in sentence for sentence in at_random.reuse.says)
    assert at_random.sentences[-1].about == "reuse"


def test_first_turns_wait_for_their_whole_prompt() -> None:
    _, plan = planned("prefix_aware", first_prompt_tokens=20000, turns=6)
    first, later = plan.reuse.ttft_first_turn_ms, plan.reuse.ttft_later_turns_ms
    assert first.at(50) > 2.0 * later.at(50)


def test_an_estimate_and_a_brief_plan_count_on_the_same() -> None:
    from sizing.planning.analytic import analytic_plan

    one, plan = planned("prefix_aware")
    estimated, brief = analytic_plan(one), sizing.planning.plan.plan(one, brief=True)
    assert estimated.reuse.hit_share == pytest.approx(plan.reuse.hit_share, abs=0.1)
    assert brief.reuse.hit_share == plan.reuse.hit_share
    assert brief.reuse.savings == ()
    assert json.loads(plan.model_dump_json())["reuse"]["hit_share"] == plan.reuse.hit_share


@pytest.mark.parametrize(("gpu", "code"), [("h100_sxm", "prefix_not_held"), ("b300_sxm", "prefix_not_held")])
def test_a_typed_share_that_cannot_hold_is_said(gpu: str, code: str) -> None:
    workload = {"input_tokens": 116470, "output_tokens": 184, "peak_rps": 4, "prefix_cached_tokens": 115584}
    plan = sizing.plan(
        load_scenario({"model": "openai/gpt-oss-120b", "workload": workload, "deployment": {"gpus": [gpu]}})
    )
    codes = {warning.code: warning.message for warning in plan.warnings}
    assert code in codes
    assert codes[code].startswith("99.2 % of each prompt count as cached. Unless that is the same text for all")


def test_a_cached_system_prompt_is_no_matter() -> None:
    workload = {"input_tokens": 3500, "output_tokens": 200, "peak_rps": 4, "prefix_cached_tokens": 500}
    offload = {"kv_offload": {"tier": "host_memory", "gib_per_gpu": 64}}
    plan = sizing.plan(load_scenario({"model": "Qwen/Qwen3-32B", "workload": workload, "deployment": offload}))
    assert plan.reuse is None
    assert [warning.code for warning in plan.warnings if "second tier changes nothing" in warning.message]
    assert not any(warning.code.startswith("prefix_") for warning in plan.warnings)


def test_a_trace_with_blocks_is_replayed_and_counted(tmp_path: Path) -> None:
    lines = []
    for k in range(400):
        session, turn = k % 40, k // 40
        blocks = [0, *(1000 * (session + 1) + b for b in range(4 * (turn + 1)))]
        lines.append(
            {"timestamp": k * 500, "input_length": 512 * len(blocks), "output_length": 200, "hash_ids": blocks}
        )
    (tmp_path / "chat.jsonl").write_text("\n".join(map(json.dumps, lines)))
    trace = {"trace": "chat.jsonl"}
    workload = dict.fromkeys(("input_tokens", "output_tokens", "arrivals", "prefix_reuse"), trace)
    raw = {"model": "Qwen/Qwen3-32B", "workload": workload, "deployment": {"gpus": ["h100_sxm"]}}
    (tmp_path / "scenario.json").write_text(json.dumps(raw | {"limits": {"ttft_ms": 5000}}))
    one = sizing.load_scenario(tmp_path / "scenario.json")
    plan = sizing.plan(one)
    assert 0.0 < plan.reuse.hit_share <= plan.reuse.hit_share_unlimited
    again = sum(512 * (1 + 4 * (k // 40)) for k in range(400) if k >= 40) + 39 * 512
    total = sum(line["input_length"] for line in lines)
    assert plan.reuse.hit_share_unlimited == pytest.approx(again / total, abs=0.01)
    assert plan.reuse.sessions_at_once is None
    assert sizing.load_scenario(one.model_dump(mode="json")) == one


def test_a_trace_without_blocks_is_refused_for_reuse(tmp_path: Path) -> None:
    (tmp_path / "plain.csv").write_text("timestamp,input_tokens,output_tokens\n0,100,5\n9,100,5\n")
    workload = {"input_tokens": 100, "output_tokens": 5, "peak_rps": 1, "prefix_reuse": {"trace": "plain.csv"}}
    (tmp_path / "scenario.json").write_text(json.dumps({"model": "Qwen/Qwen3-32B", "workload": workload}))
    with pytest.raises(sizing.InvalidScenario) as caught:
        sizing.load_scenario(tmp_path / "scenario.json")
    assert "no prompt of plain.csv names blocks" in caught.value.problems[0]


def test_a_second_tier_holds_more_and_pays_where_loading_is_faster() -> None:
    many = {"sessions_at_once": None, "sessions_per_hour": 3000, "tool_time_s": 0, "think_time_s": 600}
    raw = {**scenario(**many), "limits": {"ttft_ms": 5000}}
    plans = {}
    for name, offload in {
        "none": None,
        "host": {"tier": "host_memory", "gib_per_gpu": 512},
        "slow": {"tier": "ssd", "gib_per_gpu": 512, "gbs_per_gpu": 0.01},
        "nominal": {"tier": "ssd", "gib_per_gpu": 512, "gbs_per_gpu": 7},
    }.items():
        deployment = {"gpus": ["h100_sxm"], "routing": "prefix_aware", "kv_offload": offload}
        plans[name] = sizing.plan(load_scenario({**raw, "deployment": deployment}))
    warned = {name: any(w.code == "offload_rate" for w in plan.warnings) for name, plan in plans.items()}
    assert warned == {"none": False, "host": False, "slow": False, "nominal": True}
    shares = {name: plan.reuse.hit_share for name, plan in plans.items() if plan.reuse is not None}
    assert shares["host"] > shares["none"] + 0.1
    assert shares["slow"] == pytest.approx(shares["none"], abs=0.1)
    assert plans["host"].deployment.gpus < plans["none"].deployment.gpus
    tier = plans["host"].reuse.second_tier
    assert tier.load_ms < tier.computed_ms
    assert tier.purchase_usd == pytest.approx(512 * 14 * plans["host"].deployment.gpus)
    slow = plans["slow"].reuse.second_tier
    assert slow.pays_from_tokens is None
    assert any("128 GiB of host memory" in one for one in plans["none"].reuse.says)


def test_the_more_sessions_the_more_gpus_in_proportion() -> None:
    """Where a larger deployment answers faster, sessions ask more often: no reason to take three times as many."""
    agents = {
        "turns": 20,
        "first_prompt_tokens": 20_000,
        "shared_prompt_tokens": 6000,
        "tool_tokens": 1600,
        "answer_tokens": 400,
        "think_time_s": 60,
        "tool_time_s": 5,
    }
    each = []
    for sessions in (25, 100, 400, 1600):
        keys = raw("meta-llama/Llama-3.3-70B-Instruct", limits={"ttft_ms": 5000, "itl_ms": 100})
        keys["workload"] = {"sessions": {**agents, "sessions_at_once": sessions}}
        keys["deployment"] = {"gpus": ["h100_sxm"], "precisions": ["fp8"], "routing": "prefix_aware"}
        keys["deployment"] |= {"serving": ["aggregated"], "engines": ["vllm"]}
        plan = analytic_plan(Scenario.model_validate(keys), alternatives=0)
        assert plan.reuse.kv_capacity_tokens < 2.5 * plan.reuse.working_set_tokens
        each.append(plan.deployment.gpus / sessions)
    assert max(each) < 2.0 * min(each)


def test_pools_of_sessions_serve_with_what_their_prefill_instances_hold() -> None:
    """With too little counted on, no prompt is in time: more is held by the instances that more would need."""
    agents = {"turns": 30, "first_prompt_tokens": 30_000, "shared_prompt_tokens": 20_000, "shared_prompts": 12}
    agents |= {"tool_tokens": 2000, "answer_tokens": 500, "tool_time_s": 10, "sessions_at_once": 100}
    gpus = []
    for ttft_ms in (5000, 20_000):
        keys = raw("deepseek-ai/DeepSeek-V3.1", limits={"ttft_ms": ttft_ms, "itl_ms": 100})
        keys["workload"] = {"sessions": agents}
        keys["deployment"] = {"gpus": ["h200_sxm"], "routing": "prefix_aware", "serving": ["disaggregated"]}
        plan = analytic_plan(Scenario.model_validate(keys), alternatives=0)
        assert plan.deployment is not None
        gpus.append(plan.deployment.gpus)
    assert gpus[1] <= gpus[0] < 100
