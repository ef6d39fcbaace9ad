"""The plans of all sessions: each question is computed once, whoever asks it, and its answer kept for the others.

So is what Explore and the panels of Size work out beside a plan. Without worker processes it is computed by the thread
that asks first, while others wait for it. With some, questions wait in :class:`Turns` for a worker, and whoever waits
is told the place. A question whose process dies is asked once more.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Generic, TypeVar

from streamlit.runtime.scriptrunner import get_script_run_ctx

from sharing.settings import Settings
from sizing.base.errors import SizingError
from sizing.base.result import Plan
from sizing.planning.answered import as_planned_for
from sizing.scenario.schema import Scenario
from ui.observed.figures import PLAN_S
from ui.work.computing import planned, prepared
from ui.work.turns import Turns
from ui.work.workers import TookTooLong, Worker, WorkerEnded, cores

MOST_KEPT = 1024
"""Plans kept in memory; one is some 100 KB, a brief one 40."""
KEPT_S = 6 * 3600.0
LOOK_S = 0.2
"""Between two looks of whoever waits. Chosen: a page that is no longer wanted ends within it."""
MOST_WORKERS = 8
"""Workers unless told otherwise. Chosen: each has 250 MB."""
TRIES = 2
"""Times that a question is asked whose process dies. Chosen: one that ends two of them ends all."""
MINUTE_S = 60.0
STOPPING = "This server is being stopped: ask again in a moment."

Tell = Callable[[int], object]
"""Told now and then at which place a question waits; 0 once it is being computed. What it raises ends the waiting."""

_LOG = logging.getLogger(__name__)


class NotPlanned(SizingError):
    """A plan that this server gave up."""


class Busy(SizingError):
    """A session has asked for as many plans as it may for now."""


T = TypeVar("T")
Key = tuple[str, bool]
"""Of a plan: the scenario as JSON, and whether only the answer counts (``brief``)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Computation(Generic[T]):
    """What is computed for all sessions: a function that processes import by its name, and how many of its answers are
    kept. ``what``: its answer is called so."""

    compute: Callable[..., T]
    kept: int
    what: str


@dataclass(kw_only=True)
class QuestionCounts:
    """Questions since the start, by where their answer came from, and what befell workers."""

    computed: int = 0
    kept: int = 0
    """Answered before, for this session or another."""
    shared: int = 0
    """Being computed for another session at that moment."""
    given_up: int = 0
    ended_workers: int = 0


@dataclass(kw_only=True, eq=False)
class _Question:
    """A question under way, what its function takes, and how many wait for its answer."""

    of: Computation[Any]
    key: Hashable
    taken: tuple[object, ...]
    future: Future[Any] = field(default_factory=Future)
    waiting: int = 0

    @property
    def id(self) -> tuple[Computation[Any], Hashable]:
        """What equal questions have in common."""
        return self.of, self.key


class Plans:
    """The plans of one process, and what is worked out of them. Safe to use from several threads."""

    def __init__(
        self,
        *,
        compute: Callable[[str, bool], Plan] = planned,
        prepare: Callable[[], object] = prepared,
        settings: Settings | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """With the limits of the settings; without any a session may have any number of plans, and no workers."""
        self._plan = Computation(compute=compute, kept=MOST_KEPT, what="plan")
        self._prepare, self._settings, self._clock = prepare, settings, clock
        self._changed = threading.Condition()
        self._kept: defaultdict[Computation[Any], OrderedDict[Hashable, tuple[float, Any]]] = defaultdict(OrderedDict)
        self._under_way: dict[tuple[Computation[Any], Hashable], _Question] = {}
        self._turns: Turns[_Question] = Turns()
        self._begun: dict[Hashable, deque[float]] = {}
        self._workers: list[Worker] = []
        self._ready = 0
        self._closed = False
        self.counts = QuestionCounts()

    def keep_to(self, settings: Settings) -> None:
        """Keep to the limits of these settings from now on."""
        self._settings = settings

    def start(self) -> None:
        """Start the workers of the settings, one after the other; plans are computed here until one is prepared."""
        with self._changed:
            new = [Worker(self._prepare) for _ in range(self._wanted() - len(self._workers))]
            self._workers += new
        if new:
            threading.Thread(target=self._start, args=(new,), name="workers", daemon=True).start()

    def _wanted(self) -> int:
        """How many workers: on a single core one would only wait for the pages."""
        if self._settings is None:
            return 0
        if self._settings.workers is not None:
            return self._settings.workers
        usable = cores()
        return 0 if usable == 1 else min(usable, MOST_WORKERS)

    def close(self) -> None:
        """End the workers, and tell who waits for them; plans are computed here from now on."""
        with self._changed:
            self._closed, self._ready = True, 0
            while (turn := self._turns.take()) is not None:
                self._turns.done(turn[0])
                self._settle(turn[1], NotPlanned(STOPPING))
            self._changed.notify_all()
        for worker in self._workers:
            worker.end()

    @property
    def pids(self) -> Sequence[int]:
        """The worker processes that run."""
        return [worker.pid for worker in self._workers if worker.pid is not None]

    @property
    def workers(self) -> tuple[int, int]:
        """How many workers there are to be, and how many of them are prepared."""
        with self._changed:
            return self._wanted(), self._ready

    @property
    def queued(self) -> int:
        """Questions that wait for a worker."""
        with self._changed:
            return len(self._turns)

    def plan(self, key: Key, session: Hashable, tell: Tell | None = None) -> Plan:
        """The plan that answers a question of a session. Raises SizingError."""
        return self.ask(self._plan, key, session, tell)

    def ask(
        self,
        of: Computation[T],
        key: tuple[Hashable, ...],
        session: Hashable,
        tell: Tell | None = None,
        *,
        taken: tuple[object, ...] | None = None,
    ) -> T:
        """What is computed for a session, of a ``key`` that decides it; ``taken``: what its function takes, where that
        is more. Raises SizingError."""
        with self._changed:
            known: T | None = self._known(of, key)
            if known is not None:
                return known
            question, here = self._asked(_Question(of=of, key=key, taken=key if taken is None else taken), session)
            question.waiting += 1
        try:
            if here:
                self._compute_here(question)
            while not wait([question.future], timeout=LOOK_S).done:
                if tell is not None:
                    tell(self._place(question))
            computed: T = question.future.result()
            return computed
        finally:
            self._left(question)

    def _known(self, of: Computation[Any], key: Hashable) -> Any:
        at, answer = self._kept[of].get(key, (0.0, None))
        if answer is None or self._clock() - at > KEPT_S:
            return None
        self._kept[of].move_to_end(key)
        self.counts.kept += 1
        return answer

    def _asked(self, new: _Question, session: Hashable) -> tuple[_Question, bool]:
        """The question under way, and whether this thread is to compute it."""
        if (question := self._under_way.get(new.id)) is not None:
            self.counts.shared += 1
            if self._turns.place(question):
                self._turns.join(session, question)
            return question, False
        self._admit(session)
        self.counts.computed += 1
        self._under_way[new.id] = new
        if not self._ready:
            return new, True
        self._turns.join(session, new)
        self._changed.notify_all()
        return new, False

    def _admit(self, session: Hashable) -> None:
        """Raises Busy where a session has had as many plans computed as it may."""
        if self._settings is None or session is None:
            return
        most, now = self._settings.plans_per_minute, self._clock()
        for other, times in list(self._begun.items()):
            while times and now - times[0] >= MINUTE_S:
                times.popleft()
            if not times:
                del self._begun[other]
        times = self._begun.setdefault(session, deque())
        if len(times) >= most:
            raise Busy(
                f"This session has had {most} plans computed within a minute, as many as this server allows: "
                "wait a few seconds, then change an input."
            )
        times.append(now)

    def _place(self, question: _Question) -> int:
        with self._changed:
            return self._turns.place(question)

    def _left(self, question: _Question) -> None:
        """One less waits; what nobody waits for, and is not being computed, is dropped."""
        with self._changed:
            question.waiting -= 1
            if not question.waiting and self._turns.place(question):
                self._turns.leave(question)
                del self._under_way[question.id]

    def _compute_here(self, question: _Question) -> None:
        try:
            with PLAN_S.time():
                answer = question.of.compute(*question.taken)
        except BaseException as error:  # noqa: BLE001 (whoever waits gets it, this thread among them)
            self._settle(question, error)
        else:
            self._settle(question, answer)

    def _settle(self, question: _Question, outcome: object) -> None:
        with self._changed:
            del self._under_way[question.id]
            if isinstance(outcome, BaseException):
                question.future.set_exception(outcome)
                return
            kept = self._kept[question.of]
            kept[question.key] = self._clock(), outcome
            while len(kept) > question.of.kept:
                kept.popitem(last=False)
            question.future.set_result(outcome)

    def _start(self, workers: Sequence[Worker]) -> None:
        """One after the other, so that pages keep a core meanwhile."""
        for worker in workers:
            try:
                worker.start()
            except (WorkerEnded, OSError):
                _LOG.exception("A worker process did not start: plans are computed beside the pages")
                continue
            threading.Thread(target=self._serve, args=(worker,), name="worker", daemon=True).start()
            with self._changed:
                self._ready += 0 if self._closed else 1
                self._changed.notify_all()

    def _serve(self, worker: Worker) -> None:
        """Hand one question after the other to a worker."""
        while True:
            with self._changed:
                while (turn := self._turns.take(worker)) is None:
                    if self._closed:
                        return
                    self._changed.wait()
            session, question = turn
            outcome = self._asked_of(worker, question)
            with self._changed:
                self._turns.done(session)
                self._changed.notify_all()
            self._settle(question, outcome)

    def _asked_of(self, worker: Worker, question: _Question) -> object:
        """The answer, or the exception that says why there is none."""
        assert self._settings is not None
        limit_s = self._settings.plan_seconds
        for _ in range(TRIES):
            try:
                with PLAN_S.time():
                    return worker.run(question.of.compute, *question.taken, limit_s=limit_s)
            except TookTooLong:
                with self._changed:
                    self.counts.given_up += 1
                return NotPlanned(
                    f"This {question.of.what} took longer than {limit_s} s, the most that this server gives one: "
                    "consider fewer GPUs, formats or ways to serve."
                )
            except WorkerEnded:
                if self._closed:
                    return NotPlanned(STOPPING)
                with self._changed:
                    self.counts.ended_workers += 1
                _LOG.warning("A worker process ended while it computed a %s", question.of.what)
            except BaseException as error:  # noqa: BLE001 (whoever waits gets it)
                return error
        return NotPlanned(f"The process that planned this ended {TRIES} times: tell whoever runs this server.")


@cache
def plans() -> Plans:
    """Those of this process; computed in it until a server starts workers."""
    return Plans()


def full_plan(scenario_json: str, tell: Tell | None = None) -> Plan:
    """The answer to a scenario with all that a page shows of it. Raises SizingError."""
    return plans().plan((scenario_json, False), _session(), tell)


def brief_plan(scenario: Scenario) -> Plan:
    """The plan of a scenario that stands beside another: the answer alone. Raises SizingError."""
    return plans().plan((as_planned_for(scenario).model_dump_json(), True), _session())


def computed(
    of: Computation[T], key: tuple[Hashable, ...], tell: Tell | None = None, *, taken: tuple[object, ...] | None = None
) -> T:
    """What is worked out for the page that is being drawn, as :meth:`Plans.ask`. Raises SizingError."""
    return plans().ask(of, key, _session(), tell, taken=taken)


def _session() -> str | None:
    """The session whose page is being drawn; None outside of any."""
    context = get_script_run_ctx(suppress_warning=True)
    return None if context is None else context.session_id
