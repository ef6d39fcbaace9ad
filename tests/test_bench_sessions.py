"""The users of the load bench: what they do on a real server, over its web socket."""

import pytest

from bench.dashboard import running
from bench.sessions import SessionLoad, journeys
from bench.socket_user import SocketUser
from tests.loops import awaited

STEPS = 3
COMPUTED = 'sizing_plans_total{answer="computed"}'
DIED = 'sizing_workers_ended_total{why="died"}'


def test_three_sessions_walk_the_journey_side_by_side() -> None:
    """Each opens the page and takes its steps, none fails, and inputs go along to other pages. A worker plans."""
    with running({"SIZING_WORKERS": "1"}) as server:
        walked = awaited(lambda: _walked(server.origin))
        server.wait_for_workers()
        assert len(server.family()) > 1
        before = server.counted()
        load = awaited(lambda: journeys(server.origin, 3, seconds=0.0, steps=STEPS))
        after = server.counted()
    assert [len(load.by_session[k]) for k in range(3)] == [STEPS + 1] * 3
    assert set(load.by_step) == {"open", "example", "usual", "new"}
    assert min(load.all) > 0
    assert after[COMPUTED] > before[COMPUTED] > 0
    assert after[DIED] == 0
    assert walked == ["size?v=2", "size?v=2&osl=777", "explore?v=2&osl=777", "size?v=2&osl=777"]


async def _walked(origin: str) -> list[str]:
    async with SocketUser(origin) as user:
        steps = (user.open("size"), user.set("osl", "777"), user.go("explore"), user.go("size"))
        walked = []
        for step in steps:
            assert await step > 0
            walked.append(user.address)
        assert sum("GPU" in text for text in user.texts) > 1
        return walked


def test_the_slowest_session_is_told_by_its_median() -> None:
    load = SessionLoad()
    for session, seconds in enumerate(([1.0, 1.0, 9.0], [1.0, 2.0, 3.0], [4.0, 5.0, 6.0])):
        for one in seconds:
            load.add(session, "new", one)
    assert load.slowest == pytest.approx(2.5)
    assert len(load.all) == 9
