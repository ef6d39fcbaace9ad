"""How many answers are computed at a time, and how long one may take."""

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from threading import Event
from typing import Any

import pytest
from starlette.requests import Request

from api.limits import Slots, body_of
from api.problems import RequestRefused
from tests.loops import awaited
from tests.patience import PATIENCE_S


def answers(slots: Slots, *computes: Callable[[], object]) -> list[object]:
    """What each gets, asked one after the other without waiting: an answer, or the status of a refusal."""

    async def ask(compute: Callable[[], object]) -> object:
        try:
            return await slots.answer(compute)
        except RequestRefused as refusal:
            return refusal.problem.status

    async def together() -> list[object]:
        return await asyncio.gather(*map(ask, computes))

    return awaited(together)


def test_a_body_that_comes_too_slowly_is_not_waited_for() -> None:
    async def receive() -> dict[str, Any]:
        await asyncio.sleep(PATIENCE_S)
        return {"type": "http.request"}

    with pytest.raises(RequestRefused) as refusal:
        awaited(lambda: body_of(Request({"type": "http"}, receive), seconds=0.01))
    assert refusal.value.problem.status == HTTPStatus.REQUEST_TIMEOUT


def test_who_finds_no_slot_is_told_to_come_back() -> None:
    gate = Event()

    def last() -> str:
        gate.set()
        return "never computed"

    def first() -> str:
        return "first" if gate.wait(0.2) else "alone"

    slots = Slots(1, PATIENCE_S)
    assert answers(slots, first, last) == ["alone", HTTPStatus.SERVICE_UNAVAILABLE]
    assert answers(slots, lambda: "next") == ["next"]


def test_an_answer_that_is_given_up_keeps_its_slot_to_its_end() -> None:
    gate, ended = Event(), Event()

    def endless() -> None:
        gate.wait(PATIENCE_S)
        ended.set()

    slots = Slots(1, 0.05)
    assert answers(slots, endless) == [HTTPStatus.GATEWAY_TIMEOUT]
    assert answers(slots, lambda: "refused") == [HTTPStatus.SERVICE_UNAVAILABLE]
    gate.set()
    assert ended.wait(PATIENCE_S)
    while (got := answers(slots, lambda: "free again")) == [HTTPStatus.SERVICE_UNAVAILABLE]:
        pass  # the thread has ended its work, and gives its slot back in a moment
    assert got == ["free again"]


def test_a_fault_of_an_answer_is_raised_and_frees_its_slot() -> None:
    def faulty() -> None:
        raise ZeroDivisionError

    slots = Slots(1, PATIENCE_S)
    with pytest.raises(ZeroDivisionError):
        answers(slots, faulty)
    assert answers(slots, lambda: "next") == ["next"]
