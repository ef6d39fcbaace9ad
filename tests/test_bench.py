"""``python -m bench``: what it runs is named, all benchmarks together would take very long."""

import os
import sys

import pytest

from bench import __main__ as bench
from bench.dashboard import running
from bench.replicas import REPLICAS, SESSIONS, ReplicasRun, _linear, side_by_side
from bench.sessions import SessionLoad, journeys
from bench.socket_user import SocketUser
from bench.table import Row, render
from bench.yardstick import Times, in_yardsticks, yardstick_ms
from commandline.run import INVALID_INPUT
from tests.loops import awaited

STEPS = 3
COMPUTED = 'sizing_plans_total{answer="computed"}'
DIED = 'sizing_workers_ended_total{why="died"}'


class Quick:
    NAME = "Quick: nothing at all"

    def run(self) -> list[Row]:
        return [Row(what="time", unit="ms", samples=(1.0,))]


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "benchmarks", lambda: {"quick": Quick(), "slower": Quick()})


@pytest.mark.parametrize(
    ("names", "code", "sentence"),
    [([], 0, "Name one or more benchmarks."), (["quick", "odd"], INVALID_INPUT, "No benchmark is named odd.")],
)
def test_without_a_known_name_the_names_are_listed(
    names: list[str], code: int, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench.main(names) == code
    listed = f"{sentence} There are:\n  quick   Quick: nothing at all\n  slower  Quick: nothing at all\n"
    assert capsys.readouterr() == ((listed, "") if code == 0 else ("", listed))


def test_a_named_benchmark_prints_its_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main(["quick"]) == 0
    assert capsys.readouterr().out.count("Quick: nothing at all") == 1


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="processes are pinned to cores on Linux alone")
def test_two_replicas_serve_their_own_users() -> None:
    cores = sorted(os.sched_getaffinity(0))[:2]
    side = side_by_side(cores, seconds=0.0, steps=2)
    assert len(side.load.by_session) == len(cores) * SESSIONS
    assert all(len(spent) == 3 for spent in side.load.by_session.values())
    assert side.per_replica > 0
    assert side.cpu_s > 0


def test_a_further_replica_is_told_against_the_first_round_by_round() -> None:
    def sides(*cpu_s: float) -> list[ReplicasRun]:
        return [ReplicasRun(load=SessionLoad(), per_replica=4.0, cpu_s=one) for one in cpu_s]

    (row,) = _linear({1: sides(0.25, 0.5), 2: sides(0.5, 0.5)})
    assert row.samples == (2.0, 1.0)
    assert row.ratio > 1
    assert REPLICAS[0] == 1


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


class Clock:
    """A clock that goes on by the same step each time it is read."""

    def __init__(self, step_s: float) -> None:
        self.now_s, self._step_s = 0.0, step_s

    def __call__(self) -> float:
        self.now_s += self._step_s
        return self.now_s


@pytest.mark.parametrize("slower", [1.0, 3.0])
def test_a_busy_machine_moves_both_the_sample_and_the_yardstick(slower: float) -> None:
    row = Row(what="plan", unit="ms", samples=(80.0 * slower,), beside_ms=(10.0 * slower,), limit=10.0)
    assert row.yardsticks == pytest.approx(8.0)
    assert row.ratio == pytest.approx(0.8)


def test_a_row_without_yardsticks_keeps_its_limit_in_its_unit() -> None:
    row = Row(what="memory", unit="MB", samples=(60.0,), limit=50.0)
    assert row.yardsticks is None
    assert row.cells()[-2:] == ("50 MB", "1.20 OVER")


def test_every_sample_has_a_yardstick_by_its_own_clock() -> None:
    times = Times(Clock(0.05))
    times.time(lambda: None)
    times.add(25.0)
    row = times.row("two", in_yardsticks(quiet_ms=100.0), unit="s")
    assert row.samples == pytest.approx((0.05, 0.025))
    assert row.beside_ms == pytest.approx((10.0, 10.0))
    assert row.ratio == pytest.approx(3.75 / 10.0)
    assert "10 yardsticks" in render([row])
    assert times.longest().row("one").samples == pytest.approx((50.0,))


def test_the_yardstick_takes_time() -> None:
    assert yardstick_ms() > 0.5
