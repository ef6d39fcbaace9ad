"""Latency against throughput: draw it, and take a clicked point to Size."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from sizing.explore.frontier import OperatingPoints
from sizing.explore.measured_points import MeasuredPoint
from sizing.explore.operating_point import OperatingPoint, YAxis
from sizing.scenario.schema import Scenario
from sizing.steps.efficiency import REFERENCE_YEAR
from ui import state
from ui.explore import computed
from ui.explore.controls import draw_controls
from ui.figures.frontier import build_frontier, frontier_alt_text, frontier_table, measured_table
from ui.shell import CONFIG, draw_table, make_room_for_legend
from ui.state import FormAnswer

_CHART, _TAKEN = "frontier", "frontier_point_taken"
_COUNTED: dict[YAxis, str] = {
    "usd_per_million_output_tokens": "Cost at my load: hardware alone, whole systems for the load of this scenario, "
    "spares included, and the tokens of its day, as on Size.",
    "usd_per_million_output_tokens_at_full_load": "Cost at full load: hardware alone, systems full and busy day and "
    "night, the least that a token can cost.",
    "output_tokens_per_s_per_kw": "Power: systems full and busy all the time.",
}
"""What cost and power count, by what is drawn upwards."""
_ORIGIN = (
    ":material/calculate: Lines and points are estimates of the analytic load model. The mark of the plan is "
    "simulated, as on Size, and so is what Size makes of a clicked point: it may need another number of instances."
)
"""What is an estimate and what is not, above the chart."""
AGED_YEARS = 0.5
"""Measurements on engines older than this are said to be: DeepSeek-R1 ran 2 to 3 times slower nine months earlier."""


@dataclass(frozen=True, kw_only=True)
class _Taken:
    """A point that was clicked, and the scenario it was clicked in."""

    point: OperatingPoint
    scenario: Scenario


def follow_click() -> None:
    """Go to Size where a point was taken, before anything is drawn.

    The address of this page goes along as it is, since to go with another would leave an entry in the browser's history
    that says it was this page's. Size takes the inputs from the session and writes its address itself.
    """
    taken: _Taken | None = st.session_state.pop(_TAKEN, None)
    if taken is not None:
        state.use_deployment(taken.point, taken.scenario)
        st.switch_page("pages/size.py", query_params=state.address_parameters())


def draw_frontier(answer: FormAnswer, *, dark: bool) -> None:
    """Controls, chart, tables. A click pins the form to the point's deployment; see :func:`follow_click`."""
    key = answer.scenario.model_dump_json()
    view = draw_controls(answer)
    shown = computed.points_of(key, view.x, view.y, view.gpus, view.split)
    measured = computed.measured_of(key, view.gpus)
    if answer.plan.decided_by == "simulation":
        st.caption(_ORIGIN)
    figure = build_frontier(shown, ranges=view.ranges, measured=measured, dark=dark)
    make_room_for_legend(figure)
    st.plotly_chart(
        figure,
        key=_CHART,
        on_select=lambda: _take(shown, answer.scenario),
        selection_mode="points",
        alt=frontier_alt_text(shown),
        config=dict(CONFIG),
    )
    st.caption(" ".join(_notes(shown, answer, measured)))
    draw_table(lambda: frontier_table(shown), key="frontier", what="Latency against throughput")
    if measured:
        draw_table(lambda: measured_table(measured), key="measured", what="Measurements nearby")


def clicked(shown: OperatingPoints, selection: list[dict[str, Any]]) -> OperatingPoint | None:
    """The point that was clicked; None for a mark that is no operating point."""
    for point in selection:
        place = point.get("customdata")
        if isinstance(place, list | tuple) and len(place) == 3:
            curve, kind, number = (int(n) for n in place)
            return (shown.curves[curve].points, shown.curves[curve].beyond)[kind][number]
    return None


def _take(shown: OperatingPoints, scenario: Scenario) -> None:
    point = clicked(shown, st.session_state[_CHART].selection.points)
    if point:
        st.session_state[_TAKEN] = _Taken(point=point, scenario=scenario)


def _notes(shown: OperatingPoints, answer: FormAnswer, measured: Sequence[MeasuredPoint]) -> list[str]:
    notes = [
        "Click a point to size with its GPU, engine, precision and parallelism. One point is one deployment at "
        "one load, from many requests in flight to few."
    ]
    if shown.planned:
        notes.append(
            "The ring is the plan at your load: the cheapest whole systems within the limits. It lies below the lines "
            "where these stand for another layout, engine or precision, or for a load that fills a GPU better."
        )
    if shown.y in _COUNTED:
        notes.append(_COUNTED[shown.y])
    published = [m for m in measured if not m.own]
    if not published:
        notes.append("No published measurement is near enough to this scenario to be shown.")
    elif min(m.software_year for m in published) < REFERENCE_YEAR - AGED_YEARS:
        first, last = (f"{pick(m.software_year for m in published):.1f}" for pick in (min, max))
        when = f"of {first}" if first == last else f"of {first} to {last}"
        notes.append(
            f"Measured points ran engines {when}, in years, at the parallelism their authors chose; the lines "
            f"are for engines of {REFERENCE_YEAR:.0f} at their best, and engines became faster in between."
        )
    if measured:
        notes.append(
            f"Measured points are means of their runs, the lines p{shown.percentile:g} at a "
            "steady load: a mean lies on the faster side."
        )
    if answer.scenario.measured is not None:
        notes.append("Size answers with the measured record; this chart shows estimates.")
    if any(p.prefill for c in shown.curves for p in (*c.points, *c.beyond)):
        notes.append(
            "Pools of prefill and decode instances are shown as the smallest group of whole instances that "
            "keeps both busy; their concurrency is that of a decode instance."
        )
    if shown.missing:
        without = ", ".join(answer.question.gpu_name(gpu) for gpu in shown.missing)
        notes.append(f"Without a point, as it does not fit or no price or power is known: {without}.")
    return notes
