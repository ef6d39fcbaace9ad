"""When within a window steps began to take another time: a jump of the mean gap between tokens that the load does not
explain. Before it, it was another deployment; averaged over both, a window says something of neither.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from collectors.questions.details import Details, GapLine
from sizing.base.arrays import Floats

FEWEST_EACH = 8
"""Steps of a line on each side of a change. Chosen: two minutes of scrapes."""
LEAST_CHANGE, LEAST_OF_ONE = 0.14, 0.20
"""Logarithms by which the gaps of all replicas, and those of one, change at least. Chosen: above what counts as
agreement with a plan, and a single replica varies more."""
SURE = 6.0
"""Standard errors of a change at least: every step of a window may be one, and successive ones are alike."""
MOST_ALIKE = 0.9
"""Correlation of successive steps that is reckoned with at most."""
NEARBY, AT_ONCE = 5, 0.5
"""Steps on each side of a change, between whose medians this part of it lies at least: a queue builds up slowly."""
STEEPEST = 3.0
"""By how many times the relative change of the load a gap may change with it. Chosen: as steeply as near saturation."""


@dataclass(frozen=True, kw_only=True)
class _Jump:
    at: int
    log_times: float


def steps_changed_s(details: Details) -> float | None:
    """The moment at which the steps of all replicas, or those of one, took another time; None where none did. Of
    several the last."""
    lines = [line for line in details.gaps if len(line.gaps_s) >= 2 * FEWEST_EACH]
    if not lines:
        return None
    of_all = _changed(together(lines), LEAST_CHANGE)
    if of_all is not None or len(lines) == 1:
        return of_all
    return max((moment for line in lines if (moment := _changed(line, LEAST_OF_ONE)) is not None), default=None)


def together(lines: Sequence[GapLine]) -> GapLine:
    """All replicas as one, at the moments that all have."""
    moments = sorted(set.intersection(*(set(line.times_s) for line in lines)))
    places = [[line.times_s.index(moment) for moment in moments] for line in lines]
    number = np.array([np.array(line.gaps)[at] for line, at in zip(lines, places, strict=True)])
    seconds = np.array([np.array(line.gaps_s)[at] for line, at in zip(lines, places, strict=True)])
    gaps = number.sum(axis=0)
    mean = (seconds * number).sum(axis=0) / np.maximum(gaps, 1e-12)
    return GapLine(times_s=tuple(moments), gaps_s=tuple(mean.tolist()), gaps=tuple(gaps.tolist()))


def _changed(line: GapLine, least: float) -> float | None:
    kept = [i for i, (gap, number) in enumerate(zip(line.gaps_s, line.gaps, strict=True)) if gap > 0.0 and number > 0.0]
    logs, loads = (np.log(np.array(each)[kept]) for each in (line.gaps_s, line.gaps))
    jump = _jump(logs)
    if jump is None or abs(jump.log_times) < least:
        return None
    load = float(loads[jump.at :].mean() - loads[: jump.at].mean())
    if load * jump.log_times > 0.0 and abs(jump.log_times) < STEEPEST * abs(load):
        return None
    return line.times_s[kept[jump.at]]


def _jump(values: Floats) -> _Jump | None:
    """The clearest change of the mean; None where chance or a slow drift explains it."""
    number = len(values)
    if number < 2 * FEWEST_EACH:
        return None
    sums, splits = np.cumsum(values), np.arange(FEWEST_EACH, number - FEWEST_EACH + 1)
    before = sums[splits - 1] / splits
    change = (sums[-1] - sums[splits - 1]) / (number - splits) - before
    weight = splits * (number - splits) / number
    best = int(np.argmax(np.abs(change) * np.sqrt(weight)))
    at, size = int(splits[best]), float(change[best])
    left = values - before[best] - np.where(np.arange(number) >= at, size, 0.0)
    alike = min(max(float(np.corrcoef(left[1:], left[:-1])[0, 1]), 0.0), MOST_ALIKE) if left.std() > 0.0 else 0.0
    error = float(left.std()) * math.sqrt((1.0 + alike) / (1.0 - alike) / weight[best])
    near = float(np.median(values[at : at + NEARBY]) - np.median(values[at - NEARBY : at]))
    if abs(size) < SURE * error or near * size < AT_ONCE * size**2:
        return None
    return _Jump(at=at, log_times=size)
