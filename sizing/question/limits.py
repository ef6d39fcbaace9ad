"""The latency limits that apply to a question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

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
        apply: tuple[float | None, float | None, float | None]
        match mode:
            case "streaming":
                apply = (limits.ttft_ms, limits.itl_ms, limits.e2e_ms)
            case "sequential":
                apply = (None, None, limits.e2e_ms)
            case "offline":
                apply = (None, None, None)
            case unknown:
                assert_never(unknown)
        seconds = [np.inf if x is None else x / MS_PER_S for x in apply]
        return cls(ttft_s=seconds[0], itl_s=seconds[1], e2e_s=seconds[2], percentile=limits.percentile)
