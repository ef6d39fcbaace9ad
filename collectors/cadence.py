"""How long an answer is believed, by what was asked. A large fleet is read in turns, to spare its Prometheus.

What hardly changes (metric names, places of GPUs, capacities) is believed for a minute. Of a fleet, everything has a
period and a turn within it, so that no refresh (every 15 s) asks for all: rates and gauges of the engines every 30 s,
buckets and sums over GPUs every minute, columns of single GPUs in between. Lines have their points at full minutes, and
what is on a line has its turn there, so that one answer serves both. Which replicas there are, and since when, is asked
at every refresh. Samples keep the moment they are about: that is how their age is known.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from collectors.vocabulary.schema import DISTRIBUTIONS, SCALARS

FLEET_REPLICAS = 500
"""From here on a query touches so many series that answers are shared and only what is needed is asked for."""
BELIEVED_S = 60.0
LONGEST_S = 300.0

SLOW = (
    "names", "gpu_names", "kv_capacity_tokens", "max_concurrency", "gpu/memory_free.0", "gpu/memory_reserved.0",
    "gpu/memory_total.0", "gpu/power_cap.0", "gpu/power_cap.1", "gpu/ecc_uncorrected.0", "gpu/ecc_uncorrected.1",
    "gpu/row_remap_failure.0", "gpu/engine_active.0",
    "device_labels", "power_cap.0", "power_cap.1", "ecc_corrected.0", "ecc_corrected.1",
    "ecc_uncorrected.0", "ecc_uncorrected.1",
)  # fmt: skip
"""Keys of expressions whose answer is believed for a minute; so are those that begin with ``gpu_places.``"""

ON_LINES = (
    "ttft.buckets", "itl.buckets", "e2e.buckets", "gpu/busy.0", "gpu/sm_active.0", "gpu/tensor_active.0",
    "gpu/dram_active.0", "gpu/power.0", "gpu/temperature.0",
)  # fmt: skip
BETWEEN = (
    "gpu/memory_used.0", "gpu/sm_clock.0", "gpu/devices.0", "gpu/xid.0", "gpu/throttle_reasons.0",
    *(f"{key}.{part}" for key in ("tpot", "queue", "prefill", "decode", "input_tokens", "output_tokens")
      for part in ("sum", "count", "zeros")),
)  # fmt: skip
FIRST = ("sm_active.0", "xid.0", "throttle_reasons.0")
"""Columns of single GPUs: the one that is drawn first, and those that show trouble."""
RARE = (
    "busy.0", "engine_active.0", "tensor_active.0", "dram_active.0", "memory_used.0", "power.0", "temperature.0",
    "memory_temperature.0", "sm_clock.0",
)  # fmt: skip
"""Other columns of single GPUs: a megabyte each of 10,000."""


@dataclass(frozen=True, kw_only=True)
class Turn:
    """An answer holds until its next turn: at every ``period_s``, ``phase_s`` after a whole multiple of it.

    ``phase_s`` None: until ``period_s`` after it was told.
    """

    period_s: float
    phase_s: float | None = None

    def same(self, earlier_s: float, later_s: float) -> bool:
        """Whether no turn came between two moments."""
        if not 0 <= later_s - earlier_s < self.period_s:
            return False
        phase = self.phase_s
        return phase is None or _turn(earlier_s, phase, self.period_s) == _turn(later_s, phase, self.period_s)


def _turn(moment_s: float, phase_s: float, period_s: float) -> int:
    return math.floor((moment_s - phase_s) / period_s)


def _fleet_turns() -> dict[str, Turn]:
    found = {key: Turn(period_s=60.0, phase_s=0.0) for key in ON_LINES}
    found |= {key: Turn(period_s=60.0, phase_s=30.0) for key in BETWEEN}
    found |= {key: Turn(period_s=60.0, phase_s=15.0 + 30.0 * (i % 2)) for i, key in enumerate(FIRST)}
    found |= {key: Turn(period_s=120.0, phase_s=15.0 + 30.0 * (i % 4)) for i, key in enumerate(RARE)}
    found |= {key: Turn(period_s=LONGEST_S, phase_s=15.0 + 30.0 * (i % 10)) for i, key in enumerate(SLOW)}
    return found


_FLEET = _fleet_turns()
_PLACES = Turn(period_s=LONGEST_S, phase_s=225.0)
_MINUTE = Turn(period_s=BELIEVED_S)
_OFTEN = Turn(period_s=30.0, phase_s=0.0)
_ENGINE = re.compile(rf"(?:replica\.)?(?:{'|'.join((*SCALARS, *DISTRIBUTIONS))})(?:_max|_min|_growth|\.\w+)?")


def turn_of(key: str, *, fleet: bool) -> Turn | None:
    """When the answer to an expression is asked for again; None: at every new moment."""
    places = key.startswith("gpu_places.")
    if fleet:
        often = _OFTEN if key == "answering" or _ENGINE.fullmatch(key) else None
        return _PLACES if places else _FLEET.get(key, often)
    return _MINUTE if places or key in SLOW else None
