"""Work that runs beside the page: started by a button or a tab, watched by a fragment, cancelled by another button.

All of it is computed by :mod:`ui.work`, in worker processes where there are some; a thread waits for it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Hashable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeAlias, TypeVar

from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from sizing.base.errors import SizingError
from sizing.planning.answered import Answer, as_planned_for
from sizing.scenario.schema import Scenario
from ui.work import computing
from ui.work.plans import plans
from ui.work.questions import Computation

if TYPE_CHECKING:  # the simulator's compiler would slow down the start of every page
    from sizing.explore.length_map import LengthCell, LengthMap
    from sizing.replay.day_result import DayPlan
    from sizing.replay.simulation_result import SimulationResult
    from sizing.replay.what_if import WhatIf
    from sizing.scenario.trace import Trace

T = TypeVar("T")
About = TypeVar("About")
Of = TypeVar("Of")


class SimulationJob(NamedTuple):
    """What a simulation was asked for beside its scenario."""

    what_if: WhatIf
    hours: float | None
    simulated: Scenario | None
    """The scenario whose traffic is simulated in place of that of the page."""
    replayed: bool
    """Whether a trace is replayed."""


DayAsked: TypeAlias = tuple[tuple[float, ...], float]
"""What a day was asked for: hours that were assumed, none where the scenario has its own, and the start-up of an
instance in seconds."""

MOST_ASKED, MOST_SIMULATED = 16, 64
"""Jobs that wait for workers at a time, over all sessions: days and maps of lengths, and simulations, which wait for
each other alone. More wait without a place in the queue. Chosen: waiting takes no core, and 50 KB each."""

PATIENCE_S = 120.0
"""A job that no page has looked at for so long is given up: the user went elsewhere, or the browser holds a hidden tab
back, which it lets look once a minute."""
AFTER_CLOSING_S = 10.0
"""The same where the browser is gone: time to come back after the network failed for a moment."""

KEPT_DAYS, KEPT_ROWS, KEPT_SIMULATIONS = 64, 512, 64
"""Days, rows of maps and simulations that are kept, of some 200 KB, 5 KB and 1 MB."""
_DAY = Computation(compute=computing.day, kept=KEPT_DAYS, what="day")
_ROW = Computation(compute=computing.row_of_lengths, kept=KEPT_ROWS, what="map of lengths")
_SIMULATION = Computation(
    compute=computing.simulated,
    kept=KEPT_SIMULATIONS,
    what="simulation",
    advice="simulate a shorter time, or a part of the trace",
    long=True,
)


class GivenUp(SizingError):
    """Work that ended because nobody waited for it."""


def _in_a_browser(session_id: str | None) -> bool:
    """Whether a browser is connected to the session; without a server nobody can tell, and it counts as if one were."""
    return session_id is None or not runtime.exists() or runtime.get_instance().is_active_session(session_id)


def _session_id() -> str | None:
    context = get_script_run_ctx()
    return None if context is None else context.session_id


@dataclass(kw_only=True, eq=False)
class Job(Generic[T, About]):
    """One piece of work on a scenario; ``share`` is how far it has come, ``place`` where it waits in the queue,
    ``about`` what else it was asked for."""

    scenario: Scenario
    about: About
    share: float = 0.0
    place: int = 0
    looked_at: float = field(default_factory=time.monotonic)
    session_id: str | None = field(default_factory=_session_id)
    cancelled: threading.Event = field(default_factory=threading.Event)
    future: Future[T] | None = None

    @property
    def done(self) -> bool:
        """Whether there is a result, or a problem."""
        return self.future is not None and self.future.done()

    def cancel(self) -> None:
        """Stop at the next look, or before the start."""
        self.cancelled.set()

    def wait(self, seconds: float) -> None:
        """Wait a moment for work that is mostly done in it, so that nothing flickers."""
        if self.future is not None:
            wait([self.future], timeout=seconds)

    def look(self) -> None:
        """What a page calls that shows the job: somebody still waits for it."""
        self.looked_at = time.monotonic()

    def heard(self, share: float) -> bool:
        """What the work calls now and then; whether it is still wanted."""
        self.share = share
        patience_s = PATIENCE_S if _in_a_browser(self.session_id) else AFTER_CLOSING_S
        return not self.cancelled.is_set() and time.monotonic() - self.looked_at < patience_s

    def told(self, place: int) -> None:
        """What is called while a worker is waited for. Raises GivenUp once nobody waits for the job."""
        self.place = place
        if not self.heard(self.share):
            raise GivenUp("This was not worked out, because nobody waited for it.")

    def wanted(self, place: int, share: float) -> bool:
        """What is called while a long question is waited for; whether it is still wanted."""
        self.place = place
        return self.heard(share)

    def asked(self, of: Computation[Of], key: tuple[Hashable, ...], *, taken: tuple[object, ...] | None = None) -> Of:
        """What the workers compute for the session of the job, as :meth:`ui.work.plans.Plans.ask`."""
        try:
            return plans().ask(of, key, self.session_id, self.told, taken=taken)
        finally:
            self.place = 0

    def outcome(self) -> T | tuple[str, ...]:
        """The result, or the sentences that say why there is none."""
        assert self.future is not None
        try:
            return self.future.result()
        except SizingError as error:
            return error.problems


@cache
def _asking() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(MOST_ASKED, thread_name_prefix="asking")


@cache
def _simulating() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(MOST_SIMULATED, thread_name_prefix="simulating")


def start_simulation(
    scenario_or_answer: Scenario | Answer,
    *,
    simulated: Scenario | None = None,
    hours: float | None,
    what_if: WhatIf,
    trace: Trace | None = None,
) -> Job[SimulationResult, SimulationJob]:
    """Start to simulate some hours of what was asked, or of the ``simulated`` scenario that stands for it, or a trace,
    on what the plan deploys."""
    known = scenario_or_answer.plan if isinstance(scenario_or_answer, Answer) else None
    scenario = scenario_or_answer.scenario if isinstance(scenario_or_answer, Answer) else scenario_or_answer
    job: Job[SimulationResult, SimulationJob] = Job(
        scenario=scenario,
        about=SimulationJob(what_if=what_if, hours=hours, simulated=simulated, replayed=trace is not None),
    )

    def work() -> SimulationResult:
        scenario_json = as_planned_for(scenario).model_dump_json()
        traffic = None if simulated is None else as_planned_for(simulated).model_dump_json()
        decided_by, digest = None if known is None else known.decided_by, None if trace is None else trace.digest
        return plans().ask_long(
            _SIMULATION,
            (scenario_json, decided_by, traffic, hours, what_if, digest),
            job.session_id,
            job.wanted,
            taken=(scenario_json, known, traffic, hours, what_if, trace),
        )

    job.future = _simulating().submit(work)
    return job


def start_day(scenario_or_answer: Scenario | Answer, about: DayAsked) -> Job[DayPlan, DayAsked]:
    """Start to plan the day of a scenario, with the instances of an answer that is known already."""
    known = scenario_or_answer.plan if isinstance(scenario_or_answer, Answer) else None
    scenario = scenario_or_answer.scenario if isinstance(scenario_or_answer, Answer) else scenario_or_answer
    job: Job[DayPlan, DayAsked] = Job(scenario=scenario, about=about)
    scenario_json = scenario.model_dump_json()

    def work() -> DayPlan:
        key = (scenario_json, None if known is None else known.decided_by, *about)  # an estimate is another plan
        return job.asked(_DAY, key, taken=(scenario_json, known, *about))

    job.future = _asking().submit(work)
    return job


def start_lengths(scenario: Scenario, gpu: str) -> Job[LengthMap, str]:
    """Start to plan the lengths around those of a scenario on one GPU, a row after the other."""
    job: Job[LengthMap, str] = Job(scenario=scenario, about=gpu)
    scenario_json = scenario.model_dump_json()

    def row_of(prompt: float, outputs: Sequence[float]) -> tuple[LengthCell, ...]:
        return job.asked(_ROW, (scenario_json, gpu, prompt, tuple(outputs)))

    def work() -> LengthMap:
        from sizing.explore.length_map import around, gpus_over_lengths

        return gpus_over_lengths(scenario, gpu, *around(scenario), job.heard, row_of)

    job.future = _asking().submit(work)
    return job
