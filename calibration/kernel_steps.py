"""What NVIDIA's kernel tables say of one compiled configuration, in seconds (``aiconfigurator-core``).

Their semantics, read in release 0.12: ``decode_step_latency(b, isl, osl)`` times one step of b sequences *per
attention-DP rank* at a context of ``isl + osl // 2 + 1`` tokens, in milliseconds.
"""

from __future__ import annotations

import numpy as np

from calibration.kernel_engines import StepTable
from sizing.base.arrays import Floats
from sizing.base.units import S_PER_MS

KNOTS = np.array([1, 2, 3, *(k * 2**n for n in range(2, 11) for k in (1, 1.5)), 2048, 4096], dtype=np.float64)
"""Sequences per rank at which decoding is read: every size that MoE kernels tell apart, then two per doubling."""


def decode_s(table: StepTable, sequences: Floats, context: float) -> Floats:
    """Time of one decode step in seconds for ``sequences`` per rank, shape (K,), each among ``KNOTS``.

    No batch takes longer than a larger one, to which an engine could pad it: this levels kernels that were measured
    slower at a small batch.
    """
    tokens = max(round(context) - 1, 1)  # the package adds osl // 2 + 1 with osl = 1
    read = np.array([table.decode_step_latency(int(b), tokens, 1) for b in KNOTS]) * S_PER_MS
    return np.asarray(np.minimum.accumulate(read[::-1])[::-1][np.searchsorted(KNOTS, sequences)], dtype=np.float64)
