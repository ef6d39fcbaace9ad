"""Whether step times changed between two of several windows: ADWIN's test on what the fitted steps leave over.

ADWIN (Bifet and Gavaldà, "Learning from time-changing data with adaptive windowing", 2007) splits a sequence into older
and newer values in every way, and drops the older ones where their means differ by more than chance. Its bound for any
bounded value needs dozens of them; here the spread of a window is known, and the normal bound finds a change in two.

Step times that rise with the load more steeply than planned look like a change where the load rose once: how far the
plan's own rise may be off is part of what chance explains (generalised least squares), so that only windows of like
loads on both sides show a small change. What is judged is what the fit leaves over, which has what each running
sequence adds to a step in it where the windows tell it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

SURE = 3.5
"""Standard errors by which the means must differ. Chosen: of eight windows with seven splits each, one history in 500
shows a change that is none."""
STEEPNESS = 0.15
"""Spread of d log(measured / predicted gap) / d log(load). Of 438 published series of mean ITL over concurrency (7
sources, 2026-11) the root mean square is 0.10 in all and 0.12 by source; those were fitted, others lie farther off."""
LEAST_CHANGE = 0.05
"""Difference of the logarithms from which step times count as changed: below, a plan is as good as before."""
FEWEST_NEWER = 2
"""Windows after a change at least: one alone may be disturbed by something else."""


@dataclass(frozen=True, kw_only=True)
class ChangePoint:
    """The index of the first window after it, and the logarithm of how many times as long steps take since."""

    at: int
    log_times: float


def change_of(
    misfits: Sequence[float],
    spread: float,
    *,
    loads: Sequence[float] = (),
    before: int = 0,
    doubt: Sequence[float] = (),
) -> ChangePoint | None:
    """The clearest change between older and newer windows; None where all may have the same step times.

    ``misfits``: log(measured / predicted) of each window, oldest first, each with the standard error ``spread``;
    ``loads``: requests/s of a replica in each, above 0 (none: all alike); ``before``: windows that the prediction rests
    on, whose mean misfit is 0, at whatever loads; ``doubt``: what each misfit may be by one standard deviation of
    something else that those did not teach (none: nothing). Every newer window lies on the same side: one that was
    disturbed is no change.
    """
    every = np.array([*([0.0] * before), *misfits])
    by_chance = np.zeros((len(every), 2))
    if loads:
        by_chance[before:, 0] = STEEPNESS * (np.log(loads) - np.mean(np.log(loads)))
    if doubt:
        by_chance[before:, 1] = doubt
    inverse = np.linalg.inv(spread**2 * np.eye(len(every)) + by_chance @ by_chance.T)
    most_errors = SURE
    clearest: ChangePoint | None = None
    for split in range(max(before, FEWEST_NEWER), len(every) - FEWEST_NEWER + 1):
        form = np.stack([np.ones(len(every)), np.arange(len(every)) >= split], axis=1)
        covariance = np.linalg.inv(form.T @ inverse @ form)
        level, change = covariance @ (form.T @ inverse @ every)
        left = every - form @ (level, change)
        expected = level + by_chance @ (by_chance.T @ inverse @ left)
        each = float(((every - expected)[split:] * math.copysign(1.0, change)).min())
        errors = abs(change) / math.sqrt(covariance[1, 1])
        if abs(change) >= LEAST_CHANGE and each >= LEAST_CHANGE / 2.0 and errors > most_errors:
            most_errors = errors
            clearest = ChangePoint(at=split - before, log_times=float(change))
    return clearest
