"""Numbers as a person reads them: two or three significant digits, a unit, thousands separators.

The answer sentence, the pages and the reports all print through these functions, so that a number reads the same
everywhere. An unknown number is :data:`UNKNOWN`, never 0; a small one is never rounded down to 0.
"""

import math
from enum import StrEnum

from sizing.base.units import GB, GIB, W_PER_KW

UNKNOWN = "unknown"
UNBOUNDED = "unbounded"
"""What an infinite number reads as: the latency of a queue that grows forever."""

SMALLEST = 0.001
"""Below this a number reads "< 0.001"."""

LARGEST = 1e15
"""From here on a number is written in powers of ten."""

ALL_DIGITS = 12
"""Digits of a number that was rounded before; what float arithmetic leaves lies behind them."""

WHOLE_GB = 1e-6
"""Difference from a whole number of GB below which a memory size is one."""

SUFFIXES = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k"))
"""What large estimates are written in."""

Number = float | int | None


def rounded(x: float, digits: int = 3) -> float:
    """``x`` to that many significant digits, as a number: for tables of estimates."""
    return float(f"{x:.{digits - 1}e}")


def rounded_up(x: float) -> float:
    """The smallest number of three significant digits that is not below ``x``: a limit that ``x`` keeps."""
    value = rounded(x, 3)
    return value if value >= x else rounded(value + 10.0 ** (math.floor(math.log10(abs(x))) - 2), 3)


def significant(x: Number, digits: int = 3) -> str:
    """``x`` to that many significant digits, thousands separated, no trailing zeros: 2606 is "2,610"."""
    if (words := _not_a_number(x)) is not None:
        return words
    value = rounded(float(x or 0), digits)
    if value == 0:
        return "0"
    if abs(value) < SMALLEST:
        return f"< {SMALLEST}" if value > 0 else f"> -{SMALLEST}"
    if abs(value) >= LARGEST:
        return f"{value:.{digits - 1}e}"
    return _decimal(value, digits)


def _decimal(value: float, digits: int) -> str:
    """A number that is not 0 with its significant digits, thousands separated."""
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def count(x: Number) -> str:
    """Whole things that are counted exactly (GPUs, systems, rows): 2040000 is "2,040,000"."""
    if (words := _not_a_number(x)) is not None:
        return words
    return f"{round(float(x or 0)):,}" if abs(float(x or 0)) < LARGEST else significant(x)


def counted(number: Number, one: str, many: str = "") -> str:
    """Whole things with their noun: "1 run", "3 runs"; ``many`` where the plural is not ``one`` with an s."""
    return with_noun(count(number), one, many)


def with_noun(number: str, one: str, many: str = "") -> str:
    """A number as it is printed, with its noun or unit: "1 request/s", "2.4 requests/s"; ``many`` as of ``counted``."""
    name, slash, per = one.partition("/")
    return f"{number} {one if number == '1' else many or f'{name}s{slash}{per}'}"


def stated(x: Number, digits: int = 6) -> str:
    """A number that somebody gave, or for a calculator: 1234567 is "1,234,567", 0.00001 no power of ten."""
    if (words := _not_a_number(x)) is not None:
        return words
    value = float(x or 0)
    if value.is_integer() or abs(value) >= LARGEST:
        return count(value)
    return _decimal(rounded(value, digits), digits)


def large(x: Number, digits: int = 3) -> str:
    """Estimates that may be large (requests a day): 2036160 is "2.04M", 9500 is "9,500"."""
    if (words := _not_a_number(x)) is not None:
        return words
    value = rounded(float(x or 0), digits)
    if 10_000 <= abs(value) < LARGEST:
        for scale, suffix in SUFFIXES:
            if abs(value) >= scale:
                return significant(value / scale, digits) + suffix
    return significant(value, digits)


def ms(x: Number, digits: int = 3) -> str:
    """A duration given in milliseconds: "480 ms" below one second, "2.61 s" from there on."""
    if (words := _not_a_number(x)) is not None:
        return words
    value = rounded(float(x or 0), digits)
    return f"{significant(value / 1000, digits)} s" if abs(value) >= 1000 else f"{significant(value, digits)} ms"


def usd(x: Number, digits: int = 3) -> str:
    """An amount in US dollars: "$0.42", "$9.50", "$950", "$9,500", "$12.3k", "$1.23M"."""
    if (words := _not_a_number(x)) is not None:
        return words
    value = float(x or 0)
    sign, size = ("-" if value < 0 else ""), abs(value)
    if size >= 100 or size == 0:
        return f"{sign}${large(size, digits)}"
    if size < SMALLEST:
        return f"> -${SMALLEST}" if sign else f"< ${SMALLEST}"
    text = f"{size:.2f}".removesuffix(".00") if size >= 0.1 else significant(size, 2)
    return f"{sign}${text}"


def a_month(x: Number) -> str:
    """A price of hardware by the month: "$12.3k a month", or that it is not known."""
    return "price not known" if x is None else f"{usd(x)} a month"


def tokens_per_s(x: Number) -> str:
    """A token rate: "1,240 tokens/s"."""
    return _with_rate(significant(x), "token/s")


def requests_per_s(x: Number) -> str:
    """A request rate: "2.4 requests/s"; a small one with its digits, because it is what was asked for."""
    if x is not None and 0 < abs(x) < SMALLEST:
        return with_noun(stated(x, 3), "request/s")
    return _with_rate(significant(x), "request/s")


class MemoryUnit(StrEnum):
    """What the memory of a GPU is counted in: GB of 10^9 bytes, or GiB of 2^30."""

    GB = "GB"
    GIB = "GiB"

    def of(self, gigabytes: float) -> float:
        """Memory given in GB of 10^9 bytes, in this unit."""
        return gigabytes if self is MemoryUnit.GB else gigabytes * GB / GIB


def memory_unit(gpu_gb: float) -> MemoryUnit:
    """The unit in which a GPU has the size of its name, given its memory in GB of 10^9 bytes.

    GB where it is a whole number of them, as datasheets print it; else it was read from the driver or from NVIDIA's
    tables, which count in GiB: an "H100 80GB" has 80 GiB, which are 85.9 GB.
    """
    return MemoryUnit.GB if abs(gpu_gb - round(gpu_gb)) < WHOLE_GB else MemoryUnit.GIB


def memory(gigabytes: Number, gpu_gb: float) -> str:
    """Memory given in GB of 10^9 bytes, in the unit of a GPU of ``gpu_gb``: "16.1 GB", "80 GiB"."""
    unit = memory_unit(gpu_gb)
    return _with_unit(gigabytes if gigabytes is None else unit.of(gigabytes), unit.value)


def kilowatts(x: Number, *, estimated: bool = False, about: bool = True) -> str:
    """A power given in kilowatts: "10.2 kW", "350 W"; one by rule with two digits, as no datasheet says it, and with
    "about" before it unless that stands beside it."""
    digits = 2 if estimated else 3
    small = x is not None and abs(rounded(x, digits)) < 1
    text = _with_unit(x * W_PER_KW, "W", digits) if x is not None and small else _with_unit(x, "kW", digits)
    return f"about {text}" if estimated and about and x is not None else text


def percent(fraction: Number) -> str:
    """A share given as a fraction: 0.123 is "12 %"; just under one stays under "100 %"."""
    if (words := _not_a_number(fraction)) is not None:
        return words
    value = 100.0 * float(fraction or 0)
    if 99 < value < 100:
        return f"{min(math.floor(value * 10) / 10, 99.9):g} %"
    return f"{significant(value, 2 if abs(value) < 100 else 3)} %"


def interval(low: Number, high: Number, unit: str = "", digits: int = 2) -> str:
    """A range in one unit: "7 to 9 GPUs", "420 to 610 ms", "$10k to $12k"; one number where both ends read alike."""
    if low is None and high is None:
        return UNKNOWN
    if unit.startswith("USD"):
        return _range(usd(low), usd(high), "") + unit.removeprefix("USD")
    if unit == "ms" and high is not None and math.isfinite(high) and abs(rounded(high, digits)) >= 1000:
        return _range(significant(_scaled(low), digits), significant(_scaled(high), digits), "s")
    whole = isinstance(low, int) and isinstance(high, int)
    ends = (count(low), count(high)) if whole else (significant(low, digits), significant(high, digits))
    return _range(*ends, unit)


def _scaled(milliseconds: Number) -> Number:
    return None if milliseconds is None else milliseconds / 1000


def _range(low: str, high: str, unit: str) -> str:
    return (low if low == high else f"{low} to {high}") + (f" {unit}" if unit else "")


def _with_unit(x: Number, unit: str, digits: int = 3) -> str:
    text = significant(x, digits)
    return text if text in (UNKNOWN, UNBOUNDED) else f"{text} {unit}"


def _with_rate(text: str, one: str) -> str:
    return text if text in (UNKNOWN, UNBOUNDED) else with_noun(text, one)


def _not_a_number(x: Number) -> str | None:
    """The words for None, NaN and infinity; None for a number that can be printed."""
    if x is None or (isinstance(x, float) and math.isnan(x)):
        return UNKNOWN
    if isinstance(x, float) and math.isinf(x):
        return UNBOUNDED
    return None
