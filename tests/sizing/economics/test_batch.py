"""A batch as people ask it: documents a month, a deadline, a working window; one answer whichever way it is entered."""

from typing import Any

import pytest

from sizing import Scenario
from sizing.base.errors import InvalidScenario
from sizing.economics.cost import cost
from sizing.economics.results import CostAnswer
from sizing.planning.answered import Answer
from sizing.scenario.demand import peak_demand
from sizing.scenario.file import scenario_from
from sizing.scenario.schema import Workload

A_MONTH = 3600 * 730
LENGTHS: dict[str, Any] = {"input_tokens": 2048, "output_tokens": 128, "mode": "offline"}
RATE = 50.0
SAME: dict[str, dict[str, Any]] = {
    "documents": {"batch": {"documents_per_month": RATE * A_MONTH}},
    "two requests each": {"batch": {"documents_per_month": RATE * A_MONTH / 2, "requests_per_document": 2}},
    "peak": {"peak_rps": RATE},
    "average": {"average_rps": RATE},
    "users": {"users": {"daily_users": RATE * 86_400 / 3, "requests_per_user": 3, "hours": 24, "peak_to_mean": 2}},
    "by hour": {"peak_rps": RATE, "arrivals": {"profile": [1.0] * 24}},
}


def answered(load: dict[str, Any], **others: Any) -> tuple[Answer, CostAnswer]:
    answer = Answer.of(
        Scenario.model_validate(
            {
                "model": "meta-llama/Meta-Llama-3.1-8B",
                "workload": LENGTHS | load,
                "deployment": {"gpus": ["l40s"]},
                **others,
            }
        )
    )
    return answer, cost(answer)


def test_the_same_load_has_one_answer_whichever_way_it_is_entered() -> None:
    plain, money = answered(SAME["documents"])
    assert money.usd_per_document == pytest.approx(money.usd_per_month / (RATE * A_MONTH))
    for name, load in SAME.items():
        other, same = answered(load)
        assert other.plan.deployment.gpus == plain.plan.deployment.gpus, name
        assert same.usd_per_month == pytest.approx(money.usd_per_month), name
        assert same.usd_per_million_output_tokens == pytest.approx(money.usd_per_million_output_tokens), name
        assert other.plan.cost.usd_per_million_output_tokens == pytest.approx(
            plain.plan.cost.usd_per_million_output_tokens
        ), name
        assert other.plan.business.daily_users is None
        each = 2.0 if name == "two requests each" else 1.0
        assert same.usd_per_document == pytest.approx(each * money.usd_per_document), name


def test_documents_deadline_and_window_make_the_rate() -> None:
    # 1,000,000 documents in 10 days of 8 hours, 5 of 7: 10 x 5 / 7 x 8 = 57.142857 h; 1e6 / 205,714.29 s = 4.8611
    window = {"documents_per_month": 1e6, "deadline_days": 10, "hours_per_day": 8, "days_per_week": 5}
    demand = peak_demand(Workload.model_validate(LENGTHS | {"batch": window}))
    assert demand.sustained_rps == demand.peak_rps == pytest.approx(4.861111)
    answer, money = answered({"batch": window})
    assert answer.plan.business.requests_per_day == pytest.approx(1e6 / (365 / 12))
    assert money.documents_per_month == pytest.approx(1e6)
    assert " per 1,000 documents and " in money.answer or " per document and " in money.answer
    assert "1M documents a month" in money.answer
    assert "users" not in answer.plan.answer


def test_a_window_needs_more_gpus_than_the_whole_month_and_is_rented_by_its_hours() -> None:
    _, always = answered({"batch": {"documents_per_month": RATE * A_MONTH}})
    _, window = answered({"batch": {"documents_per_month": RATE * A_MONTH, "hours_per_day": 8}})
    assert window.gpus > always.gpus
    by_hour = next(one for one in window.ways if one.name == "cloud_hours")
    all_day = next(one for one in window.ways if one.name == "cloud")
    # 8 of 24 hours, and 5 minutes a day in which they start
    assert next(one for one in window.ways if one.name == "hybrid").unavailable == "no_peaks"
    assert by_hour.parts["instances"] == pytest.approx(all_day.parts["instances"] * (8 + 5 / 60) / 24)


@pytest.mark.parametrize(
    ("load", "says"),
    [
        (
            {"batch": {"documents_per_month": 1e6}, "peak_rps": 3},
            "exactly one of peak_rps, average_rps, users or batch",
        ),
        ({"batch": {"documents_per_month": 1e6}, "mode": "streaming"}, "nobody waits for a batch"),
        ({"batch": {"documents_per_month": 1e6}, "arrivals": {"profile": [1.0] * 24}}, "evenly in its working window"),
        ({"batch": {"documents_per_month": 0}}, "documents_per_month"),
        ({"batch": {"documents_per_month": 1e6, "deadline_days": 40}}, "deadline_days"),
        ({"batch": {"documents_per_month": 1e6, "hours_per_day": 25}}, "hours_per_day"),
    ],
)
def test_a_batch_that_cannot_be_is_refused_in_a_sentence(load: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidScenario, match=says):
        scenario_from({"model": "meta-llama/Meta-Llama-3.1-8B", "workload": LENGTHS | load})


def test_a_batch_is_offline_unless_it_says_otherwise() -> None:
    lengths = {name: LENGTHS[name] for name in ("input_tokens", "output_tokens")}
    assert Workload.model_validate(lengths | {"batch": {"documents_per_month": 1e6}}).mode == "offline"
