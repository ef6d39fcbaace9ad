"""What a plan and an API cost per million tokens, by hand."""

import pytest

from reality.money import planned_cost
from sizing import Scenario
from sizing.economics.cost import cost
from sizing.planning.analytic import analytic_plan
from sizing.planning.answered import Answer
from sizing.question.understand import understand

SCENARIO = Scenario.model_validate(
    {
        "model": "meta-llama/Meta-Llama-3-8B-Instruct",
        "workload": {"input_tokens": 1000, "output_tokens": 100, "peak_rps": 10},
        "deployment": {"gpus": ["h100_sxm"]},
        "costs": {"api": {"input_usd_per_mtok": 1.0, "output_usd_per_mtok": 4.0}},
    }
)


def test_plan_and_api_are_over_the_same_tokens() -> None:
    """The API: (1,000 x 1 + 100 x 4) / 1,100 = 1.2727 USD; the plan: as the cost of the scenario says."""
    plan = analytic_plan(SCENARIO)
    planned, answer = planned_cost(Answer(understand(SCENARIO), plan)), cost(Answer(understand(SCENARIO), plan))
    assert planned.api_usd_per_million_tokens == pytest.approx(1400 / 1100)
    assert planned.usd_per_hour == pytest.approx((answer.usd_per_month or 0.0) / 730)
    allocated = next(lens for lens in answer.lenses if lens.name == "allocated")
    assert planned.usd_per_million_tokens == pytest.approx(allocated.per_unit.usd_per_million_blended_tokens)
