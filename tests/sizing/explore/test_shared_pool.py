"""Several models on shared systems: never more systems than apart, room for every instance, cheapest by brute force."""

from itertools import product
from math import ceil

import pytest

from sizing import Scenario
from sizing.base.errors import InvalidScenario
from sizing.explore.shared_pool import place
from sizing.planning.analytic import analytic_plan


def workload(model: str, rps: float, name: str = "", **deployment: object) -> Scenario:
    chosen = {"gpus": ["h100_sxm", "l40s"], "precisions": ["bf16", "fp8"], **deployment}
    return Scenario.model_validate(
        {
            "name": name or model,
            "model": model,
            "deployment": chosen,
            "workload": {"input_tokens": 1000, "output_tokens": 200, "peak_rps": rps},
        }
    )


SMALL = workload("meta-llama/Meta-Llama-3-8B", 3)
LARGE = workload("meta-llama/Meta-Llama-3-70B", 2)


def test_small_workloads_share_one_system() -> None:
    models = ("meta-llama/Meta-Llama-3-8B", 3), ("meta-llama/Meta-Llama-3-70B", 2)
    pool = place([workload(model, rps, model, gpus=["h100_sxm"]) for model, rps in models])
    assert pool.feasible
    assert sum(s.systems for s in pool.systems) == 1 < pool.separate_systems
    assert pool.answer.endswith("; apart they would need 2 systems.")


def test_a_pool_that_saves_no_system_says_so() -> None:
    apart = [workload("meta-llama/Meta-Llama-3-8B", 3), workload("meta-llama/Meta-Llama-3-8B", 3, "b", gpus=["mi300x"])]
    assert place(apart).answer.endswith("; apart they would need as many systems.")
    assert "apart" not in place(apart[:1]).answer


def test_every_instance_has_room() -> None:
    pool = place([SMALL, LARGE, workload("Qwen/Qwen3-32B", 20)])
    assert all(s.gpus_used <= s.gpus for s in pool.systems)
    assert sum(p.gpus for p in pool.placed) == sum(s.gpus_used for s in pool.systems)


def test_the_pool_is_never_larger_than_the_workloads_apart() -> None:
    pool = place([workload("meta-llama/Meta-Llama-3-8B", 5 + 3 * i, f"w{i}") for i in range(6)])
    assert sum(s.systems for s in pool.systems) <= pool.separate_systems


def test_the_integer_programme_matches_brute_force() -> None:
    loads = (3, 9, 14)
    pool = place([workload("meta-llama/Meta-Llama-3-8B", r, f"w{r}", gpus=["h100_sxm"]) for r in loads], "systems")
    alone = [
        place([workload("meta-llama/Meta-Llama-3-8B", r, gpus=["h100_sxm"])], "systems").placed[0].gpus for r in loads
    ]
    assert sum(s.systems for s in pool.systems) == ceil(sum(alone) / 8)


def test_spares_of_each_workload_are_kept() -> None:
    spared = [workload("meta-llama/Meta-Llama-3-8B", 3, f"w{i}", spare_instances=2) for i in range(2)]
    for placed in place(spared).placed:
        assert placed.deployment.instances >= 3
        assert placed.deployment.spare_instances == 2


def test_a_workload_nothing_serves_is_named() -> None:
    hopeless = SMALL.model_copy(
        update={"name": "hopeless", "limits": SMALL.limits.model_copy(update={"ttft_ms": 0.001})}
    )
    pool = place([LARGE, hopeless])
    assert not pool.feasible
    assert "hopeless" in pool.answer


def test_order_of_workloads_does_not_matter() -> None:
    costs = {place(list(order)).usd_per_month for order in product([SMALL], [LARGE])} | {
        place(list(order)).usd_per_month for order in product([LARGE], [SMALL])
    }
    assert len(costs) == 1


@pytest.mark.parametrize("count", [0, 51])
def test_pools_of_no_or_too_many_workloads_are_refused(count: int) -> None:
    with pytest.raises(InvalidScenario):
        place([SMALL] * count)


def test_cost_needs_a_price() -> None:
    with pytest.raises(InvalidScenario, match="price"):
        place([workload("meta-llama/Meta-Llama-3-8B", 3, gpus=["mi325x"])])
    assert place([workload("meta-llama/Meta-Llama-3-8B", 3, gpus=["mi325x"])], "systems").feasible


def large_model(name: str, serving: list[str], **deployment: object) -> Scenario:
    return Scenario.model_validate(
        {
            "name": name,
            "model": "deepseek-ai/DeepSeek-R1",
            "limits": {"ttft_ms": 2000, "itl_ms": 30},
            "workload": {"input_tokens": 3500, "output_tokens": 500, "peak_rps": 20},
            "deployment": {"gpus": ["h200_sxm"], "serving": serving, **deployment},
        }
    )


def test_pools_are_placed_where_they_take_fewer_gpus() -> None:
    either, together = (place([large_model(n, kinds) for n in "ab"], "systems") for kinds in ([], ["aggregated"]))
    assert sum(s.systems for s in either.systems) < sum(s.systems for s in together.systems)
    for placed in either.placed:
        found = placed.deployment
        assert found.serving == "disaggregated"
        assert placed.gpus == found.gpus == found.prefill.gpus + found.decode.gpus
        assert "prefill" in placed.configuration
    assert all(s.gpus_used <= s.gpus for s in either.systems)


def test_a_workload_alone_takes_no_more_gpus_than_its_plan() -> None:
    """Both by the analytic load model: a simulation may confirm fewer instances than either estimates."""
    for kinds in ([], ["aggregated"], ["disaggregated"]):
        asked = large_model("alone", kinds, objective="gpus", spare_instances=1, routing="random")
        planned = analytic_plan(asked).deployment
        placed = place([asked], "systems").placed[0]
        assert placed.gpus <= planned.gpus_bought
        assert placed.deployment.spare_instances == (2 if placed.deployment.serving == "disaggregated" else 1)


def test_of_as_few_systems_the_cheapest_are_taken() -> None:
    """One system serves both, a rack of 72 GPUs as well as a server: by systems the price decides between them."""
    asked = [workload(model, 3, model, gpus=[]) for model in ("meta-llama/Meta-Llama-3-8B", "Qwen/Qwen3-32B")]
    fewest, cheapest = place(asked, "systems"), place(asked)
    assert sum(s.systems for s in fewest.systems) == sum(s.systems for s in cheapest.systems) == 1
    assert fewest.usd_per_month == cheapest.usd_per_month
