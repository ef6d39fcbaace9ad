"""Ranking, shortlist and frontier on real plans."""

import itertools

import numpy as np
import pytest

from sizing import Scenario
from sizing.question.understand import understand
from sizing.search.ranking import chosen_few
from sizing.search.serving import screened
from tests.sizing.asking import ALL, LLAMA_8B, LLAMA_70B, ask, raw

MEASURE = {
    "expected_cost": lambda c: c.hardware_usd_per_month if c.hardware_usd_per_month is not None else float("inf"),
    "cost": lambda c: c.hardware_usd_per_month if c.hardware_usd_per_month is not None else float("inf"),
    "gpus": lambda c: c.deployment.gpus,
    "latency": lambda c: c.e2e_ms,
    "energy": lambda c: c.power_kw if c.power_kw is not None else float("inf"),
}


def of_plan(found, objective):
    if objective in ("cost", "expected_cost"):
        return found.cost.hardware_usd_per_month if found.cost.hardware_usd_per_month is not None else float("inf")
    if objective == "energy":
        return found.cost.power_kw
    return found.deployment.gpus if objective == "gpus" else found.latency.e2e_ms.at_percentile


def blocks(found):
    """The best of each other GPU type, then the variants on the GPU type of the deployment."""
    others = [a for a in found.alternatives if a.deployment.gpu != found.deployment.gpu]
    return others, list(found.alternatives[len(others) :])


@pytest.mark.parametrize("objective", list(MEASURE))
@pytest.mark.parametrize("location", ["on_prem", "cloud"])
def test_deployments_are_ordered_by_the_objective_and_what_is_preferred(objective, location):
    keys = raw(LLAMA_8B, deployment={"objective": objective, "location": location})
    seen = screened(understand(Scenario.model_validate(keys))).deployments
    order = seen.order()
    counted = np.concatenate([kind.counted() for kind in seen.kinds])[order]
    dominated = np.concatenate([kind.dominated for kind in seen.kinds])[order]
    assert (np.diff(dominated) >= 0).all()  # by latency, what another beats on a fraction of the GPUs comes last
    left = counted[dominated == 0]
    assert (left[1:] >= left[:-1]).all()
    plain = {
        "cost": "usd_per_hour",
        "expected_cost": "expected_usd_per_hour",
        "gpus": "gpus_bought",
        "latency": "latency_s",
        "energy": "power_kw",
    }[objective]
    factors = np.concatenate([kind.factor for kind in seen.kinds])[order]
    itself = np.concatenate([getattr(kind, plain) for kind in seen.kinds])[order]
    known = np.isfinite(counted)
    assert counted[known] == pytest.approx((itself * factors)[known])
    assert (factors >= 1.0).all()
    for keys in (kind.keys() for kind in seen.kinds):
        for count in (1, 7, 200, len(keys.cost) + 1):
            assert (keys.first_few(objective, count) == keys.order(objective)[:count]).all()


def test_the_best_of_every_other_gpu_comes_before_variants_on_the_same():
    others, variants = blocks(ask(LLAMA_70B, alternatives=ALL, workload={"peak_rps": 5}))
    assert len({a.deployment.gpu for a in others}) == len(others) > 15
    assert variants


def test_the_number_of_alternatives_is_as_asked():
    for count in (0, 1, 7):
        assert len(ask(alternatives=count).alternatives) == count


def test_no_alternative_repeats_the_deployment():
    found = ask(alternatives=ALL)
    everything = [found.deployment, *(a.deployment for a in found.alternatives)]
    assert len({d.model_dump_json() for d in everything}) == len(everything)


def test_the_frontier_trades_gpus_for_latency():
    found = ask(LLAMA_70B, workload={"peak_rps": 5}, deployment={"gpus": ["h100_sxm"]})
    gpus = [c.deployment.gpus for c in found.trade_off]
    latency = [c.e2e_ms for c in found.trade_off]
    assert len(gpus) >= 2
    assert gpus == sorted(set(gpus))
    # Steps are chosen by step times at the confidence of the plan, and stated by those to expect.
    assert all(more <= 1.05 * fewer for fewer, more in itertools.pairwise(latency))


def test_the_gpus_needed_are_those_of_each_point_of_the_frontier():
    found = ask(LLAMA_70B, workload={"peak_rps": 50}, deployment={"gpus": ["h100_sxm"]})
    for point in found.trade_off:
        d = point.deployment
        each = d.gpus // d.instances
        assert point.gpus_low % each == 0
        assert point.gpus_low <= d.gpus


def test_the_frontier_keeps_gpu_engine_and_format():
    found = ask(LLAMA_70B, workload={"peak_rps": 5}, deployment={"gpus": ["h100_sxm", "a100_sxm_80g"]})
    d = found.deployment
    assert {(c.deployment.gpu, c.deployment.engine, c.deployment.weight_precision) for c in found.trade_off} == {
        (d.gpu, d.engine, d.weight_precision)
    }


def test_unknown_prices_rank_last_by_cost():
    found = ask(alternatives=ALL)
    unknown = [a.hardware_usd_per_month is None for a in blocks(found)[0]]
    assert unknown == sorted(unknown)


def test_hardware_without_a_price_is_chosen_by_its_gpus():
    """Aggregated, 300 GPUs and more hold these limits, if any do; in pools 16 do."""
    found = ask(
        LLAMA_70B,
        workload={"input_tokens": 1000, "output_tokens": 38, "peak_rps": 10},
        limits={"ttft_ms": 1000, "itl_ms": 35, "percentile": 99},
        deployment={"gpus": ["rtx_6000_ada"], "confidence": 50},
        alternatives=ALL,
    )
    assert all(a.deployment.gpus > 300 for a in found.alternatives if a.deployment.serving == "aggregated")
    assert found.cost.hardware_usd_per_month is None
    assert found.deployment.serving == "disaggregated"
    assert found.deployment.gpus < 30


def test_by_latency_nothing_wins_that_another_beats_on_a_fraction_of_its_gpus():
    """MI250X TP8 PP2 hardly meets the ITL limit when idle: 2,277 nearly idle instances answered before busy others."""
    for rate in (5, 55):
        found = ask(
            "Qwen/Qwen3-32B",
            workload={"input_tokens": 8192, "output_tokens": 1024, "peak_rps": rate},
            limits={"ttft_ms": 2000, "itl_ms": 100, "percentile": 99},
            alternatives=ALL,
            deployment={"objective": "latency", "precisions": ["bf16", "fp8"]},
        )
        fewest = min([found.deployment.gpus, *(a.deployment.gpus for a in found.alternatives)])
        assert found.deployment.gpus <= 64 * fewest
        others, _ = blocks(found)
        assert "mi250x" in {a.deployment.gpu for a in others}


def test_traits_are_not_looked_at_beyond_what_is_shown():
    looked: list[int] = []

    def traits(k: int) -> set[object]:
        looked.append(k)
        return {k}

    gpu = np.array([7, 7, 7, 7, 3, 7])
    assert chosen_few(gpu, traits, 2) == [0, 4, 1]
    assert looked == [0, 1]
    assert chosen_few(gpu, traits, 1) == [0, 4]
    assert looked == [0, 1]
