"""Plans with prefill and decode in pools of their own."""

import json
from typing import Any

import pytest

from sizing import Scenario, plan
from sizing.base.errors import InvalidScenario
from sizing.catalog.engines import engines
from sizing.planning.analytic import analytic_plan
from sizing.question.understand import understand
from sizing.scenario.file import scenario_from
from sizing.search.pools import smallest_pools
from sizing.search.screen import all_configurations, evaluate
from tests.sizing.asking import DEPLOYMENT, LLAMA_8B, raw
from tests.sizing.planning.pooled import H100, ONLY, gpus, scenario


@pytest.mark.parametrize(("serving", "counted"), [([], "gpus_bought"), (["disaggregated"], "gpus")])
def test_an_e2e_limit_is_met_by_whichever_pair_grows_into_it(serving: list[str], counted: str) -> None:
    """Up to 3 requests/s the smallest pair of pools misses the E2E limit however many instances it gets, another meets
    it: with the smallest alone tried, nothing served them. Of either kind of serving less may be in use of as much that
    is bought, which is what the objective counts."""
    limits = {"ttft_ms": 80, "itl_ms": 5.5, "e2e_ms": 557, "percentile": 99}

    def needed(rps: int) -> int:
        workload = {"input_tokens": 651, "output_tokens": 97, "peak_rps": rps, "arrivals": {"gamma": {"cv": 0.5}}}
        choice = {"max_utilization": 0.6, "location": "on_prem", "objective": "gpus", "precisions": ["w4a8_awq"]}
        deployment = {**H100, **choice, "serving": serving, "confidence": 50}
        asked = raw("google/gemma-3-27b-it", workload=workload, limits=limits, deployment=deployment)
        return int(getattr(analytic_plan(Scenario.model_validate(asked)).deployment, counted))

    found = [needed(rps) for rps in range(1, 9)]
    assert found == sorted(found)


def test_pools_win_where_a_tight_itl_limit_keeps_batches_small() -> None:
    found, together = analytic_plan(scenario()), analytic_plan(scenario(deployment={**H100, "serving": ["aggregated"]}))
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
    assert DEPLOYMENT | {"serving", "prefill", "decode"} <= set(found)
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


def test_two_single_points_of_failure_are_one_sentence() -> None:
    plan = analytic_plan(scenario(workload={"peak_rps": 0.2}, deployment={**H100, "serving": ["disaggregated"]}))
    assert plan.deployment.single_points == ("prefill", "decode")
    alone = [one.text for one in plan.sentences if one.about == "redundancy"]
    assert len(alone) == 1
    assert alone[0].startswith("There is one prefill and one decode instance: each is a single point of failure")


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


def test_more_load_never_needs_fewer_gpus() -> None:
    counts = [
        gpus(analytic_plan(scenario(workload={"peak_rps": rate}, deployment={**ONLY, "objective": "gpus"})))
        for rate in (1, 5, 20, 60, 200)
    ]
    assert counts == sorted(counts)


def test_faster_steps_never_need_more_than_is_planned() -> None:
    """Pools at the fast end start from fewer instances, and grow threefold at most: here not far enough for the E2E
    limit, which the planned number keeps."""
    answer = plan(
        scenario(
            "deepseek-ai/DeepSeek-V3",
            workload={
                "input_tokens": 1,
                "output_tokens": {"p50": 100, "p95": 500},
                "peak_rps": 403.4287934927351,
                "arrivals": {"bursts": {"on_s": 1, "off_s": 1, "share_on": 1}},
            },
            limits={"ttft_ms": None, "itl_ms": None, "e2e_ms": 8103.083927575384, "percentile": 90},
            deployment={**H100, "confidence": 50, "speculation": "off"},
        )
    )
    pooled = [a for a in answer.alternatives if a.deployment.serving == "disaggregated"]
    assert pooled
    assert all(a.gpus_low <= a.deployment.gpus for a in pooled)


def test_arrivals_as_even_as_a_clock_leave_no_negative_variance() -> None:
    """Steps of attention-DP ranks that nearly always follow each other: what varies is a rounding error."""
    workload = {"input_tokens": 1, "output_tokens": 2.718281828459045, "peak_rps": 1}
    as_even = {**workload, "arrivals": {"gamma": {"cv": 6.103515625e-05}}}
    asked = scenario("deepseek-ai/DeepSeek-V3", workload=as_even, deployment={**H100, "confidence": 50})
    assert plan(asked).feasible
