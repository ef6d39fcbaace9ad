import math
import pickle

import numpy as np
import pytest

from sizing.base.checks import number_between, whole_number
from sizing.base.errors import InvalidBenchmark, InvalidScenario, SizingError, UnknownName


@pytest.mark.parametrize("value", [2, 2.0, np.int64(2), np.float64(2), np.float32(2)])
def test_every_kind_of_number_is_taken(value):
    assert number_between("N", value, 0, 10) == 2
    assert whole_number("N", value, 0, 10) == 2


@pytest.mark.parametrize(
    ("value", "said"),
    [(math.nan, "nan"), (math.inf, "inf"), (10**400, "inf"), ("two", "“two”"), (True, "“True”"), (-1, "-1")],
)
def test_the_message_names_quantity_range_and_value(value, said):
    with pytest.raises(SizingError, match=f"^N must be .*at least 0 and at most 10, not {said}"):
        number_between("N", value, 0, 10)


def test_a_low_end_can_be_excluded():
    assert number_between("N", 0, 0, 1) == 0
    with pytest.raises(SizingError, match="above 0"):
        number_between("N", 0, 0, 1, exclude_low=True)


def test_a_fraction_is_not_a_count():
    with pytest.raises(SizingError, match="whole number"):
        whole_number("N", 1.5, 0, 10)


@pytest.mark.parametrize(
    "error",
    [
        InvalidScenario(["model: is required.", "workload: is required."]),
        InvalidBenchmark({"tp": "is more than the GPUs."}),
        UnknownName("GPU", "h1000", ["h100_sxm"]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_comes_back_from_another_process_as_it_was(error: SizingError) -> None:
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is type(error)
    assert (str(back), vars(back)) == (str(error), vars(error))
