import math

import pytest

from sizing.evidence.error_factors import ErrorFactors


def factors(low=0.8, high=1.3, low_95=0.6, high_95=2.0):
    return ErrorFactors(low_factor=low, high_factor=high, low_95=low_95, high_95=high_95, basis="x", rows=9)


@pytest.mark.parametrize(
    ("confidence", "factor"),
    [(0.5, 1.0), (0.9, 1.3), (0.1, 0.8), (0.975, 2.0), (0.025, 0.6), (0.8, 1.3 ** (0.8416 / 1.2816))],
)
def test_a_confidence_is_the_end_of_the_interval_that_leaves_the_rest_above(confidence, factor):
    assert factors().factor_at(confidence) == pytest.approx(factor, rel=1e-4)


def test_more_confidence_never_asks_for_less():
    one = factors(high=1.0, high_95=1.5)
    asked = [one.factor_at(n / 100.0) for n in range(1, 100)]
    assert asked == sorted(asked)


def test_equal_ends_do_not_promise_that_nothing_lies_beyond_them():
    one = factors(high=1.5, high_95=1.5)
    assert one.factor_at(0.999) > 1.5


def test_without_any_width_the_prediction_is_certain():
    one = factors(1.0, 1.0, 1.0, 1.0)
    assert one.factor_at(0.95) == 1.0


def test_certainty_is_no_confidence():
    with pytest.raises(ValueError, match="between 0 and 1"):
        factors().factor_at(1.0)
    assert math.isfinite(factors().factor_at(0.9999))
