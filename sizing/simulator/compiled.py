"""How the simulator's inner functions are compiled."""

from __future__ import annotations

from typing import Any

from numba import njit

compiled: Any = njit(  # type: ignore[call-overload]
    error_model="numpy", _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True
)
"""Division follows IEEE 754 (a zero gives infinity), which saves a branch at every division; and arrays are not counted
in and out of every function, which would cost more than the simulation itself: nothing here allocates any. Only the
entry is called from Python: wrappers for all the others would take a third of the time to compile. Without them a call
from Python is a crash: tests call ``function.py_func``."""
