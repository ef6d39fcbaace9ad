"""Arguments out of bounds are refused with their bounds."""

import argparse
from collections.abc import Callable

import pytest

from commandline.arguments import number, rounded, whole


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (whole(0, 10), "0", 0),
        (whole(0, 10), "10", 10),
        (number("a time", 0.2, 5.0), "0.2", 0.2),
        (number("a time", 0.0, 5.0, above=True), "1e-3", 0.001),
        (rounded("a port", 0, 65535), "80.9", 80),
    ],
)
def test_within_the_bounds(read: Callable[[str], float], text: str, value: float) -> None:
    assert read(text) == value


@pytest.mark.parametrize(
    ("read", "texts", "told"),
    [
        (whole(1, 1000), ("0", "1001", "1.5", "-1", "²", "x", ""), "must be a whole number from 1 to 1000"),
        (whole(0, 2**32 - 1), ("4294967296",), "must be a whole number from 0 to 4,294,967,295"),
        (number("a time", 0.2, 2_592_000), ("0.1", "nan", "inf", "x"), "must be a time from 0.2 to 2592000"),
        (number("a time", 0.0, 10_080, above=True), ("0", "nan", "10081"), "must be a time above 0 and up to 10080"),
        (rounded("a port", 0, 65535), ("-1", "65536", "x"), "must be a port from 0 to 65535"),
    ],
)
def test_out_of_bounds(read: Callable[[str], float], texts: tuple[str, ...], told: str) -> None:
    for text in texts:
        with pytest.raises(argparse.ArgumentTypeError) as error:
            read(text)
        assert str(error.value) == told
