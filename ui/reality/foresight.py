"""When the load outgrows what the limits carry: read when the panel is opened, with what to order by when."""

import streamlit as st

from collectors.backends.backend import Backend
from collectors.questions.load import LoadHistory, load_history
from collectors.source import Source
from reality.forecast.result import Forecast
from sizing.base.errors import SizingError
from sizing.base.units import S_PER_DAY, S_PER_HOUR
from sizing.scenario.schema import Scenario
from ui import sources
from ui.figures.forecast import build_forecast, forecast_alt_text, forecast_table
from ui.format import as_markdown, bullets
from ui.reality.diagnosis import MEASURED_CAPACITY
from ui.shell import draw_chart, draw_choice, draw_problems, draw_table, refreshed
from ui.sources.picker import Picked
from ui.sources.reading import registry
from ui.state import plan_of

RANGES = {"4 weeks": 28, "3 months": 91, "1 year": 365}
"""Histories that may be asked for, in days."""
LOOK_EVERY_S = 1.0
"""Seconds between two looks while the history is read."""
MOST_FORECASTS = 64
"""Forecasts kept in memory, over all viewers."""


def draw_foresight(picked: Picked, scenario: Scenario, end_s: float | None, *, every_s: float | None) -> None:
    """The panel, closed until it is asked for: weeks of history are a larger question than a window. ``every_s``: how
    often the diagnosis above it says anew what the replicas carry (None: never)."""
    with st.expander(
        "When the load outgrows the limits", icon=":material/trending_up:", key="foresight", on_change="rerun"
    ) as panel:
        if not panel.open:
            return
        label = draw_choice(
            "History",
            list(RANGES),
            key="foresight_days",
            kept="session",
            help="From 2 weeks on; the longer, the further.",
        )
        waits = _loaded(picked, RANGES[label], end_s).pending
        refreshed(_body, LOOK_EVERY_S if waits else every_s)(picked, scenario, label, end_s, waiting=waits)


def _loaded(picked: Picked, days: int, end_s: float | None) -> sources.LatestAnswer[LoadHistory]:
    """The history until ``end_s`` (None: now), read once an hour for all viewers."""

    def read(backend: Backend, source: Source) -> LoadHistory:
        until = end_s if end_s is not None else registry().clock()
        return load_history(backend, source, start_s=until - days * S_PER_DAY, end_s=end_s)

    return sources.ask(picked.known, f"load {days}", read, end_s=end_s, every_s=S_PER_HOUR)


def _body(picked: Picked, scenario: Scenario, label: str, end_s: float | None, *, waiting: bool) -> None:
    answer = _loaded(picked, RANGES[label], end_s)
    if answer.pending:
        st.info(f"Reading {label} of {as_markdown(picked.title)}.", icon=":material/hourglass_top:")
        return
    if waiting:
        st.rerun()
    loaded = answer.good
    if loaded is None:
        st.error(f"No forecast: the source cannot be read. {as_markdown(answer.problem)}", icon=":material/cloud_off:")
        return
    try:
        foreseen = forecast_of(
            scenario.model_dump_json(),
            picked.known.key,
            picked.title,
            (loaded.start_s, len(loaded.rps)),
            _carried(),
            _loaded=loaded,
        )
    except SizingError as error:
        draw_problems(error.problems)
        return
    _draw(foreseen)


def _carried() -> float | None:
    """What the diagnosis says of now, so rounded that a window that moves on asks for no new forecast by chance."""
    carried: float | None = st.session_state.get(MEASURED_CAPACITY)
    return None if carried is None else float(f"{carried:.3g}")


def _draw(foreseen: Forecast) -> None:
    st.markdown(f"**{as_markdown(foreseen.answer)}**")
    if not foreseen.past_days:
        return
    dark = st.context.theme.type == "dark"
    draw_chart(build_forecast(foreseen, dark=dark), key="foresight_chart", alt=forecast_alt_text(foreseen))
    if foreseen.days:
        draw_table(lambda: forecast_table(foreseen), key="foresight_days_table", what="Forecast by day")
    if foreseen.notes:
        st.caption(bullets(foreseen.notes))


@st.cache_resource(max_entries=MOST_FORECASTS, ttl="6h", show_spinner=False)
def forecast_of(
    scenario_json: str,
    source_key: str,
    title: str,
    read: tuple[float, int],
    measured_rps: float | None,
    *,
    _loaded: LoadHistory,
) -> Forecast:
    """The forecast of a history that was read, shared by all who look at both. Where the diagnosis above it has said
    what the replicas carry (requests/s), that is the load it looks for. Raises SizingError."""
    from reality.forecast.door import forecast  # what only this panel needs is loaded when it is opened
    from reality.forecast.foresee import ForecastRequest

    scenario = Scenario.model_validate_json(scenario_json)
    end_s = _loaded.start_s + (len(_loaded.rps) - 1) * _loaded.step_s
    return forecast(
        scenario,
        plan_of(scenario_json),
        _loaded,
        source_name=title,
        at_s=end_s,
        wanted=ForecastRequest(measured_rps=measured_rps),
    )
