"""The plans of all sessions: each question is computed once, whoever asks it, and its answer kept for the others.

So is what Explore and the panels of Size work out beside a plan. Without worker processes it is computed by the thread
that asks first, while others wait for it. With some, questions wait in :class:`Lanes` for a worker, and whoever waits
is told the place. A question whose process dies is asked once more.

Long questions, such as simulations, tell how far they are, and are stopped where nobody waits for them any more. They
have one worker less than there are, so that plans go on; with one or none, threads of this process compute them.
"""

import logging
import threading
import time
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import wait
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar, cast

from streamlit.runtime.scriptrunner import get_script_run_ctx

from sharing.settings import Settings
from sizing.base.result import Plan
from sizing.planning.answered import as_planned_for
from sizing.scenario.schema import Scenario
from ui.observed.figures import LONG_S, PLAN_S
from ui.work.computing import planned, prepared
from ui.work.lanes import Lanes, TakenTurn
from ui.work.questions import Busy, Cancelled, Computation, NotPlanned, QueuedQuestion, Tell, Wanted
from ui.work.workers import LOOK_S, TookTooLong, Worker, WorkerEnded, cores

MOST_KEPT = 1024
"""Plans kept in memory; one is some 100 KB, a brief one 40."""
KEPT_S = 6 * 3600.0
MOST_WORKERS = 8
"""Workers unless told otherwise. Chosen: each has 250 MB."""
TRIES = 2
"""Times that a question is asked whose process dies. Chosen: one that ends two of them ends all."""
FEWEST_FOR_LONG = 2
"""Workers from which on long questions have one less than there are."""
LONG_HERE = 2
"""Long questions at once in threads of this process, where there are fewer workers. Chosen: pages keep their turns of
the interpreter's lock."""
MINUTE_S = 60.0
STOPPING = "This server is being stopped: ask again in a moment."
NOT_BEGUN = "Cancelled before it began."
GOES_ON = "Cancelled here. Somebody else waits for the same, for whom it goes on: ask again to see it, too."

_LOG = logging.getLogger(__name__)


T = TypeVar("T")
Key = tuple[str, bool]
"""What a plan is kept by: the scenario as JSON, and whether only the answer counts (``brief``)."""


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
        self._under_way: dict[tuple[Computation[Any], Hashable], QueuedQuestion] = {}
        self._lanes: Lanes[QueuedQuestion] = Lanes()
        self._begun: dict[Hashable, deque[float]] = {}
        self._workers: list[Worker] = []
        self._ready = self._long_here = 0
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
            for question in self._lanes.emptied():
                self._settle(question, NotPlanned(STOPPING))
            for question in self._under_way.values():
                question.ended = NotPlanned(STOPPING)
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
    def queued(self) -> tuple[int, int]:
        """Questions that wait for a worker, and long ones that wait for their turn."""
        with self._changed:
            return len(self._lanes.plans), len(self._lanes.long)

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
        known, question, here = self._answer_or_question(of, key, session, taken)
        if question is None:
            return cast(T, known)
        try:
            if here:
                self._compute_here(question)
            while not wait([question.future], timeout=LOOK_S).done:
                if tell is not None:
                    tell(self._place(question))
            return cast(T, question.future.result())
        finally:
            self._left(question)

    def ask_long(
        self,
        of: Computation[T],
        key: tuple[Hashable, ...],
        session: Hashable,
        wanted: Wanted,
        *,
        taken: tuple[object, ...] | None = None,
    ) -> T:
        """The answer to a long question, as :meth:`ask`. Once ``wanted`` says no it is stopped, and what it answers
        then is returned; where somebody else waits for it, or it has not begun, Cancelled is raised instead."""
        known, question, _ = self._answer_or_question(of, key, session, taken)
        if question is None:
            return cast(T, known)
        try:
            while not wait([question.future], timeout=LOOK_S).done:
                if not wanted(self._place(question), question.share):
                    self._cancel(question)
            return cast(T, question.future.result())
        finally:
            self._left(question)

    def _answer_or_question(
        self, of: Computation[Any], key: Hashable, session: Hashable, taken: tuple[object, ...] | None
    ) -> tuple[Any, QueuedQuestion | None, bool]:
        """What is known, or the question under way, which one more waits for, and whether this thread computes it."""
        with self._changed:
            known = self._known(of, key)
            if known is not None:
                return known, None, False
            new = QueuedQuestion(of=of, key=key, taken=cast(tuple[object, ...], key) if taken is None else taken)
            question, here = self._asked(new, session)
            question.waiting += 1
            return None, question, here

    def _known(self, of: Computation[Any], key: Hashable) -> Any:
        at, answer = self._kept[of].get(key, (0.0, None))
        if answer is None or self._clock() - at > KEPT_S:
            return None
        self._kept[of].move_to_end(key)
        self.counts.kept += 1
        return answer

    def _asked(self, new: QueuedQuestion, session: Hashable) -> tuple[QueuedQuestion, bool]:
        """The question under way, and whether this thread is to compute it."""
        if (question := self._under_way.get(new.id)) is not None:
            self.counts.shared += 1
            if self._lanes.place(question):
                self._lanes.join(session, question, long=new.of.long)
            return question, False
        self._admit(session)
        self.counts.computed += 1
        self._under_way[new.id] = new
        if not self._ready and not new.of.long:
            return new, True
        self._lanes.join(session, new, long=new.of.long)
        if new.of.long and self._ready < FEWEST_FOR_LONG and self._long_here < LONG_HERE:
            self._long_here += 1
            threading.Thread(target=self._serve_here, name="long question", daemon=True).start()
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

    def _place(self, question: QueuedQuestion) -> int:
        with self._changed:
            return self._lanes.place(question)

    def _cancel(self, question: QueuedQuestion) -> None:
        """Whoever asked wants a long question no longer. Raises Cancelled where that does not end it."""
        with self._changed:
            if question.stopping:
                return
            if self._lanes.place(question):
                raise Cancelled(NOT_BEGUN)
            if question.waiting > 1:
                raise Cancelled(GOES_ON)
            self._stop(question)

    def _stop(self, question: QueuedQuestion) -> None:
        """A long question is to stop; who asks the same from now on has it computed anew."""
        question.stopping = True
        self._forget(question)

    def _forget(self, question: QueuedQuestion) -> None:
        if self._under_way.get(question.id) is question:
            del self._under_way[question.id]

    def _left(self, question: QueuedQuestion) -> None:
        """One less waits; what nobody waits for, and is not being computed, is dropped, and a long one stopped."""
        with self._changed:
            question.waiting -= 1
            if question.waiting:
                return
            if self._lanes.place(question):
                self._lanes.leave(question)
                self._forget(question)
            elif question.of.long:
                self._stop(question)

    def _compute_here(self, question: QueuedQuestion) -> None:
        try:
            with PLAN_S.time():
                answer = question.of.compute(*question.taken)
        except BaseException as error:  # noqa: BLE001 (whoever waits gets it, this thread among them)
            self._settle(question, error)
        else:
            self._settle(question, answer)

    def _settle(self, question: QueuedQuestion, outcome: object) -> None:
        with self._changed:
            self._forget(question)
            if isinstance(outcome, BaseException):
                question.future.set_exception(outcome)
                return
            if question.stopping:
                question.future.set_result(outcome)
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
                while (turn := self._lanes.take(worker, most_long=self._ready - 1)) is None:
                    if self._closed:
                        return
                    self._changed.wait()
            self._ended(turn, self._asked_of(worker, turn.item))

    def _serve_here(self) -> None:
        """Compute long questions in this thread until none may begin, or there are workers enough."""
        while True:
            with self._changed:
                turn = self._lanes.take_long(most=LONG_HERE) if self._ready < FEWEST_FOR_LONG else None
                if turn is None:
                    self._long_here -= 1
                    return
            self._ended(turn, self._computed_here(turn.item))

    def _ended(self, turn: TakenTurn[QueuedQuestion], outcome: object) -> None:
        with self._changed:
            self._lanes.done(turn)
            self._changed.notify_all()
        self._settle(turn.item, outcome)

    def _computed_here(self, question: QueuedQuestion) -> object:
        """The answer to a long question by this thread, or the exception that says why there is none."""
        limit_s = None if self._settings is None else self._settings.simulation_seconds
        begun_s = self._clock()

        def heard(share: float) -> bool:
            if limit_s is not None and self._clock() - begun_s > limit_s:
                question.ended = self._too_long(question, limit_s)
            return question.heard(share)

        try:
            with LONG_S.time():
                answer = question.of.compute(*question.taken, progress=heard)
        except BaseException as error:  # noqa: BLE001 (whoever waits gets it)
            return error
        return question.ended or answer

    def _too_long(self, question: QueuedQuestion, limit_s: int) -> NotPlanned:
        with self._changed:
            self.counts.given_up += 1
        return NotPlanned(
            f"This {question.of.what} took longer than {limit_s} s, the most that this server gives one: "
            f"{question.of.advice}."
        )

    def _asked_of(self, worker: Worker, question: QueuedQuestion) -> object:
        """The answer, or the exception that says why there is none."""
        assert self._settings is not None
        long = question.of.long
        limit_s = self._settings.simulation_seconds if long else self._settings.plan_seconds
        heard = question.heard if long else None
        for _ in range(TRIES):
            try:
                with (LONG_S if long else PLAN_S).time():
                    return worker.run(question.of.compute, *question.taken, limit_s=limit_s, heard=heard)
            except TookTooLong:
                return self._too_long(question, limit_s)
            except WorkerEnded:
                if self._closed:
                    return NotPlanned(STOPPING)
                with self._changed:
                    self.counts.ended_workers += 1
                _LOG.warning("A worker process ended while it computed a %s", question.of.what)
            except BaseException as error:  # noqa: BLE001 (whoever waits gets it)
                return error
        return NotPlanned(f"The process that computed this ended {TRIES} times: tell whoever runs this server.")


@cache
def plans() -> Plans:
    """The plans of this process; computed in it until a server starts workers."""
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
