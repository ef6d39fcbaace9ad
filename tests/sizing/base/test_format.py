import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizing.base import format as shown

ESTIMATES = (
    shown.significant,
    shown.large,
    shown.ms,
    shown.usd,
    shown.tokens_per_s,
    shown.requests_per_s,
    shown.kilowatts,
    shown.percent,
)
ALL = (*ESTIMATES, shown.count)


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (480, "480 ms"),
        (489.5, "490 ms"),
        (21.4, "21.4 ms"),
        (0.0421, "0.0421 ms"),
        (999.4, "999 ms"),
        (999.6, "1 s"),
        (2606, "2.61 s"),
        (3000, "3 s"),
        (10_700, "10.7 s"),
        (86_400_000, "86,400 s"),
        (0, "0 ms"),
    ],
)
def test_milliseconds_turn_into_seconds_at_one_second(x: float, text: str) -> None:
    assert shown.ms(x) == text


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (1_000_000, "1,000,000"),
        (1_493_812, "1,493,812"),
        (1_493_812.4, "1,493,810"),
        (83_912.4, "83,912.4"),
        (1.183384, "1.18338"),
        (0.00001, "0.00001"),
        (0, "0"),
        (1e300, "1.00e+300"),
        (math.inf, shown.UNBOUNDED),
    ],
)
def test_a_number_that_was_given_stands_in_full_and_in_no_power_of_ten(x: float, text: str) -> None:
    assert shown.stated(x) == text


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (0, "$0"),
        (0.0004, "< $0.001"),
        (0.0042, "$0.0042"),
        (0.4213, "$0.42"),
        (9.5, "$9.50"),
        (12, "$12"),
        (950, "$950"),
        (9_480, "$9,480"),
        (12_340, "$12.3k"),
        (400_000, "$400k"),
        (1_234_567, "$1.23M"),
        (2.1e9, "$2.1B"),
        (-12_340, "-$12.3k"),
        (-0.0001, "> -$0.001"),
    ],
)
def test_dollars(x: float, text: str) -> None:
    assert shown.usd(x) == text


@pytest.mark.parametrize(
    ("x", "text"),
    [(2_036_160, "2.04M"), (678_720, "679k"), (4.07e9, "4.07B"), (9_500, "9,500"), (9_999, "10k"), (7, "7")],
)
def test_large_estimates_are_abbreviated(x: float, text: str) -> None:
    assert shown.large(x) == text


def test_counts_are_exact() -> None:
    assert shown.count(2_040_001) == "2,040,001"
    assert shown.count(8) == "8"


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (0.123, "12 %"),
        (0.005, "0.5 %"),
        (1, "100 %"),
        (0.9967, "99.6 %"),
        (0.99999, "99.9 %"),
        (0, "0 %"),
        (1.234, "123 %"),
    ],
)
def test_a_share_below_one_never_reads_as_all_of_it(x: float, text: str) -> None:
    assert shown.percent(x) == text


@pytest.mark.parametrize(
    ("gpu_gb", "size", "text"),
    [
        (85.89934592, 85.89934592, "80 GiB"),  # an H100 80GB
        (85.89934592, 70.6, "65.8 GiB"),
        (40.0, 40.0, "40 GB"),  # an A100 40GB, known from its datasheet
        (80.0, 16.06, "16.1 GB"),  # typed in
        (80.0, None, "unknown"),
    ],
)
def test_a_gpu_has_the_size_of_its_name(gpu_gb: float, size: float | None, text: str) -> None:
    assert shown.memory(size, gpu_gb) == text


@pytest.mark.parametrize(
    ("low", "high", "unit", "text"),
    [
        (7, 9, "GPUs", "7 to 9 GPUs"),
        (8, 8, "GPUs", "8 GPUs"),
        (420.3, 608.0, "ms", "420 to 610 ms"),
        (800.0, 2600.0, "ms", "0.8 to 2.6 s"),
        (10_000.0, 12_000.0, "USD", "$10k to $12k"),
        (10_000.0, 12_000.0, "USD/month", "$10k to $12k/month"),
        (None, None, "GPUs", "unknown"),
        (7, None, "GPUs", "7 to unknown GPUs"),
        (1.0, math.inf, "ms", "1 to unbounded ms"),
        (0.1, 0.2, "", "0.1 to 0.2"),
    ],
)
def test_an_interval_shows_its_unit_once(low: float | None, high: float | None, unit: str, text: str) -> None:
    assert shown.interval(low, high, unit) == text


@pytest.mark.parametrize("write", ALL)
def test_an_unknown_number_is_never_zero(write: object) -> None:
    assert write(None) == "unknown"
    assert write(math.nan) == "unknown"
    assert write(math.inf) == "unbounded"


@pytest.mark.parametrize("write", ALL)
@given(x=st.floats(allow_nan=True, allow_infinity=True) | st.integers(-(10**30), 10**30) | st.none())
def test_any_number_can_be_shown(write: object, x: float | None) -> None:
    text = write(x)
    assert text == text.strip()
    assert text


@pytest.mark.parametrize("write", ESTIMATES)
@given(x=st.floats(min_value=1e-300, max_value=1e14))
def test_what_is_not_zero_does_not_read_as_zero(write: object, x: float) -> None:
    assert re.search(r"[1-9]", write(x))


@given(x=st.floats(min_value=0.001, max_value=1e14), digits=st.integers(1, 6))
def test_rounding_is_within_half_a_digit(x: float, digits: int) -> None:
    assert float(shown.significant(x, digits).replace(",", "")) == pytest.approx(x, rel=0.5001 * 10 ** (1 - digits))


@given(a=st.floats(0.01, 1e9), b=st.floats(0.01, 1e9))
def test_durations_keep_their_order(a: float, b: float) -> None:
    def seconds(text: str) -> float:
        number, unit = text.split()
        return float(number.replace(",", "")) * (1 if unit == "s" else 1e-3)

    low, high = sorted((a, b))
    assert seconds(shown.ms(low)) <= seconds(shown.ms(high)) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("x", "text", "by_rule"),
    [
        (10.19, "10.2 kW", "about 10 kW"),
        (1.0, "1 kW", "about 1 kW"),
        (0.9996, "1 kW", "about 1 kW"),
        (0.18, "180 W", "about 180 W"),
        (0.0725, "72.5 W", "about 72 W"),
        (None, shown.UNKNOWN, shown.UNKNOWN),
        (math.inf, shown.UNBOUNDED, f"about {shown.UNBOUNDED}"),
    ],
)
def test_power_below_a_kilowatt_is_in_watts(x: float | None, text: str, by_rule: str) -> None:
    assert (shown.kilowatts(x), shown.kilowatts(x, estimated=True)) == (text, by_rule)


@pytest.mark.parametrize(
    ("x", "text"),
    [(0.0001, "0.0001 requests/s"), (2.5e-8, "0.000000025 requests/s"), (0.01, "0.01 requests/s"), (0, "0 requests/s")],
)
def test_a_small_rate_is_said_as_it_was_asked(x: float, text: str) -> None:
    assert shown.requests_per_s(x) == text


@pytest.mark.parametrize(
    ("x", "text"), [(12_300, "$12.3k a month"), (78.33, "$78.33 a month"), (None, "price not known")]
)
def test_a_price_by_the_month_that_is_not_known_says_so(x: float | None, text: str) -> None:
    assert shown.a_month(x) == text
