"""Errors of the engine in another process: as they were raised."""

import pickle

import pytest

from sizing.base.errors import InvalidBenchmark, InvalidScenario, SizingError, UnknownName


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
