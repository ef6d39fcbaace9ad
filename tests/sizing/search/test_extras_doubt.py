"""How much less is known of steps with adapters, and of prompts with images, than of plain ones."""

import math

import pytest

from sizing import Scenario
from sizing.question.understand import understand
from sizing.search.caution import MEDIA_DOUBT, doubt_of_extras
from sizing.search.screen import all_configurations, evaluate
from tests.sizing.asking import raw

PLACE = {"gpus": ["h100_sxm"], "engines": ["vllm"], "precisions": ["bf16"], "tp": [1], "speculation": "off"}
VL = "Qwen/Qwen3-VL-8B-Instruct"


def question(**more):
    workload = {"input_tokens": 1000, "output_tokens": 100, "peak_rps": 2, **more.pop("workload", {})}
    return understand(Scenario.model_validate({**raw(VL, workload=workload, deployment=PLACE), **more}))


@pytest.mark.parametrize("metric", ["decode", "prefill"])
def test_adapters_reach_from_one_published_end_to_the_other(metric):
    one = question(adapters={"number": 4})
    fast, slow = doubt_of_extras(metric, one.model, all_configurations(one).rows[0], one.traffic)
    assert (fast, slow) == pytest.approx((0.8 / 0.96, 0.8 / 0.62))


def test_images_widen_prompts_alone_and_join_with_adapters():
    one = question(workload={"pages": 2})
    row = all_configurations(one).rows[0]
    assert doubt_of_extras("decode", one.model, row, one.traffic) == (1.0, 1.0)
    assert doubt_of_extras("prefill", one.model, row, one.traffic)[1] == pytest.approx(MEDIA_DOUBT)
    both = question(workload={"pages": 2}, adapters={"number": 4})
    slow = doubt_of_extras("prefill", both.model, all_configurations(both).rows[0], both.traffic)[1]
    assert math.log(slow) == pytest.approx(math.hypot(math.log(MEDIA_DOUBT), math.log(0.8 / 0.62)))


def test_a_plan_that_is_sure_takes_steps_as_slower_as_the_doubt_says():
    plain, adapted = (evaluate(one, all_configurations(one)) for one in (question(), question(adapters={"number": 4})))
    assert float(adapted.slowness.decode[0]) > float(plain.slowness.decode[0]) > 1.0
    pictures = question(workload={"pages": 2})
    seen = evaluate(pictures, all_configurations(pictures))
    assert float(seen.slowness.prefill[0]) > float(plain.slowness.prefill[0])


def test_what_is_as_likely_as_not_knows_no_doubt():
    one = question(adapters={"number": 4}, workload={"pages": 2}).as_expected()
    slow = evaluate(one, all_configurations(one)).slowness
    assert float(slow.decode[0]) == float(slow.prefill[0]) == 1.0
