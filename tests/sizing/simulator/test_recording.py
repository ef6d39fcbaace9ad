"""Durations are counted in the bin that holds them, wherever they lie."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizing.simulator.layout import BINS, SMALLEST_S, UPPER_S
from sizing.simulator.recording import bin_of

TOGETHER = 1e-9
"""Share of a bin at its ends in which rounding may put a duration on either side."""


def expected(seconds):
    """The bin by its definition: logarithmic from the smallest duration on, in steps of 0.5 %."""
    if seconds < SMALLEST_S:
        return 0.0
    return min(1.0 + math.log(seconds / SMALLEST_S) / math.log(1.005), float(BINS - 1))


@given(st.floats(-20.0, 20.0).map(lambda power: 10.0**power))
def test_a_duration_is_in_the_bin_of_its_logarithm(seconds):
    assert bin_of.py_func(seconds) in {int(expected(seconds) - TOGETHER), int(expected(seconds) + TOGETHER)}


def test_a_bin_begins_where_the_one_before_ends():
    for k in range(BINS - 1):
        assert bin_of.py_func(float(np.nextafter(UPPER_S[k], 0.0))) == k
        assert bin_of.py_func(float(UPPER_S[k])) == k + 1


@pytest.mark.parametrize(("seconds", "bin_"), [(0.0, 0), (-1.0, 0), (math.inf, BINS - 1), (math.nan, BINS - 1)])
def test_what_has_no_logarithm_has_a_bin(seconds, bin_):
    assert bin_of.py_func(seconds) == bin_
