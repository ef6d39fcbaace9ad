"""A working day hour by hour from its length and its peak, and a scenario at another load."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizing import Scenario
from sizing.base.errors import SizingError
from sizing.question.understand import understand
from sizing.scenario.day_profile import at_peak, over_the_day, working_day
from tests.sizing.asking import LLAMA_8B


def asked(**load: object) -> Scenario:
    workload = {"input_tokens": 1000, "output_tokens": 100, **load}
    return Scenario.model_validate({"model": LLAMA_8B, "workload": workload})


def test_a_flat_working_day_is_a_box_by_hand() -> None:
    """Eight hours around 13 o'clock: 9 to 17."""
    assert working_day(8.0, 1.0) == tuple(1.0 if 9 <= hour < 17 else 0.0 for hour in range(24))


def test_a_sine_has_a_busiest_hour_by_hand() -> None:
    """p = 1 over 24 h: mean 2 / pi = 0.637; busiest hour (11 or 12) sin averaged around the middle, 0.9914 x ratio."""
    hours = working_day(24.0, 1.5)
    assert sum(hours) / 24 == pytest.approx(1 / 1.5, rel=1e-6)
    assert sorted(range(24), key=hours.__getitem__)[-2:] in ([11, 12], [12, 11])


@given(hours=st.floats(2, 24), ratio=st.floats(1, 4))
def test_the_busiest_hour_is_so_many_times_the_mean_of_the_working_hours(hours: float, ratio: float) -> None:
    found = working_day(hours, ratio)
    assert len(found) == 24
    assert max(found) == 1.0
    assert min(found) >= 0.0
    if 1.3 < ratio < hours / 2:
        assert hours / sum(found) == pytest.approx(ratio, rel=1e-3)


def test_nonsense_is_refused() -> None:
    for hours, ratio in ((0.0, 2.0), (25.0, 2.0), (8.0, 0.5)):
        with pytest.raises(SizingError):
            working_day(hours, ratio)


@pytest.mark.parametrize(
    "load", [{"peak_rps": 30, "growth_percent": 50}, {"average_rps": 20}, {"users": {"daily_users": 50_000}}]
)
def test_the_peak_stays_whatever_the_load_was_given_by(load: dict[str, object]) -> None:
    scenario = asked(**load)
    peak = understand(scenario).demand.peak_rps
    assert understand(over_the_day(scenario, peak, working_day(8, 2))).demand.peak_rps == pytest.approx(peak)
    assert understand(at_peak(scenario, peak, "poisson")).demand.peak_rps == pytest.approx(peak)
