"""The manifests of prefill and decode on two GPU types: each pool on its own nodes, by the same schemas as any."""

import pytest

from sharing.manifests import manifests
from sharing.manifests.bundle import README
from sharing.manifests.facts import facts_of
from tests.sharing.manifests.cases import objects
from tests.sharing.manifests.validation import check_files
from tests.sizing.mixed import pools

PRODUCTS = ("NVIDIA-H100-80GB-HBM3", "NVIDIA-H20")


@pytest.mark.parametrize("engine", ["vllm", "trtllm"])
def test_dynamo_puts_each_pool_on_its_own_nodes(engine: str) -> None:
    answer = pools.answer(engine)
    written = manifests(answer)
    check_files(written)
    assert written == manifests(answer)
    (graph,) = (one for file, one in objects(written) if file == "dynamo.yaml")
    by_name = {one["name"]: one for one in graph["spec"]["components"]}
    deployed = answer.pools.plan.deployment
    assert deployed.pools is not None
    for name, pool, product in zip(("prefill", "decode"), deployed.pools, PRODUCTS, strict=True):
        one = by_name[name]
        spec = one["podTemplate"]["spec"]
        assert one["replicas"] == pool.instances
        assert spec["nodeSelector"] == {"nvidia.com/gpu.product": product}
        (main,) = spec["containers"]
        assert main["resources"]["limits"] == {"nvidia.com/gpu": str(pool.tp * pool.pp * pool.dp)}
        args = main["args"]
        assert args[args.index("--disaggregation-mode") + 1] == name
        assert args[args.index("--tensor-parallel-size") + 1] == str(pool.tp)


def test_kserve_and_llm_d_put_each_pool_on_its_own_nodes() -> None:
    written = manifests(pools.answer())
    (service,) = (one for file, one in objects(written) if file == "kserve.yaml")
    selectors = [
        part["template"]["nodeSelector"]["nvidia.com/gpu.product"]
        for part in (service["spec"]["prefill"], service["spec"])
    ]
    assert tuple(selectors) == PRODUCTS
    pods = {
        one["metadata"]["name"].rpartition("-")[2]: one["spec"]["template"]["spec"]
        for file, one in objects(written)
        if file == "llm-d.yaml" and one["kind"] == "Deployment"
    }
    assert tuple(pods[role]["nodeSelector"]["nvidia.com/gpu.product"] for role in ("prefill", "decode")) == PRODUCTS


def test_steps_are_limited_by_the_gpu_of_each_pool() -> None:
    answer = pools.answer()
    assert answer.pools is not None
    facts = facts_of(answer.pools)
    assert [gpu.id for gpu in facts.gpu_types] == ["h100_sxm", "h20"]
    for group in facts.groups:
        there = facts.of(group)
        assert there.gpu.id == group.gpu.id
        assert group.token_budget == facts.engine.budget(group.gpu)
        assert group.max_sequences == facts.engine.sequences(group.gpu)


def test_the_readme_says_what_is_deployed_and_what_cannot_be() -> None:
    said = manifests(pools.answer())[README]
    assert "prefill instances, each TP 4, PP 1, EP 1, DP 1 on 4 x H100 SXM5 80GB" in said
    assert "decode instances, each TP 8, PP 1, EP 1, DP 1 on 8 x H20 SXM5 96GB" in said
    assert "It asks for one GPU type, and prefill and decode are on two." in said
    assert "$" not in said
