"""How long the calibration by a user's benchmark takes: the fit of three points of a published curve."""

from bench.table import Row
from bench.yardstick import Times, in_yardsticks
from calibration.leave_rest_out import FEWEST_LOADS, curves
from sizing.calibration.fit import fit_calibration

NAME = "Calibration by a benchmark: fit of three points"

LIMIT = in_yardsticks(quiet_ms=50.0)
"""Time that a calibration may take: it runs while the user waits."""
RUNS = 20
"""Calibrations timed; their median is reported."""


def run() -> list[Row]:
    """Time of one fit of three points."""
    curve = next(c for c in curves() if len(c.calibration_points) >= FEWEST_LOADS)
    times = Times()
    for _ in range(RUNS):
        times.time(lambda: fit_calibration(curve.calibration_points[:3]))
    return [times.row("three points of a closed loop", LIMIT)]
