"""Latency over the load in a report: a curve beside what decided the plan says how far it is off, or is not drawn."""

import pytest

from sharing.formats.chart_shape import ends_of_marks
from sharing.formats.charts import picture
from sharing.formats.picture import Label
from sharing.report.content import Block, Chart, ChartSeries, Mark, Paragraph, Released, Section, Table
from sharing.report.latency import FAR, LATENCIES, latency
from sharing.report.subject import subject_of
from sizing.base.format import ms
from sizing.base.result import Plan
from sizing.planning.answered import Answer
from sizing.question.understand import understand
from sizing.queueing.knee import on_curve
from tests.sharing.report_cases import CASES, planned, report, scenario
from ui.figures.report import build_report_chart


def decided(answer: Plan, ttft_ms: float) -> Plan:
    """The same plan, had its simulation found another TTFT."""
    found = answer.latency.ttft_ms.model_copy(update={"at_percentile": ttft_ms})
    return answer.model_copy(update={"latency": answer.latency.model_copy(update={"ttft_ms": found})})


def estimated(answer: Plan) -> float:
    """TTFT of the curve at the planned load."""
    point = on_curve(answer.load_curve, answer.per_instance.rps)
    return point.ttft_ms


def blocks(answer: Plan) -> tuple[Block, ...]:
    chapter = latency(subject_of(Answer(understand(scenario("chat")), answer), Released.NOTHING))
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
    (mark,) = [one for one in chart.marks if one.near is not None]
    assert (mark.label, mark.at, mark.near) == (f"simulated: {ms(found)}", found, answer.per_instance.rps)


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
    assert not [one for one in chart.marks if one.near is not None]


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_a_value_that_holds_at_one_place_is_a_short_line_about_it(share: float) -> None:
    places = tuple(float(place) for place in range(11))
    near = 10.0 * share
    mark = Mark(label="found", axis="y", at=5.0, near=near)
    chart = Chart(
        title="t",
        draws="line",
        x_label="x",
        y_label="y",
        x=places,
        series=(ChartSeries(name="s", values=places),),
        marks=(mark,),
    )
    ((start, end),) = ends_of_marks(chart)
    assert (start[1], end[1]) == (5.0, 5.0)
    assert start[0] < near < end[0] < start[0] + 1.0
    drawn = picture(chart, 740.0)
    (name,) = [one for one in drawn.shapes if isinstance(one, Label) and one.text == "found"]
    assert name.anchor == ("start" if share < 0.95 else "end")
    shown = build_report_chart(chart)
    (label,) = shown.layout.annotations
    assert (label.xanchor, label.yanchor) == (("left", "top") if share <= 0.5 else ("right", "bottom")), "off the curve"
    (shape,) = shown.layout.shapes
    assert (shape.x0 + shape.x1) / 2 == pytest.approx(near)
    assert shape.y0 == shape.y1 == 5.0


@pytest.mark.parametrize("name", CASES)
def test_amounts_over_a_month_have_the_same_digits_in_every_table(name: str) -> None:
    tables = [block for one in report(name).sections for block in one.blocks if isinstance(block, Table)]
    whole = [one for table in tables if "per request" not in table.title for one in table.columns]
    assert {one.digits for one in whole if one.holds == "money"} <= {0}
