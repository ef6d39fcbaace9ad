"""Prefill and decode on two GPU types: which engines and places join them, what is bought, and that limits hold."""

from functools import cache
from typing import Any

import pytest

from sizing import Scenario, plan
from sizing.catalog.engines import engines
from sizing.mixed.apart import Apart, cheapest_apart, possible
from sizing.prices.packing import systems_needed
from sizing.question.understand import Question, understand
from sizing.search.screen import evaluate_all
from sizing.simulator.layout import ITL, TTFT
from sizing.simulator.quantiles import quantiles
from tests.sizing.asking import LLAMA_70B, raw
from tests.sizing.mixed import pools

WORKLOAD = {"input_tokens": {"p50": 2000, "p95": 6000}, "output_tokens": 300, "peak_rps": 20}
LIMITS = {"ttft_ms": 2000, "itl_ms": 50}


def question_of(limits: dict[str, Any] | None = None, **deployment: Any) -> Question:
    chosen = {"gpus": ["h100_sxm", "h20", "l40s"], **deployment}
    return understand(
        Scenario.model_validate(
            raw(LLAMA_70B, workload=WORKLOAD, limits={**LIMITS, **(limits or {})}, deployment=chosen)
        )
    )


@cache
def apart_of(*, same_type: bool = False, location: str = "on_prem", spares: int = 0) -> Apart:
    question = question_of(location=location, spare_instances=spares)
    one = cheapest_apart(question, evaluate_all(question), same_type=same_type)
    assert one is not None
    return one


def test_a_pair_has_two_types_one_engine_and_formats() -> None:
    one = apart_of()
    prefill, decode = one.prefill.configuration, one.decode.configuration
    assert prefill.gpu.id != decode.gpu.id
    assert prefill.gpu.vendor == decode.gpu.vendor
    for name in ("engine", "precision", "kv_precision"):
        assert getattr(prefill, name) == getattr(decode, name)
    assert prefill.engine.pools_of_types == "any" or prefill.gpu.family == decode.gpu.family
    same = apart_of(same_type=True)
    assert same.prefill.configuration.gpu.id == same.decode.configuration.gpu.id


def test_the_limits_hold_in_the_simulation() -> None:
    one = apart_of()
    (ttft_s,), (itl_s,) = (quantiles(one.needed.outcome, metric, [95.0]) for metric in (TTFT, ITL))
    assert 1000 * ttft_s <= LIMITS["ttft_ms"]
    assert 1000 * itl_s <= LIMITS["itl_ms"]
    assert one.prefill.instances >= one.needed.prefill_instances


def test_each_pool_is_bought_in_whole_systems_of_its_own() -> None:
    one = apart_of()
    for pool in (one.prefill, one.decode):
        systems = int(systems_needed(pool.instances, pool.configuration.gpus, pool.option.gpus))
        assert pool.systems == systems
        assert pool.usd_per_hour == pytest.approx(systems * (pool.option.usd_per_hour or 0.0))
    assert one.usd_per_hour == pytest.approx(one.prefill.usd_per_hour + one.decode.usd_per_hour)


def test_rented_pools_stand_in_one_region_of_one_provider() -> None:
    one = apart_of(location="cloud")
    places = {(pool.option.id.partition(":")[0], pool.option.region) for pool in (one.prefill, one.decode)}
    assert len(places) == 1


def test_spares_stand_by_in_either_pool() -> None:
    without, spared = apart_of(), apart_of(spares=1)
    assert spared.prefill.instances - spared.needed.prefill_instances == 1
    assert spared.decode.instances - spared.needed.decode_instances == 1
    assert spared.usd_per_hour >= without.usd_per_hour * (1 - 1e-9)


def test_where_pools_on_two_types_are_not_looked_for() -> None:
    assert possible(question_of())
    assert not possible(question_of(redundancy="system"))
    assert not possible(question_of(serving=["aggregated"]))
    assert not possible(question_of({"e2e_ms": 20_000}))


def test_what_joins_types_has_a_source() -> None:
    for engine in engines().values():
        assert bool(engine.pools_of_types) == bool(engine.pools_of_types_source)
        assert not engine.pools_of_types or engine.disaggregated


def test_a_plan_says_what_pools_on_two_types_would_save() -> None:
    deployment = {"gpus": ["h100_sxm", "h20"], "mixed": 2}
    one = plan(Scenario.model_validate(raw(LLAMA_70B, workload=WORKLOAD, limits=LIMITS, deployment=deployment)))
    apart = one.mixed.apart
    assert apart.saved_share == pytest.approx(1 - apart.usd_per_month / one.cost.hardware_usd_per_month)
    assert ("Prefill on" in one.answer) == (apart.saved_share > 0)
    assert "two GPU types would cost no less" in one.answer or apart.saved_share > 0
    assert apart.source
    bare = one.mixed.without_money().apart
    assert bare.usd_per_month is None
    assert bare.same_type_usd_per_month is None


def test_pools_are_advised_where_they_save_more_than_splitting_costs() -> None:
    answer = pools.answer()
    mixed = answer.plan.mixed
    assert mixed.apart.advised
    assert not answer.fleets
    assert "and are what is priced" in answer.plan.answer
    dear = pools.keys("vllm")
    dear["prices"]["negotiated"]["gpu_hours"][0]["usd"] = 0.4
    other = plan(Scenario.model_validate(dear)).mixed
    assert not other.apart.advised
    hybrid = {**pools.keys("vllm")["deployment"], "location": "hybrid"}
    there = plan(Scenario.model_validate(pools.keys("vllm") | {"deployment": hybrid})).mixed
    assert there is None or there.apart is None or not there.apart.advised


def test_advised_pools_are_a_plan_of_their_own() -> None:
    answer = pools.answer()
    there, apart = answer.pools.plan, answer.plan.mixed.apart
    deployed = there.deployment
    assert [one.gpu.id for one in answer.pools.chosen] == ["h100_sxm", "h20"] == [apart.prefill.gpu, apart.decode.gpu]
    assert [one.gpus for one in deployed.pools] == [apart.prefill.gpus, apart.decode.gpus]
    assert deployed.gpus == apart.prefill.gpus + apart.decode.gpus
    assert deployed.gpus_bought == apart.prefill.gpus_bought + apart.decode.gpus_bought
    for pool in deployed.pools:
        assert pool.max_rps * (pool.instances - pool.spare_instances) >= 30 * (1 - 1e-6)
    # What is expected is faster than what the pools are sized for.
    assert there.latency.ttft_ms.at_percentile < apart.ttft_ms
    assert there.gpus_low <= deployed.gpus


def test_an_engine_that_no_document_joins_across_types_is_named() -> None:
    mixed = pools.answer("sglang").plan.mixed
    assert mixed.apart is None
    assert mixed.no_pools_of_types == ("sglang",)
    assert "No document says that SGLang hands a KV cache from one GPU type" in pools.answer("sglang").plan.answer
