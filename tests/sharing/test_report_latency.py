"""Latency over the load in a report: a curve beside what decided the plan says how far it is off, or is not drawn."""

from __future__ import annotations

import pytest

from sharing.report.content import Block, Chart, Paragraph, Released, Section, Table
from sharing.report.latency import FAR, LATENCIES, latency
from sharing.report.subject import subject_of
from sizing.base.format import ms
from sizing.base.result import Plan
from sizing.queueing.knee import on_curve
from tests.sharing.report_cases import CASES, planned, report, scenario


def decided(answer: Plan, ttft_ms: float) -> Plan:
    """The same plan, had its simulation found another TTFT."""
    assert answer.latency is not None
    found = answer.latency.ttft_ms.model_copy(update={"at_percentile": ttft_ms})
    return answer.model_copy(update={"latency": answer.latency.model_copy(update={"ttft_ms": found})})


def estimated(answer: Plan) -> float:
    """TTFT of the curve at the planned load."""
    assert answer.per_instance is not None
    point = on_curve(answer.load_curve, answer.per_instance.rps)
    assert point is not None
    return point.ttft_ms


def blocks(answer: Plan) -> tuple[Block, ...]:
    chapter = latency(subject_of(scenario("chat"), answer, Released.NOTHING))
    assert isinstance(chapter, Section)
    return chapter.blocks


def ttft_charts(answer: Plan) -> list[Chart]:
    return [one for one in blocks(answer) if isinstance(one, Chart) and "TTFT" in one.title]


@pytest.mark.parametrize(("share", "says"), [(0.8, "20 % below"), (1.25, "25 % above"), (1.0, "within 1 % of")])
def test_a_curve_is_an_estimate_and_what_was_simulated_stands_in_it(share: float, says: str) -> None:
    answer = planned("chat")
    found = estimated(answer) / share
    (chart,) = ttft_charts(decided(answer, found))
    assert "estimate" in chart.title
    assert says in chart.note
    assert LATENCIES in chart.note
    assert [one.at for one in chart.marks if one.label == f"simulated at the planned load {ms(found)}"] == [found]


@pytest.mark.parametrize("share", [0.99 / FAR, 1.01 * FAR])
def test_a_curve_that_contradicts_the_simulation_is_not_drawn(share: float) -> None:
    answer = planned("chat")
    other = decided(answer, estimated(answer) / share)
    assert not ttft_charts(other)
    (said,) = [one.text for one in blocks(other) if isinstance(one, Paragraph) and "No curve" in one.text]
    assert "TTFT" in said
    assert "1.5 times off" in said
    assert LATENCIES in said


def test_a_curve_that_decided_the_plan_has_one_answer() -> None:
    (chart,) = ttft_charts(planned("chat").model_copy(update={"decided_by": "analytic"}))
    assert "estimate" not in chart.title
    assert not [one for one in chart.marks if "planned load " in one.label]


@pytest.mark.parametrize("name", CASES)
def test_amounts_over_a_month_have_the_same_digits_in_every_table(name: str) -> None:
    tables = [block for one in report(name).sections for block in one.blocks if isinstance(block, Table)]
    whole = [one for table in tables if "per request" not in table.title for one in table.columns]
    assert {one.digits for one in whole if one.holds == "money"} <= {0}
