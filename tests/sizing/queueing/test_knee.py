import pytest

from sizing.base.result import LoadPoint
from sizing.queueing.knee import knee


def point(rps: float, e2e_ms: float) -> LoadPoint:
    return LoadPoint(rps=rps, concurrency=1, ttft_ms=1, itl_ms=1, e2e_ms=e2e_ms, output_tokens_per_s_per_gpu=1)


def test_the_knee_of_a_single_server_queue_is_at_half_load() -> None:
    # M/M/1: time in system 1 / (mu - lambda), power lambda (mu - lambda), largest at lambda = mu / 2 (Kleinrock 1979).
    found = knee([point(i / 100, 1 / (1 - i / 100)) for i in range(1, 100)])
    assert found.rps == pytest.approx(0.5)


def test_a_curve_that_does_not_bend_has_no_knee() -> None:
    assert knee([point(i, 100) for i in range(1, 10)]) is None


@pytest.mark.parametrize("points", [[], [point(1, 1)], [point(1, 1), point(2, float("inf"))]])
def test_too_few_points_have_no_knee(points: list[LoadPoint]) -> None:
    assert knee(points) is None
