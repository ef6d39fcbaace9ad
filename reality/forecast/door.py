"""The door: read the history of a source, plan the scenario, foresee, and say it."""

import contextlib
import sqlite3
import time
from collections.abc import Callable
from typing import TypedDict

from collectors.backends.backend import Backend
from collectors.connect import answering
from collectors.errors import SourceError
from collectors.questions.load import LoadHistory, load_history
from collectors.source import Source
from reality.forecast.foresee import ForecastRequest, foreseen, utc
from reality.forecast.result import Forecast, nothing_known
from reality.forecast.sentences import answer, notes, reasons
from sizing.base.result import Plan
from sizing.base.version import ENGINE_VERSION
from sizing.planning.answered import Answer, as_answer
from sizing.scenario.schema import Scenario


def forecast_source(
    scenario_or_answer: Scenario | Answer,
    source: Source,
    *,
    history_s: float,
    at_s: float | None = None,
    wanted: ForecastRequest | None = None,
    backend: Backend | None = None,
    clock: Callable[[], float] = time.time,
) -> Forecast:
    """Read the source and foresee; a scenario is answered first, as by ``python -m sizing plan``. Raises
    InvalidScenario. A source that cannot be read is an answer.
    """
    answered = as_answer(scenario_or_answer)  # before anything is read: what cannot be understood ends here
    now = clock() if at_s is None else at_s
    given = None if backend is None else contextlib.nullcontext(backend)
    try:
        with given or answering(source, clock=clock) as own:
            loaded = load_history(own, source, start_s=now - history_s, end_s=at_s, clock=clock)
    except (SourceError, sqlite3.Error) as error:
        return unread(answered.scenario, source.name, str(error), at_s=now)
    return forecast(
        answered.scenario, answered.plan, loaded, source_name=source.name, at_s=now, wanted=wanted or ForecastRequest()
    )


def forecast(
    scenario: Scenario, plan: Plan, loaded: LoadHistory, *, source_name: str, at_s: float, wanted: ForecastRequest
) -> Forecast:
    """The forecast of a history that was read."""
    return _said(
        Forecast(
            **foreseen(scenario, plan, loaded, wanted),
            **_about(scenario, source_name, at_s),
            reasons=(),
            notes=loaded.problems,
        )
    )


def unread(scenario: Scenario, source_name: str, problem: str, *, at_s: float) -> Forecast:
    """The answer where the source cannot be read."""
    return _said(
        Forecast(**nothing_known("unreachable"), **_about(scenario, source_name, at_s), reasons=(problem,), notes=())
    )


class _About(TypedDict):
    """The fields that say of what and when a forecast is, and its sentence, which is written last."""

    answer: str
    scenario: str
    source: str
    at: str
    engine_version: str


def _about(scenario: Scenario, source_name: str, at_s: float) -> _About:
    return _About(answer="", scenario=scenario.name, source=source_name, at=utc(at_s), engine_version=ENGINE_VERSION)


def _said(silent: Forecast) -> Forecast:
    """A forecast without sentences, with its reasons, notes and answer added."""
    more = silent.model_copy(
        update={"reasons": (*silent.reasons, *reasons(silent)), "notes": (*silent.notes, *notes(silent))}
    )
    return more.model_copy(update={"answer": answer(more)})
