"""How the functions that numba compiles are compiled."""

import hashlib
from pathlib import Path
from typing import Any

from numba import njit

compiled: Any = njit(  # type: ignore[call-overload]
    error_model="numpy", _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True, forceinline=True
)
"""An inner function. It is always inlined: by its own judgement LLVM leaves calls to which the simulator's world is
copied, which takes half of the time of a run. Division follows IEEE 754 (a zero gives infinity), which saves a branch
at every division; and arrays are not counted in and out of every function, which would cost more than the simulation
itself: nothing here allocates any. Only entries are called from Python: wrappers for all the others would take a third
of the time to compile. Without them a call from Python is a crash: tests call ``function.py_func``, or compile a
call."""

compiled_entry: Any = njit(  # type: ignore[call-overload]
    cache=True, nogil=True, error_model="numpy", _nrt=False, no_cfunc_wrapper=True
)
"""What Python calls, kept on disk under a key that holds its closure (numba hashes that): :func:`digest` has to be in
it, unless the entry calls nothing and divides by nothing that may be 0: its own file numba looks at."""


def digest(*sources: str | Path) -> str:
    """Of all files that are compiled: numba notices a change in the file of the entry only, not in what it calls."""
    together = hashlib.sha256()
    for path in (*sources, __file__):
        together.update(Path(path).read_bytes())
    return together.hexdigest()
