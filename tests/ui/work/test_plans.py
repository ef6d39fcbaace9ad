"""Plans for all sessions: asked once, kept, in turns, within limits; with real worker processes at the end."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sharing.form.presets import presets
from sharing.settings import Settings
from sizing.base.errors import InvalidScenario
from sizing.planning.plan import plan
from sizing.scenario.day_profile import working_day
from tests.patience import PATIENCE_S, until
from ui.work import computing
from ui.work.computing import planned
from ui.work.plans import KEPT_S, MOST_KEPT, Plans
from ui.work.questions import Busy, Computation, NotPlanned
from ui.work.workers import cores

SESSIONS = 5
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has no SIGKILL


class Engine:
    """Stands in for the engine: tells what it was asked, and answers once it may."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.may_answer = threading.Event()

    def __call__(self, scenario_json: str, brief: bool) -> Any:
        self.asked.append(scenario_json)
        assert self.may_answer.wait(PATIENCE_S)
        if scenario_json == "wrong":
            raise InvalidScenario.at("workload.peak_rps", "must be positive.")
        return f"{scenario_json}, {brief}"


def test_equal_questions_of_several_sessions_are_computed_once() -> None:
    engine = Engine()
    plans = Plans(compute=engine)
    with ThreadPoolExecutor(SESSIONS) as pages:
        answers = [pages.submit(plans.plan, ("same", False), session) for session in range(SESSIONS)]
        until(lambda: plans.counts.shared == SESSIONS - 1)
        engine.may_answer.set()
        assert {answer.result() for answer in answers} == {"same, False"}
    assert plans.plan(("same", False), "later") == "same, False"
    assert plans.plan(("same", True), "later") == "same, True"
    assert engine.asked == ["same", "same"]
    assert (plans.counts.computed, plans.counts.shared, plans.counts.kept) == (2, SESSIONS - 1, 1)


def test_what_is_wrong_is_said_to_all_who_asked_and_not_kept() -> None:
    engine = Engine()
    plans = Plans(compute=engine)
    with ThreadPoolExecutor(2) as pages:
        answers = [pages.submit(plans.plan, ("wrong", False), session) for session in range(2)]
        until(lambda: plans.counts.shared == 1)
        engine.may_answer.set()
        for answer in answers:
            with pytest.raises(InvalidScenario, match="must be positive") as error:
                answer.result()
            assert error.value.paths == ("workload.peak_rps",)
    with pytest.raises(InvalidScenario):
        plans.plan(("wrong", False), "again")
    assert len(engine.asked) == 2


def test_plans_are_forgotten_after_hours_and_when_there_are_too_many() -> None:
    now, engine = [0.0], Engine()
    engine.may_answer.set()
    plans = Plans(compute=engine, clock=lambda: now[0])
    plans.plan(("old", False), None)
    now[0] = KEPT_S + 1.0
    plans.plan(("old", False), None)
    for number in range(MOST_KEPT):
        plans.plan((str(number), False), None)
    plans.plan(("old", False), None)
    assert engine.asked.count("old") == 3


def test_each_computation_keeps_its_own_answers_and_not_more_than_it_may() -> None:
    asked: list[str] = []

    def told(name: str) -> str:
        asked.append(name)
        return name

    few, other = (Computation(compute=told, kept=kept, what="answer") for kept in (1, 2))
    plans = Plans()
    for of, name in ((few, "a"), (other, "a"), (few, "b"), (other, "b"), (other, "a"), (few, "a")):
        assert plans.ask(of, (name,), None) == name
    assert asked == ["a", "a", "b", "b", "a"]
    assert plans.ask(few, ("key",), None, taken=("what it takes",)) == "what it takes"


def test_a_session_has_so_many_plans_a_minute() -> None:
    now, engine = [0.0], Engine()
    engine.may_answer.set()
    plans = Plans(compute=engine, settings=Settings(SIZING_PLANS_PER_MINUTE=3), clock=lambda: now[0])
    for number in range(3):
        plans.plan((f"a{number}", False), "a")
    with pytest.raises(Busy, match="This session has had 3 plans computed within a minute, as many as this server"):
        plans.plan(("a3", False), "a")
    assert plans.plan(("a0", False), "a")  # known already
    assert plans.plan(("a3", False), "b")  # another session
    assert plans.plan(("a4", False), None)  # the server itself
    now[0] = 60.0
    assert plans.plan(("a5", False), "a")


@pytest.mark.parametrize(("setting", "most"), [("3", 3), ("0", 0), ("", min(cores(), 8) if cores() > 1 else 0)])
def test_as_many_workers_as_the_settings_say(setting: str, most: int) -> None:
    assert Plans(settings=Settings.model_validate({"SIZING_WORKERS": setting}))._wanted() == most
    assert Plans()._wanted() == 0


# With real processes. What they run stands in this file, which they import as the tests do.


def in_a_process(question: str, brief: bool) -> Any:
    """What a worker is asked here: by name, with a file or a number behind it."""
    what, _, about = question.partition(" ")
    if what == "plan":
        return planned(about, brief)
    if what == "sleep":
        time.sleep(float(about))
    if what == "linger" and not Path(about).exists():
        Path(about).touch()
        time.sleep(PATIENCE_S)
    if what in ("die", "once"):
        tries = Path(about)
        tried = tries.read_text()
        tries.write_text(f"{tried}x")
        if what == "die" or not tried:
            os.kill(os.getpid(), KILL)
    return question, os.getpid()


def nothing() -> None:
    """Nothing to prepare."""


@contextmanager
def running(workers: int, **settings: object) -> Iterator[Plans]:
    """Plans with so many workers."""
    plans = Plans(
        compute=in_a_process, prepare=nothing, settings=Settings.model_validate({"SIZING_WORKERS": workers, **settings})
    )
    plans.start()
    try:
        until(lambda: plans.workers == (workers, workers))
        yield plans
    finally:
        plans.close()


def test_a_plan_of_a_worker_is_the_plan() -> None:
    scenario = presets()["llama"].scenario
    with running(1) as plans:
        answer = plans.plan((f"plan {scenario.model_dump_json()}", False), "a")
        assert answer == plan(scenario)
        assert answer.model_dump_json() == plan(scenario).model_dump_json()
        unknown = scenario.model_copy(update={"model": "no-such-model-at-all"})
        with pytest.raises(InvalidScenario, match="no-such-model-at-all") as error:
            plans.plan((f"plan {unknown.model_dump_json()}", False), "a")
        with pytest.raises(InvalidScenario) as here:
            plan(unknown)
        assert error.value.problems == here.value.problems
        assert error.value.paths == here.value.paths


def test_what_a_worker_makes_of_a_plan_is_what_is_made_of_it_here() -> None:
    scenario = presets()["llama"].scenario
    asked, known = scenario.model_dump_json(), plan(scenario)
    gpu = known.deployment.gpu
    questions: dict[Callable[..., Any], tuple[object, ...]] = {
        computing.frontier: (asked, known, "ttft_ms", "output_tokens_per_s_per_gpu", (gpu,), "none"),
        computing.band: (asked, known),
        computing.row_of_lengths: (asked, gpu, 500.0, (50.0, 200.0)),
        computing.served: (asked, gpu, "gpus", 8.0),
        computing.day: (asked, known, working_day(10.0, 2.0), 60.0),
    }
    with running(1) as plans:
        for compute, taken in questions.items():
            of = Computation(compute=compute, kept=1, what="answer")
            there = plans.ask(of, ("asked",), "a", taken=taken)
            assert there == compute(*taken)
            assert plans.ask(of, ("asked",), "b", taken=taken) is there


def test_workers_that_die_are_replaced_and_their_question_is_asked_once_more(tmp_path: Path) -> None:
    once, always = tmp_path / "once", tmp_path / "always"
    once.write_text("")
    always.write_text("")
    with running(1) as plans:
        _, first = plans.plan(("here", False), "a")
        question, second = plans.plan((f"once {once}", False), "a")
        assert question.startswith("once")
        assert first != second
        assert plans.counts.ended_workers == 1
        with pytest.raises(NotPlanned, match="ended 2 times: tell whoever runs this server"):
            plans.plan((f"die {always}", False), "a")
        assert always.read_text() == "xx"
        _, third = plans.plan(("still here", False), "a")
        assert third not in (first, second, os.getpid())


def test_a_worker_that_is_killed_from_outside_is_replaced(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    with running(1) as plans, ThreadPoolExecutor(1) as pages:
        answer = pages.submit(plans.plan, (f"linger {begun}", False), "a")
        until(begun.exists)
        (pid,) = plans.pids
        os.kill(pid, KILL)
        assert answer.result(PATIENCE_S)[1] != pid
        assert plans.counts.ended_workers == 1


def test_a_plan_has_its_time_and_no_more() -> None:
    with running(1, SIZING_PLAN_SECONDS=1) as plans:
        _, before = plans.plan(("here", False), "a")
        with pytest.raises(NotPlanned, match="This plan took longer than 1 s"):
            plans.plan(("sleep 600", False), "a")
        _, after = plans.plan(("here again", False), "a")
        assert before != after
        assert plans.counts.given_up == 1


def test_who_waits_is_told_the_place_and_who_leaves_is_not_waited_for() -> None:
    """One worker is busy; of those behind it one gives up, as a page does whose inputs were changed."""
    places: dict[str, list[int]] = {"b": [], "c": [], "d": []}

    def told(session: str, place: int) -> None:
        places[session].append(place)
        if session == "c" and place == 2 and len(places["d"]) > 1:
            raise InterruptedError

    with running(1) as plans, ThreadPoolExecutor(4) as pages:
        first = pages.submit(plans.plan, ("sleep 2", False), "a")
        until(lambda: plans.counts.computed == 1)
        behind = {}
        for number, session in enumerate("bcd", 2):
            behind[session] = pages.submit(
                plans.plan, (f"of {session}", False), session, lambda place, s=session: told(s, place)
            )
            until(lambda n=number: plans.counts.computed == n)
        with pytest.raises(InterruptedError):
            behind["c"].result()
        assert first.result()[0] == "sleep 2"
        assert [behind[session].result()[0] for session in "bd"] == ["of b", "of d"]
        assert places["b"][0] == 1
        assert places["d"][0] == 3
        assert 2 in places["d"]
        assert plans.plan(("of c", False), "c")[0] == "of c"  # it was dropped, and is computed only now
        assert plans.counts.computed == 5


def test_workers_end_with_the_process_that_they_work_for() -> None:
    with running(2) as plans:
        pids = list(plans.pids)
        assert len(pids) == 2
    until(lambda: not any(map(is_there, pids)))


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return True


def test_who_waits_when_the_server_is_stopped_is_told() -> None:
    with running(1) as plans, ThreadPoolExecutor(2) as pages:
        answers = [pages.submit(plans.plan, (f"sleep {600 + k}", False), f"{k}") for k in range(2)]
        until(lambda: plans.counts.computed == 2)
        plans.close()
        for answer in answers:
            with pytest.raises(NotPlanned, match="This server is being stopped"):
                answer.result(PATIENCE_S)


def cannot_start() -> None:
    """A process that ends before it is prepared: out of memory, say."""
    os.kill(os.getpid(), KILL)


def test_without_a_worker_that_starts_plans_are_computed_here() -> None:
    plans = Plans(compute=in_a_process, prepare=cannot_start, settings=Settings.model_validate({"SIZING_WORKERS": 1}))
    plans.start()
    assert plans.workers == (1, 0)
    assert plans.plan(("here", False), "a") == ("here", os.getpid())
    until(lambda: not any(thread.name == "workers" for thread in threading.enumerate()))
    assert plans.plan(("still here", False), "a") == ("still here", os.getpid())
