"""When a measured value agrees with a planned or predicted one."""

import math

from reality.result import FigureVerdict, Interval

TOLERANCE = 0.10
"""Relative difference from a plan that counts as agreement where the plan is one number: a tenth of the load or length
moves the number of GPUs by about one in ten, less than the 80 % interval of a plan."""

RATIO_TOLERANCE = 0.05
"""How far a share between 0 and 1 may lie from the planned one, as a difference."""


WIDE = 5.0
"""Upper end over central value from which lying within says little: step times alone are uncertain by less than 2."""


def says_little(predicted: Interval) -> bool:
    """Whether an interval is open above or so wide that almost any value would lie within it."""
    value, high = predicted.value, predicted.high
    return predicted.low is not None and (high is None or (value is not None and high >= WIDE * value))


FAR = 2.0
"""Times above or below a prediction from which a measured value is not called as expected, however wide the intervals.
Chosen: because nobody expects twice of what was said."""


def far_off(predicted: Interval, measured: Interval) -> bool:
    """Whether a measured value is more than :data:`FAR` times above or below the prediction."""
    value, seen = predicted.value, measured.value
    if value is None or seen is None or value <= 0.0 or seen <= 0.0:
        return False
    return not 1.0 / FAR <= seen / value <= FAR


def outside(expected: Interval, measured: Interval) -> bool:
    """Whether the measured value itself lies outside of what is expected, whatever its own interval."""
    low, high = _ends(expected)
    return measured.value is not None and not low <= measured.value <= high


def verdict(expected: Interval, measured: Interval) -> FigureVerdict:
    """ "higher" or "lower" when the intervals do not meet; an end that is None is open."""
    if measured.value is None or (expected.value is None and expected.low is None and expected.high is None):
        return "cannot_judge"
    low, high = _ends(measured)
    least, most = _ends(expected)
    if low > most:
        return "higher"
    return "lower" if high < least else "within"


def _ends(interval: Interval) -> tuple[float, float]:
    return (-math.inf if interval.low is None else interval.low, math.inf if interval.high is None else interval.high)


def tolerated(value: float, *, ratio: bool = False) -> Interval:
    """What counts as agreement with one number: +- 10 %, of a share +- 5 percentage points."""
    room = RATIO_TOLERANCE if ratio else TOLERANCE * abs(value)
    return Interval(value=value, low=value - room, high=value + room)
