"""The door: read the history of a source, plan the scenario, foresee, and say it."""

import contextlib
import sqlite3
import time
from collections.abc import Callable
from typing import Any

from collectors.backends.backend import Backend
from collectors.connect import answering
from collectors.errors import SourceError
from collectors.questions.load import LoadHistory, load_history
from collectors.source import Source
from reality.forecast.foresee import Wanted, foreseen, utc
from reality.forecast.result import Forecast
from reality.forecast.sentences import answer, notes, reasons
from sizing.base.result import Plan
from sizing.base.version import ENGINE_VERSION
from sizing.planning.plan import plan as plan_of
from sizing.scenario.schema import Scenario

NOTHING_FORESEEN: dict[str, Any] = {
    **dict.fromkeys(("history", "method", "backtest", "growth_per_week", "busiest_rps", "capacity", "days_ahead")),
    **dict.fromkeys(("reaches_limit_at", "lead_time", "order_by", "order")),
    **dict.fromkeys(("hours", "days", "past_days"), ()),
}
"""Every field of a forecast that may not be known."""


def forecast_source(
    scenario: Scenario,
    source: Source,
    *,
    history_s: float,
    at_s: float | None = None,
    wanted: Wanted | None = None,
    plan: Plan | None = None,
    backend: Backend | None = None,
    clock: Callable[[], float] = time.time,
) -> Forecast:
    """Read the source and foresee. ``plan`` None: the one of ``python -m sizing plan``. Raises InvalidScenario.

    A source that cannot be read is an answer.
    """
    planned = plan or plan_of(scenario)  # before anything is read: a scenario that cannot be understood ends here
    now = clock() if at_s is None else at_s
    given = None if backend is None else contextlib.nullcontext(backend)
    try:
        with given or answering(source, clock=clock) as own:
            loaded = load_history(own, source, start_s=now - history_s, end_s=at_s, clock=clock)
    except (SourceError, sqlite3.Error) as error:
        return unread(scenario, source.name, str(error), at_s=now)
    return forecast(scenario, planned, loaded, source_name=source.name, at_s=now, wanted=wanted or Wanted())


def forecast(
    scenario: Scenario, plan: Plan, loaded: LoadHistory, *, source_name: str, at_s: float, wanted: Wanted
) -> Forecast:
    """The forecast of a history that was read."""
    fields = {**NOTHING_FORESEEN, **foreseen(scenario, plan, loaded, wanted)}
    return _said(Forecast(**fields, **_about(scenario, source_name, at_s), reasons=(), notes=loaded.problems))


def unread(scenario: Scenario, source_name: str, problem: str, *, at_s: float) -> Forecast:
    """The answer where the source cannot be read."""
    about = _about(scenario, source_name, at_s)
    return _said(Forecast(**NOTHING_FORESEEN, **about, state="unreachable", reasons=(problem,), notes=()))


def _about(scenario: Scenario, source_name: str, at_s: float) -> dict[str, Any]:
    return {
        "answer": "",
        "scenario": scenario.name,
        "source": source_name,
        "at": utc(at_s),
        "engine_version": ENGINE_VERSION,
    }


def _said(silent: Forecast) -> Forecast:
    """With its sentences."""
    more = silent.model_copy(
        update={"reasons": (*silent.reasons, *reasons(silent)), "notes": (*silent.notes, *notes(silent))}
    )
    return more.model_copy(update={"answer": answer(more)})
