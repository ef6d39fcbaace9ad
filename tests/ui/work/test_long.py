"""Long questions: in worker processes behind plans, or in threads; told of, stopped, shared, within their time."""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sharing.form.presets import presets
from sharing.settings import Settings
from sizing.base.errors import InvalidTrace
from sizing.planning.plan import plan
from sizing.replay.simulation_result import SimulationResult
from sizing.replay.what_if import AS_PLANNED, WhatIf
from sizing.scenario.trace import Trace
from tests.patience import PATIENCE_S, until
from tests.ui.work.run_by_workers import SHARE, held_plan, nothing, short, work
from ui.work import computing
from ui.work.lanes import PLANS_BEFORE
from ui.work.plans import GOES_ON, NOT_BEGUN, STOPPING, Plans
from ui.work.questions import Cancelled, Computation, NotPlanned
from ui.work.workers import Worker


class Page:
    """Asks for something long as a page does, and hears what it is told."""

    def __init__(self, asked: Asked, name: str, session: str) -> None:
        self.heard: list[tuple[int, float]] = []
        self.cancelled, self.over = threading.Event(), asked.over
        self.answer: Future[tuple[str, int]] = asked.pages.submit(
            asked.plans.ask_long, asked.of, (name,), session, self.wanted, taken=(asked.folder, name)
        )

    def wanted(self, place: int, share: float) -> bool:
        self.heard.append((place, share))
        if self.over.is_set():
            raise InterruptedError
        return not self.cancelled.is_set()

    def runs(self) -> bool:
        """Whether it was told that something is done of it."""
        return (0, SHARE) in self.heard

    def waits(self, place: int) -> bool:
        """Whether it was last told this place."""
        return bool(self.heard) and self.heard[-1][0] == place


class Asked:
    """Plans with so many workers, and what they are asked."""

    def __init__(self, plans: Plans, folder: Path, pages: ThreadPoolExecutor) -> None:
        self.plans, self.folder, self.pages, self.over = plans, folder, pages, threading.Event()
        self.of: Computation[tuple[str, int]] = Computation(
            compute=work, kept=9, what="simulation", advice="simulate less", long=True
        )

    def page(self, name: str, session: str) -> Page:
        return Page(self, name, session)

    def go(self, name: str) -> None:
        (self.folder / f"{name}.go").touch()

    def begun(self, name: str) -> int:
        """How often something was begun."""
        return len((self.folder / name).read_text()) if (self.folder / name).exists() else 0


Running = Callable[..., Any]


@pytest.fixture
def running(tmp_path: Path) -> Running:
    """Makes plans with so many workers; what still runs at the end is stopped."""

    @contextmanager
    def made(workers: int, **settings: object) -> Iterator[Asked]:
        plans = Plans(
            compute=short, prepare=nothing, settings=Settings.model_validate({"SIZING_WORKERS": workers, **settings})
        )
        plans.start()
        with ThreadPoolExecutor(4 * PLANS_BEFORE) as pages:
            asked = Asked(plans, tmp_path, pages)
            try:
                until(lambda: plans.workers == (workers, workers))
                yield asked
            finally:
                plans.close()
                asked.over.set()

    return made


def test_a_cancelled_question_ends_in_its_process_which_goes_on_and_is_asked_anew(running: Running) -> None:
    with running(2) as asked:
        page = asked.page("one", "a")
        until(page.runs)
        page.cancelled.set()
        how, pid = page.answer.result(PATIENCE_S)
        assert (how, pid in asked.plans.pids, asked.plans.counts.ended_workers) == ("stopped", True, 0)
        anew = asked.page("one", "a")
        until(anew.runs)
        asked.go("one")
        again = anew.answer.result(PATIENCE_S)
        assert again[0] == "finished", "what was stopped is not kept"
        assert asked.page("one", "b").answer.result(PATIENCE_S) is again
        assert asked.begun("one") == 2


def test_a_process_that_was_told_to_stop_does_not_stop_at_the_next_question(tmp_path: Path) -> None:
    worker, shares = Worker(nothing), list[float]()

    def heard(share: float) -> bool:
        shares.append(share)
        (tmp_path / "two.go").touch()
        return True

    try:
        ended, pid = worker.run(work, tmp_path, "one", limit_s=PATIENCE_S, heard=lambda _: False)
        assert (ended, pid) == ("stopped", worker.pid)
        assert worker.run(work, tmp_path, "two", limit_s=PATIENCE_S, heard=heard) == ("finished", pid)
        assert set(shares) <= {0.0, SHARE}
    finally:
        worker.end()


@pytest.mark.parametrize("workers", [0, 2])
def test_what_nobody_waits_for_any_more_is_stopped(running: Running, workers: int) -> None:
    def gone(place: int, share: float) -> bool:
        if share:
            raise InterruptedError
        return True

    with running(workers) as asked:
        with pytest.raises(InterruptedError):
            asked.plans.ask_long(asked.of, ("one",), "a", gone, taken=(asked.folder, "one"))
        until((asked.folder / "one.stopped").exists)
        assert asked.plans.queued == (0, 0)
        assert not asked.plans._under_way


def test_who_asks_while_the_same_is_being_stopped_gets_all_of_it(running: Running) -> None:
    with running(3) as asked:
        one = asked.page("one", "a")
        until(one.runs)
        (question,) = asked.plans._under_way.values()
        asked.plans._cancel(question)
        other = asked.page("one", "b")
        assert one.answer.result(PATIENCE_S)[0] == "stopped"
        asked.go("one")
        assert other.answer.result(PATIENCE_S)[0] == "finished"


@pytest.mark.parametrize("workers", [0, 2])
def test_what_two_sessions_ask_is_computed_once_and_goes_on_while_one_wants_it(running: Running, workers: int) -> None:
    with running(workers) as asked:
        one = asked.page("same", "a")
        until(one.runs)
        two = asked.page("same", "b")
        until(two.runs)
        one.cancelled.set()
        with pytest.raises(Cancelled, match=GOES_ON):
            one.answer.result(PATIENCE_S)
        asked.go("same")
        assert two.answer.result(PATIENCE_S)[0] == "finished"
        assert asked.begun("same") == 1
        assert (asked.plans.counts.computed, asked.plans.counts.shared) == (1, 1)


def test_a_plan_does_not_wait_for_long_questions_not_even_of_its_session(running: Running) -> None:
    with running(2) as asked:
        pages = {name: asked.page(name, name) for name in ("one", "two", "three")}
        until(lambda: sum(page.runs() for page in pages.values()) == 1)
        (runs,) = (name for name, page in pages.items() if page.runs())
        behind = [page for name, page in pages.items() if name != runs]
        until(lambda: all(any(page.waits(place) for page in behind) for place in (1, 2)))
        for number in range(5):
            question, pid = asked.plans.plan((f"of mine {number}", False), runs)
            assert question.endswith(str(number))
            assert pid in asked.plans.pids
        assert sum(asked.begun(name) for name in pages) == 1
        assert asked.plans.queued == (0, 2)
        for name, page in pages.items():
            asked.go(name)
            assert page.answer.result(PATIENCE_S)[0] == "finished"


def test_a_long_question_is_served_while_plans_wait(running: Running) -> None:
    """Both workers are held by plans while many more join the queue, and then one long question."""
    held: Computation[None] = Computation(compute=held_plan, kept=1, what="plan")
    with running(2) as asked:
        plans = [
            asked.pages.submit(asked.plans.ask, held, (asked.folder, number), number)
            for number in range(3 * PLANS_BEFORE)
        ]
        until(lambda: asked.plans.queued == (len(plans) - 2, 0))
        page = asked.page("one", "a")
        until(lambda: page.waits(1))
        asked.go("one")
        asked.go("plans")
        assert page.answer.result(PATIENCE_S)[0] == "finished"
        before = int((asked.folder / "one.after").read_text())
        assert PLANS_BEFORE <= before <= 2 * PLANS_BEFORE, "the other worker goes on with some until it is under way"
        for plan_of_many in plans:
            plan_of_many.result(PATIENCE_S)


@pytest.mark.parametrize("workers", [0, 1])
def test_with_one_worker_or_none_two_run_in_threads_and_more_wait_in_turns(running: Running, workers: int) -> None:
    with running(workers) as asked:
        first = [asked.page(name, session) for name, session in (("one", "a"), ("two", "b"))]
        until(lambda: all(page.runs() for page in first))
        behind = asked.page("three", "c")
        until(lambda: behind.waits(1))
        leaves = asked.page("four", "d")
        until(lambda: leaves.waits(2))
        leaves.cancelled.set()
        with pytest.raises(Cancelled, match=NOT_BEGUN):
            leaves.answer.result(PATIENCE_S)
        assert asked.plans.plan(("mine", False), "a")[0] == "mine", "the worker, if any, is for plans"
        first[0].cancelled.set()
        assert first[0].answer.result(PATIENCE_S) == ("stopped", os.getpid())
        until(behind.runs)
        asked.go("two")
        asked.go("three")
        assert {page.answer.result(PATIENCE_S) for page in (first[1], behind)} == {("finished", os.getpid())}
        assert asked.begun("four") == 0
        until(lambda: not any(thread.name == "long question" for thread in threading.enumerate()))


def test_what_began_in_threads_before_workers_were_there_is_followed_by_workers(running: Running) -> None:
    with running(0) as asked:
        here = [asked.page(name, name) for name in ("one", "two")]
        until(lambda: all(page.runs() for page in here))
        behind = asked.page("three", "c")
        until(lambda: behind.waits(1))
        asked.plans.keep_to(Settings(SIZING_WORKERS=2))
        asked.plans.start()
        until(lambda: asked.plans.workers == (2, 2))
        for name in ("one", "two", "three"):
            asked.go(name)
        assert {page.answer.result(PATIENCE_S)[1] for page in here} == {os.getpid()}
        assert behind.answer.result(PATIENCE_S)[1] in asked.plans.pids


@pytest.mark.parametrize("workers", [0, 2])
def test_a_long_question_has_a_time_of_its_own(running: Running, workers: int) -> None:
    with running(workers, SIZING_SIMULATION_SECONDS=1) as asked:
        with pytest.raises(NotPlanned, match=r"This simulation took longer than 1 s, .*: simulate less"):
            asked.page("one", "a").answer.result(PATIENCE_S)
        assert asked.plans.counts.given_up == 1
        asked.go("two")
        assert asked.page("two", "a").answer.result(PATIENCE_S)[0] == "finished"


def test_a_process_that_dies_with_a_long_question_is_replaced(running: Running) -> None:
    with running(2) as asked:
        asked.go("dies once")
        assert asked.page("dies once", "a").answer.result(PATIENCE_S)[0] == "finished"
        assert (asked.begun("dies once"), asked.plans.counts.ended_workers) == (2, 1)


@pytest.mark.parametrize("workers", [0, 2])
def test_who_waits_when_the_server_is_stopped_is_told(running: Running, workers: int) -> None:
    with running(workers) as asked:
        pages = [asked.page(name, "of one session") for name in ("one", "two")]
        until(lambda: any(page.runs() for page in pages))
        until(lambda: any(page.waits(1) for page in pages))
        asked.plans.close()
        for page in pages:
            with pytest.raises(NotPlanned, match=STOPPING):
                page.answer.result(PATIENCE_S)


def trace(tokens: int = 300) -> Trace:
    """A request a second for ten minutes."""
    times = np.arange(600.0)
    return Trace(
        name="mine.csv", time_s=times, tokens=np.full((3, len(times)), tokens, dtype=np.int32) // [[1], [6], [9]]
    )


def test_the_simulation_of_a_worker_is_the_simulation_and_all_that_it_takes_travels(running: Running) -> None:
    scenario = next(iter(presets().values())).scenario
    known, asked_json = plan(scenario), scenario.model_dump_json()
    fails = WhatIf(fail_minutes=3.0)
    replayed = trace()
    assert pickle.loads(pickle.dumps(replayed)).digest == replayed.digest
    assert pickle.loads(pickle.dumps(fails)) == fails
    cases: tuple[tuple[object, ...], ...] = (
        (asked_json, known, None, 0.2, AS_PLANNED, None),
        (asked_json, known, asked_json, 0.2, fails, None),
        (asked_json, known, None, None, AS_PLANNED, replayed),
    )
    of: Computation[SimulationResult] = Computation(compute=computing.simulated, kept=1, what="simulation", long=True)
    with running(2) as asked:
        for number, taken in enumerate(cases):
            there = asked.plans.ask_long(of, (number,), "a", lambda *_: True, taken=taken)
            here = computing.simulated(*taken, progress=lambda _: True)
            assert there == here
            assert there.model_dump_json() == here.model_dump_json()
            assert there.verdict == "stable"
        small = scenario.model_copy(update={"model": "meta-llama/Meta-Llama-3-8B-Instruct"}).model_dump_json()
        beyond = (small, None, None, None, AS_PLANNED, trace(9000))
        with pytest.raises(InvalidTrace, match="600 of 600 requests do not fit in the context window"):
            asked.plans.ask_long(of, ("beyond",), "a", lambda *_: True, taken=beyond)


def test_a_trace_is_known_by_all_that_its_replay_says() -> None:
    one, later = trace(), Trace(name="mine.csv", time_s=trace().time_s * 2.0, tokens=trace().tokens)
    renamed, noted = (Trace(**{**vars(one), **new}) for new in ({"name": "other.csv"}, {"notes": ("odd",)}))
    assert one.digest == trace().digest
    assert len({given.digest for given in (one, later, renamed, noted, trace(301), one.until(300.0))}) == 6
