"""Answers shared by many viewers: one question per refresh, the last good answer kept, nobody waits for long."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from collectors.errors import TimedOut
from tests.patience import PATIENCE_S
from ui.sources.latest import Latest

VIEWERS = 30


class Question:
    """Counts how often it is asked; answers when ``open_`` is set."""

    def __init__(self, answer: object = "fine") -> None:
        self.answer, self.times = answer, 0
        self.open_ = threading.Event()
        self.open_.set()

    def __call__(self) -> object:
        self.times += 1
        self.open_.wait(PATIENCE_S)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture
def clock() -> list[float]:
    return [1000.0]


@pytest.fixture
def latest(clock: list[float]) -> Latest:
    return Latest(clock=lambda: clock[0])


def test_thirty_viewers_ask_once_per_refresh(latest: Latest) -> None:
    question = Question()
    with ThreadPoolExecutor(VIEWERS) as viewers:
        for slot in (1, 2, 3):
            asking = [viewers.submit(latest.ask, "k", question, slot=slot, wait_s=10) for _ in range(VIEWERS)]
            assert {one.result().good for one in asking} == {"fine"}
            assert question.times == slot


def test_a_slow_source_holds_nobody_up_and_is_not_asked_twice(latest: Latest) -> None:
    question = Question()
    question.open_.clear()
    first = latest.ask("k", question, slot=1, wait_s=0)
    second = latest.ask("k", question, slot=2, wait_s=0)
    assert first.pending
    assert second.pending
    assert second.good is None
    assert question.times == 1
    question.open_.set()
    assert latest.ask("k", question, slot=2, wait_s=10).good == "fine"


def test_the_last_good_answer_stays_with_its_moment(latest: Latest, clock: list[float]) -> None:
    question = Question()
    latest.ask("k", question, slot=1, wait_s=10)
    clock[0] += 60
    question.answer = TimedOut("db:9090 did not answer within 10 s.")
    late = latest.ask("k", question, slot=2, wait_s=10)
    assert (late.good, late.good_at_s, late.newest) == ("fine", 1000.0, None)
    assert late.problem == "db:9090 did not answer within 10 s."
    assert late.late
    question.answer = "fine again"
    back = latest.ask("k", question, slot=3, wait_s=10)
    assert (back.good, back.good_at_s, back.problem) == ("fine again", 1060.0, "")


def test_an_answer_without_values_is_the_newest_but_not_the_good_one(latest: Latest) -> None:
    def why_bad(answer: object) -> str:
        return "stale" if answer == "old" else ""

    latest.ask("k", lambda: "fine", slot=1, wait_s=10, why_bad=why_bad)
    told = latest.ask("k", lambda: "old", slot=2, wait_s=10, why_bad=why_bad)
    assert (told.newest, told.good, told.problem) == ("old", "fine", "stale")


def test_what_failed_is_tried_again_before_its_slot_has_passed(latest: Latest) -> None:
    question = Question(TimedOut("slow"))
    for _ in range(3):
        assert latest.ask("k", question, slot="hour", retry=1, wait_s=10).problem == "slow"
    assert question.times == 1
    question.answer = "fine"
    for retry in (2, 3, 4):
        assert latest.ask("k", question, slot="hour", retry=retry, wait_s=10).good == "fine"
    assert question.times == 2, "and what is good is not asked again"


def test_a_bug_is_a_sentence_for_the_page_and_a_traceback_for_the_log(
    latest: Latest, caplog: pytest.LogCaptureFixture
) -> None:
    told = latest.ask("k", Question(KeyError("secret")), slot=1, wait_s=10)
    assert told.problem == "Reading failed unexpectedly (KeyError): see the log of the dashboard."
    assert "Traceback" in caplog.text


def test_peeking_asks_nothing(latest: Latest) -> None:
    assert latest.peek("k").good is None
    latest.ask("k", lambda: 1, slot=1, wait_s=10)
    assert latest.peek("k").good == 1


def test_questions_do_not_pile_up_in_memory(latest: Latest) -> None:
    for number in range(600):
        latest.ask(number, lambda: 1, slot=1, wait_s=0)
    end = time.monotonic() + PATIENCE_S
    while latest.peek(599).good is None and time.monotonic() < end:
        time.sleep(0.01)
    assert latest.peek(0).good is None
    assert latest.peek(599).good == 1
