"""Whether step times changed between two of several windows: ADWIN's test on what the fitted steps leave over.

ADWIN (Bifet and Gavaldà, "Learning from time-changing data with adaptive windowing", 2007) splits a sequence into older
and newer values in every way, and drops the older ones where their means differ by more than chance. Its bound for any
bounded value needs dozens of them; here the spread of a window is known, and the normal bound finds a change in two.
"""

import math
from collections.abc import Sequence

SURE = 3.5
"""Standard errors by which the means must differ. Chosen: of eight windows with seven splits each, one history in 500
shows a change that is none."""
LEAST_CHANGE = 0.05
"""Difference of the logarithms from which step times count as changed: below, a plan is as good as before."""
FEWEST_NEWER = 2
"""Windows after a change at least: one alone may be disturbed by something else."""


def change_of(misfits: Sequence[float], spread: float, *, before: int = 0) -> int | None:
    """Index of the first window after a change; None where all may have the same step times.

    ``misfits``: log(measured / predicted) of each window, oldest first, each with the standard error ``spread``;
    ``before``: windows that the prediction rests on, whose mean misfit is 0. Of several splits the clearest, of those
    in which every newer window lies on the same side: one that was disturbed is no change.
    """
    every = [*([0.0] * before), *misfits]
    clearest, at = SURE, None
    for split in range(max(before, FEWEST_NEWER), len(every) - FEWEST_NEWER + 1):
        older, newer = every[:split], every[split:]
        mean = sum(older) / len(older)
        change = sum(newer) / len(newer) - mean
        each = min((one - mean) * math.copysign(1.0, change) for one in newer)
        errors = abs(change) / (spread * math.sqrt(1.0 / len(older) + 1.0 / len(newer)))
        if abs(change) >= LEAST_CHANGE and each >= LEAST_CHANGE / 2.0 and errors > clearest:
            clearest, at = errors, split - before
    return at
