"""The latency limits that apply to a question."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sizing.base.choices import Mode
from sizing.base.units import MS_PER_S
from sizing.scenario.schema import Limits


@dataclass(frozen=True, kw_only=True)
class LatencyLimits:
    """Limits in seconds at one percentile; infinite where there is none."""

    ttft_s: float
    itl_s: float
    e2e_s: float
    percentile: float

    @classmethod
    def of(cls, limits: Limits, mode: Mode) -> LatencyLimits:
        """The limits that apply: streaming all given ones, sequential only E2E, offline none."""
        ttft, itl, e2e = limits.ttft_ms, limits.itl_ms, limits.e2e_ms
        if mode != "streaming":
            ttft = itl = None
        if mode == "offline":
            e2e = None
        seconds = [np.inf if x is None else x / MS_PER_S for x in (ttft, itl, e2e)]
        return cls(ttft_s=seconds[0], itl_s=seconds[1], e2e_s=seconds[2], percentile=limits.percentile)
