"""Instances simulated together: as many requests in all as one would have say what many more say."""

import math
from typing import Any

import pytest

from sizing import Scenario, plan
from sizing.question.understand import understand
from sizing.search import trials
from sizing.search.refine import Search
from sizing.search.serving import screened
from sizing.simulator import run_length
from sizing.simulator.fleet import Fleet
from sizing.simulator.layout import ITL, TTFT
from sizing.simulator.quantiles import sampled_quantile
from tests.sizing.asking import LLAMA_70B, raw
from tests.sizing.search.simulated import VARY, scenario

REQUESTS = 12_000
ONE_LAYOUT = {
    "gpus": ["h100_sxm"],
    "engines": ["vllm"],
    "precisions": ["fp8"],
    "tp": [4],
    "pp": [1],
    "serving": ["aggregated"],
    "speculation": "off",
    "confidence": 50,
}
ALIKE = 0.12
"""Relative difference of percentiles. Chosen: about what two seeds differ by at p95 under bursts."""


def case_of(routing: str, **workload: Any) -> tuple[trials.Case, int]:
    """The smallest deployment of the screen as it is simulated, and a fifth more instances: its queue does not grow."""
    asked = scenario(
        workload={**VARY, "peak_rps": 60, **workload},
        deployment={"gpus": ["h100_sxm"], "routing": routing, "serving": ["aggregated"]},
    )
    seen = screened(understand(asked)).together
    first = int(seen.order()[0])
    return Search(seen, 0).case(int(seen.index[first])), math.ceil(1.2 * seen.instances[first])


@pytest.mark.parametrize("workload", [{}, {"arrivals": {"gamma": {"cv": 2}}}, {"peak_rps": 200}], ids=str)
def test_few_requests_of_instances_together_say_what_many_do(workload: dict[str, Any]) -> None:
    case, instances = case_of("least_loaded", **workload)
    count = trials.together(case.routing, instances)
    assert count > 1
    share = trials.share_of(case.arrivals, count / instances)
    many = run_length.run(
        Fleet(replicas=(case.replica,) * count, routing=case.routing), share, case.lengths, REQUESTS, 0
    )
    few = trials.run(case, instances, REQUESTS)
    assert few.arrived < 0.7 * many.arrived
    assert few.finished >= 0.95 * REQUESTS
    for metric in (TTFT, ITL):
        wanted, found = (sampled_quantile(one, metric, 95).value for one in (many, few))
        assert found == pytest.approx(wanted, rel=ALIKE)


def test_one_alone_has_all_the_requests() -> None:
    case, instances = case_of("random")
    found = trials.run(case, instances, REQUESTS)
    assert found.replicas == 1
    assert found.arrived == pytest.approx(REQUESTS, rel=0.05)


@pytest.mark.parametrize("routing", ["least_loaded", "prefix_aware"])
def test_answers_of_one_length_are_spread_over_the_instances(routing: str) -> None:
    """Equal to the token they would end together, and a front end that counts requests would keep them together."""
    needed = {}
    for way, output in ((routing, 500), (routing, {"p50": 500, "p95": 600}), ("random", 500)):
        workload, deployment = {"output_tokens": output}, {**ONE_LAYOUT, "routing": way}
        asked = raw(LLAMA_70B, workload=workload, limits={"ttft_ms": 900}, deployment=deployment)
        chosen = plan(Scenario.model_validate(asked)).deployment
        needed[way, str(output)] = chosen.instances
    alike, apart, at_random = needed.values()
    assert alike <= at_random
    assert alike == pytest.approx(apart, abs=1)
