"""Points that nothing dominates."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sizing.explore.pareto_front import SMALLEST_GAIN, pareto_front


@given(st.lists(st.tuples(st.floats(0.1, 1e3), st.floats(0.1, 1e3), st.integers(0, 2)), min_size=1, max_size=60))
def test_undominated_points_beat_or_match_everything_in_their_group(points: list[tuple[float, float, int]]) -> None:
    x, y, group = (np.array(c) for c in zip(*points, strict=True))
    kept = pareto_front(x, y, group.astype(np.int64))
    for i in kept:
        assert not any(x[j] > x[i] and y[j] > y[i] and group[j] == group[i] for j in range(len(points)))
    for j in range(len(points)):
        assert any(
            x[i] >= x[j] * (1 - 2 * SMALLEST_GAIN) and y[i] >= y[j] * (1 - 2 * SMALLEST_GAIN) and group[i] == group[j]
            for i in kept
        )


def test_points_that_are_not_finite_never_count() -> None:
    kept = pareto_front(np.array([1.0, np.nan, 3.0]), np.array([1.0, 9.0, np.inf]), np.zeros(3, dtype=np.int64))
    assert list(kept) == [0]
