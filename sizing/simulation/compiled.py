"""How the simulator's inner functions are compiled."""

from __future__ import annotations

from typing import Any

from numba import njit

compiled: Any = njit(error_model="numpy", _nrt=False)  # type: ignore[call-overload]
"""Division follows IEEE 754 (a zero gives infinity), which saves a branch at every division; and arrays are not counted
in and out of every function, which would cost more than the simulation itself: nothing here allocates any."""
