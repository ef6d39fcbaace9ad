"""Times beside a yardstick: what a busy machine makes longer is not over the limit."""

import pytest

from bench.table import Row, render
from bench.yardstick import Times, in_yardsticks, yardstick_ms


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
